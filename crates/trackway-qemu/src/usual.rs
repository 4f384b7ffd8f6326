//! Usual instructions, many at a time: one after the other retires and leads where it should, and nothing else happened.
//!
//! They become the steps that [`word`](Out::word) and [`put`](Out::put) make of them, without the look at everything that
//! may come between two instructions: a run of instructions is copied, and its accesses and its last step are filled in.

use trackway_core::*;

use crate::code::{Ready, Table, Usual};
use crate::lift::{Key, Out};
use crate::thread::Thread;

/// Bits of the first word of a record: its kind, and of an access whether a value follows and its position in the run.
const KIND: u32 = 0xf000_0000;
const ACCESS: u32 = 0x8000_0000;
const VALUED: u32 = 1 << 11;
const POSITION: u32 = 12;

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
#[derive(Clone, Copy, Default)]
struct Sums {
    outcomes: u64,
    targets: u64,
    accesses: u64,
    data: u64,
}

impl Out {
    /// Takes usual instructions at the start of `words`, until the batch is full; returns the number of words.
    pub(crate) fn usual(
        &mut self,
        key: Key,
        thread: &mut Thread,
        table: &Table,
        words: &[u32],
        batch: &mut Batch,
    ) -> usize {
        let is_quiet = thread.accesses.is_empty()
            & thread.changed.is_empty()
            & thread.before.is_empty()
            & thread.returned.is_none()
            & (!self.system | (thread.level[1] == thread.level[2]) & (thread.level[0] == thread.level[2]));
        let is_same = self.recording & (self.skipped == 0) & self.last.is_some_and(|(last, _)| last == key);
        let Some(mut pending) = thread.pending.filter(|_| is_quiet & is_same & self.shortcuts) else {
            return 0;
        };
        let (certain, end) = self.window.certain();
        let certain = self.clock.map_or(certain, |clock| certain.min(clock.left(self.window.executed)));
        batch.reserve_steps(Batch::FULL.saturating_sub(batch.events.len()) + LONGEST);
        let (before, mut first, mut at) = (batch.events.len(), thread.first, 0);
        let (mut last, mut sums) = (None, Sums::default());
        let mixed = !matches!(self.isa, Isa::A64 | Isa::Rv64 | Isa::Rv32);
        while batch.events.len() < Batch::FULL {
            let Some(code) = table.run(pending) else { break };
            let count = (batch.events.len() - before) as u64;
            // Runs are of one instruction set.
            let is_odd = mixed && table.get(pending).is_none_or(|code| code.isa != self.isa);
            let ends = end.is_some_and(|end| code.iter().any(|ready| ready.pc == end));
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
            last = code.last().map(|ready| ready.pc);
            at += length;
            (pending, first) = (next, next);
        }
        if let Some(pc) = last {
            let count = (batch.events.len() - before) as u64;
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
            (thread.pending, thread.first) = (Some(pending), first);
        }
        at
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
            let place = ((word >> POSITION & 0xffff) as usize).checked_sub(run.position)?;
            if word & KIND != ACCESS || place > last {
                return None;
            }
            run.pass(place, batch)?;
            let (mut bytes, own) = (0, word >> POSITION);
            accesses = batch.begin_accesses();
            while word >> POSITION == own {
                let wide = |n: usize| {
                    Some(u64::from(*words.get(at + n)?) | u64::from(*words.get(at + n + 1)?) << 32)
                };
                let (shift, valued) = (word & 15, word & VALUED != 0);
                // Wide values are rare, and so are instructions with thousands of accesses.
                if valued && shift > 3 || at > 1 << 12 {
                    return None;
                }
                bytes += 1 << shift;
                if self.memory {
                    let kind = if word >> 8 & 1 == 1 { MemKind::Write } else { MemKind::Read };
                    let data = if valued { Value::Word(wide(3)?) } else { Value::Unknown };
                    batch.mem.push(MemAccess::new(kind, wide(1)?, 1 << shift, data));
                }
                at += if valued { 5 } else { 3 };
                word = *words.get(at)?;
            }
            accesses.mem_len = (batch.mem.len() - accesses.mem_start as usize) as u16;
            run.sums.add(&batch.mem[accesses.mem_start as usize..]);
            let ready = &run.code[place];
            if bytes < u32::from(ready.needs) {
                return None;
            }
            if place < last {
                if ready.usual != Usual::Next {
                    return None;
                }
                run.add(|step| step.accesses = accesses, batch);
                accesses = batch.begin_accesses();
            }
        }
        run.pass(last, batch)?;
        let (taken, target) = self.flow(key, &run.code[last], table.pc(word)?)?;
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
    fn flow(&self, key: Key, code: &Ready, next: u64) -> Option<(Option<bool>, Option<u64>)> {
        let passed = next == code.pc.wrapping_add(code.length.into());
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
    /// Adds the accesses of an instruction: those that adjoin are one.
    #[inline(always)]
    fn add(&mut self, mem: &[MemAccess]) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::code::Code;
    use crate::window::{Fate, Options, Position, Sample, Window};

    /// Instructions of each kind, in a row from 0x1000.
    const CODE: [(Isa, &[u32]); 2] = [
        // add, ldr, b .+8, cbz x0 .+8, ret, str, ldadd, svc, bl .-4, add, ldp, add, add, str, cbz x0 .+8, an undefined one
        (
            Isa::A64,
            &[
                0x9100_0400,
                0xf940_0000,
                0x1400_0002,
                0xb400_0040,
                0xd65f_03c0,
                0xf900_0020,
                0xf820_0001,
                0xd400_0001,
                0x97ff_ffff,
                0x9100_0400,
                0xa940_0440,
                0x9100_0400,
                0x9100_0400,
                0xf900_0020,
                0xb400_0040,
                0,
            ],
        ),
        // addi, ld, j .+8, beqz a0 .+8, ret, sd, amoadd.d, ecall, jal .-4, addi, ld, addi, addi, sd, beqz a0 .+8, mret
        (
            Isa::Rv64,
            &[
                0x0015_0513,
                0x0005_3503,
                0x0080_006f,
                0x0005_0463,
                0x0000_8067,
                0x00a5_3023,
                0x00a5_352f,
                0x0000_0073,
                0xffdf_f0ef,
                0x0015_0513,
                0x0005_3503,
                0x0015_0513,
                0x0015_0513,
                0x00a5_3023,
                0x0005_0463,
                0x3020_0073,
            ],
        ),
    ];

    /// A plain instruction continues its run.
    fn table(isa: Isa, encodings: &[u32]) -> Table {
        let mut table = Table::default();
        for (n, encoding) in encodings.iter().enumerate() {
            let word = |continues: bool| 4 | u32::from(continues) << 9;
            let code =
                |continues| Code::read([0x1000 + 4 * n as u32, 0, *encoding, word(continues)], isa, isa);
            table.push(code(code(false).usual == Usual::Next && n + 1 < encodings.len()));
        }
        table
    }

    /// Numbers of instructions by their addresses.
    fn place(table: &Table, pc: u64) -> Option<u32> {
        (0..).map_while(|n| table.get(n)).position(|code| code.pc == pc).map(|n| n as u32)
    }

    /// Frames of an execution that mostly goes where it should, with everything else that the plugin writes in between.
    fn stream(table: &Table, count: u32, random: &mut SplitMix64, odd: u64) -> Vec<Vec<u32>> {
        let (mut frames, mut at) = (vec![Vec::new()], 0);
        for _ in 0..1200 {
            if random.below(40) == 0 {
                frames.push(Vec::new());
            }
            let words = frames.last_mut().expect("one");
            words.push(at);
            let first = at;
            let code = loop {
                let code = table.get(at).expect("one");
                let mut bytes = 0;
                if code.needs > 0 && random.below(odd) > 0 || random.below(4 * odd) == 0 {
                    for _ in 0..=random.below(2) {
                        let (shift, valued) =
                            (3 - random.below(2) as u32 * random.below(4) as u32, random.below(3) == 0);
                        let shift = if random.below(9) == 0 { 4 } else { shift };
                        let store = u32::from(random.below(2) == 0) << 8;
                        words.extend([
                            ACCESS
                                | shift
                                | store
                                | if valued { VALUED } else { 0 }
                                | (at - first) << POSITION,
                            random.next_u64() as u32,
                            7,
                        ]);
                        let value = match (valued, shift) {
                            (false, _) => 0,
                            (true, ..4) => 2,
                            (true, _) => 4,
                        };
                        words.extend((0..value).map(|n| n * 0x1111));
                        bytes += 1 << shift;
                    }
                }
                // Where it could not make its access the run ends.
                if !code.continues || bytes < u32::from(code.needs) {
                    break code;
                }
                at += 1;
            };
            if code.syscall().is_some() {
                words.extend([0x9000_0000, 64, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0]);
                words.extend([0xa000_0000, 64, 0, random.below(9) as u32, 0]);
            }
            if random.below(8 * odd) == 0 {
                words.extend([0xb000_0000 | random.below(31) as u32, random.next_u64() as u32, 0]);
            }
            let usual = match random.below(3) {
                0 => code.target.and_then(|target| place(table, target)),
                _ => place(table, code.end()),
            };
            at = usual.filter(|_| random.below(odd) > 0).unwrap_or(random.below(count.into()) as u32);
        }
        frames
    }

    /// Events as text: batches may be cut anywhere.
    fn take(batch: &mut Batch, text: &mut String) {
        for event in &batch.events {
            let name = batch.event_fields(event, &mut |name, value| *text += &format!("{name}={value} "));
            *text += &format!("{name} at {}\n", event.offset);
        }
        batch.clear();
    }

    fn lifted(
        isa: Isa,
        code: &Table,
        frames: &[Vec<u32>],
        options: Options,
        system: bool,
        shortcuts: bool,
    ) -> (String, u64) {
        let mut out = Out {
            window: Window::new(options),
            system,
            memory: options.memory,
            isa,
            last: None,
            skipped: 0,
            recording: false,
            fate: Fate::Skipped,
            restarted: 0,
            ids: None,
            interrupts: None,
            shortcuts,
            facts: Counts::default(),
            contexts: Contexts::default(),
            clock: if system {
                Clock::new(isa, &["-M", "virt", "-icount", "0,sleep=off"].map(str::to_string))
            } else {
                None
            },
        };
        let (mut threads, mut batch, mut text, mut usual) =
            ([Thread::default(), Thread::default()], Batch::default(), String::new(), 0);
        let (mut facts, mut contexts) = (Counts::default(), Contexts::default());
        // Two threads take turns.
        for (n, words) in frames.iter().enumerate() {
            let (key, thread) = ((1, 0, n as u32 / 4 % 2), &mut threads[n / 4 % 2]);
            let mut at = 0;
            while at < words.len() && !matches!(out.fate, Fate::Over | Fate::Enough) {
                let some = out.usual(key, thread, code, &words[at..], &mut batch);
                usual += some as u64;
                at += some;
                if some == 0 {
                    let before = batch.events.len();
                    at += out.word(key, thread, code, &words[at..], &mut batch).unwrap();
                    out.count(&batch, before);
                }
                if batch.is_full() {
                    facts.add_batch(&batch, &mut contexts);
                    take(&mut batch, &mut text);
                }
            }
        }
        facts.add_batch(&batch, &mut contexts);
        assert_eq!(out.facts, facts);
        take(&mut batch, &mut text);
        (format!("{text}{out:?} {threads:?}").replace("shortcuts: true", "shortcuts: false"), usual)
    }

    /// The same events, and the same state after them, whether usual instructions are taken at once or not.
    #[test]
    fn usual_instructions_are_lifted_as_all_others() {
        let all = Options::default();
        let windows = [
            all,
            Options { memory: false, ..all },
            Options { from: Some(Position::Instruction(100)), to: Some(Position::Instruction(900)), ..all },
            Options { from: Some(Position::Pc(0x1008)), to: Some(Position::Pc(0x1024)), ..all },
            Options { stop_after: 500, ..all },
            Options { limit: 700, ..all },
            Options { sample: Some(Sample { count: 30, of: 50 }), ..all },
        ];
        let mut taken = 0;
        for (seed, (isa, encodings)) in (0..40).flat_map(|seed| CODE.map(|code| (seed, code))) {
            let mut random = SplitMix64(seed);
            let code = table(isa, encodings);
            let count = encodings.len() as u32;
            let frames = stream(&code, count, &mut random, [4, 20, 1000][seed as usize % 3]);
            for options in windows {
                let system = seed % 2 == 1;
                let (expected, _) = lifted(isa, &code, &frames, options, system, false);
                let (found, usual) = lifted(isa, &code, &frames, options, system, true);
                assert!(found == expected, "{isa:?} {seed} {options:?}");
                taken += usual;
            }
        }
        assert!(taken > 300_000, "{taken} words of usual instructions");
    }
}
