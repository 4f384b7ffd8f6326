//! Facts of two traces, compared instruction by instruction.

use std::collections::{HashMap, VecDeque};

use trackway_core::{Counts, Fact};

use super::cells::Found;

/// Facts found on both sides, in the original only, and in the result only.
#[derive(Debug, Default)]
pub(super) struct Compared {
    pub matched: Counts,
    pub missing: Counts,
    pub extra: Counts,
    /// Facts without a partner so far, with the number of their instruction: the other side may have them a little
    /// earlier or later.
    waiting: HashMap<Fact, Waiting>,
    /// The first fact of each kind that the result has and the original does not, by instruction.
    pub first_extra: HashMap<Fact, u64>,
    /// Likewise the first that the original has and the result does not.
    pub first_missing: HashMap<Fact, u64>,
}

#[derive(Debug, Default)]
struct Waiting {
    original: VecDeque<(u64, u64)>,
    result: VecDeque<(u64, u64)>,
}

/// How many instructions a fact may move. Times and marks keep their order only: trace units emit them when they can.
fn reach(fact: Fact) -> u64 {
    match fact {
        Fact::Timestamps | Fact::TimeOffsets | Fact::CycleCounts | Fact::Marks | Fact::Notes => u64::MAX,
        _ => 2,
    }
}

/// Facts of one kind that wait for a partner at the most.
const WAITING: usize = 1 << 16;

impl Compared {
    /// Facts of instruction `number` itself: they belong to it and nowhere else.
    pub(super) fn own(&mut self, original: &[Found], result: &[Found], number: u64) {
        if original == result {
            original.iter().for_each(|&(fact, _)| self.matched[fact] += 1);
            return;
        }
        let (missing, extra) = self.split(original, result);
        missing.into_iter().for_each(|(fact, _)| self.miss(fact, number));
        extra.into_iter().for_each(|(fact, _)| self.add(fact, number));
    }

    /// Takes a branch target out of `original` that `result` does not have: where the next instruction is shows it.
    pub(super) fn leave_target(&self, original: &mut Vec<Found>, result: &[Found]) -> Option<u64> {
        let is_target = |found: &Found| found.0 == Fact::Targets;
        if result.iter().any(is_target) {
            return None;
        }
        original.iter().position(is_target).map(|n| original.remove(n).1)
    }

    /// Was a branch target shown by the next instruction?
    pub(super) fn target(&mut self, shown: bool, number: u64) {
        if shown {
            self.matched[Fact::Targets] += 1;
        } else {
            self.miss(Fact::Targets, number);
        }
    }

    /// Facts between two instructions, `number` being the later.
    pub(super) fn between(&mut self, original: &[Found], result: &[Found], number: u64) {
        if original.is_empty() && result.is_empty() {
            return;
        }
        let (missing, extra) = self.split(original, result);
        for (found, of_result) in missing
            .into_iter()
            .map(|found| (found, false))
            .chain(extra.into_iter().map(|found| (found, true)))
        {
            self.wait(found, of_result, number);
        }
    }

    /// Takes away what both have; returns what only one has.
    fn split(&mut self, original: &[Found], result: &[Found]) -> (Vec<Found>, Vec<Found>) {
        let mut missing = original.to_vec();
        let mut extra = Vec::new();
        // Usually in the same order: the search begins where the last one ended.
        for &found in result {
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

    fn wait(&mut self, (fact, value): Found, of_result: bool, number: u64) {
        let waiting = self.waiting.entry(fact).or_default();
        // Those that have waited too long have lost their partner for good.
        let late = |queue: &mut VecDeque<(u64, u64)>| {
            let first = queue.front().copied();
            first.filter(|&(at, _)| number.saturating_sub(at) > reach(fact) || queue.len() > WAITING)
        };
        let (mut missing, mut extra) = (Vec::new(), Vec::new());
        while let Some((at, _)) = late(&mut waiting.original) {
            waiting.original.pop_front();
            missing.push(at);
        }
        while let Some((at, _)) = late(&mut waiting.result) {
            waiting.result.pop_front();
            extra.push(at);
        }
        let Waiting { original, result } = waiting;
        let (own, other) = if of_result { (result, original) } else { (original, result) };
        if let Some(n) = other.iter().position(|&(_, one)| one == value) {
            other.remove(n);
            self.matched[fact] += 1;
        } else {
            own.push_back((number, value));
        }
        missing.into_iter().for_each(|at| self.miss(fact, at));
        extra.into_iter().for_each(|at| self.add(fact, at));
    }

    fn miss(&mut self, fact: Fact, number: u64) {
        self.missing[fact] += 1;
        self.first_missing.entry(fact).or_insert(number);
    }

    fn add(&mut self, fact: Fact, number: u64) {
        self.extra[fact] += 1;
        self.first_extra.entry(fact).or_insert(number);
    }

    /// Whatever still waits has no partner.
    pub(super) fn finish(&mut self) {
        for (fact, waiting) in std::mem::take(&mut self.waiting) {
            waiting.original.into_iter().for_each(|(at, _)| self.miss(fact, at));
            waiting.result.into_iter().for_each(|(at, _)| self.add(fact, at));
        }
    }
}
