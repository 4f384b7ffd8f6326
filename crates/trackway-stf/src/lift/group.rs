//! Record by record to events, group by group.
//!
//! An opcode record completes a group: the records since the previous one belong to that instruction. The
//! instruction of a group with a fault or interrupt was attempted and did not retire.

use trackway_core::*;
use trackway_isa::Recent;

use crate::config::{Config, ID, ProcessId};
use crate::fields::{Data, EventId, Register};
use crate::header::{Header, instruction_set};
use crate::record::{Record, describe, descriptor};
use crate::values::{MODE_CHANGE, REG_PC, access, isa, reg_class, reg_role};

/// Turns records into events. All state of lifting is here.
#[derive(Clone, Debug)]
pub(crate) struct Lifter {
    pub(super) config: Config,
    /// ISA number; encoding modes are read against it.
    isa_number: u16,
    pub(super) isa: Isa,
    pub(super) traps_on: TrapsOn,
    /// Access sizes in bytes by opcode and recorded size.
    pub(super) named_sizes: Recent<(u32, u64), u64, 64>,
    /// Address of the next instruction, if known.
    pub(super) next: Option<u64>,
    /// Address that a record of this group leads to.
    target: Option<u64>,
    /// Start of this group's accesses in the batch.
    pub(super) accesses: Accesses,
    /// The group has more than accesses and takes the slow path.
    special: bool,
    /// INST_PC_TARGET of this group.
    branch_target: Option<u64>,
    /// Traps of this group, with the offsets of their records.
    traps: Vec<(u64, Trap)>,
    /// Context change that takes effect after the traps.
    mode: Option<(u64, Context)>,
    /// Micro-ops of this group.
    micro_ops: Vec<u8>,
    /// A bus access whose content records may still follow.
    bus: Option<(u64, Bus)>,
    /// Inside the header, whose records are not events.
    in_header: bool,
}

/// Upper bound on the records of a group; a stream that never completes one is damaged.
const LARGEST_GROUP: usize = u16::MAX as usize;

impl Lifter {
    pub(crate) fn new(header: &Header, config: Config) -> Self {
        Lifter {
            config,
            isa_number: header.isa.unwrap_or(isa::RISCV),
            isa: header.instruction_set(),
            traps_on: TrapsOn::new(header.instruction_set()),
            named_sizes: Recent::default(),
            next: header.pc,
            target: None,
            accesses: Accesses::default(),
            special: false,
            branch_target: None,
            traps: Vec::new(),
            mode: None,
            micro_ops: Vec::new(),
            bus: None,
            in_header: true,
        }
    }

    /// Starts at a chunk whose index entry has the address.
    pub(crate) fn start_at(&mut self, pc: Option<u64>) {
        if pc.is_some() {
            self.next = pc;
            self.in_header = false;
        }
    }

    /// Begins a batch; only between groups.
    pub(crate) fn begin_batch(&mut self, batch: &Batch) {
        self.accesses = batch.begin_accesses();
    }

    /// True if no group is open, so that a batch may end here.
    #[inline(always)]
    pub(crate) fn between_groups(&self, batch: &Batch) -> bool {
        !self.special
            && self.bus.is_none()
            && self.accesses.mem_start as usize == batch.mem.len()
            && self.accesses.regs_start as usize == batch.regs.len()
    }

    pub(crate) fn lift(&mut self, offset: u64, record: &Record<'_>, batch: &mut Batch) -> Result<()> {
        match *record {
            Record::InstOpcode32 { opcode } => self.step(offset, opcode, 4, batch),
            Record::InstOpcode16 { opcode } => self.step(offset, opcode.into(), 2, batch),
            Record::InstMemAccess { address, size, attributes, access } => {
                if batch.mem.len() - self.accesses.mem_start as usize > LARGEST_GROUP {
                    return Err(endless(offset));
                }
                batch.mem.push(mem_access(address, size, attributes, access));
                Ok(())
            }
            Record::InstMemContent { data } => self.content(offset, data, batch),
            Record::InstPcTarget { pc } => {
                (self.target, self.branch_target, self.special) = (Some(pc), Some(pc), true);
                Ok(())
            }
            _ => self.lift_rare(offset, record, batch),
        }
    }

    /// Completes a group at its opcode record.
    fn step(&mut self, offset: u64, opcode: u32, length: u8, batch: &mut Batch) -> Result<()> {
        if self.bus.is_some() {
            self.flush_bus(batch);
        }
        let Some(accesses) = batch.end_accesses(self.accesses) else { return Err(endless(offset)) };
        self.sizes(opcode, &mut batch.mem[accesses.mem_start as usize..]);
        let step = Step { pc: self.next, accesses, ..Step::new(0, opcode, length) };
        self.special_step(offset, step, batch)
    }

