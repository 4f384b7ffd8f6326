//! The state machine of lifting: one record after the other.

use serde::{Deserialize, Serialize};
use trackway_core::*;
use trackway_isa::arm::memory::{self, Memory};

use crate::config::ID;
use crate::gap;
use crate::layout::{RECORD, Words, from_bytes};
use crate::record::{
    Access, Attribute, ExtraEa, Instruction, Level, Record, StringContinuation, StringRecord, Timestamp,
    TrapType,
};

/// All state that carries over from record to record.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct State {
    #[serde(skip)]
    pub(super) level: Level,
    /// Address of the last instruction; 0 before the first.
    pub(super) last_pc: u64,
    /// Address of the next instruction, where the records so far decide it.
    pub(super) expected: Option<u64>,
    /// Extra EAs of the last instruction follow.
    pub(crate) open: bool,
    /// First word of the last instruction's record: flags and instruction word; 0 before the first.
    pub(super) last: u64,
    /// A vector length other than 128 bits was seen: from then on `evl` 0 means 128 bits, not "no SVE".
    pub(super) scalable: bool,
    pub(super) unsupported: bool,
    /// A String noted here that instructions were left out; an unsupported mode that follows is a part of it.
    pub(super) gap_noted: bool,
    /// Timestamps since the last instruction.
    pub(super) times: u32,
    /// The last Timestamp.
    pub(super) time: u64,
    /// Instructions so far.
    #[serde(skip)]
    pub(super) instructions: u64,
    /// Records other than instructions, by kind.
    #[serde(skip)]
    pub(super) others: [u64; 7],
    /// An incomplete string: offset of its first record, size, bytes so far.
    #[serde(skip)]
    pub(super) string: Option<(u64, usize, Vec<u8>)>,
}

/// `trap` in the first word of an Instruction.
const TRAP_FLAG: u64 = 1 << 18;
/// `trap`, and the `xattr_mode` of an SME index.
const RARE_FLAGS: u64 = TRAP_FLAG | 1 << 9;

/// Events of a full batch: few enough to stay in the first-level cache.
pub(crate) const FULL: usize = 128;

impl State {
    pub(crate) fn new(level: Level) -> Self {
        State {
            level,
            last_pc: 0,
            expected: None,
            open: false,
            last: 0,
            scalable: false,
            unsupported: false,
            gap_noted: false,
            times: 0,
            time: 0,
            instructions: 0,
            others: [0; 7],
            string: None,
        }
    }

    pub(super) fn count(&mut self, id: u8) {
        let kind = match id {
            ExtraEa::ID => 0,
            crate::record::Context::ID => 1,
            crate::record::Trap::ID => 2,
            StringRecord::ID => 3,
            StringContinuation::ID => 4,
            Timestamp::ID => 5,
            _ => 6,
        };
        self.others[kind] += 1;
    }

    /// Lifts records until the batch is full; returns how many.
    pub(crate) fn lift(&mut self, offset: u64, chunk: &[[u8; RECORD]], batch: &mut Batch) -> usize {
        let room = FULL.saturating_sub(batch.events.len()).max(1);
        let chunk = &chunk[..room.min(chunk.len())];
        let mut rest = chunk;
        while !rest.is_empty() {
            let at = offset + (chunk.len() - rest.len()) as u64 * RECORD as u64;
            let common = self.common(at, rest, batch);
            rest = &rest[common..];
            if let Some((record, others)) = rest.split_first() {
                self.record(at + (common * RECORD) as u64, record, batch);
                rest = others;
            }
        }
        chunk.len()
    }

    /// Lifts one record of any type.
    pub(super) fn record(&mut self, offset: u64, record: &[u8; RECORD], batch: &mut Batch) {
        let words = from_bytes(record);
        if words[0] as u8 == Instruction::ID {
            self.instruction(offset, &words, batch);
        } else {
            self.other(offset, &words, batch);
        }
    }

