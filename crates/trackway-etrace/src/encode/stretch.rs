//! Exact mode: no address is passed twice between a report or branch and the next report.

use super::Encoder;
use super::row::{Previous, ReportReason};

/// What was walked since the last report or branch, in exact mode.
#[derive(Clone, Debug, Default)]
pub(super) struct Stretch {
    /// Straight runs walked, first and last instruction.
    pub(super) runs: Vec<(u64, u64)>,
    /// Start of the run going on.
    pub(super) start: u64,
    /// The inferred transfer that the run going on began with.
    pub(super) transfer: Option<u64>,
}

impl Stretch {
    /// Nothing was walked yet; it goes on at `start`.
    #[inline]
    pub(super) fn begin(&mut self, start: u64) {
        self.runs.clear();
        self.transfer = None;
        self.start = start;
    }

    /// An inferred transfer leads from `address` to `start`.
    #[inline]
    pub(super) fn transfer(&mut self, address: u64, start: u64) {
        if self.start <= address {
            self.runs.push((self.start, address));
        }
        self.transfer = Some(address);
        self.start = start;
    }

    /// Was `address` passed, now that the run going on has come to `here`?
    pub(super) fn has_passed(&self, address: u64, here: u64) -> bool {
        let within = |&(first, last): &(u64, u64)| first <= address && address <= last;
        within(&(self.start, here)) || self.runs.iter().any(within)
    }
}

/// More runs than this without a branch are cut by a report.
const MAX_RUNS: usize = 32;

impl Encoder {
    /// Exact mode: where the run going on comes to a place walked before, the transfer that it began with is
    /// reported first. Nothing was sent since, so it is not too late.
    pub(super) fn avoid_overlap(&mut self, from: u64, to: u64) {
        let stretch = &self.stretch;
        let Some(transfer) = stretch.transfer else { return };
        let full = stretch.runs.len() > MAX_RUNS;
        if full || stretch.runs.iter().any(|&(first, last)| from <= last && first <= to) {
            let previous = self.previous;
            self.previous = Previous::default();
            self.report(transfer, ReportReason::Notify, false, false);
            self.previous = previous;
            self.stretch.runs.clear();
        }
    }
}