    /// Emits the instruction of a group that may have a target, events and micro-ops.
    fn special_step(&mut self, offset: u64, mut step: Step, batch: &mut Batch) -> Result<()> {
        if !self.traps.is_empty() || self.traps_on.covers(step.encoding, step.length) {
            step.outcome = Outcome::Attempted;
        }
        if self.branch_target.is_some() {
            step.taken = Some(true);
        }
        // A fetch fault has no instruction; writers emit a no-op in its place.
        let placeholder = self.traps.iter().any(|(_, trap)| {
            trap.kind == TrapKind::Exception
                && trap.cause.is_some_and(|cause| is_fetch_fault(self.isa, cause))
        });
        if self.branch_target.is_some() || placeholder || !self.micro_ops.is_empty() {
            let micro_ops = batch.add_bytes(&self.micro_ops);
            self.micro_ops.clear();
            let extra = StepExtra {
                target: self.branch_target.take(),
                micro_ops,
                placeholder,
                ..StepExtra::default()
            };
            step.extra = batch.add_extra(extra);
        }
        batch.push(offset, EventKind::Step(step));
        for (offset, trap) in self.traps.drain(..) {
            let syscall_index = trap.syscall.and_then(|_| batch.words_of(trap.words).next());
            batch.push_trap(offset, Trap { from: step.pc, syscall_index, ..trap });
        }
        if let Some((offset, context)) = self.mode.take() {
            batch.push_context(offset, context);
        }
        self.next = match self.target.take() {
            Some(target) => Some(target),
            None => self.next.map(|pc| pc.wrapping_add(step.length.into())),
        };
        self.special = false;
        self.accesses = batch.begin_accesses();
        Ok(())
    }

    /// INST_MEM_CONTENT: the first word stays a word, more become bytes.
    fn content(&mut self, offset: u64, data: u64, batch: &mut Batch) -> Result<()> {
        let in_group = batch.mem.len() > self.accesses.mem_start as usize;
        let Some(last) = batch.mem.last_mut().filter(|_| in_group) else {
            return Err(orphan(offset, descriptor::INST_MEM_CONTENT));
        };
        match last.data {
            Value::Unknown => last.data = Value::Word(data),
            _ => last.data = append(last.data, data, &mut batch.bytes),
        }
        Ok(())
    }

    fn lift_rare(&mut self, offset: u64, record: &Record<'_>, batch: &mut Batch) -> Result<()> {
        if self.bus.is_some() && !matches!(record, Record::BusMasterContent { .. }) {
            self.flush_bus(batch);
        }
        match *record {
            Record::EndHeader {} => self.in_header = false,
            Record::ForcePc { pc } => self.next = Some(pc),
            Record::InstIem { mode } => {
                let isa = instruction_set(self.isa_number, mode);
                if !self.in_header {
                    batch.push_context(offset, Context { isa: Some(isa), ..Context::default() });
                }
                self.isa = isa;
                self.traps_on = TrapsOn::new(isa);
                self.named_sizes.clear();
            }
            Record::ProcessIdExt { first, second, third } => {
                let [first, second, third] = [first, second, third].map(|word| Some(u64::from(word)));
                let context = match self.config.process_id {
                    ProcessId::Library => {
                        Context { hw_thread: first, pid: second, tid: third, ..Context::default() }
                    }
                    ProcessId::Spec => Context { pid: first, tid: second, asid: third, ..Context::default() },
                };
                batch.push_context(offset, context);
            }
            Record::Comment { text } if !self.in_header => {
                let text = batch.add_bytes(text.0);
                batch.push(offset, EventKind::Mark(Mark { text, ..Mark::new(MarkKind::Note) }));
            }
            Record::InstReg { register } => {
                let access = reg_access(register, batch);
                batch.regs.push(access);
            }
            Record::InstReadyReg { number } => batch.regs.push(RegAccess {
                reg: Reg { class: RegClass::Other, number },
                role: RegRole::Ready,
                update: RegUpdate::Set,
                value: Value::Unknown,
                known: None,
            }),
            Record::PageTableWalk { address, first_use, size, entries } => {
                let entries = batch.add_bytes(entries.0);
                let walk = PageWalk { virtual_address: address, first_use, page_size: size.into(), entries };
                batch.push_state(offset, State::PageWalk(walk));
            }
            Record::BusMasterAccess { address, size, master, index, attributes, access } => {
                let bus = Bus {
                    kind: mem_kind(access),
                    address,
                    size: size.into(),
                    initiator: master,
                    index,
                    attributes,
                    data: Value::Unknown,
                    returned: Value::Unknown,
                    result: None,
                };
                self.bus = Some((offset, bus));
            }
            Record::BusMasterContent { data } => match &mut self.bus {
                Some((_, bus)) => bus.data = append(bus.data, data, &mut batch.bytes),
                None => return Err(orphan(offset, descriptor::BUS_MASTER_CONTENT)),
            },
            Record::Event { id, data } => self.event(offset, id, data, batch),
            Record::EventPcTarget { pc } => {
                (self.target, self.special) = (Some(pc), true);
                if let Some((_, trap)) = self.traps.last_mut() {
                    trap.to = Some(pc);
                }
            }
            Record::InstMicroop { size, op } => {
                self.special = true;
                self.micro_ops.push(size);
                self.micro_ops.extend_from_slice(&op.to_le_bytes());
            }
            Record::Transaction { .. } | Record::TransactionDependency { .. } | Record::ReserveEnd {} => {
                let mut raw = Vec::new();
                record.write(&mut raw, &Default::default());
                let data = batch.add_bytes(&raw);
                let code = record.descriptor().into();
                batch.push(offset, EventKind::Foreign(Foreign { format: ID, code, data }));
            }
            Record::Reserved {} => {
                return Err(ErrorKind::Illegal { found: 0 }.at(
                    offset,
                    "record",
                    "descriptor",
                    "STF_RESERVED (0)",
                ));
            }
            _ => {}
        }
        if batch.regs.len() - self.accesses.regs_start as usize > LARGEST_GROUP
            || self.micro_ops.len() > 5 * LARGEST_GROUP
            || self.traps.len() > LARGEST_GROUP
        {
            return Err(endless(offset));
        }
        Ok(())
    }

