//! Is a trace legal, and by which rule is it not?
//!
//! The checker reads records, not events, so that a broken trace can be looked at. What needs the encoding
//! (`opcode.rs`) is asked when a group is complete.

pub(crate) mod encoding;

use std::ops::ControlFlow;

use trackway_core::{Finding, Isa, Result, Rule};

use crate::fields::{Data, EventId, Register};
use crate::header::instruction_set;
use self::encoding::Access;
use crate::open::{Records, Trace};
use crate::record::Record;
use crate::rules::*;
use crate::values::{MODE_CHANGE, access, features, generator, isa};

/// Checks all records of a trace against the rules and reports each violation; gives the number of records.
/// Damage costs the chunk it is in: the others are checked too, and then its error is returned.
pub fn check(trace: Trace, report: &mut dyn FnMut(Finding)) -> Result<u64> {
    let mut checker = Checker::new(report, &trace);
    let mut records = trace.records();
    let mut damage = None;
    loop {
        match check_part(&mut checker, &mut records) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                damage.get_or_insert(error);
                // Without a header nothing behind it can be judged.
                if checker.in_header || records.skip_part().is_none() {
                    break;
                }
                checker.lose();
            }
        }
    }
    checker.end();
    damage.map_or(Ok(checker.item), Err)
}

/// Checks the next part; false when there is none.
fn check_part(checker: &mut Checker<'_>, records: &mut Records) -> Result<bool> {
    let Some(pc) = records.enter()? else { return Ok(false) };
    if let Some(pc) = pc {
        checker.chunk(pc);
    }
    records.scan_part(&mut |offset: u64, record: &Record<'_>, _: &[u8]| {
        checker.record(offset, record);
        ControlFlow::Continue(())
    })?;
    Ok(true)
}

/// What has been seen, and the group that is being collected.
pub(crate) struct Checker<'r> {
    report: &'r mut dyn FnMut(Finding),
    /// Offset and number of the record at hand.
    pub(crate) offset: u64,
    item: u64,
    in_header: bool,
    /// How often each descriptor stood in the header and in the body.
    header: [u64; 256],
    body: [u64; 256],
    version: (u32, u32),
    isa_number: u16,
    pub(crate) isa: Isa,
    features: u64,
    /// What INST_REG records showed: operand values, state, vectors.
    registers: u64,
    has_vlen: bool,
    clocks: Vec<u8>,
    per_chunk: Option<u64>,
    /// Markers seen, and those at the start of the chunk.
    markers: u64,
    chunk_start: u64,
    /// Address of the next instruction.
    pub(crate) pc: Option<u64>,
    pub(crate) group: Group,
    /// The last instruction explains a FORCE_PC behind it: it trapped or returned from a trap.
    pub(crate) explained: bool,
    mode_known: bool,
    ended: bool,
    /// The chunk before was not read to its end.
    lost: bool,
}

/// What the records of one group said.
#[derive(Debug, Default)]
pub(crate) struct Group {
    /// Descriptor of the last record that has to stand in order; 0 at the start.
    last: u8,
    pub(crate) target: Option<u64>,
    event_target: Option<u64>,
    pub(crate) trapped: bool,
    pub(crate) accesses: Vec<Access>,
    /// A change of mode or process: it explains a FORCE_PC.
    switched: bool,
    forced: Option<u64>,
    /// Content records of the bus access at hand.
    bus_words: Option<u32>,
}

impl<'r> Checker<'r> {
    fn new(report: &'r mut dyn FnMut(Finding), trace: &Trace) -> Self {
        Checker {
            report,
            offset: 0,
            item: 0,
            in_header: true,
            header: [0; 256],
            body: [0; 256],
            version: (0, 0),
            isa_number: isa::RISCV,
            isa: Isa::Other,
            features: 0,
            registers: 0,
            has_vlen: false,
            clocks: Vec::new(),
            per_chunk: trace.per_chunk(),
            markers: 0,
            chunk_start: 0,
            pc: None,
            group: Group::default(),
            explained: true,
            mode_known: false,
            ended: false,
            lost: false,
        }
    }

    /// Reports a violation at the record at hand.
    pub(crate) fn found(&mut self, rule: &'static Rule, message: String) {
        (self.report)(Finding { rule, offset: self.offset, item: self.item, message });
    }

    fn record(&mut self, offset: u64, record: &Record<'_>) {
        self.offset = offset;
        if self.ended {
            self.found(&RESERVE_END_LAST, format!("{} follows it", record.name()));
        }
        let descriptor = usize::from(record.descriptor());
        if self.in_header {
            self.header_record(record);
            self.header[descriptor] += 1;
        } else {
            self.body_record(record);
            self.body[descriptor] += 1;
        }
        self.item += 1;
    }

