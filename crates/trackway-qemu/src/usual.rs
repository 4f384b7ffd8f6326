//! Usual instructions, many at a time: one after the other retires and leads where it should, and nothing else happened.
//!
//! They become the steps that [`word`](Out::word) and [`put`](Out::put) make of them, without the look at everything that
//! may come between two instructions: a run of instructions is copied, and its accesses and its last step are filled in.

use trackway_core::*;

use crate::code::{Lead, Ready, Table, Usual};
use crate::lift::{Key, Out};
use crate::short;
use crate::thread::Thread;

/// Instructions of a run at most: QEMU translates fewer at once.
const LONGEST: usize = 1 << 10;

/// A run that is being lifted.
struct Run<'a> {
    /// From the instruction that waits to the last one.
    code: &'a [Ready],
    /// Position of the first of them.
    position: usize,
    /// Steps made so far.
    made: usize,
    /// Offset of the next step.
    offset: u64,
    sums: Sums,
}

/// Facts of runs, which have instructions and encodings besides.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sums<T = u64> {
    pub(crate) outcomes: T,
    pub(crate) targets: T,
    pub(crate) accesses: T,
    pub(crate) data: T,
}

impl Out {
    /// The instruction of the thread that waits, if it may be usual.
    pub(crate) fn quiet(&self, key: Key, thread: &Thread) -> Option<u32> {
        let is_quiet = thread.accesses.is_empty()
            & thread.changed.is_empty()
            & thread.before.is_empty()
            & thread.returned.is_none()
            & (!self.system | (thread.level[1] == thread.level[2]) & (thread.level[0] == thread.level[2]));
        let is_same = self.recording & (self.skipped == 0) & self.last.is_some_and(|(last, _)| last == key);
        thread.pending.filter(|_| is_quiet & is_same & self.shortcuts)
    }

    /// How many instructions are recorded from here on, as long as none is at the address that ends the window.
    pub(crate) fn certain(&self) -> (u64, Option<u64>) {
        let (certain, end) = self.window.certain();
        (self.clock.map_or(certain, |clock| certain.min(clock.left(self.window.executed))), end)
    }

    /// Takes at most `most` runs of usual instructions at the start of `words`, until the batch is full; returns the number
    /// of words.
    pub(crate) fn usual(
        &mut self,
        key: Key,
        thread: &mut Thread,
        table: &Table,
        words: &[u32],
        most: usize,
        batch: &mut Batch,
    ) -> usize {
        let Some(mut pending) = self.quiet(key, thread) else { return 0 };
        let (certain, end) = self.certain();
        batch.reserve_steps(Batch::FULL.saturating_sub(batch.events.len()) + LONGEST);
        let (before, mut first, mut at) = (batch.events.len(), thread.first, 0);
        let (mut last, mut sums) = (None, Sums::default());
        let mixed = !matches!(self.isa, Isa::A64 | Isa::Rv64 | Isa::Rv32);
        for _ in 0..most {
            if batch.events.len() >= Batch::FULL {
                break;
            }
            let Some(code) = table.run(pending) else { break };
            let count = (batch.events.len() - before) as u64;
            // Runs are of one instruction set.
            let is_odd = mixed && table.get(pending).is_none_or(|code| code.isa != self.isa);
            let ends = end.is_some_and(|end| code.iter().any(|ready| ready.lead.pc == end));
            if is_odd || ends || code.len() > LONGEST || certain - count < code.len() as u64 {
                break;
            }
            let position = pending.wrapping_sub(first) as usize;
            let mut run = Run { code, position, made: 0, offset: self.offset() + 8 * count, sums };
            let lengths = (batch.events.len(), batch.mem.len());
            let Some((length, next)) = self.run(key, &mut run, table, &words[at..], batch) else {
                batch.events.truncate(lengths.0);
                batch.mem.truncate(lengths.1);
                break;
            };
            sums = run.sums;
            last = code.last().map(|ready| ready.lead.pc);
            at += length;
            (pending, first) = (next, next);
        }
        if let Some(pc) = last {
            let count = (batch.events.len() - before) as u64;
            self.pass_usual(key, count, pc, sums);
            (thread.pending, thread.first) = (Some(pending), first);
        }
        at
    }

    /// Notes that `count` usual instructions were recorded, the last of them at `pc`.
    pub(crate) fn pass_usual(&mut self, key: Key, count: u64, pc: u64, sums: Sums) {
        self.window.pass(count);
        for (fact, number) in [
            (Fact::Instructions, count),
            (Fact::Encodings, count),
            (Fact::Outcomes, sums.outcomes),
            (Fact::Targets, sums.targets),
            (Fact::MemoryAccesses, sums.accesses),
            (Fact::MemoryData, sums.data),
        ] {
            self.facts[fact] += number;
        }
        self.last = Some((key, pc));
    }

