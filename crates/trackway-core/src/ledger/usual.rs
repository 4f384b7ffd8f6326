//! Facts of usual steps, counted without a look at each.

use std::ops::Range;

use crate::events::*;
use crate::ledger::facts::{Contexts, Counts, Fact, of_role};

impl Counts {
    /// Adds the facts of a batch; `contexts` are those before it.
    pub fn add_batch(&mut self, batch: &Batch, contexts: &mut Contexts) {
        let mut usual = Usual::default();
        let mut rest = &batch.events[..];
        while !rest.is_empty() {
            rest = &rest[usual.add_plain(rest)..];
            let Some((event, others)) = rest.split_first() else { break };
            let is_usual = matches!(&event.kind, EventKind::Step(step) if usual.add(batch, step));
            if !is_usual {
                self.add_event(batch, &event.kind, contexts);
            }
            rest = others;
        }
        usual.counts(batch).iter().for_each(|&(fact, n)| self[fact] += n);
    }
}

/// The facts of steps without rare parts, which are nearly all: the same as [`each_of_event`](super::each_of_event) finds.
#[derive(Default)]
struct Usual {
    /// Steps by [`kind`].
    kinds: [u64; 16],
    /// By role.
    registers: [u64; 4],
    /// Registers that are not in there yet: those of steps mostly follow each other.
    coming: Range<usize>,
    targets: u64,
    accesses: u64,
    data: u64,
}

const ENCODED: usize = 1 << 3;
const ATTEMPTED: usize = 1 << 2;
const OUTCOME: usize = 3;
const NO_OUTCOME: usize = 2;

/// A number for the small parts of a step.
#[inline(always)]
fn kind(step: &Step) -> usize {
    let outcome = match step.taken {
        Some(false) => 0,
        Some(true) => 1,
        None => NO_OUTCOME,
    };
    let attempted = if step.outcome == Outcome::Attempted { ATTEMPTED } else { 0 };
    let encoded = if step.length > 0 { ENCODED } else { 0 };
    outcome | attempted | encoded
}

/// Steps whose sums fit into [`Usual::add_plain`]'s.
const TOGETHER: usize = (1 << 20) - 1;

impl Usual {
    /// Adds the steps at the start of `events` that have nothing but their encoding and an outcome; returns their number.
    #[inline(always)]
    fn add_plain(&mut self, events: &[Event]) -> usize {
        // Three sums in one word, by outcome: it stays in a register.
        let (mut sums, mut number) = (0u64, 0);
        for event in &events[..events.len().min(TOGETHER)] {
            let EventKind::Step(step) = &event.kind else { break };
            let Accesses { mem_len, regs_len, .. } = step.accesses;
            let is_bare = (mem_len | regs_len == 0) & step.extra.is_none();
            if !(is_bare & (step.length > 0) & (step.outcome == Outcome::Retired)) {
                break;
            }
            sums += 1 << (20 * (kind(step) & OUTCOME));
            number += 1;
        }
        for outcome in 0..3 {
            self.kinds[ENCODED | outcome] += sums >> (20 * outcome) & TOGETHER as u64;
        }
        number
    }

    /// Adds a step; false, and nothing was added, if it has rare parts.
    #[inline(always)]
    fn add(&mut self, batch: &Batch, step: &Step) -> bool {
        let (mut is_target, mut accesses, mut data) = (false, 0, 0);
        if step.pc.is_none() & (step.length == 0) {
            return false;
        }
        if let Some(extra) = batch.extra_of(step) {
            let StepExtra { target, physical_pc, sme_index, micro_ops, placeholder } = extra;
            if *placeholder || physical_pc.is_some() || sme_index.is_some() || micro_ops.len > 0 {
                return false;
            }
            is_target = target.is_some();
        }
        if step.accesses.mem_len > 0 {
            let is_marked = |access: &MemAccess| {
                access.tagged
                    | access.range
                    | access.inferred
                    | (access.attributes != 0)
                    | access.extra.is_some()
            };
            let known = |access: &MemAccess| u64::from(access.data != Value::Unknown);
            (accesses, data) = match batch.mem_of(step.accesses) {
                [access] if !is_marked(access) => (1, known(access)),
                // Of a pair: adjoining accesses are one.
                [one, next] if !is_marked(one) & !is_marked(next) => match one.adjoins(next) {
                    true => (1, known(one) & known(next)),
                    false => (2, known(one) + known(next)),
                },
                _ => return false,
            };
        }
        let Accesses { regs_start, regs_len, .. } = step.accesses;
        if regs_len > 0 {
            if self.coming.end != regs_start as usize {
                self.add_registers(batch);
                self.coming.start = regs_start as usize;
            }
            self.coming.end = regs_start as usize + usize::from(regs_len);
        }
        self.kinds[kind(step)] += 1;
        self.targets += u64::from(is_target);
        self.accesses += accesses;
        self.data += data;
        true
    }

