//! The steps of a decoder for the elements so far, until they are counted.

use std::collections::VecDeque;

use super::account::{Block, Logged, Step};

/// Steps in order, each with the place in the stream where its packet ends.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    /// `None` for the next of `steps`.
    entries: Vec<(Option<Block>, u64)>,
    steps: VecDeque<Step>,
}

/// The packet is not written yet.
pub(crate) const WAITS: u64 = u64::MAX;

impl Log {
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn push(&mut self, step: Step, end: u64) {
        self.entries.push((None, end));
        self.steps.push_back(step);
    }

    #[inline]
    pub(crate) fn push_block(&mut self, block: Block, end: u64) {
        self.entries.push((Some(block), end));
    }

    /// Removes the last steps but `count`.
    pub(crate) fn truncate(&mut self, count: usize) {
        while self.entries.len() > count {
            if let Some((None, _)) = self.entries.pop() {
                self.steps.pop_back();
            }
        }
    }

    /// The packet of the last step is not written yet.
    pub(crate) fn last_waits(&mut self) {
        if let Some((_, end)) = self.entries.last_mut() {
            *end = WAITS;
        }
    }

    /// The packets of the first `count` steps end at `place` or before.
    #[inline]
    pub(crate) fn write(&mut self, count: usize, place: u64) {
        for (_, end) in self.entries[..count].iter_mut().rev().take_while(|(_, end)| *end == WAITS) {
            *end = place;
        }
    }

    /// Takes the first `count` steps.
    pub(crate) fn take(&mut self, count: usize) -> impl Iterator<Item = (Logged, u64)> + '_ {
        let steps = &mut self.steps;
        self.entries.drain(..count).filter_map(|(block, end)| match block {
            Some(block) => Some((Logged::Block(block), end)),
            None => steps.pop_front().map(|step| (Logged::Step(step), end)),
        })
    }
}
