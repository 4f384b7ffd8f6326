//! Counts by powers of two.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Numbers counted by the power of two below them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Powers(BTreeMap<u64, u64>);

impl Powers {
    /// Counts a number.
    pub(super) fn add(&mut self, number: u64, times: u64) {
        let from = if number == 0 { 0 } else { 1 << number.ilog2() };
        let count = self.0.entry(from).or_default();
        *count = count.saturating_add(times);
    }

    pub(super) fn merge(&mut self, later: Powers) {
        later.0.into_iter().for_each(|(from, times)| self.add(from, times));
    }

    /// Numbers from this one, up to twice it, and how many; 0 and 1 are for themselves.
    pub fn entries(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().map(|(from, count)| (*from, *count))
    }

    /// How many in all.
    pub fn total(&self) -> u64 {
        self.0.values().fold(0, |sum, count| sum.saturating_add(*count))
    }
}