    /// The rest of the part cannot be read: what led up to here says nothing about the next.
    fn lose(&mut self) {
        (self.group, self.pc, self.explained, self.lost) = (Group::default(), None, true, true);
    }

    fn chunk(&mut self, pc: u64) {
        let markers = self.markers - self.chunk_start;
        let complete = !std::mem::take(&mut self.lost);
        if let Some(declared) = self.per_chunk.filter(|&declared| complete && declared != markers) {
            self.found(
                &CHUNK_MARKERS,
                format!("the chunk before has {markers}, the file declares {declared}"),
            );
        }
        self.chunk_start = self.markers;
        if let Some(expected) = self.pc.filter(|&expected| expected != pc) {
            self.found(&CHUNK_PC, format!("the index says {pc:#x}, the records lead to {expected:#x}"));
        }
    }

    fn header_record(&mut self, record: &Record<'_>) {
        let is_identifier = matches!(record, Record::Identifier { magic: [b'S', b'T', b'F'] });
        if (self.item == 0) != is_identifier {
            self.found(&IDENTIFIER_FIRST, format!("record {} is {}", self.item, record.name()));
        }
        if (self.item == 1) != matches!(record, Record::Version { .. }) && self.item > 0 {
            self.found(&VERSION_SECOND, format!("record {} is {}", self.item, record.name()));
        }
        let again = self.header[usize::from(record.descriptor())] > 0;
        let once = match record {
            Record::Isa { .. } => Some(&ISA_ONCE),
            Record::InstIem { .. } => Some(&IEM_ONCE),
            Record::TraceInfoFeature { .. } => Some(&FEATURE_ONCE),
            Record::ProcessIdExt { .. } => Some(&PROCESS_ID_ONCE),
            Record::ForcePc { .. } => Some(&FORCE_PC_HEADER),
            Record::VlenConfig { .. } => Some(&VLEN_ONCE),
            Record::IsaExtended { .. } => Some(&ISA_EXTENDED_ONCE),
            _ => None,
        };
        if let Some(rule) = once.filter(|_| again) {
            self.found(rule, format!("a second {}", record.name()));
        }
        match *record {
            Record::Version { major, minor } => {
                self.version = (major, minor);
                if major != 1 || !(2..=6).contains(&minor) {
                    self.found(&VERSION_KNOWN, format!("version {major}.{minor}"));
                }
            }
            Record::Isa { isa } => {
                self.isa_number = isa;
                if !(1..=4).contains(&isa) {
                    self.found(&ISA_KNOWN, format!("ISA {isa}"));
                }
            }
            Record::InstIem { mode } => {
                if self.header[4] == 0 {
                    self.found(&ISA_BEFORE_IEM, "INST_IEM comes first".into());
                }
                self.encoding_mode(mode);
            }
            Record::TraceInfo { generator: number, .. }
                if generator(number).starts_with("0x") || number == 0 =>
            {
                self.found(&GENERATOR_KNOWN, format!("generator {number:#x}"));
            }
            Record::TraceInfoFeature { features: bits } => {
                self.features = bits;
                for bit in features::NAMES.len()..64 {
                    if bits >> bit & 1 == 1 {
                        self.found(&FEATURE_KNOWN, format!("bit {bit}"));
                    }
                }
                self.holds(bits & features::EVENT64 != 0, "64-bit events", (1, 5));
            }
            Record::ForcePc { pc } => self.pc = Some(pc),
            Record::VlenConfig { bits } => {
                self.has_vlen = true;
                if bits < 64 {
                    self.found(&VLEN_VALUE, format!("{bits} bits"));
                }
                self.holds(true, record.name(), (1, 4));
            }
            Record::IsaExtended { .. } => self.holds(true, record.name(), (1, 6)),
            Record::ProtocolId { protocol } if protocol != crate::fields::TILELINK => {
                self.found(&PROTOCOL_KNOWN, format!("protocol {protocol}"));
            }
            Record::ClockId { clock, .. } => {
                if clock == 0 || self.clocks.contains(&clock) {
                    self.found(&CLOCK_ID, format!("clock {clock}"));
                }
                self.clocks.push(clock);
            }
            Record::EndHeader {} => self.end_header(),
            _ if !record.is_header() => {
                self.found(&HEADER_ONLY, format!("{} before END_HEADER", record.name()));
                self.end_header();
                self.body_record(record);
            }
            _ => {}
        }
    }