    fn instruction(&mut self, offset: u64, words: &Words, batch: &mut Batch) {
        let record = Instruction::read(words);
        if self.expected.is_some_and(|pc| pc != record.pc) || self.string.is_some() || self.open {
            self.interruption(offset, record.pc, batch);
        }
        let mut step = Step::new(record.pc, record.iword, 4);
        (self.expected, self.gap_noted) = (Some(record.pc.wrapping_add(4)), false);
        if record.is_branch {
            step.taken = Some(record.ea_valid);
            if record.ea_valid {
                self.expected = Some(record.ea);
                step.extra = batch.add_extra(StepExtra { target: Some(record.ea), ..StepExtra::default() });
            }
        } else if record.ea_valid {
            step.accesses = Accesses { mem_len: 1, ..batch.begin_accesses() };
            push_access(words[0], &access_of(&record), batch);
        }
        // Rare: traps, SME indices, exception-generating instructions and exception returns.
        let rare = words[0] & RARE_FLAGS != 0 || matches!(words[0] >> 56, 0xd4 | 0xd6);
        if rare {
            self.rare(&record, &mut step, batch);
        }
        batch.push(offset, EventKind::Step(step));
        self.instructions += 1;
        self.open = record.extra_eas;
        self.last_pc = record.pc;
        self.last = words[0];
        self.times = 0;
    }

    /// Attributes that few instructions have.
    fn rare(&mut self, record: &Instruction, step: &mut Step, batch: &mut Batch) {
        if let Attribute::Sme(index, _) = record.attribute() {
            let target = (step.taken == Some(true)).then_some(record.ea);
            let extra = StepExtra { sme_index: Some(index.into()), target, ..StepExtra::default() };
            step.extra = batch.add_extra(extra);
        }
        // Exception-generating instructions never retire, even without the flag.
        let calls = never_retires(record.iword);
        if record.trap || calls {
            step.outcome = Outcome::Attempted;
        }
        if record.trap {
            step.taken = None;
        }
        match self.level {
            // The handler is not in the trace; execution resumes after a call, and at any other instruction that trapped.
            Level::Basic if record.trap && !calls => self.expected = Some(record.pc),
            Level::BasicPlus if record.trap => self.expected = None,
            _ if is_exception_return(record.iword) => self.expected = None,
            _ => {}
        }
    }

    /// Ends an incomplete string and reports a break in the flow before the instruction at `pc`.
    #[cold]
    fn interruption(&mut self, offset: u64, pc: u64, batch: &mut Batch) {
        self.end_string(batch);
        self.open = false;
        if self.expected.is_some_and(|expected| expected != pc) {
            let reason = match self.level {
                Level::Basic => GapReason::Filtered,
                Level::BasicPlus => GapReason::Unexplained,
            };
            batch.push_gap(offset, Gap { from: Some(self.last_pc), to: Some(pc), ..Gap::new(reason) });
        }
    }

    fn other(&mut self, offset: u64, words: &Words, batch: &mut Batch) {
        let record = Record::read(words);
        self.count(words[0] as u8);
        if !matches!(record, Record::StringContinuation(_)) {
            self.end_string(batch);
        }
        let was_open = std::mem::take(&mut self.open);
        self.gap_noted &= matches!(record, Record::Context(_) | Record::Timestamp(_));
        match record {
            Record::ExtraEa(extra) if was_open => self.extra_ea(offset, &extra, batch),
            Record::Context(_) => self.context(offset, words, batch),
            Record::Trap(trap) => self.trap(offset, &trap, batch),
            Record::Timestamp(time) if time.unit == 1 => self.timestamp(offset, &time, batch),
            Record::StringRecord(string) => {
                self.string = Some((offset, usize::from(string.size), Vec::new()));
                self.string_part(&string.string, batch);
            }
            Record::StringContinuation(part) if self.string.is_some() => {
                self.string_part(&part.string, batch);
            }
            _ => {
                let data = batch.add_bytes(&crate::layout::to_bytes(words));
                let foreign = Foreign { format: ID, code: words[0] as u8 as u32, data };
                batch.push(offset, EventKind::Foreign(foreign));
            }
        }
    }

