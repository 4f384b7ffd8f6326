//! Rules of the records after the header, and of the groups that they form.

use trackway_core::{Finding, Isa};
use trackway_isa::Control;

use super::Checker;
use super::Group;
use super::encoding::Access;
use crate::fields::{Data, Entries, EventId, Register};
use crate::record::descriptor::*;
use crate::record::{Record, describe};
use crate::remark::Remark;
use crate::rules::*;
use crate::values::{MODE_CHANGE, REG_PC, access, features, reg_class, reg_role};

impl Checker<'_> {
    pub(super) fn body_record(&mut self, record: &Record<'_>) {
        self.is_clear = false;
        self.order(record);
        if let Some(words) =
            self.group.bus_words.take_if(|_| !matches!(record, Record::BusMasterContent { .. }))
            && words == 0
        {
            self.found(&BUS_CONTENT_MISSING, "no BUS_MASTER_CONTENT follows".into());
        }
        if matches!(self.group.accesses.last(), Some(Access { words: 0, .. }))
            && self.group.last == INST_MEM_ACCESS
            && !matches!(record, Record::InstMemContent { .. })
        {
            self.found(&MEM_CONTENT_MISSING, "no INST_MEM_CONTENT follows".into());
        }
        match *record {
            Record::Comment { text } => match Remark::read(text.0) {
                Some(Remark::Gap(_)) => self.group.gap = true,
                Some(Remark::AddressUnknown) => (self.group.gap, self.pc) = (true, None),
                Some(Remark::Attempted | Remark::Placeholder) => self.group.attempted = true,
                Some(Remark::Ids(_)) => self.ids_known = true,
                Some(Remark::Trailing) => self.group.trailing = true,
                _ => {}
            },
            Record::InstIem { mode } => self.encoding_mode(mode),
            Record::ProcessIdExt { .. } => {
                self.group.switched = true;
                if !self.in_body(PROCESS_ID_EXT) && !self.ids_known {
                    self.found(
                        &PROCESS_ID_DIALECT,
                        "set process_id if they are not hw thread, pid, tid".into(),
                    );
                }
            }
            Record::ForcePc { pc } => self.group.forced = Some(pc),
            Record::EndHeader {} => self.found(&END_HEADER_ONCE, "a second END_HEADER".into()),
            Record::InstPcTarget { pc } => {
                if self.group.target.replace(pc).is_some() {
                    self.found(&PC_TARGET_ONCE, "a second INST_PC_TARGET".into());
                }
            }
            Record::InstReg { register } => self.register(&register),
            Record::PageTableWalk { address, first_use, size, entries } => {
                self.walks.note(address, size);
                self.walk(first_use, size, entries);
            }
            Record::InstMemAccess { address, size, access, .. } => {
                if !matches!(access, access::READ | access::WRITE) {
                    self.found(&MEM_TYPE, format!("type {access}"));
                }
                let offset = self.offset;
                self.group.accesses.push(Access { offset, address, size, kind: access, words: 0, data: 0 });
            }
            Record::InstMemContent { data } => {
                let follows = matches!(self.group.last, INST_MEM_ACCESS | INST_MEM_CONTENT);
                match self.group.accesses.last_mut().filter(|_| follows) {
                    Some(last) => {
                        last.words += 1;
                        last.data |= if last.words == 1 { data } else { 0 };
                    }
                    None => self.found(&MEM_CONTENT_FOLLOWS, "no INST_MEM_ACCESS before it".into()),
                }
            }
            Record::BusMasterAccess { access, .. } => {
                self.group.bus_words = Some(0);
                if !matches!(access, access::READ | access::WRITE) {
                    self.found(&BUS_TYPE, format!("type {access}"));
                }
                if !self.in_body(BUS_MASTER_ACCESS) {
                    self.found(&BUS_MASTER, "set bus_master if a core is 0, not 1".into());
                }
            }
            Record::BusMasterContent { .. } => match &mut self.group.bus_words {
                Some(words) => *words += 1,
                None => self.found(&BUS_CONTENT_FOLLOWS, "no BUS_MASTER_ACCESS before it".into()),
            },
            Record::Event { id, data } => self.event(id, data),
            Record::EventPcTarget { pc } => {
                self.group.event_target = Some(pc);
                if self.group.last != EVENT {
                    self.found(&EVENT_TARGET, "no EVENT before it".into());
                }
            }
            Record::InstMicroop { size, .. } if !matches!(size, 2 | 4) => {
                self.found(&MICROOP_SIZE, format!("{size} bytes"));
            }
            Record::InstOpcode32 { opcode } => self.instruction(opcode, 4),
            Record::InstOpcode16 { opcode } => self.instruction(opcode.into(), 2),
            Record::Transaction { clock, .. } | Record::TransactionDependency { clock, .. } => {
                if !self.in_header(PROTOCOL_ID) {
                    self.found(&TRANSACTION_HEADER, "no PROTOCOL_ID in the header".into());
                } else if !self.clocks.contains(&clock) {
                    self.found(&TRANSACTION_HEADER, format!("clock {clock} is not declared"));
                }
                self.markers += u64::from(record.is_marker());
            }
            Record::Reserved {} => self.found(&RESERVED_DESCRIPTOR, "descriptor 0".into()),
            Record::ReserveEnd {} => {
                self.ended = true;
                self.found(&RESERVE_END_FIELD, "stf_lib's readers end with an error here".into());
            }
            Record::InstReadyReg { number } if number >= CSRS => {
                self.found(&REG_NUMBER, format!("number {number}"));
            }
            Record::InstReadyReg { .. } | Record::InstMicroop { .. } => {}
            _ => self.found(&HEADER_ONLY, format!("{} after END_HEADER", record.name())),
        }
        match record.descriptor() {
            // Allowed anywhere, so they do not count for the order.
            COMMENT | PROCESS_ID_EXT | FORCE_PC => {}
            INST_OPCODE32 | INST_OPCODE16 | TRANSACTION => self.group.last = 0,
            descriptor => self.group.last = descriptor,
        }
    }

    /// Descriptors ascend within a group, apart from the repetitions that stf_lib's writer allows.
    fn order(&mut self, record: &Record<'_>) {
        let (last, now) = (self.group.last, record.descriptor());
        let allowed = now >= last
            || matches!(now, COMMENT | PROCESS_ID_EXT | FORCE_PC)
            || matches!(
                (last, now),
                (INST_MEM_CONTENT, INST_MEM_ACCESS)
                    | (BUS_MASTER_CONTENT, BUS_MASTER_ACCESS)
                    | (EVENT_PC_TARGET, EVENT)
                    | (EVENT, EVENT)
                    | (PAGE_TABLE_WALK | INST_MEM_CONTENT, INST_REG | INST_READY_REG)
                    | (INST_REG | INST_READY_REG | PAGE_TABLE_WALK, INST_PC_TARGET)
            );
        if !allowed {
            self.found(&ORDER, format!("{} after {}", record.name(), describe(last).0));
        }
    }

    fn register(&mut self, register: &Register<'_>) {
        let (class, number) = (register.class(), register.number);
        if !(1..=4).contains(&class) {
            self.found(&REG_CLASS, format!("type {class}"));
        }
        if register.meta >> 6 != 0 {
            self.found(&REG_RESERVED, format!("bits 7:6 of {:#x}", register.meta));
        } else if register.role() == 0 {
            self.found(&REG_ROLE, "operand type 0".into());
        }
        let exists = match class {
            reg_class::INTEGER => number <= REG_PC,
            reg_class::FLOAT | reg_class::VECTOR => number < 32,
            reg_class::CSR => number < CSRS,
            _ => true,
        };
        if let (reg_class::CSR, Some(value)) = (class, register.content.first_chunk()) {
            self.walks.csr(self.isa, number, u64::from_le_bytes(*value));
        }
        if !exists {
            self.found(&REG_NUMBER, format!("number {number}"));
        }
        if class == reg_class::VECTOR && !self.has_vlen && self.version >= (1, 4) {
            self.found(&REG_VECTOR_LENGTH, "no VLEN_CONFIG in the header".into());
        }
        self.registers |= match register.role() {
            reg_role::STATE => features::REGISTER_STATE,
            _ => features::OPERAND_VALUE,
        };
        self.registers |= if class == reg_class::VECTOR { features::VECTOR } else { 0 };
    }

    fn walk(&mut self, first_use: u64, size: u32, entries: Entries<'_>) {
        const READ: u64 = 1 << 1;
        const EXECUTE: u64 = 1 << 3;
        let leaf = entries.pairs().last();
        // A leaf has R or X set (privileged specification, address translation).
        if leaf.is_none_or(|(_, raw)| raw & (READ | EXECUTE) == 0) {
            self.found(&WALK_ENTRIES, "the last entry is not a leaf".into());
        }
        if !size.is_power_of_two() || size < 4096 {
            self.found(&WALK_SIZE, format!("{size} bytes"));
        }
        // A part of a trace keeps the numbers of the whole: its first walk shows where it begins there.
        if self.is_part && self.part_start.is_none() && first_use > self.markers {
            let start = first_use - self.markers;
            self.part_start = Some(start);
            self.found(&PART, format!("its walks count from instruction {start} of the whole trace"));
        }
        let number = self.markers + self.part_start.unwrap_or(0);
        if first_use != number {
            let message = format!("names instruction {first_use}, comes before {number}");
            self.found(&WALK_INDEX, message);
        }
    }

    fn event(&mut self, id: EventId, data: Data<'_>) {
        let fields = data.words().len();
        if id.special {
            self.mode_known = true;
            self.group.switched = true;
            if id.code != MODE_CHANGE || fields != 1 || data.words().next().is_some_and(|mode| mode > 3) {
                self.found(&MODE_VALUE, format!("special event {} with {fields} words", id.code));
            }
            let trapped = self.group.trapped;
            self.walks.mode(data.words().next(), trapped);
            return;
        }
        self.group.trapped = true;
        // No text has numbers for other instruction sets.
        if !matches!(self.isa, Isa::Rv32 | Isa::Rv64) {
            return;
        }
        let wanted = match (id.interrupt, id.code) {
            (true, 0..=13) | (false, 0 | 1 | 3 | 8..=11) => Some(1),
            (false, 12) => Some(2),
            (false, 2 | 4..=7 | 13 | 15) => Some(3),
            (false, 16 | 18..=23) | (true, 16..) => None,
            (false, 24..=31 | 48..=63) => {
                self.found(&EVENT_KNOWN, format!("event {:#x}, for custom use", id.code));
                None
            }
            _ => {
                let kind = if id.interrupt { "interrupt" } else { "exception" };
                self.found(&EVENT_RESERVED, format!("{kind} {:#x}", id.code));
                None
            }
        };
        match wanted {
            Some(wanted) if fields < wanted => self.found(&EVENT_FIELDS, format!("{fields} of {wanted}")),
            Some(wanted) if fields > wanted => {
                self.found(&EVENT_SURPLUS, format!("{fields} fields, the table has {wanted}"));
            }
            _ => {}
        }
    }

    fn instruction(&mut self, opcode: u32, width: u8) {
        let encoded = self.encoded(opcode);
        let is_return = encoded.control == Control::TrapReturn;
        if self.markers == 0 && !self.mode_known {
            let always = self.as_always();
            self.found(&MODE_AT_START, format!("the privilege of the first instruction is unknown{always}"));
        }
        if let Some((offset, item)) = self.no_target.take().filter(|_| !self.group.gap) {
            let (rule, message) = match self.returned {
                true => (&TRAP_RETURN, "a return from a trap without INST_PC_TARGET"),
                false => (&PC_TARGET_MISSING, "a jump without INST_PC_TARGET"),
            };
            (self.report)(Finding { rule, offset, item, message: message.into() });
        } else if self.returned && self.group.switched && !self.group.gap && !self.group.trapped && !is_return
        {
            self.found(&TRAP_RETURN, "the mode changes after the group of the return".into());
        }
        self.returned = false;
        if let Some(pc) = self.group.forced {
            let moves = self.pc.is_some_and(|expected| expected != pc);
            let explained = self.explained || self.group.switched || self.group.gap;
            if moves && self.markers > 0 && !explained {
                let expected = self.pc.unwrap_or(0);
                self.found(&PC_CONTINUITY, format!("from {expected:#x} to {pc:#x} without a cause"));
            }
            self.pc = Some(pc);
        }
        self.explained = true;
        let first = self.markers == 0 || self.group.forced.is_some();
        self.walks.settle(is_return && !first);
        self.opcode(opcode, width, &encoded);
        self.walks.end_group();
        self.group.accesses.clear();
        let next = self.pc.map(|pc| pc.wrapping_add(width.into()));
        self.pc = self.group.event_target.or(self.group.target).or(next);
        let accesses = std::mem::take(&mut self.group.accesses);
        self.group = Group { accesses, ..Group::default() };
        self.is_clear = self.shortcuts && self.no_target.is_none() && !self.returned;
        self.markers += 1;
    }
}

/// Number of control and status registers.
const CSRS: u16 = 0x1000;
