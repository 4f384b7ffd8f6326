//! Records to events.

mod common;
mod parts;

use trackway_core::*;
use trackway_isa::arm::memory::{self, Memory};

use crate::layout::{RECORD, Words, from_bytes};
use crate::record::{
    Access, Attribute, ExtraEa, Instruction, Level, Record, StringContinuation, StringRecord, Timestamp,
    TrapType,
};
use crate::records::Records;

/// Events of an ASTF trace.
///
/// A record that does not fit its place (an Extra EA without an owner, an unknown type) becomes a [`Foreign`] event,
/// verbatim; a break in the flow that no record explains becomes a [`Gap`].
#[derive(Debug)]
pub struct Lift {
    meta: Meta,
    records: Records,
    /// Threads for observers.
    jobs: usize,
    state: State,
    /// Number of the next instruction.
    number: u64,
    /// Returned by the next `fill`, after the batch before the damage.
    pending: Option<Error>,
    /// Delivered with the next batch: the bytes that `resync` skipped.
    gap: Option<(u64, Gap)>,
    /// Delivered with the next batch: the context at the place that `seek` found.
    context: Option<(u64, Words)>,
}

/// All state that carries over from record to record.
#[derive(Clone, Debug)]
struct State {
    level: Level,
    /// Address of the last instruction; 0 before the first.
    last_pc: u64,
    /// Address of the next instruction, where the records so far decide it.
    expected: Option<u64>,
    /// Extra EAs of the last instruction follow.
    open: bool,
    /// First word of the last instruction's record: flags and instruction word; 0 before the first.
    last: u64,
    /// A vector length other than 128 bits was seen: from then on `evl` 0 means 128 bits, not "no SVE".
    scalable: bool,
    unsupported: bool,
    /// Timestamps since the last instruction.
    times: u32,
    /// The last Timestamp.
    time: u64,
    /// Instructions so far.
    instructions: u64,
    /// Records other than instructions, by kind.
    others: [u64; 7],
    /// An incomplete string: offset of its first record, size, bytes so far.
    string: Option<(u64, usize, Vec<u8>)>,
}

impl Lift {
    /// `leading` is the number of records that are in `meta`: the Header, and the comments after it.
    pub(crate) fn new(meta: Meta, level: Level, mut records: Records, leading: usize, jobs: usize) -> Self {
        let mut state = State::new(level);
        // They are available: opening the trace has read them.
        if let Ok(Some((_, chunk))) = records.chunk() {
            for record in chunk.iter().take(leading) {
                state.count(record[0]);
            }
            state.others[6] = 0;
            records.consume(leading);
        }
        Lift { meta, records, jobs, state, number: 0, pending: None, gap: None, context: None }
    }

    fn fill_records(&mut self, batch: &mut Batch) -> Result<()> {
        while batch.events.len() < FULL || self.state.open {
            let Some((offset, chunk)) = self.records.chunk()? else {
                self.state.end_string(batch);
                return Ok(());
            };
            let used = self.state.lift(offset, chunk, batch);
            self.records.consume(used);
        }
        Ok(())
    }
}

