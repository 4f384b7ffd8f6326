//! Exact mode: no address is passed twice between a report or branch and the next report.

use super::Encoder;
use super::progress::Progress;
use super::row::{Previous, ReportReason};

/// The addresses passed since the last report or branch, in exact mode.
#[derive(Clone, Debug, Default)]
pub(super) struct Stretch {
    /// Straight runs: first and last instruction.
    pub(super) runs: Vec<(u64, u64)>,
    /// Start of the current run.
    pub(super) start: u64,
    /// The inferred transfer that led to the current run: its address, and the instructions up to it.
    pub(super) transfer: Option<(u64, Progress)>,
}

impl Stretch {
    /// Clears it; the current run starts at `start`.
    #[inline]
    pub(super) fn begin(&mut self, start: u64) {
        self.runs.clear();
        self.transfer = None;
        self.start = start;
    }

    /// An inferred transfer leads from `address`, where the trace is at `end`, to `start`.
    #[inline]
    pub(super) fn transfer(&mut self, address: u64, end: Progress, start: u64) {
        if self.start <= address {
            self.runs.push((self.start, address));
        }
        self.transfer = Some((address, end));
        self.start = start;
    }

    /// Was `address` passed, if the current run extends to `here`?
    pub(super) fn has_passed(&self, address: u64, here: u64) -> bool {
        let within = |&(first, last): &(u64, u64)| first <= address && address <= last;
        within(&(self.start, here)) || self.runs.iter().any(within)
    }
}

/// More runs than this without a branch lead to a report.
const MAX_RUNS: usize = 32;

impl Encoder {
    /// Does the run from `from` to `to` reach an address passed before, or are there too many runs?
    #[inline]
    pub(super) fn overlaps(&self, from: u64, to: u64) -> bool {
        let runs = &self.stretch.runs;
        runs.len() > MAX_RUNS || runs.iter().any(|&(first, last)| from <= last && first <= to)
    }

    /// Exact mode: if the current run reaches an address passed before, reports the transfer that led to the run.
    /// Nothing has been sent since that transfer.
    pub(super) fn avoid_overlap(&mut self, from: u64, to: u64) {
        let Some((transfer, end)) = self.stretch.transfer else { return };
        if self.overlaps(from, to) {
            let previous = self.previous;
            self.previous = Previous::default();
            self.report_to(transfer, end, ReportReason::Notify, false, false);
            self.previous = previous;
            self.stretch.runs.clear();
        }
    }
}