    /// Adds accesses to the last event, a step.
    fn extra_ea(&mut self, offset: u64, extra: &ExtraEa, batch: &mut Batch) {
        let (first, second) = extra.accesses();
        let count = 1 + u16::from(second.is_some());
        let room = match batch.events.last() {
            Some(Event { kind: EventKind::Step(step), .. }) => step.accesses.mem_len.checked_add(count),
            _ => None,
        };
        let Some(mem_len) = room else {
            let data = batch.add_bytes(&crate::layout::to_bytes(&extra.write()));
            let foreign = Foreign { format: ID, code: ExtraEa::ID.into(), data };
            batch.push(offset, EventKind::Foreign(foreign));
            return;
        };
        if mem_len == count {
            // The instruction itself has no access: illegal, but readable.
            let begun = batch.begin_accesses();
            if let Some(Event { kind: EventKind::Step(step), .. }) = batch.events.last_mut() {
                step.accesses = begun;
            }
        }
        push_access(self.last, &first, batch);
        if let Some(second) = second {
            push_access(self.last, &second, batch);
        }
        if let Some(Event { kind: EventKind::Step(step), .. }) = batch.events.last_mut() {
            step.accesses.mem_len = mem_len;
        }
        self.open = extra.extra_eas;
    }

    /// Updates the state for the records that follow.
    pub(super) fn apply_context(&mut self, record: &crate::record::Context) {
        self.scalable |= record.evl != 0 || record.pstate_sm;
        self.unsupported = record.unsupported;
    }

    pub(super) fn context(&mut self, offset: u64, words: &Words, batch: &mut Batch) {
        let record = crate::record::Context::read(words);
        if std::mem::take(&mut self.gap_noted) && record.unsupported {
            (self.expected, self.times) = (None, 0);
            return;
        }
        const LEVELS: [Privilege; 4] = [Privilege::El0, Privilege::El1, Privilege::El2, Privilege::El3];
        let security = if record.secure { Security::Secure } else { Security::NonSecure };
        let unsupported = (record.unsupported != self.unsupported).then_some(record.unsupported);
        self.apply_context(&record);
        if record.unsupported {
            self.expected = None;
        }
        let context = Context {
            privilege: Some(LEVELS[usize::from(record.el)]),
            security: Some(security),
            own_stack: Some(record.handler),
            pid: record.pid_valid.then_some(record.pid),
            tid: record.tid_valid.then_some(record.tid),
            // 0 also means that SVE is not implemented.
            vector_bits: self.scalable.then_some((u32::from(record.evl) + 1) * 128),
            streaming: Some(record.pstate_sm),
            dit: Some(record.pstate_dit),
            ssbs: Some(record.pstate_ssbs),
            mte: Some(record.mte_tcf),
            unsupported,
            ..Context::default()
        };
        batch.push_context(offset, context);
    }

    fn trap(&mut self, offset: u64, record: &crate::record::Trap, batch: &mut Batch) {
        let kind = match TrapType(record.trap_type) {
            TrapType::SYNCHRONOUS => TrapKind::Exception,
            TrapType::SERROR | TrapType::IRQ | TrapType::FIQ => TrapKind::Interrupt,
            TrapType::RETURN => TrapKind::Return,
            TrapType::RESET => TrapKind::Reset,
            _ => TrapKind::Unknown,
        };
        let syscall = match record.syscall_type {
            1 => Some(Syscall::Svc),
            2 => Some(Syscall::Hvc),
            3 => Some(Syscall::Smc),
            _ => None,
        };
        let classed = kind == TrapKind::Exception || record.trap_type == TrapType::SERROR.0;
        let from = match kind {
            TrapKind::Exception if self.last & TRAP_FLAG != 0 => Some(self.last_pc),
            TrapKind::Return => Some(self.last_pc),
            // It was taken where the flow would have continued, which is the target after a branch or a return.
            TrapKind::Exception | TrapKind::Interrupt => self.expected,
            _ => None,
        };
        let trap = Trap {
            cause: (kind == TrapKind::Interrupt || kind == TrapKind::Unknown)
                .then_some(record.trap_type.into()),
            class: classed.then_some(record.ec),
            from,
            to: Some(record.target_pc),
            is_virtual: record.is_virtual,
            syscall,
            syscall_index: syscall.map(|_| record.syscall_index.into()),
            ..Trap::new(kind)
        };
        self.expected = Some(record.target_pc);
        self.last &= !TRAP_FLAG;
        batch.push_trap(offset, trap);
    }

