//! Facts of two sides that may be a few instructions apart.

use super::facts::{Counts, Fact};

/// Instructions that a fact may move.
const REACH: u64 = 2;

/// Compares facts of two traces instruction by instruction: partners are taken away, the rest is counted. For sinks that
/// read back what they write.
///
/// ```
/// use trackway_core::{Fact, Nearby};
/// let mut facts = Nearby::default();
/// facts.compare(vec![(Fact::Privileges, 0)], &[], 7);
/// facts.compare(vec![], &[(Fact::Privileges, 0), (Fact::Privileges, 3)], 8);
/// facts.finish();
/// assert_eq!((facts.missing[Fact::Privileges], facts.extra[Fact::Privileges]), (0, 1));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Nearby {
    /// Facts that only the input has.
    pub missing: Counts,
    /// Facts that only the output has.
    pub extra: Counts,
    /// Facts without a partner so far: instruction, fact and value, and whether the output has it.
    waiting: Vec<(u64, (Fact, u64), bool)>,
}

impl Nearby {
    /// Compares the facts before instruction `number` of the output.
    pub fn compare(&mut self, mut input: Vec<(Fact, u64)>, output: &[(Fact, u64)], number: u64) {
        let mut extra = Vec::new();
        for found in output {
            match input.iter().position(|other| other == found) {
                Some(n) => drop(input.swap_remove(n)),
                None => extra.push(*found),
            }
        }
        if !self.waiting.is_empty() {
            self.give_up(number.saturating_sub(REACH));
        }
        input.into_iter().for_each(|found| self.wait(found, false, number));
        extra.into_iter().for_each(|found| self.wait(found, true, number));
    }

    /// Nothing follows: what waits has no partner.
    pub fn finish(&mut self) {
        self.give_up(u64::MAX);
    }

    fn wait(&mut self, found: (Fact, u64), of_output: bool, number: u64) {
        let partner = |&(_, other, side): &(u64, (Fact, u64), bool)| other == found && side != of_output;
        match self.waiting.iter().position(partner) {
            Some(n) => drop(self.waiting.remove(n)),
            None => self.waiting.push((number, found, of_output)),
        }
    }

    /// Counts what has waited since before instruction `first`.
    fn give_up(&mut self, first: u64) {
        let Nearby { missing, extra, waiting } = self;
        waiting.retain(|&(number, (fact, _), of_output)| {
            let late = number < first;
            if late {
                let counts = if of_output { &mut *extra } else { &mut *missing };
                counts[fact] += 1;
            }
            !late
        });
    }
}