    #[inline(never)]
    fn add_registers(&mut self, batch: &Batch) {
        for access in &batch.regs[std::mem::take(&mut self.coming)] {
            self.registers[access.role as usize] += 1;
        }
    }

    /// The facts of all steps, which were those of `batch`.
    fn counts(mut self, batch: &Batch) -> [(Fact, u64); 11] {
        self.add_registers(batch);
        let steps = |is: fn(usize) -> bool| {
            let those = self.kinds.iter().enumerate().filter(|(kind, _)| is(*kind));
            those.map(|(_, n)| n).sum()
        };
        let of = |role: RegRole| (of_role(role), self.registers[role as usize]);
        [
            (Fact::Instructions, steps(|_| true)),
            (Fact::Encodings, steps(|kind| kind & ENCODED != 0)),
            (Fact::Attempted, steps(|kind| kind & ATTEMPTED != 0)),
            (Fact::Outcomes, steps(|kind| kind & OUTCOME != NO_OUTCOME)),
            (Fact::Targets, self.targets),
            (Fact::MemoryAccesses, self.accesses),
            (Fact::MemoryData, self.data),
            of(RegRole::Source),
            of(RegRole::Destination),
            of(RegRole::State),
            of(RegRole::Ready),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    /// Steps with anything that a step may have.
    fn steps(random: &mut SplitMix64) -> Batch {
        let mut batch = Batch::default();
        let mut below = |n: u64| random.below(n);
        for n in 0..50 {
            let begun = batch.begin_accesses();
            for _ in 0..below(4) {
                let role = [RegRole::Source, RegRole::Destination, RegRole::State, RegRole::Ready]
                    [below(4) as usize];
                let reg = Reg { class: RegClass::Int, number: below(32) as u16 };
                let value = if below(4) == 0 { Value::Unknown } else { Value::Word(below(9)) };
                batch.regs.push(RegAccess { reg, role, update: RegUpdate::Set, value, known: None });
            }
            for _ in 0..below(8).saturating_sub(5) {
                let data = if below(3) == 0 { Value::Unknown } else { Value::Word(1) };
                let kind = [MemKind::Read, MemKind::Write, MemKind::Prefetch][below(3) as usize];
                let mut access = MemAccess::new(kind, 8 * below(3), 8, data);
                match below(12) {
                    0 => access.attributes = 3,
                    1 => access.tagged = true,
                    2 => access.range = true,
                    3 => access.inferred = true,
                    4 => access.unplaced = true,
                    5 => {
                        access.extra =
                            batch.add_mem_extra(MemExtra { physical: Some(1), ..MemExtra::default() })
                    }
                    _ => {}
                }
                batch.mem.push(access);
            }
            let accesses = batch.end_accesses(begun).unwrap_or_default();
            let mut step = Step { accesses, ..Step::new(4 * n, 0x13, 4) };
            if below(3) == 0 {
                let mut extra = StepExtra::default();
                match below(8) {
                    0 => extra.physical_pc = Some(1),
                    1 => extra.sme_index = Some(1),
                    2 => extra.micro_ops = batch.add_bytes(&[1; 5]),
                    3 => extra.placeholder = true,
                    4 => {}
                    _ => extra.target = Some(8),
                }
                step.extra = batch.add_extra(extra);
            }
            step.taken = [None, Some(true), Some(false)][below(3) as usize];
            step.outcome = if below(5) == 0 { Outcome::Attempted } else { Outcome::Retired };
            step.length = [0, 2, 4][below(3) as usize];
            step.pc = step.pc.filter(|_| below(4) > 0);
            batch.push(0, EventKind::Step(step));
        }
        batch
    }

    #[test]
    fn steps_are_counted_as_each_alone() {
        let mut random = SplitMix64(7);
        for _ in 0..500 {
            let batch = steps(&mut random);
            let (mut together, mut alone) = (Counts::default(), Counts::default());
            together.add_batch(&batch, &mut Contexts::default());
            for event in &batch.events {
                alone.add_event(&batch, &event.kind, &mut Contexts::default());
            }
            assert_eq!(together, alone);
        }
    }
}
