//! The budget of a search, and how much of it was used. Work is counted, never timed, so that the same file has the same
//! answer on every machine.

use std::cell::Cell;

use trackway::Options;
use trackway::format::Settings;

use super::fit::{Excerpt, Fit, fit};

/// Limits of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Settings and load addresses that are tried.
    pub tries: usize,
    /// Bytes of the trace that a trial decodes.
    pub bytes: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Budget { tries: 4000, bytes: 1 << 16 }
    }
}

impl Budget {
    /// Instructions and items that all trials together may decode: a few bytes can mean millions of instructions.
    pub fn steps(&self) -> u64 {
        (self.bytes as u64).saturating_mul(4 << 10).saturating_add(64 << 20)
    }
}

/// The work that was done.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) budget: Budget,
    tries: Cell<usize>,
    steps: Cell<u64>,
    /// Tries after which the current search ends.
    end: Cell<usize>,
    cut_short: Cell<bool>,
}

impl Work {
    pub(super) fn new(budget: Budget) -> Self {
        let (tries, steps, end) = (Cell::new(0), Cell::new(0), Cell::new(budget.tries));
        Work { budget, tries, steps, end, cut_short: Cell::new(false) }
    }

    pub(super) fn tries(&self) -> usize {
        self.tries.get()
    }

    pub(super) fn steps(&self) -> u64 {
        self.steps.get()
    }

    /// Begins a search, and leaves tries for as many `others` and for load addresses.
    pub(super) fn begin_search(&self, others: usize) {
        let left = self.budget.tries.saturating_sub(self.tries());
        self.end.set(self.tries() + (left - left / 8).div_ceil(others + 1));
    }

    /// Begins to look for load addresses, and leaves tries for as many `others`.
    pub(super) fn begin_places(&self, others: usize) {
        let left = self.budget.tries.saturating_sub(self.tries());
        self.end.set(self.tries() + left / (others + 1));
    }

    /// The search has to end.
    pub(super) fn is_over(&self) -> bool {
        let is_over = self.tries() >= self.end.get() || self.steps() >= self.budget.steps();
        self.cut_short.set(self.cut_short.get() || is_over);
        is_over
    }

    /// A search ended before everything was tried.
    pub(super) fn was_cut_short(&self) -> bool {
        self.cut_short.get()
    }

    /// Tries settings for the first time.
    pub(super) fn try_out(
        &self,
        options: &Options,
        settings: &Settings,
        excerpt: Excerpt<'_>,
    ) -> Option<Fit> {
        self.tries.set(self.tries() + 1);
        self.decode(options, settings, excerpt)
    }

    /// Decodes an excerpt by settings.
    pub(super) fn decode(&self, options: &Options, settings: &Settings, excerpt: Excerpt<'_>) -> Option<Fit> {
        let fit = fit(options, settings, excerpt);
        let steps = fit.as_ref().map_or(0, |fit| fit.items + fit.instructions.unwrap_or(0));
        self.steps.set(self.steps() + steps);
        fit
    }
}