impl Source for Lift {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
        batch.clear();
        batch.source = 0;
        batch.first_instruction = self.number;
        if let Some(error) = self.pending.take() {
            return Err(error);
        }
        if let Some((offset, gap)) = self.gap.take() {
            batch.push_gap(offset, gap);
        }
        if let Some((offset, words)) = self.context.take() {
            self.state.context(offset, &words, batch);
        }
        let result = self.fill_records(batch);
        self.number = self.state.instructions;
        match result {
            Err(error) if !batch.events.is_empty() => self.pending = Some(error),
            result => result?,
        }
        Ok(!batch.events.is_empty())
    }

    fn observe(&mut self, observer: &mut dyn Observer) -> Result<bool> {
        if self.can_cut() {
            self.observe_parts(observer);
            return Ok(true);
        }
        observe_serially(self, observer)
    }

    fn resync(&mut self) -> Result<bool> {
        let from = self.records.offset();
        let Some(skipped) = self.records.resync() else { return Ok(false) };
        self.state.expected = None;
        self.state.open = false;
        self.state.string = None;
        let from_pc = (self.state.last != 0).then_some(self.state.last_pc);
        let gap = Gap { from: from_pc, bytes: Some(skipped), ..Gap::new(GapReason::BadInput) };
        self.gap = Some((from, gap));
        Ok(true)
    }

    fn seek(&mut self, n: u64) -> Result<u64> {
        let mut context = None;
        while self.number < n {
            let missing = n - self.number;
            let (offset, chunk) = match self.records.chunk() {
                Ok(Some(chunk)) => chunk,
                Ok(None) => break,
                // `fill` reports it, and `resync` skips it: numbers after it are known only then.
                Err(error) => {
                    self.pending = Some(error);
                    break;
                }
            };
            let mut passed = 0;
            let used = chunk.iter().position(|record| {
                passed += u64::from(record[0] == Instruction::ID);
                passed > missing
            });
            let skipped = &chunk[..used.unwrap_or(chunk.len())];
            let is_context = |record: &[u8; RECORD]| record[0] == crate::record::Context::ID;
            if let Some(at) = skipped.iter().rposition(is_context) {
                // Only the last context is emitted; earlier ones just update the state.
                let here = (offset + (at * RECORD) as u64, from_bytes(&skipped[at]));
                let before = skipped[..at].iter().filter(|record| is_context(record)).map(from_bytes);
                for words in context.replace(here).map(|(_, words)| words).into_iter().chain(before) {
                    self.state.apply_context(&crate::record::Context::read(&words));
                }
            }
            self.number += passed.min(missing);
            let count = skipped.len();
            self.records.consume(count);
        }
        self.context = context;
        self.state.instructions = self.number;
        Ok(self.number)
    }

    fn progress(&self) -> Option<(u64, u64)> {
        Some((self.records.position(), self.records.size()?))
    }

    fn census(&self) -> trackway_core::Census {
        let others = NAMES.iter().zip(self.state.others).map(|(name, count)| (*name, count));
        let instructions = ("Instruction", self.number);
        let mut census: Vec<_> = std::iter::once(("Header", 1)).chain([instructions]).chain(others).collect();
        census.retain(|(_, count)| *count > 0);
        census.into_iter().collect()
    }
}

/// Records that are counted one by one, in the order of `State::others`.
const NAMES: [&str; 7] =
    ["Extra EA", "Context", "Trap", "String", "String continuation", "Timestamp", "Unknown"];

/// `trap` in the first word of an Instruction.
const TRAP_FLAG: u64 = 1 << 18;
/// `trap`, and the `xattr_mode` of an SME index.
const RARE_FLAGS: u64 = TRAP_FLAG | 1 << 9;

/// Events of a full batch: few enough to stay in the first-level cache.
const FULL: usize = 128;

impl State {
    fn new(level: Level) -> Self {
        State {
            level,
            last_pc: 0,
            expected: None,
            open: false,
            last: 0,
            scalable: false,
            unsupported: false,
            times: 0,
            time: 0,
            instructions: 0,
            others: [0; 7],
            string: None,
        }
    }