    fn event(&mut self, offset: u64, id: EventId, data: Data<'_>, batch: &mut Batch) {
        if id.special {
            let privilege = match (id.code, data.words().next()) {
                (MODE_CHANGE, Some(0)) => Some(Privilege::U),
                (MODE_CHANGE, Some(1)) => Some(Privilege::S),
                (MODE_CHANGE, Some(2)) => Some(Privilege::H),
                (MODE_CHANGE, Some(3)) => Some(Privilege::M),
                _ => None,
            };
            let context = Context { privilege, ..Context::default() };
            if self.traps.is_empty() {
                batch.push_context(offset, context);
            } else {
                // The mode of a trap applies after the instruction that trapped.
                self.mode = Some((offset, context));
            }
            return;
        }
        let kind = if id.interrupt { TrapKind::Interrupt } else { TrapKind::Exception };
        let words = batch.add_words(data.words());
        let field = |n: usize| data.words().nth(n);
        // The table "STF Exception Event and Event Meta-Data" names the field with the trap value.
        let (value, syscall) = match (id.interrupt, id.code) {
            (true, _) => (None, None),
            (_, 0 | 1 | 3 | 12) => (field(0), None),
            (_, 2) => (field(1), None),
            (_, 4..=7 | 13 | 15) => (field(2), None),
            (_, 8..=11) => (None, Some(Syscall::Ecall)),
            _ => (None, None),
        };
        self.traps.push((offset, Trap { cause: Some(id.code), value, words, syscall, ..Trap::new(kind) }));
        self.special = true;
    }

    fn flush_bus(&mut self, batch: &mut Batch) {
        if let Some((offset, bus)) = self.bus.take() {
            batch.push_state(offset, State::Bus(bus));
        }
    }

    /// Ends a part and delivers an incomplete group, too.
    pub(crate) fn end_part(&mut self, offset: u64, batch: &mut Batch) {
        self.flush_bus(batch);
        if let Some(accesses) = batch.end_accesses(self.accesses)
            && (accesses.mem_len > 0 || accesses.regs_len > 0)
        {
            self.sizes(0, &mut batch.mem[accesses.mem_start as usize..]);
            batch.push_state(offset, State::Contents(accesses));
        }
        for (offset, trap) in self.traps.drain(..) {
            batch.push_trap(offset, Trap { from: self.next, ..trap });
        }
        if let Some((offset, context)) = self.mode.take() {
            batch.push_context(offset, context);
        }
        if let Some(target) = self.target.take() {
            self.next = Some(target);
        }
        (self.special, self.branch_target) = (false, None);
        self.micro_ops.clear();
        self.accesses = batch.begin_accesses();
    }
}