    /// A record that an older version than `since` does not know.
    fn holds(&mut self, used: bool, what: &str, since: (u32, u32)) {
        if used && self.version < since {
            let ((major, minor), (first_major, first_minor)) = (self.version, since);
            let message = format!("{what} in a {major}.{minor} trace; {first_major}.{first_minor} has it");
            self.found(&VERSION_HOLDS, message);
        }
    }

    fn encoding_mode(&mut self, mode: u16) {
        self.isa = instruction_set(self.isa_number, mode);
        if self.isa == Isa::Other {
            self.found(&IEM_KNOWN, format!("mode {mode:#x} of ISA {}", self.isa_number));
        }
    }

    fn end_header(&mut self) {
        self.in_header = false;
        let transactions = self.header[11] > 0;
        let missing: [(u8, &'static Rule); 6] = [
            (3, &COMMENT_THERE),
            (4, &ISA_ONCE),
            (5, &IEM_ONCE),
            (6, &TRACE_INFO_THERE),
            (7, &FEATURE_ONCE),
            (9, &FORCE_PC_HEADER),
        ];
        for (descriptor, rule) in missing {
            // A transaction trace has clocks in place of an instruction stream.
            let needed = !transactions || matches!(descriptor, 3 | 6 | 7);
            if needed && self.header[usize::from(descriptor)] == 0 {
                self.found(rule, format!("no {} in the header", crate::record::describe(descriptor).0));
            }
        }
        let declared = self.features & features::RV64 != 0;
        if self.header[7] > 0
            && matches!(self.isa, Isa::Rv32 | Isa::Rv64)
            && declared != (self.isa == Isa::Rv64)
        {
            self.found(&IEM_FEATURE, format!("INST_IEM says {}", self.isa));
        }
    }

    fn body_record(&mut self, record: &Record<'_>) {
        self.order(record);
        if let Some(words) =
            self.group.bus_words.take_if(|_| !matches!(record, Record::BusMasterContent { .. }))
            && words == 0
        {
            self.found(&BUS_CONTENT_MISSING, "no BUS_MASTER_CONTENT follows".into());
        }
        if matches!(self.group.accesses.last(), Some(Access { words: 0, .. }))
            && self.group.last == 60
            && !matches!(record, Record::InstMemContent { .. })
        {
            self.found(&MEM_CONTENT_MISSING, "no INST_MEM_CONTENT follows".into());
        }
        match *record {
            Record::Comment { .. } => {}
            Record::InstIem { mode } => self.encoding_mode(mode),
            Record::ProcessIdExt { .. } => {
                self.group.switched = true;
                if self.body[8] == 0 {
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
            Record::PageTableWalk { first_use, size, entries, .. } => self.walk(first_use, size, entries),
            Record::InstMemAccess { size, access, .. } => {
                if !matches!(access, access::READ | access::WRITE) {
                    self.found(&MEM_TYPE, format!("type {access}"));
                }
                let offset = self.offset;
                self.group.accesses.push(Access { offset, size, kind: access, words: 0, data: 0 });
            }
            Record::InstMemContent { data } => {
                let follows = matches!(self.group.last, 60 | 61);
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
                if self.body[62] == 0 {
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
                if self.group.last != 100 {
                    self.found(&EVENT_TARGET, "no EVENT before it".into());
                }
            }
            Record::InstMicroop { size, .. } if !matches!(size, 2 | 4) => {
                self.found(&MICROOP_SIZE, format!("{size} bytes"));
            }
            Record::InstOpcode32 { opcode } => self.instruction(opcode, 4),
            Record::InstOpcode16 { opcode } => self.instruction(opcode.into(), 2),
            Record::Transaction { clock, .. } | Record::TransactionDependency { clock, .. } => {
                if self.header[11] == 0 {
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
            Record::InstReadyReg { .. } | Record::InstMicroop { .. } => {}
            _ => self.found(&HEADER_ONLY, format!("{} behind END_HEADER", record.name())),
        }
        match record.descriptor() {
            // These stand anywhere and do not count for the order.
            3 | 8 | 9 => {}
            240 | 241 | 250 => self.group.last = 0,
            descriptor => self.group.last = descriptor,
        }
    }

    /// Numbers do not descend within a group, but for the repetitions that stf_lib's writer allows.
    fn order(&mut self, record: &Record<'_>) {
        let (last, now) = (self.group.last, record.descriptor());
        let allowed = now >= last
            || matches!(now, 3 | 8 | 9)
            || matches!((last, now), (61, 60) | (63, 62) | (101, 100) | (100, 100))
            || (matches!(now, 40 | 41) && matches!(last, 50 | 61))
            || (now == 31 && matches!(last, 40 | 41 | 50));
        if !allowed {
            let before = crate::record::describe(last).0;
            self.found(&ORDER, format!("{} behind {before}", record.name()));
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
            1 => number <= 32,
            2 | 3 => number < 32,
            4 => number < 0x1000,
            _ => true,
        };
        if !exists {
            self.found(&REG_NUMBER, format!("number {number}"));
        }
        if class == Register::VECTOR && !self.has_vlen {
            self.found(&REG_VECTOR_LENGTH, "no VLEN_CONFIG in the header".into());
        }
        self.registers |= match register.role() {
            1 => features::REGISTER_STATE,
            _ => features::OPERAND_VALUE,
        };
        self.registers |= if class == Register::VECTOR { features::VECTOR } else { 0 };
    }

    fn walk(&mut self, first_use: u64, size: u32, entries: crate::fields::Entries<'_>) {
        let leaf = entries.pairs().last();
        // A leaf can be read or executed; privileged spec, address translation.
        if leaf.is_none_or(|(_, raw)| raw & 0b1010 == 0) {
            self.found(&WALK_ENTRIES, "the last entry is no leaf".into());
        }
        if !size.is_power_of_two() || size < 4096 {
            self.found(&WALK_SIZE, format!("{size} bytes"));
        }
        if first_use != self.markers {
            let message = format!("says instruction {first_use}, stands before {}", self.markers);
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
            return;
        }
        self.group.trapped = true;
        let wanted = match (id.interrupt, id.code) {
            (true, 0..=13) | (false, 0 | 1 | 3 | 8..=11) => 1,
            (false, 12) => 2,
            (false, 2 | 4..=7 | 13 | 15) => 3,
            (false, 16..=63) | (true, 16..) => 0,
            _ => {
                self.found(&EVENT_KNOWN, format!("event {:#x}", id.code));
                0
            }
        };
        if fields < wanted {
            self.found(&EVENT_FIELDS, format!("{fields} of {wanted}"));
        }
    }

    fn instruction(&mut self, opcode: u32, width: u8) {
        if self.markers == 0 && !self.mode_known {
            self.found(&MODE_AT_START, "the privilege of the first instruction is not known".into());
        }
        if let Some(pc) = self.group.forced {
            let moves = self.pc.is_some_and(|expected| expected != pc);
            if moves && self.markers > 0 && !self.explained && !self.group.switched {
                let expected = self.pc.unwrap_or(0);
                self.found(&PC_CONTINUITY, format!("from {expected:#x} to {pc:#x} without a cause"));
            }
            self.pc = Some(pc);
        }
        self.explained = true;
        self.opcode(opcode, width);
        self.group.accesses.clear();
        let next = self.pc.map(|pc| pc.wrapping_add(width.into()));
        self.pc = self.group.event_target.or(self.group.target).or(next);
        let accesses = std::mem::take(&mut self.group.accesses);
        self.group = Group { accesses, ..Group::default() };
        self.markers += 1;
    }

    /// The end: what was promised and not kept, and what was left open.
    fn end(&mut self) {
        if self.in_header {
            self.found(&END_HEADER_ONCE, "no END_HEADER".into());
        }
        if self.markers == 0 {
            self.found(&EMPTY, "no instruction and no transaction".into());
        }
        if self.group.last != 0 && !self.ended {
            let name = crate::record::describe(self.group.last).0;
            self.found(&GROUP_OPEN, format!("{name} behind the last instruction"));
        }
        let count = |descriptor: usize| self.header[descriptor] + self.body[descriptor] > 0;
        let there = [
            (features::EVENT, count(100)),
            (features::PTE, count(50)),
            (features::PROCESS_ID, count(8)),
            (features::MICROOP, count(230)),
            (features::TRANSACTIONS, count(250)),
            (features::OPERAND_VALUE, self.registers & features::OPERAND_VALUE != 0),
            (features::REGISTER_STATE, self.registers & features::REGISTER_STATE != 0),
            (features::VECTOR, self.registers & features::VECTOR != 0),
            // No record carries a physical address.
            (features::PHYSICAL_ADDRESS, false),
        ];
        for (bit, there) in there {
            let name = features::NAMES[bit.trailing_zeros() as usize];
            match (self.features & bit != 0, there) {
                (true, false) => self.found(&FEATURE_KEPT, format!("{name} is declared, there is none")),
                (false, true) => self.found(&FEATURE_DECLARED, format!("{name} is there and not declared")),
                _ => {}
            }
        }
    }
}