    fn count(&mut self, id: u8) {
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
    fn lift(&mut self, offset: u64, chunk: &[[u8; RECORD]], batch: &mut Batch) -> usize {
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
    fn record(&mut self, offset: u64, record: &[u8; RECORD], batch: &mut Batch) {
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
        self.expected = Some(record.pc.wrapping_add(4));
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
                let foreign = Foreign { format: FormatId::Astf, code: words[0] as u8 as u32, data };
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
            let foreign = Foreign { format: FormatId::Astf, code: ExtraEa::ID.into(), data };
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
    fn apply_context(&mut self, record: &crate::record::Context) {
        self.scalable |= record.evl != 0 || record.pstate_sm;
        self.unsupported = record.unsupported;
    }

    fn context(&mut self, offset: u64, words: &Words, batch: &mut Batch) {
        let record = crate::record::Context::read(words);
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
        let from_last = match kind {
            TrapKind::Exception => self.last & TRAP_FLAG != 0,
            TrapKind::Return => true,
            _ => false,
        };
        let trap = Trap {
            cause: (kind == TrapKind::Interrupt || kind == TrapKind::Unknown)
                .then_some(record.trap_type.into()),
            class: classed.then_some(record.ec),
            from: from_last.then_some(self.last_pc),
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
        self.times += 1;
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

    /// Delivers a string: text as a note; other bytes, and an incomplete string, verbatim.
    fn end_string(&mut self, batch: &mut Batch) {
        let Some((offset, size, bytes)) = self.string.take() else { return };
        let span = batch.add_bytes(&bytes);
        let kind = if bytes.len() == size && std::str::from_utf8(&bytes).is_ok() {
            EventKind::Mark(Mark { text: span, ..Mark::new(MarkKind::Note) })
        } else {
            let code = StringRecord::ID.into();
            EventKind::Foreign(Foreign { format: FormatId::Astf, code, data: span })
        };
        batch.push(offset, kind);
    }
}

/// ERET, ERETAA, ERETAB and DRPS.
#[inline]
fn is_exception_return(word: u32) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::to_bytes;
    use proptest::prelude::*;

    /// Lifts by the loop for common instructions, or record by record.
    fn lines(records: &[[u8; RECORD]], level: Level, together: bool) -> Vec<String> {
        let (mut state, mut batch) = (State::new(level), Batch::default());
        let mut offset = 0;
        while let Some(rest) = records.get(offset..).filter(|rest| !rest.is_empty()) {
            if together {
                // As `fill` does it.
                batch.events.reserve(rest.len());
                offset += state.lift((offset * RECORD) as u64, rest, &mut batch);
            } else {
                state.record((offset * RECORD) as u64, &rest[0], &mut batch);
                offset += 1;
            }
        }
        state.end_string(&mut batch);
        let line = |event: &Event| {
            let mut line = String::new();
            batch.write_line(event, &mut line);
            line
        };
        batch.events.iter().map(line).collect()
    }

    /// Records that mostly follow each other: common instructions, and now and then anything.
    fn trace() -> impl Strategy<Value = Vec<[u8; RECORD]>> {
        let record = (0u8..20, any::<[u8; 32]>());
        prop::collection::vec(record, 0..200).prop_map(|choices| {
            let mut pc = 0x1000u64;
            choices
                .into_iter()
                .map(|(choice, noise)| {
                    let ea = u64::from_le_bytes([noise[0] & !3, noise[1], 0, 0, 0, 0, 0, 0]);
                    let plain = Instruction { pc, iword: 0xd503_201f, ..Instruction::default() };
                    let access = Instruction { ea_valid: true, ea, ea_size: noise[2], ..plain };
                    let branch = Instruction { is_branch: true, ..plain };
                    let to = Instruction { ea_valid: true, ea, ..branch };
                    let record = match choice {
                        0..=6 => plain,
                        7..=10 => Instruction { is_read: true, ea_tagged: noise[3] > 200, ..access },
                        11..=13 => Instruction { is_write: true, ..access },
                        14 => branch,
                        15..=16 => to,
                        17 => {
                            Instruction { iword: if noise[2] < 64 { 0xd69f_03e0 } else { 0xd65f_03c0 }, ..to }
                        }
                        18 => Instruction { trap: true, iword: 0xd400_0001, ..plain },
                        _ => {
                            // Any record of any type.
                            const IDS: [u8; 8] = [
                                ExtraEa::ID,
                                crate::record::Context::ID,
                                crate::record::Trap::ID,
                                StringRecord::ID,
                                StringContinuation::ID,
                                Timestamp::ID,
                                Instruction::ID,
                                0x7f,
                            ];
                            let mut record = noise;
                            record[0] = IDS[usize::from(noise[0] % 8)];
                            return record;
                        }
                    };
                    pc = if record.is_branch && record.ea_valid { ea } else { pc + 4 };
                    to_bytes(&record.write())
                })
                .collect()
        })
    }

    /// Lifts in parts of `size` records, and the rest after them.
    fn lines_of_parts(records: &[[u8; RECORD]], level: Level, size: usize) -> Vec<String> {
        let (mut state, mut all) = (State::new(level), trackway_testkit::lines::Lines::default());
        let used = state.observe_parts(0, records, (size, usize::MAX), 1, &mut all);
        assert!(!state.open && state.string.is_none(), "nothing is left open at a cut");
        let instructions = records[..used].iter().filter(|record| record[0] == Instruction::ID).count();
        assert_eq!(state.instructions, instructions as u64);
        let (mut batch, mut offset) = (Batch::default(), (used * RECORD) as u64);
        for record in &records[used..] {
            state.record(offset, record, &mut batch);
            offset += RECORD as u64;
        }
        state.end_string(&mut batch);
        all.observe(&batch);
        all.0
    }

    proptest! {
        #[test]
        fn parts_lift_as_the_whole_does(records in trace(), plus: bool, size in 1usize..40) {
            let level = if plus { Level::BasicPlus } else { Level::Basic };
            prop_assert_eq!(lines_of_parts(&records, level, size), lines(&records, level, false));
        }

        #[test]
        fn the_loop_lifts_as_single_records_do(records in trace(), plus: bool) {
            let level = if plus { Level::BasicPlus } else { Level::Basic };
            prop_assert_eq!(lines(&records, level, true), lines(&records, level, false));
        }
    }
}