/// Causes of a failed fetch. RISC-V: misaligned, access fault, page fault; Arm: instruction aborts and a
/// misaligned pc, by exception class.
fn is_fetch_fault(isa: Isa, cause: u64) -> bool {
    match isa {
        Isa::Rv32 | Isa::Rv64 => matches!(cause, 0 | 1 | 12),
        Isa::A64 | Isa::A32 | Isa::T32 => matches!(cause, 0x20..=0x22),
        Isa::Other => false,
    }
}

/// Encodings that trap and never retire, with or without an EVENT.
#[derive(Clone, Copy, Debug)]
pub(super) struct TrapsOn {
    isa: Isa,
    /// Mask and value of the bits that all such 4-byte opcodes share.
    wide: (u32, u32),
    /// The same for 2-byte opcodes.
    narrow: (u32, u32),
}

impl TrapsOn {
    #[inline(always)]
    pub(super) fn new(isa: Isa) -> Self {
        const ANY: (u32, u32) = (0, 0);
        const NONE: (u32, u32) = (0, 1);
        let (wide, narrow) = match isa {
            // ECALL and EBREAK, C.EBREAK.
            Isa::Rv32 | Isa::Rv64 => ((!(1 << 20), 0x73), (!0, 0x9002)),
            // Exception generation.
            Isa::A64 => ((0xff00_0000, 0xd400_0000), NONE),
            Isa::A32 | Isa::T32 => (ANY, ANY),
            _ => (NONE, NONE),
        };
        TrapsOn { isa, wide, narrow }
    }

    /// A quick test that is false for nearly all opcodes.
    #[inline(always)]
    pub(super) fn may_cover(self, opcode: u32, length: u8) -> bool {
        let (mask, value) = if length == 2 { self.narrow } else { self.wide };
        opcode & mask == value
    }

    fn covers(self, opcode: u32, length: u8) -> bool {
        use trackway_isa::Control::{Breakpoint, SystemCall};
        self.may_cover(opcode, length)
            && matches!(trackway_isa::flow(self.isa, 0, opcode).control, SystemCall | Breakpoint)
    }
}

#[inline(always)]
pub(super) fn mem_access(address: u64, size: u16, attributes: u16, access: u8) -> MemAccess {
    let access = MemAccess::new(mem_kind(access), address, size.into(), Value::Unknown);
    MemAccess { attributes: attributes.into(), ..access }
}

fn mem_kind(access: u8) -> MemKind {
    match access {
        access::READ => MemKind::Read,
        access::WRITE => MemKind::Write,
        _ => MemKind::Unknown,
    }
}

/// Appends a content word to `value`.
fn append(value: Value, word: u64, bytes: &mut Vec<u8>) -> Value {
    let start = match value {
        Value::Unknown => return Value::Word(word),
        Value::Word(first) => {
            let start = bytes.len();
            bytes.extend_from_slice(&first.to_le_bytes());
            start
        }
        // The contents of one access are adjacent: no other record adds bytes between them.
        Value::Bytes(span) => span.start as usize,
    };
    bytes.extend_from_slice(&word.to_le_bytes());
    Value::Bytes(Span { start: start as u32, len: (bytes.len() - start) as u32 })
}

fn reg_access(register: Register<'_>, batch: &mut Batch) -> RegAccess {
    let class = match (register.class(), register.number) {
        (reg_class::INTEGER, REG_PC) => RegClass::Pc,
        (reg_class::INTEGER, _) => RegClass::Int,
        (reg_class::FLOAT, _) => RegClass::Float,
        (reg_class::VECTOR, _) => RegClass::Vector,
        (reg_class::CSR, _) => RegClass::Csr,
        _ => RegClass::Other,
    };
    let number = if class == RegClass::Pc { 0 } else { register.number };
    let role = match register.role() {
        reg_role::SOURCE => RegRole::Source,
        reg_role::DESTINATION => RegRole::Destination,
        _ => RegRole::State,
    };
    let value = match register.content.first_chunk::<8>() {
        Some(word) if register.content.len() == 8 => Value::Word(u64::from_le_bytes(*word)),
        _ => Value::Bytes(batch.add_bytes(register.content)),
    };
    RegAccess { reg: Reg { class, number }, role, update: RegUpdate::Set, value, known: None }
}

#[cold]
fn orphan(offset: u64, descriptor: u8) -> Error {
    let (item, section) = describe(descriptor);
    ErrorKind::Impossible { found: descriptor.into() }.at(offset, item, "", section)
}

#[cold]
fn endless(offset: u64) -> Error {
    ErrorKind::Impossible { found: LARGEST_GROUP as u64 }.at(
        offset,
        "instruction group",
        "",
        "STF File Anatomy",
    )
}
