//! The state machine of the checker, record by record.

use trackway_core::{Finding, Rule};
use trackway_io::payload::Compression;
use trackway_isa::arm::Class;

use super::group::Group;
use crate::config::ReadConfig;
use crate::gap;
use crate::layout::{Field, Words};
use crate::record::*;
use crate::rules::*;

/// Checks records one by one.
///
/// ```
/// use trackway_astf::{Checker, ReadConfig, Header, Level, Timestamp};
/// let mut checker = Checker::new(ReadConfig::default());
/// checker.record(0, &Header::new(Level::Basic, false).write());
/// checker.record(32, &Timestamp { unit: 1, value0: 5, ..Timestamp::default() }.write());
/// assert_eq!(checker.take()[0].rule.name, "astf.timestamps-flag");
/// ```
#[derive(Clone, Debug)]
pub struct Checker {
    pub(super) config: ReadConfig,
    pub(super) level: Level,
    /// The Header's `timestamps`.
    pub(super) timestamps: bool,
    /// The Header's `compressed` is not set.
    pub(super) raw: bool,
    /// Number of the current record.
    pub(super) number: u64,
    /// Offset of the current record.
    pub(super) offset: u64,
    pub(super) found: Vec<Finding>,
    pub(super) waived: Vec<&'static str>,

    /// The current Context.
    pub(super) context: Option<Context>,
    /// The current or last instruction with its Extra EAs.
    pub(super) group: Option<Group>,
    /// More Extra EA records must follow.
    pub(super) open: bool,
    /// Instructions so far.
    pub(super) instructions: u64,
    /// Records since the last instruction.
    pub(super) since: SinceInstruction,
    /// Bytes of a string that are still to come.
    pub(super) string: Option<usize>,
    /// The last Timestamp.
    pub(super) time: Option<u64>,
    /// The missing first Timestamp has been reported.
    pub(super) time_missed: bool,
    /// In an unsupported mode: Timestamps in it, and whether a Trap ended it.
    pub(super) unsupported: Option<(u32, bool)>,
    /// Records were lost, and no Instruction was seen since.
    pub(super) records_lost: bool,
}

/// Records seen since the last instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct SinceInstruction {
    /// Place of the last Context: offset and number.
    pub(super) context: Option<(u64, u64)>,
    /// A Context has other ids than the one before it.
    pub(super) switched: bool,
    /// A String notes a gap: Trap and Context may be lost in it.
    pub(super) gap: bool,
    pub(super) trap: Option<Trap>,
    /// Number of Traps.
    pub(super) traps: u32,
    /// Exception level before the first Trap.
    pub(super) level_before: Option<u8>,
    /// Timestamps in a row.
    pub(super) times: u32,
    /// The flow left and came back through a mode that the format does not cover.
    pub(super) broken: bool,
    /// The instruction's Trap, or its exception return, has been seen.
    pub(super) answered: bool,
}

impl Checker {
    /// A checker before the first record.
    pub fn new(config: ReadConfig) -> Self {
        Checker {
            config,
            level: Level::BasicPlus,
            timestamps: false,
            raw: false,
            number: 0,
            offset: 0,
            found: Vec::new(),
            waived: Vec::new(),
            context: None,
            group: None,
            open: false,
            instructions: 0,
            since: SinceInstruction::default(),
            string: None,
            time: None,
            time_missed: false,
            unsupported: None,
            records_lost: false,
        }
    }

    /// Class of the last instruction.
    pub(crate) fn last_class(&self) -> Option<Class> {
        self.group.map(|group| group.class)
    }

    /// Suppresses findings of this rule.
    pub fn waive(&mut self, rule: &'static Rule) {
        self.waived.push(rule.name);
    }

    /// Records seen so far.
    pub fn records(&self) -> u64 {
        self.number
    }

    /// True if [`take`](Checker::take) returns something.
    #[inline]
    pub(crate) fn has_findings(&self) -> bool {
        !self.found.is_empty()
    }

