//! Usual instructions, many at a time: one after the other retires and leads where it should, and nothing else happened.
//!
//! They become the steps that [`word`](Out::word) and [`put`](Out::put) make of them, without the look at everything that
//! may come between two instructions.

use trackway_core::*;

use crate::code::{Code, Usual};
use crate::lift::{Key, Out};
use crate::thread::Thread;

/// Bits of the first word of a record: its kind, and of an access whether a value follows.
const KIND: u32 = 0xf000_0000;
const ACCESS: u32 = 0x8000_0000;
const VALUED: u32 = 1 << 11;

impl Out {
    /// Takes usual instructions at the start of `words`, until the batch is full; returns the number of words.
    pub(crate) fn usual(
        &mut self,
        key: Key,
        thread: &mut Thread,
        table: &[Code],
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
        let Some(mut code) = table.get(pending as usize) else { return 0 };
        let (certain, end) = self.window.certain();
        let room = Batch::FULL
            .saturating_sub(batch.events.len())
            .min(usize::try_from(certain).unwrap_or(usize::MAX));
        batch.reserve_steps(room);
        let (mut at, mut count, mut offset, mut last) = (0, 0, self.offset(), 0);
        while count < room {
            let mut accesses = batch.begin_accesses();
            let Some((length, next)) = self.accesses(&words[at..], batch) else {
                batch.mem.truncate(accesses.mem_start as usize);
                break;
            };
            accesses.mem_len = (batch.mem.len() - accesses.mem_start as usize) as u16;
            let flow = table.get(next as usize).and_then(|next| Some((next, self.flow(key, code, next.pc)?)));
            let Some((next_code, (taken, target))) =
                flow.filter(|_| (code.isa == self.isa) & (end != Some(code.pc)))
            else {
                batch.mem.truncate(accesses.mem_start as usize);
                break;
            };
            let mut step = Step { accesses, taken, ..Step::new(code.pc, code.encoding, code.length) };
            if target.is_some() {
                step.extra = batch.add_extra(StepExtra { target, ..StepExtra::default() });
            }
            push_within_capacity(&mut batch.events, Event { offset, kind: EventKind::Step(step) });
            last = code.pc;
            offset += 8;
            count += 1;
            at += length;
            (pending, code) = (next, next_code);
        }
        if count > 0 {
            self.window.pass(count as u64);
            self.last = Some((key, last));
            thread.pending = Some(pending);
        }
        at
    }

    /// Adds the accesses at the start of `words`; returns the number of words, with that of the instruction after them.
    #[inline(always)]
    fn accesses(&self, words: &[u32], batch: &mut Batch) -> Option<(usize, u32)> {
        let mut at = 0;
        loop {
            let word = *words.get(at)?;
            if word >> 31 == 0 {
                return Some((at + 1, word));
            }
            let wide =
                |n: usize| Some(u64::from(*words.get(at + n)?) | u64::from(*words.get(at + n + 1)?) << 32);
            let (shift, valued) = (word & 15, word & VALUED != 0);
            // Wide values are rare, and so are instructions with thousands of accesses.
            if word & KIND != ACCESS || valued && shift > 3 || at > 1 << 12 {
                return None;
            }
            if self.memory {
                let kind = if word >> 8 & 1 == 1 { MemKind::Write } else { MemKind::Read };
                let data = if valued { Value::Word(wide(3)?) } else { Value::Unknown };
                batch.mem.push(MemAccess::new(kind, wide(1)?, 1 << shift, data));
            }
            at += if valued { 5 } else { 3 };
        }
    }

    /// The outcome of a usual instruction that this one follows: is it taken, and where does it lead?
    #[inline(always)]
    fn flow(&self, key: Key, code: &Code, next: u64) -> Option<(Option<bool>, Option<u64>)> {
        let passed = next == code.end();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::{Fate, Options, Position, Sample, Window};

    /// Instructions of each kind, in a row from 0x1000.
    const CODE: [(Isa, &[u32]); 2] = [
        // add, ldr, b .+8, cbz x0 .+8, ret, str, ldadd, svc, bl .-4, an undefined one
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
                0,
            ],
        ),
        // addi, ld, j .+8, beqz a0 .+8, ret, sd, amoadd.d, ecall, jal .-4, mret
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
                0x3020_0073,
            ],
        ),
    ];

    fn table(isa: Isa, encodings: &[u32]) -> Vec<Code> {
        let code =
            |(n, encoding): (usize, &u32)| Code::read([0x1000 + 4 * n as u32, 0, *encoding, 4], isa, isa);
        encodings.iter().enumerate().map(code).collect()
    }

    /// Frames of an execution that mostly goes where it should, with everything else that the plugin writes in between.
    fn stream(table: &[Code], random: &mut SplitMix64, odd: u64) -> Vec<Vec<u32>> {
        let (mut frames, mut at) = (vec![Vec::new()], 0);
        for _ in 0..1500 {
            if random.below(40) == 0 {
                frames.push(Vec::new());
            }
            let words = frames.last_mut().expect("one");
            words.push(at as u32);
            let code = &table[at];
            if code.accesses && random.below(odd) > 0 || random.below(4 * odd) == 0 {
                for _ in 0..=random.below(2) {
                    let (shift, valued) = (random.below(5) as u32, random.below(3) == 0);
                    let store = u32::from(random.below(2) == 0) << 8;
                    words.extend([
                        ACCESS | shift | store | if valued { VALUED } else { 0 },
                        random.next_u64() as u32,
                        7,
                    ]);
                    let value = if !valued {
                        0
                    } else if shift < 4 {
                        2
                    } else {
                        4
                    };
                    words.extend((0..value).map(|n| n * 0x1111));
                }
            }
            if code.syscall().is_some() {
                words.extend([0x9000_0000, 64, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0]);
                words.extend([0xa000_0000, 64, 0, random.below(9) as u32, 0]);
            }
            if random.below(8 * odd) == 0 {
                words.extend([0xb000_0000 | random.below(31) as u32, random.next_u64() as u32, 0]);
            }
            let place = |pc: u64| table.iter().position(|code| code.pc == pc);
            let usual = match random.below(3) {
                0 => code.target.and_then(place),
                _ => place(code.end()),
            };
            at = usual.filter(|_| random.below(odd) > 0).unwrap_or(random.below(table.len() as u64) as usize);
        }
        frames
    }

    fn lifted(
        isa: Isa,
        code: &[Code],
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
        };
        let (mut threads, mut batch, mut text, mut usual) =
            ([Thread::default(), Thread::default()], Batch::default(), String::new(), 0);
        // Two threads take turns.
        for (n, words) in frames.iter().enumerate() {
            let (key, thread) = ((1, 0, n as u32 / 4 % 2), &mut threads[n / 4 % 2]);
            let mut at = 0;
            while at < words.len() && !matches!(out.fate, Fate::Over | Fate::Enough) {
                let some = out.usual(key, thread, code, &words[at..], &mut batch);
                usual += some as u64;
                at += some;
                if some == 0 {
                    at += out.word(key, thread, code, &words[at..], &mut batch).unwrap();
                }
                if batch.is_full() {
                    text += &format!("{batch:?}");
                    batch.clear();
                }
            }
        }
        (format!("{text}{batch:?} {out:?} {threads:?}").replace("shortcuts: true", "shortcuts: false"), usual)
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
            let frames = stream(&code, &mut random, [4, 20, 1000][seed as usize % 3]);
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
