//! A writer that refuses illegal sequences.
//!
//! The producer writes the Header, splits long accesses and chains their Extra EAs, delays Timestamps and Contexts
//! until the place where they belong, and sanitises addresses. It shows every record to a [`Checker`] first: an error
//! there is a [`ProducerError`] here, and nothing is written (docs/design/astf-producer.md).

use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;

use trackway_core::{Counts, Error, ErrorKind, Fact, Finding, MemAccess, MemKind, Rule, Severity};
use trackway_isa::arm::memory::Memory;
use trackway_isa::arm::{Class, classify};

use crate::check::Checker;
use crate::config::{ReadConfig, WriteConfig};
use crate::layout::{RECORD, Words, to_bytes};
use crate::record::*;
use crate::sanitise;
use crate::write::{Writer, string_records};

/// How an instruction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// It completed, and the next one follows in memory; also for ERET, whose Trap has the target.
    Next,
    /// A branch that was not taken.
    NotTaken,
    /// A branch that was taken, with its target.
    Taken(u64),
    /// It took an exception.
    Trapped,
}

/// The producer did not write something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProducerError {
    /// The record would break a rule.
    Rule(Box<Finding>),
    /// The output failed, or the format cannot hold the request.
    Error(Error),
}

impl fmt::Display for ProducerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProducerError::Rule(finding) => {
                let Finding { rule, item, message, .. } = &**finding;
                let Rule { name, section, demand, .. } = rule;
                write!(f, "record {item} refused: {message}. {demand} [{name}, {section}]")
            }
            ProducerError::Error(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ProducerError {}

impl From<Error> for ProducerError {
    fn from(error: Error) -> Self {
        ProducerError::Error(error)
    }
}

impl From<ProducerError> for Error {
    fn from(refusal: ProducerError) -> Self {
        match refusal {
            ProducerError::Rule(finding) => {
                let Finding { rule, offset, item, .. } = *finding;
                // The demand, in place of the section.
                ErrorKind::Impossible { found: item }.at(offset, rule.name, "record", rule.demand)
            }
            ProducerError::Error(error) => error,
        }
    }
}

type Result<T> = std::result::Result<T, ProducerError>;

/// Writes a legal trace, instruction by instruction.
#[derive(Debug)]
pub struct Producer<W: Write> {
    writer: Writer<W>,
    checker: Checker,
    level: Level,
    va_bits: u8,
    /// Offset of the next record.
    offset: u64,
    /// The Context of the next instruction.
    wanted: Option<Context>,
    /// The last Context written.
    written: Option<Context>,
    /// The next instruction needs a Context, changed or not.
    force: bool,
    /// A Timestamp that waits for its place.
    time: Option<u64>,
    /// The last Timestamp written.
    last_time: Option<u64>,
    /// A Timestamp follows the last instruction: a second one would mean that the PE was suspended.
    timed: bool,
    /// Address of the next instruction in a Basic trace, unless the flow breaks.
    expected: Option<u64>,
    /// The last instruction waits for its Trap.
    trapped: bool,
    /// A Trap follows the last instruction.
    left: bool,
    /// The Context in `wanted` came after that Trap.
    entered: bool,
    /// Rules that may be broken, because the source does not record what they demand.
    tolerated: Vec<&'static Rule>,
    /// Number of violations of each of them.
    pub broken: BTreeMap<&'static str, u64>,
    /// Addresses that lost tags or authentication codes.
    pub sanitised: Counts,
    /// Times without a Timestamp of their own, because a later one took their place.
    pub superseded: u64,
    /// Records written since they were taken, where they are asked for.
    pub(crate) recent: Option<Vec<[u8; RECORD]>>,
}

impl<W: Write> Producer<W> {
    /// Begins a trace: writes the Header.
    pub fn create(out: W, level: Level, timestamps: bool, config: &WriteConfig) -> Result<Self> {
        let header = Header::new(level, timestamps);
        let mut checker = Checker::new(ReadConfig { va_bits: config.va_bits, ..ReadConfig::default() });
        checker.record(0, &header.write());
        Ok(Producer {
            writer: Writer::create(out, header, config)?,
            checker,
            level,
            va_bits: config.va_bits,
            offset: RECORD as u64,
            wanted: None,
            written: None,
            force: false,
            time: None,
            last_time: None,
            timed: false,
            expected: None,
            trapped: false,
            left: false,
            entered: false,
            tolerated: Vec::new(),
            broken: BTreeMap::new(),
            sanitised: Counts::default(),
            superseded: 0,
            recent: None,
        })
    }

    /// Counts violations of `rule` instead of refusing them: for sources that do not record what it demands.
    pub fn tolerate(&mut self, rule: &'static Rule) {
        self.tolerated.push(rule);
    }

    /// Writes a String: up to 65535 bytes, text or not.
    pub fn string(&mut self, bytes: &[u8]) -> Result<()> {
        let Ok(size) = u16::try_from(bytes.len()) else {
            let kind = ErrorKind::Unsupported { found: bytes.len() as u64 };
            return Err(kind.at(self.offset, "String", "size", "ASTF 4.8").into());
        };
        self.put(&string_records(size, bytes))
    }

    /// Sets the time, in microseconds. Of several between two instructions one is written: in BasicPlus two would mean
    /// that the PE was suspended (ASTF 4.9), see [`suspend`](Producer::suspend).
    pub fn timestamp(&mut self, value: u64) -> Result<()> {
        // Checked now, so that the call that caused the error returns it.
        let (_, findings) = self.judge(&[time(value)]);
        self.refuse(&findings)?;
        self.superseded += u64::from(self.time.replace(value).is_some_and(|before| before != value));
        Ok(())
    }

    /// Records that the PE did not execute between two times, after the last instruction (ASTF 4.9).
    pub fn suspend(&mut self, from: u64, to: u64) -> Result<()> {
        let last = self.last_time;
        let start = last.map_or(from, |last| from.max(last + 1));
        // A third Timestamp in a row is not allowed.
        let start =
            Some(start).filter(|start| *start < to && !(self.timed && self.level == Level::BasicPlus));
        let end = Some(to).filter(|to| from <= *to && last.is_none_or(|last| last < *to));
        let values: Vec<u64> = start.into_iter().chain(end).collect();
        self.put(&values.iter().copied().map(time).collect::<Vec<_>>())?;
        if let Some(last) = values.last() {
            (self.last_time, self.timed) = (Some(*last), true);
            let waited = self.time.take_if(|waits| *waits <= *last);
            self.superseded += u64::from(waited.is_some_and(|waited| !values.contains(&waited)));
        }
        Ok(())
    }

    /// Sets the execution state. It is written before the next instruction: in BasicPlus if it changed, in Basic also
    /// where the flow breaks.
    pub fn context(&mut self, context: Context) -> Result<()> {
        let switches = self.is_unsupported() || context.unsupported;
        let before = self.wanted.replace(context);
        self.entered = self.left;
        // No instruction may follow in an unsupported mode, so it is written at once.
        if switches && self.wanted != self.written {
            let records = self.prelude(true);
            self.put(&records).inspect_err(|_| self.wanted = before)?;
            self.wrote_prelude(true);
        }
        Ok(())
    }

    /// Marks a break in the flow that the next address may not show (Basic).
    pub fn discontinuity(&mut self) {
        self.force = self.level == Level::Basic;
    }

    /// Writes an instruction with its accesses, in the order in which they were made.
    pub fn instruction(
        &mut self,
        pc: u64,
        word: u32,
        done: Completion,
        accesses: &[MemAccess],
    ) -> Result<()> {
        self.indexed(pc, word, done, accesses, None)
    }

    /// Writes an instruction that computes an index into ZA.
    pub fn indexed(
        &mut self,
        pc: u64,
        word: u32,
        done: Completion,
        accesses: &[MemAccess],
        index: Option<u8>,
    ) -> Result<()> {
        let pc = self.strip(pc, Fact::Instructions);
        if let (Some(index), true) = (index, accesses.first().is_some_and(|access| access.range)) {
            // One attribute cannot hold both.
            let kind = ErrorKind::Impossible { found: index.into() };
            return Err(kind.at(self.offset, "Instruction", "xattr_mode", "ASTF 4.5").into());
        }
        let class = classify(pc, word);
        let mut list = Vec::with_capacity(accesses.len());
        for access in accesses {
            self.split(class, access, &mut list)?;
        }
        let mut first = Instruction {
            pc,
            iword: word,
            is_branch: matches!(class, Class::Branch { .. }),
            trap: done == Completion::Trapped,
            ..Instruction::default()
        };
        if let Some(index) = index {
            (first.xattr_mode, first.xattr) = (2, index.into());
        }
        if let Completion::Taken(target) = done {
            (first.is_branch, first.ea_valid, first.ea) = (true, true, self.strip(target, Fact::Targets));
        } else if done == Completion::NotTaken {
            first.is_branch = true;
        }
        let breaks = self.expected.is_some_and(|expected| expected != pc);
        let with_context = self.wanted != self.written
            || (self.level == Level::Basic && (self.force || breaks) && self.wanted.is_some());
        let mut records = self.prelude(with_context);
        chain(first, &list, &mut records);
        self.put(&records)?;
        self.wrote_prelude(with_context);
        (self.timed, self.left, self.entered) = (false, false, false);
        self.follow(&first, class);
        Ok(())
    }

    /// Notes what the next instruction depends on.
    fn follow(&mut self, record: &Instruction, class: Class) {
        self.trapped = record.trap;
        self.force = record.trap && self.level == Level::Basic;
        self.expected = match self.level {
            Level::BasicPlus => None,
            Level::Basic if class == Class::ExceptionReturn => Some(u64::MAX),
            Level::Basic if record.ea_valid && record.is_branch => Some(record.ea),
            Level::Basic => Some(record.pc.wrapping_add(4)),
        };
    }

    /// Writes a Trap (BasicPlus): the exception of the last instruction, an interrupt, a return, a reset.
    pub fn trap(&mut self, trap: Trap) -> Result<()> {
        // A Context between two Traps, or before the first, is the state in which it was taken.
        let with_context = (self.entered || self.written.is_none()) && self.wanted != self.written;
        let from = if with_context { self.wanted } else { self.written.or(self.wanted) };
        let el = TrapType(trap.trap_type).target_level(from.map(|context| context.el));
        let trap = Trap { target_pc: self.strip_at(trap.target_pc, el, Fact::TrapHandlers), ..trap };
        // The Trap of an instruction, or of a return, follows it directly; others come after the Timestamp.
        let time_first = !self.trapped && trap.trap_type != TrapType::RETURN.0;
        let mut records = if time_first { self.prelude(with_context) } else { Vec::new() };
        records.push(trap.write());
        self.put(&records)?;
        if time_first {
            self.wrote_prelude(with_context);
        }
        (self.trapped, self.left, self.entered) = (false, true, false);
        Ok(())
    }

    /// Class of the last instruction.
    pub(crate) fn last_class(&self) -> Option<Class> {
        self.checker.last_class()
    }

    /// Ends the trace, with the state after its last instruction or Trap.
    pub fn finish(&mut self) -> Result<W> {
        let is_legal = |records: &[Words]| self.judge(records).1.is_empty();
        let with_context = self.wanted != self.written && is_legal(&self.prelude(true));
        let records = self.prelude(with_context);
        self.put(&records)?;
        self.wrote_prelude(with_context);
        self.superseded += u64::from(self.time.take().is_some());
        let mut checker = self.checker.clone();
        checker.end(self.offset);
        let findings = checker.take();
        self.refuse(&findings)?;
        self.count(&findings);
        Ok(self.writer.finish()?)
    }

    /// True in a mode that the format does not cover.
    fn is_unsupported(&self) -> bool {
        self.written.is_some_and(|context| context.unsupported)
    }

    /// The Timestamp that waits, if it is allowed here.
    fn time_here(&self) -> Option<u64> {
        let again = self.timed && self.level == Level::BasicPlus && !self.is_unsupported();
        self.time.filter(|_| !again)
    }

    /// The records before the next instruction or Trap: a Timestamp, and the Context if `context`.
    fn prelude(&self, context: bool) -> Vec<Words> {
        let context = self.wanted.filter(|_| context).map(|context| context.write());
        self.time_here().map(time).into_iter().chain(context).collect()
    }

    fn wrote_prelude(&mut self, context: bool) {
        if let Some(time) = self.time_here() {
            (self.time, self.last_time, self.timed) = (None, Some(time), true);
        }
        if context {
            self.written = self.wanted;
        }
    }

    fn strip(&mut self, address: u64, fact: Fact) -> u64 {
        self.strip_at(address, self.wanted.map(|context| context.el), fact)
    }

    fn strip_at(&mut self, address: u64, el: Option<u8>, fact: Fact) -> u64 {
        let stripped = sanitise(address, self.va_bits, el);
        self.sanitised[fact] += u64::from(stripped != address);
        stripped
    }

    /// Splits an access into pieces of 256 bytes at most.
    fn split(&mut self, class: Class, access: &MemAccess, list: &mut Vec<Access>) -> Result<()> {
        let sizeless = matches!(
            class,
            Class::Memory(
                Memory::Prefetch
                    | Memory::Maintenance { .. }
                    | Memory::TlbMaintenance
                    | Memory::TlbRange
                    | Memory::OtherMaintenance
            )
        );
        let piece = Access {
            address: self.strip(access.address, Fact::MemoryAccesses),
            size: 0,
            range: access.range.then_some(access.size),
            tagged: access.tagged,
            read: matches!(access.kind, MemKind::Read | MemKind::ReadWrite),
            write: matches!(access.kind, MemKind::Write | MemKind::ReadWrite),
        };
        if access.range || sizeless {
            list.push(piece);
            return Ok(());
        }
        let marked = matches!(access.kind, MemKind::Prefetch | MemKind::Maintenance | MemKind::Faulting);
        // The event model cannot hold more pieces per instruction.
        if (access.size == 0 && !marked) || access.size > 256 * u64::from(u16::MAX) {
            let kind = ErrorKind::Unsupported { found: access.size };
            return Err(kind.at(self.offset, "Instruction", "ea_size", "ASTF 4.5.2").into());
        }
        let mut at = 0;
        loop {
            let len = (access.size - at).clamp(1, 256);
            let address = piece.address.wrapping_add(at);
            list.push(Access { address, size: (len - 1) as u8, ..piece });
            at += len;
            if at >= access.size {
                return Ok(());
            }
        }
    }

    /// Writes records if they are legal here.
    fn put(&mut self, records: &[Words]) -> Result<()> {
        let (checker, findings) = self.judge(records);
        self.refuse(&findings)?;
        self.count(&findings);
        self.checker = checker;
        for record in records {
            self.writer.put_words(record)?;
            self.offset += RECORD as u64;
            if let Some(recent) = &mut self.recent {
                recent.push(to_bytes(record));
            }
        }
        Ok(())
    }

    /// Shows records to a copy of the checker; returns the copy and its findings.
    fn judge(&self, records: &[Words]) -> (Checker, Vec<Finding>) {
        let mut checker = self.checker.clone();
        for (record, n) in records.iter().zip(0..) {
            checker.record(self.offset + n * RECORD as u64, record);
        }
        let findings = checker.take();
        (checker, findings)
    }

    fn tolerates(&self, rule: &Rule) -> bool {
        self.tolerated.iter().any(|tolerated| tolerated.name == rule.name)
    }

    /// Returns the first error that is not tolerated.
    fn refuse(&self, findings: &[Finding]) -> Result<()> {
        let error = |finding: &&Finding| finding.rule.severity == Severity::Error;
        match findings.iter().filter(error).find(|finding| !self.tolerates(finding.rule)) {
            Some(finding) => Err(ProducerError::Rule(Box::new(finding.clone()))),
            None => Ok(()),
        }
    }

    fn count(&mut self, findings: &[Finding]) {
        for finding in findings.iter().filter(|finding| finding.rule.severity == Severity::Error) {
            *self.broken.entry(finding.rule.name).or_default() += 1;
        }
    }
}

fn time(value0: u64) -> Words {
    Timestamp { unit: 1, value0, ..Timestamp::default() }.write()
}

/// The Instruction, and Extra EAs for its other accesses.
fn chain(mut first: Instruction, list: &[Access], records: &mut Vec<Words>) {
    let mut rest = list;
    if let (Some((access, others)), false) = (list.split_first(), first.is_branch) {
        first.ea_valid = true;
        first.ea = access.address;
        first.ea_size = access.size;
        first.ea_tagged = access.tagged;
        first.is_read = access.read;
        first.is_write = access.write;
        if let Some(range) = access.range {
            (first.xattr_mode, first.xattr) = (1, range);
        }
        rest = others;
    }
    // A branch with accesses gets Extra EAs, and the checker refuses it.
    first.extra_eas = !rest.is_empty();
    records.push(first.write());
    while let Some((access, others)) = rest.split_first() {
        rest = others;
        let mut extra = ExtraEa {
            mem0_tagged: access.tagged,
            mem0_is_read: access.read,
            mem0_is_write: access.write,
            mem0_size: access.size,
            mem0_addr: access.address,
            ..ExtraEa::default()
        };
        if let Some(range) = access.range {
            (extra.mem1_addr_range, extra.mem1_addr) = (true, range);
        } else if let Some((second, others)) = rest.split_first().filter(|(second, _)| second.range.is_none())
        {
            extra.mem1_valid = true;
            extra.mem1_tagged = second.tagged;
            extra.mem1_is_read = second.read;
            extra.mem1_is_write = second.write;
            extra.mem1_size = second.size;
            extra.mem1_addr = second.address;
            rest = others;
        }
        extra.extra_eas = !rest.is_empty();
        records.push(extra.write());
    }
}
