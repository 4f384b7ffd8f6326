//! Outcomes of branches, as packets report them.

use serde::{Deserialize, Serialize};

use super::LONGEST_LOOP;

/// Outcomes of branches that were reported and not used yet: bits first, then predictions.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Outcomes {
    /// Oldest in bit 0, 1 = not taken.
    pub(super) bits: u64,
    pub(super) count: u32,
    /// The first of them came with a synchronisation packet and does not train the predictor.
    pub(super) untrained: bool,
    /// Then this many that are predicted correctly.
    pub(super) predicted: u64,
    /// Then one that is mispredicted.
    pub(super) missed: bool,
    /// With this number of predictions left, they are doubted; 0: none are.
    pub(super) doubted: u64,
}

impl Outcomes {
    #[inline]
    pub(crate) fn left(&self) -> u64 {
        u64::from(self.count) + self.predicted + u64::from(self.missed)
    }

    /// Number and bits of outcomes that are not predicted.
    #[inline]
    pub(crate) fn bits(&self) -> (u32, u64) {
        (self.count, self.bits)
    }

    /// The first one does not train the predictor.
    #[inline]
    pub(crate) fn is_untrained(&self) -> bool {
        self.untrained
    }

    #[inline]
    pub(crate) fn add_map(&mut self, map: u32, count: u32) {
        let map = u64::from(map) & ((1u64 << count) - 1);
        self.bits |= map << self.count;
        self.count += count;
    }

    /// More predictions than `bound` are doubted.
    pub(crate) fn add_predicted(&mut self, count: u64, missed: bool, bound: u64) {
        self.predicted += count;
        self.missed = missed;
        self.doubted = self.predicted.saturating_sub(bound);
    }

    pub(crate) fn add_sync(&mut self, not_taken: bool) {
        self.untrained = self.count == 0;
        self.add_map(u32::from(not_taken), 1);
    }

    pub(crate) fn clear(&mut self) {
        *self = Outcomes::default();
    }

    /// Could packets have reported these, with the bound of [`add_predicted`](Outcomes::add_predicted)?
    pub(super) fn is_possible(&self, bound: u64) -> bool {
        let certain = self.predicted.saturating_sub(self.doubted);
        let shown = if self.doubted > 0 { bound } else { bound.max(2 * LONGEST_LOOP as u64) };
        self.count <= 32 && self.doubted <= self.predicted && self.predicted <= 1 << 40 && certain <= shown
    }
}