    /// Adds the steps of a run; returns the number of words, with that of the instruction after it, which is returned too.
    /// None, and steps and accesses may have been added, where something is not usual.
    #[inline(always)]
    fn run(
        &self,
        key: Key,
        run: &mut Run<'_>,
        table: &Table,
        words: &[u32],
        batch: &mut Batch,
    ) -> Option<(usize, u32)> {
        let (mut at, last) = (0, run.code.len() - 1);
        let mut accesses = batch.begin_accesses();
        let mut word = *words.first()?;
        while word >> 31 != 0 {
            // Where the accesses of the next instruction begin.
            let place = (short::position(word) as usize).checked_sub(run.position)?;
            if !short::is_short(word) || place > last {
                return None;
            }
            run.pass(place, batch)?;
            let (mut bytes, own) = (0, word >> short::POSITION);
            accesses = batch.begin_accesses();
            while word >> short::POSITION == own {
                let (shift, length) = (short::shift(word), short::words(word));
                // Instructions with thousands of accesses are rare.
                if at > 1 << 12 {
                    return None;
                }
                bytes += 1 << shift;
                let own = words.get(at..at + length)?;
                if self.memory {
                    let kind = if word & short::STORE != 0 { MemKind::Write } else { MemKind::Read };
                    let data = match own {
                        [_, _, low, high] => Value::Word(u64::from(*low) | u64::from(*high) << 32),
                        _ => Value::Unknown,
                    };
                    batch.mem.push(MemAccess::new(kind, short::address(word, own[1]), 1 << shift, data));
                }
                at += length;
                word = *words.get(at)?;
            }
            accesses.mem_len = (batch.mem.len() - accesses.mem_start as usize) as u16;
            run.sums.add(&batch.mem[accesses.mem_start as usize..]);
            let ready = &run.code[place];
            if bytes < u32::from(ready.needs) {
                return None;
            }
            if place < last {
                if ready.lead.usual != Usual::Next {
                    return None;
                }
                run.add(|step| step.accesses = accesses, batch);
                accesses = batch.begin_accesses();
            }
        }
        run.pass(last, batch)?;
        let (taken, target) = self.flow(key, &run.code[last].lead, table.pc(word)?)?;
        run.sums.outcomes += u64::from(taken.is_some());
        run.sums.targets += u64::from(target.is_some());
        let mut extra = None;
        if target.is_some() {
            extra = batch.add_extra(StepExtra { target, ..StepExtra::default() });
        }
        run.add(|step| (step.accesses, step.taken, step.extra) = (accesses, taken, extra), batch);
        Some((at + 1, word))
    }

    /// The outcome of a usual instruction that this one follows: is it taken, and where does it lead?
    #[inline(always)]
    pub(crate) fn flow(&self, key: Key, code: &Lead, next: u64) -> Option<(Option<bool>, Option<u64>)> {
        let passed = next == code.end;
        match code.usual {
            Usual::Next if passed => Some((None, None)),
            Usual::Direct if code.target == Some(next) && !passed => Some((Some(true), Some(next))),
            Usual::Direct if passed && code.conditional && code.target != Some(next) => {
                Some((Some(false), None))
            }
            Usual::Indirect if !passed && !self.may_trap(key, next) => Some((Some(true), Some(next))),
            _ => None,
        }
    }

    /// The next instruction may be that of a handler.
    fn may_trap(&self, key: Key, next: u64) -> bool {
        self.interrupts.as_ref().is_some_and(|log| log.may_lead_to(key.1, next))
    }
}

impl Sums {
    /// Adds others.
    #[inline(always)]
    pub(crate) fn merge(&mut self, other: &Sums<u16>) {
        self.outcomes += u64::from(other.outcomes);
        self.targets += u64::from(other.targets);
        self.accesses += u64::from(other.accesses);
        self.data += u64::from(other.data);
    }

    /// The same of one stretch: each instruction of it has few.
    pub(crate) fn small(&self) -> Sums<u16> {
        Sums {
            outcomes: self.outcomes as u16,
            targets: self.targets as u16,
            accesses: self.accesses as u16,
            data: self.data as u16,
        }
    }

    /// Adds the outcome of an instruction, which has a target if it is taken.
    #[inline(always)]
    pub(crate) fn end(&mut self, taken: Option<bool>) {
        self.outcomes += u64::from(taken.is_some());
        self.targets += u64::from(taken == Some(true));
    }

    /// Adds the accesses of an instruction: those that adjoin are one.
    #[inline(always)]
    pub(crate) fn add(&mut self, mem: &[MemAccess]) {
        let known = |access: &MemAccess| u64::from(access.data != Value::Unknown);
        match mem {
            [] => {}
            [access] => (self.accesses, self.data) = (self.accesses + 1, self.data + known(access)),
            _ => {
                for group in mem.chunk_by(MemAccess::adjoins) {
                    self.accesses += 1;
                    self.data += group.iter().map(known).min().unwrap_or(0);
                }
            }
        }
    }
}

impl Run<'_> {
    /// Adds the steps before this place, which have no access; none where one of them needs one.
    #[inline(always)]
    fn pass(&mut self, place: usize, batch: &mut Batch) -> Option<()> {
        if self.made == place {
            return Some(());
        }
        let those = self.code.get(self.made..place)?;
        if usize::from(those.first()?.calm) < those.len() {
            return None;
        }
        let (accesses, mut offset) = (batch.begin_accesses(), self.offset);
        batch.events.extend(those.iter().map(|ready| {
            let event = fill(ready, offset, |step| step.accesses = accesses);
            offset += 8;
            event
        }));
        (self.made, self.offset) = (place, offset);
        Some(())
    }

    /// Adds the next step.
    #[inline(always)]
    fn add(&mut self, with: impl FnOnce(&mut Step), batch: &mut Batch) {
        let event = fill(&self.code[self.made], self.offset, with);
        push_within_capacity(&mut batch.events, event);
        (self.made, self.offset) = (self.made + 1, self.offset + 8);
    }
}

#[inline(always)]
fn fill(ready: &Ready, offset: u64, with: impl FnOnce(&mut Step)) -> Event {
    let mut event = ready.event;
    event.offset = offset;
    if let EventKind::Step(step) = &mut event.kind {
        with(step);
    }
    event
}
