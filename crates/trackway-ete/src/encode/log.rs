//! The steps of a decoder for the elements so far, until they are counted.

use std::collections::VecDeque;

use super::account::{Blocks, Logged, Step};

/// Steps in order, each with the place in the stream where its packet ends.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    entries: Vec<(Entry, u64)>,
    steps: VecDeque<Step>,
}

/// The usual ones are small.
#[derive(Clone, Copy, Debug)]
enum Entry {
    Blocks(Blocks),
    Target(u64),
    /// The next of [`Log::steps`].
    Step,
}

/// The packet is not written yet.
pub(crate) const WAITS: u64 = u64::MAX;

impl Log {
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn push(&mut self, step: Step, end: u64) {
        self.entries.push((Entry::Step, end));
        self.steps.push_back(step);
    }

    pub(crate) fn push_target(&mut self, address: u64, end: u64) {
        self.entries.push((Entry::Target(address), end));
    }

    /// Blocks whose packet is not written yet.
    #[inline]
    pub(crate) fn push_blocks(&mut self, blocks: Blocks) {
        self.entries.push((Entry::Blocks(blocks), WAITS));
    }

    /// Removes the last steps but `count`.
    pub(crate) fn truncate(&mut self, count: usize) {
        while self.entries.len() > count {
            if let Some((Entry::Step, _)) = self.entries.pop() {
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

    /// The packets of the first `count` steps end at `place` or before. The blocks of one packet become one entry.
    pub(crate) fn write(&mut self, count: usize, place: u64) {
        let waiting = self.entries[..count].iter().rev().take_while(|(_, end)| *end == WAITS).count();
        if waiting == 0 {
            return;
        }
        let mut last = count - waiting;
        self.entries[last].1 = place;
        for n in last + 1..count {
            let (entry, _) = self.entries[n];
            if let (Entry::Blocks(blocks), Entry::Blocks(later)) = (&mut self.entries[last].0, &entry)
                && blocks.isa == later.isa
            {
                blocks.join(later);
            } else {
                last += 1;
                self.entries[last] = (entry, place);
            }
        }
        self.entries.drain(last + 1..count);
    }

    /// Takes the first `count` steps.
    pub(crate) fn take(&mut self, count: usize) -> impl Iterator<Item = (Logged, u64)> + '_ {
        let steps = &mut self.steps;
        self.entries.drain(..count).filter_map(|(entry, end)| match entry {
            Entry::Blocks(blocks) => Some((Logged::Blocks(blocks), end)),
            Entry::Target(address) => Some((Logged::Target(address), end)),
            Entry::Step => steps.pop_front().map(|step| (Logged::Step(step), end)),
        })
    }
}