    /// The findings since the last call.
    pub fn take(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.found)
    }

    pub(super) fn report(&mut self, rule: &'static Rule, message: impl FnOnce() -> String) {
        let (offset, item) = (self.offset, self.number);
        self.report_at(rule, offset, item, message);
    }

    pub(super) fn report_at(
        &mut self,
        rule: &'static Rule,
        offset: u64,
        item: u64,
        message: impl FnOnce() -> String,
    ) {
        if !self.waived.contains(&rule.name) {
            self.found.push(Finding { rule, offset, item, message: message() });
        }
    }

    /// Checks the next record.
    pub fn record(&mut self, offset: u64, words: &Words) {
        self.offset = offset;
        let record = Record::read(words);
        if self.records_lost && self.follows_loss(&record) {
            self.number += 1;
            return;
        }
        if self.number == 0 && !matches!(record, Record::Header(_)) {
            self.report(&HEADER_FIRST, || format!("the trace begins with {}", record.name()));
        }
        self.sequences(&record);
        if self.unsupported.is_some() {
            self.in_unsupported(&record);
        }
        match &record {
            Record::Header(header) => self.header(header),
            Record::Context(context) => self.take_context(context),
            Record::Instruction(instruction) => self.instruction(instruction),
            Record::ExtraEa(extra) => self.extra_ea(extra),
            Record::Trap(trap) => self.trap(trap),
            Record::StringRecord(string) => self.take_string(string),
            Record::StringContinuation(string) => self.string_part(&string.string),
            Record::Timestamp(timestamp) => self.timestamp(timestamp),
            Record::Unknown(words)
                if self.number == 1 && self.raw && Compression::is_likely(&words[0].to_le_bytes()) =>
            {
                self.report(&COMPRESSED_FLAG, || {
                    "compressed is 0, and what follows is compressed".to_string()
                });
            }
            Record::Unknown(words) => {
                let id = words[0] as u8;
                self.report(&RECORD_TYPE, || format!("type {id:#04x} is not known"));
            }
        }
        if may_have_reserved(&record, words) {
            self.reserved(&record);
        }
        self.number += 1;
    }

    /// Records up to this number are lost: the state so far does not apply, and a record that is missing may have been
    /// among them.
    pub(super) fn lose_records(&mut self, number: u64) {
        (self.group, self.open, self.string, self.unsupported) = (None, false, None, None);
        (self.context, self.since) = (None, SinceInstruction::default());
        (self.instructions, self.time_missed) = (self.instructions.max(1), true);
        (self.number, self.records_lost) = (number, true);
    }

    /// True for records before the first Instruction after a loss: they may belong to one that was lost.
    fn follows_loss(&mut self, record: &Record) -> bool {
        match record {
            Record::Instruction(_) => self.records_lost = false,
            Record::Context(context) => self.context = Some(*context),
            Record::Timestamp(timestamp) => self.time = Some(timestamp.value0),
            _ => {}
        }
        self.records_lost
    }

    /// The trace ends at `offset`.
    pub fn end(&mut self, offset: u64) {
        self.offset = offset;
        self.break_sequences(false, "the trace ends");
        if let Some(group) = self.group {
            self.unanswered(&group, "the trace ends");
            self.context_after_write(&group, None);
        }
        if self.instructions == 0 {
            self.report(&NO_INSTRUCTIONS, || "there is no Instruction record".to_string());
        }
    }

    /// Extra EAs and string parts must not be interrupted.
    fn sequences(&mut self, record: &Record) {
        match record {
            Record::ExtraEa(_) if self.open => {}
            Record::StringContinuation(_) if self.string.is_some() => {}
            _ => {
                let time = matches!(record, Record::Timestamp(_));
                self.break_sequences(time, record.name());
            }
        }
    }

    fn break_sequences(&mut self, by_time: bool, by: &str) {
        if std::mem::take(&mut self.open) {
            let rule = if by_time { &TIME_INTERLEAVED } else { &EXTRA_MISSING };
            self.report(rule, || format!("an Extra EA has to follow, found: {by}"));
            self.close_group();
        }
        if let Some(left) = self.string.take() {
            let rule = if by_time { &TIME_INTERLEAVED } else { &STRING_CUT };
            self.report(rule, || format!("{left} bytes of the string are missing, found: {by}"));
        }
    }

    fn reserved(&mut self, record: &Record) {
        let mut names = Vec::new();
        let unused = |name: &str| match record {
            Record::Instruction(instruction) => name == "xattr" && matches!(instruction.xattr_mode, 0 | 3),
            _ => false,
        };
        record.fields(&mut |field, _| {
            if field.reserved || unused(field.name) {
                names.push(field.name);
            }
        });
        if let Record::Instruction(instruction) = record
            && let Attribute::Sme(_, reserved @ 1..) = instruction.attribute()
        {
            let _ = reserved;
            names.push("sme.reserved56");
        }
        if !names.is_empty() {
            self.report(&RESERVED, || format!("{}: {} not 0", record.name(), names.join(", ")));
        }
    }

    fn header(&mut self, header: &Header) {
        if self.number > 0 {
            return self.report(&HEADER_ONCE, || "another Header".to_string());
        }
        (self.level, self.timestamps, self.raw) = (header.level(), header.timestamps, !header.compressed);
        let Header { magic_header, version_major: major, version_minor: minor, .. } = *header;
        if magic_header != Header::MAGIC {
            self.report(&MAGIC, || format!("magic_header is {magic_header:#x}"));
        }
        if !matches!((major, minor), (0, 10 | 11)) {
            self.report(&VERSION, || format!("version {major}.{minor}"));
        }
        let Header { reginfo, meminfo, addrinfo_d, addrinfo_i, pseudo, .. } = *header;
        if reginfo || meminfo || addrinfo_d || addrinfo_i || pseudo {
            self.report(&FUTURE_FLAGS, || "a flag for future use is set".to_string());
        }
        if header.use_zlib && !header.compressed {
            self.report(&ZLIB_UNUSED, || "use_zlib is set, compressed is not".to_string());
        }
    }

    /// ASTF 4.3: bits above the translated range equal bit 55, or are 0 where there is only one range.
    pub(super) fn address(&mut self, what: &'static str, address: u64) {
        self.address_at(what, address, self.context.map(|context| context.el));
    }

    /// The same at another level, or an unknown one.
    pub(super) fn address_at(&mut self, what: &'static str, address: u64, el: Option<u8>) {
        if crate::sanitise(address, self.config.va_bits, el) != address {
            self.report(&SANITISED, || format!("{what} {address:#018x} has bits above the address range"));
        }
    }

    pub(super) fn first_needs_time(&mut self, what: &str) {
        if self.timestamps && self.time.is_none() && !std::mem::replace(&mut self.time_missed, true) {
            self.report(&TIME_FIRST, || format!("no Timestamp before the first {what}"));
        }
    }

    fn instruction(&mut self, instruction: &Instruction) {
        self.first_needs_time("Instruction");
        if self.context.is_none() && self.instructions == 0 {
            self.report(&CONTEXT_FIRST, || "no Context before the first Instruction".to_string());
        }
        if let Some(group) = self.group {
            self.flow(&group, instruction.pc);
        }
        self.instructions += 1;
        self.since = SinceInstruction::default();
        self.group = Some(self.group_of(instruction));
        if !instruction.pc.is_multiple_of(4) {
            self.report(&PC_ALIGNED, || format!("pc {:#x}", instruction.pc));
        }
        self.address("pc", instruction.pc);
        if instruction.ea_valid {
            self.address("ea", instruction.ea);
        }
        self.open = instruction.extra_eas;
        if !self.open {
            self.close_group();
        }
    }

    fn extra_ea(&mut self, extra: &ExtraEa) {
        if !self.open {
            self.report(&EXTRA_ORPHAN, || "an Extra EA that no record announces".to_string());
        }
        let unused = ExtraEa {
            mem1_valid: false,
            mem1_addr_range: false,
            mem1_addr: if extra.mem1_addr_range { extra.mem1_addr } else { 0 },
            mem1_tagged: false,
            mem1_is_read: false,
            mem1_is_write: false,
            mem1_size: 0,
            ..*extra
        };
        if extra.mem1_addr_range {
            if *extra != (ExtraEa { mem1_addr_range: true, ..unused }) {
                self.report(&EXTRA_RANGE, || "a range with other mem1 fields".to_string());
            }
            if extra.mem0_size != 0 {
                self.report(&EXTRA_RANGE_SIZE, || format!("a range with mem0_size {}", extra.mem0_size));
            }
        } else if !extra.mem1_valid && *extra != unused {
            self.report(&EXTRA_UNUSED, || "mem1 fields without mem1_valid".to_string());
        }
        let (first, second) = extra.accesses();
        self.address("mem0_addr", first.address);
        if let Some(second) = second {
            self.address("mem1_addr", second.address);
        }
        if let (true, Some(group)) = (self.open, &mut self.group) {
            group.add(first);
            if let Some(second) = second {
                group.add(second);
            }
            self.open = extra.extra_eas;
            if !self.open {
                self.close_group();
            }
        }
    }

    fn take_string(&mut self, string: &StringRecord) {
        let size = usize::from(string.size);
        self.string = Some(size);
        self.since.gap |= string.string.starts_with(gap::MARK.as_bytes());
        self.string_part(&string.string);
    }

    fn string_part(&mut self, part: &[u8]) {
        let Some(left) = self.string.take() else {
            return self
                .report(&STRING_ORPHAN, || "a String continuation that continues nothing".to_string());
        };
        let here = left.min(part.len());
        if part[here..].iter().any(|byte| *byte != 0) {
            self.report(&STRING_PADDING, || "bytes after the end of the string".to_string());
        }
        if left > here {
            self.string = Some(left - here);
        }
    }

    fn timestamp(&mut self, timestamp: &Timestamp) {
        let Timestamp { unit, value0, .. } = *timestamp;
        if !self.timestamps {
            self.report(&TIME_FLAG, || "a Timestamp, and the Header's flag is not set".to_string());
        }
        if unit != 1 {
            self.report(&TIME_UNIT, || format!("unit {unit}"));
        }
        if value0 == u64::MAX {
            self.report(&TIME_MAXIMUM, || "value[0] is all ones".to_string());
        }
        if let Some(last) = self.time.filter(|last| *last >= value0) {
            self.report(&TIME_INCREASING, || format!("{value0} after {last}"));
        }
        self.time = Some(value0);
        self.since.times += 1;
        let awake = self.level == Level::BasicPlus && self.unsupported.is_none() && self.instructions > 0;
        if self.since.times > 2 && awake {
            self.report(&TIME_SUSPENDED, || "a third Timestamp without an Instruction between".to_string());
        }
    }
}

