//! Facts of two sides that may be a few instructions apart.

use std::collections::{HashMap, VecDeque};

use super::facts::{Counts, Fact, Found};

/// How many instructions a fact may move. Times and marks keep their order only: trace units emit them when they can.
fn reach(fact: Fact) -> u64 {
    match fact {
        Fact::Timestamps
        | Fact::TimeOffsets
        | Fact::CycleCounts
        | Fact::Clocks
        | Fact::Marks
        | Fact::Notes => u64::MAX,
        _ => 2,
    }
}

/// Facts of one kind that wait for a partner at the most.
const WAITING: usize = 1 << 16;

/// Compares facts of two traces instruction by instruction: partners are taken away, the rest is counted. The prover reads
/// with it, and sinks that read back what they write.
///
/// ```
/// use trackway_core::{Fact, Nearby};
/// let mut facts = Nearby::default();
/// facts.between(&[(Fact::Privileges, 0)], &[], 7);
/// facts.between(&[], &[(Fact::Privileges, 0), (Fact::Privileges, 3)], 8);
/// facts.finish();
/// assert_eq!(facts.matched[Fact::Privileges], 1);
/// assert_eq!((facts.missing[Fact::Privileges], facts.extra[Fact::Privileges]), (0, 1));
/// assert_eq!(facts.first_extra[&Fact::Privileges], 8);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Nearby {
    /// Facts that both have.
    pub matched: Counts,
    /// Facts that only the input has.
    pub missing: Counts,
    /// Facts that only the output has.
    pub extra: Counts,
    /// Instruction of the first fact of each kind that only the input has.
    pub first_missing: HashMap<Fact, u64>,
    /// Likewise for the output.
    pub first_extra: HashMap<Fact, u64>,
    /// Facts without a partner so far: the other side may have them a little earlier or later.
    waiting: HashMap<Fact, Waiting>,
}

/// Instruction and value of facts of one kind, of the input and of the output.
#[derive(Clone, Debug, Default)]
struct Waiting([VecDeque<(u64, u64)>; 2]);

impl Nearby {
    /// Facts of instruction `number` itself: they belong to it and nowhere else.
    pub fn own(&mut self, input: &[Found], output: &[Found], number: u64) {
        if input == output {
            input.iter().for_each(|&(fact, _)| self.matched[fact] += 1);
            return;
        }
        let (missing, extra) = self.split(input, output);
        missing.into_iter().for_each(|(fact, _)| self.miss(fact, number));
        extra.into_iter().for_each(|(fact, _)| self.add(fact, number));
    }

    /// Facts between two instructions, `number` being the later.
    pub fn between(&mut self, input: &[Found], output: &[Found], number: u64) {
        if input.is_empty() && output.is_empty() {
            return;
        }
        let (missing, extra) = self.split(input, output);
        missing.into_iter().for_each(|found| self.wait(found, 0, number));
        extra.into_iter().for_each(|found| self.wait(found, 1, number));
    }

    /// A fact of instruction `number` that only the input has.
    pub fn miss(&mut self, fact: Fact, number: u64) {
        self.missing[fact] += 1;
        self.first_missing.entry(fact).or_insert(number);
    }

    /// True if no fact waits for a partner.
    pub fn is_settled(&self) -> bool {
        self.waiting.values().all(|Waiting(sides)| sides.iter().all(VecDeque::is_empty))
    }

    /// Nothing follows: what waits has no partner.
    pub fn finish(&mut self) {
        for (fact, Waiting([input, output])) in std::mem::take(&mut self.waiting) {
            input.into_iter().for_each(|(at, _)| self.miss(fact, at));
            output.into_iter().for_each(|(at, _)| self.add(fact, at));
        }
    }

    fn add(&mut self, fact: Fact, number: u64) {
        self.extra[fact] += 1;
        self.first_extra.entry(fact).or_insert(number);
    }

    /// Takes away what both have; returns what only one has.
    fn split(&mut self, input: &[Found], output: &[Found]) -> (Vec<Found>, Vec<Found>) {
        let mut missing = input.to_vec();
        let mut extra = Vec::new();
        for &found in output {
            match missing.iter().position(|&other| other == found) {
                Some(n) => {
                    missing.remove(n);
                    self.matched[found.0] += 1;
                }
                None => extra.push(found),
            }
        }
        (missing, extra)
    }

    /// A fact of one side, 0 or 1, takes its partner away or waits for it.
    fn wait(&mut self, (fact, value): Found, side: usize, number: u64) {
        let Waiting(queues) = self.waiting.entry(fact).or_default();
        // Those that have waited too long have lost their partner for good.
        let mut late = [Vec::new(), Vec::new()];
        for (queue, late) in queues.iter_mut().zip(&mut late) {
            while let Some(&(at, _)) = queue.front()
                && (number.saturating_sub(at) > reach(fact) || queue.len() > WAITING)
            {
                queue.pop_front();
                late.push(at);
            }
        }
        match queues[1 - side].iter().position(|&(_, other)| other == value) {
            Some(n) => {
                queues[1 - side].remove(n);
                self.matched[fact] += 1;
            }
            None => queues[side].push_back((number, value)),
        }
        let [missing, extra] = late;
        missing.into_iter().for_each(|at| self.miss(fact, at));
        extra.into_iter().for_each(|at| self.add(fact, at));
    }
}