    fn timestamp(&mut self, offset: u64, record: &Timestamp, batch: &mut Batch) {
        let value = record.value0;
        // Two in a row: the PE was suspended in between (4.9).
        if self.times == 1 && self.level == Level::BasicPlus && !self.unsupported && self.last != 0 {
            let slept = value.saturating_sub(self.time);
            batch
                .push(offset, EventKind::Mark(Mark { value: Some(slept), ..Mark::new(MarkKind::Suspended) }));
        }
        self.times = self.times.saturating_add(1);
        self.time = value;
        let time = Time { kind: TimeKind::Timestamp, value: Some(value), clock: 0 };
        batch.push(offset, EventKind::Time(time));
    }

    fn string_part(&mut self, part: &[u8], batch: &mut Batch) {
        let Some((_, size, bytes)) = &mut self.string else { return };
        let left = (*size - bytes.len()).min(part.len());
        bytes.extend_from_slice(&part[..left]);
        if bytes.len() == *size {
            self.end_string(batch);
        }
    }

    /// Delivers a string: a gap that was noted, or text as a note; other bytes, and an incomplete string, verbatim.
    pub(super) fn end_string(&mut self, batch: &mut Batch) {
        let Some((offset, size, bytes)) = self.string.take() else { return };
        let text = std::str::from_utf8(&bytes).ok().filter(|text| text.len() == size);
        if text.is_some_and(|text| gap::read(offset, text, batch)) {
            self.gap_noted = batch.gaps.last().is_some_and(|gap| gap.reason == GapReason::Filtered);
            self.expected = None;
            return;
        }
        let is_text = text.is_some();
        let span = batch.add_bytes(&bytes);
        let kind = if is_text {
            EventKind::Mark(Mark { text: span, ..Mark::new(MarkKind::Note) })
        } else {
            let code = StringRecord::ID.into();
            EventKind::Foreign(Foreign { format: ID, code, data: span })
        };
        batch.push(offset, kind);
    }
}

/// ERET, ERETAA, ERETAB and DRPS.
#[inline]
pub(super) fn is_exception_return(word: u32) -> bool {
    word & 0xffc0_0000 == 0xd680_0000
}

/// SVC, HVC, SMC and BRK.
#[inline]
fn never_retires(word: u32) -> bool {
    word >> 24 == 0xd4
        && (matches!(word & 0xffe0_001f, 0xd400_0001..=0xd400_0003) || word & 0xffe0_001f == 0xd420_0000)
}

#[inline]
fn access_of(record: &Instruction) -> Access {
    Access {
        address: record.ea,
        size: record.ea_size,
        range: (record.xattr_mode == 1).then_some(record.xattr),
        tagged: record.ea_tagged,
        read: record.is_read,
        write: record.is_write,
    }
}

#[inline]
fn push_access(word: u64, access: &Access, batch: &mut Batch) {
    let mut size = u64::from(access.size) + 1;
    let kind = match (access.read, access.write) {
        (true, false) => MemKind::Read,
        (false, true) => MemKind::Write,
        (true, true) => MemKind::ReadWrite,
        (false, false) => bare_kind(word, &mut size),
    };
    let mut lifted = MemAccess::new(kind, access.address, size, Value::Unknown);
    lifted.tagged = access.tagged;
    if let Some(range) = access.range {
        (lifted.range, lifted.size) = (true, range);
    }
    batch.mem.push(lifted);
}

/// The kind of an access that neither read nor wrote, by its instruction.
#[cold]
fn bare_kind(word: u64, size: &mut u64) -> MemKind {
    if word & TRAP_FLAG != 0 {
        return MemKind::Faulting;
    }
    let iword = (word >> 32) as u32;
    match memory::memory(iword) {
        Some(Memory::VectorPrefetch) => MemKind::Prefetch,
        Some(Memory::Prefetch) => {
            *size = 0;
            MemKind::Prefetch
        }
        Some(
            Memory::Maintenance { .. } | Memory::TlbMaintenance | Memory::TlbRange | Memory::OtherMaintenance,
        ) => {
            *size = 0;
            MemKind::Maintenance
        }
        Some(Memory::VectorLoad) if memory::suppresses_faults(iword) => MemKind::Suppressed,
        _ => MemKind::Unknown,
    }
}