/// The bits of all reserved fields.
const fn reserved_bits(fields: &[Field]) -> Words {
    let (mut bits, mut n) = ([0; 4], 0);
    while n < fields.len() {
        let mut bit = fields[n].low;
        while fields[n].reserved && bit <= fields[n].high {
            bits[bit as usize / 64] |= 1 << (bit % 64);
            bit += 1;
        }
        n += 1;
    }
    bits
}

/// True if some field may be reserved and set: a quick test, almost always false.
fn may_have_reserved(record: &Record, words: &Words) -> bool {
    let any = |bits: Words| words.iter().zip(bits).any(|(word, bits)| word & bits != 0);
    match record {
        // The reserved bits of the attribute depend on its mode.
        Record::Instruction(it) => {
            it.xattr != 0 && it.xattr_mode != 1 || any(const { reserved_bits(Instruction::FIELDS) })
        }
        Record::ExtraEa(_) => any(const { reserved_bits(ExtraEa::FIELDS) }),
        Record::Context(_) => any(const { reserved_bits(Context::FIELDS) }),
        Record::Trap(_) => any(const { reserved_bits(Trap::FIELDS) }),
        Record::Timestamp(_) => any(const { reserved_bits(Timestamp::FIELDS) }),
        Record::Header(_) | Record::StringRecord(_) => true,
        Record::StringContinuation(_) | Record::Unknown(_) => false,
    }
}
