//! The steps of a decoder for the elements so far, until they are counted.

use std::collections::VecDeque;

use trackway_core::Isa;

use super::account::{Blocks, Logged, Step};
use super::instruction::Block;

/// Steps in order, each with the place in the stream where its packet ends.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    entries: Vec<(Entry, u64)>,
    steps: VecDeque<Step>,
    /// Blocks after all of them, whose atoms are not written yet.
    waiting: Waiting,
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
const WAITS: u64 = u64::MAX;

/// Room for blocks; at most 32 atoms wait.
const ROOM: usize = 64;

/// Blocks of one instruction set, of all of which their source has the same facts.
#[derive(Clone, Debug)]
struct Waiting {
    isa: Isa,
    known: bool,
    /// The start and the number of instructions of block `n` are at `n` % `ROOM`.
    starts: [u64; ROOM],
    counts: [u32; ROOM],
    /// Where it leads, if its source says so.
    targets: [Option<u64>; ROOM],
    first: usize,
    len: usize,
}

impl Default for Waiting {
    fn default() -> Self {
        let (starts, counts, targets) = ([0; ROOM], [0; ROOM], [None; ROOM]);
        Waiting { isa: Isa::A64, known: false, starts, counts, targets, first: 0, len: 0 }
    }
}

impl Waiting {
    /// Takes the first `count` as one.
    #[inline]
    fn take(&mut self, count: usize) -> Blocks {
        let (start, isa, known) = (self.starts[self.first % ROOM], self.isa, self.known);
        let counts = (0..count).map(|n| u64::from(self.counts[(self.first + n) % ROOM]));
        let mut blocks = Blocks { start, instructions: counts.sum(), count: count as u32, isa, known: None };
        if known {
            let (mut shown, mut open) = (0, None);
            for n in 0..count {
                let place = (self.first + n) % ROOM;
                shown += u32::from(n > 0 && open == Some(self.starts[place]));
                open = self.targets[place];
            }
            blocks.known = Some((shown, open));
        }
        self.first = (self.first + count) % ROOM;
        self.len -= count;
        blocks
    }
}

impl Log {
    pub(crate) fn len(&self) -> usize {
        self.entries.len() + self.waiting.len
    }

    /// `end` is `None` if the packet is not written yet.
    pub(crate) fn push(&mut self, step: Step, end: Option<u64>) {
        self.enter_waiting();
        self.entries.push((Entry::Step, end.unwrap_or(WAITS)));
        self.steps.push_back(step);
    }

    pub(crate) fn push_target(&mut self, address: u64, end: u64) {
        self.enter_waiting();
        self.entries.push((Entry::Target(address), end));
    }

    /// A block whose packet is not written yet.
    #[inline(always)]
    pub(crate) fn push_block(&mut self, block: &Block) {
        let is_known = block.known.is_some();
        if self.waiting.isa != block.branch.isa || self.waiting.known != is_known || self.waiting.len == ROOM
        {
            self.enter_waiting();
            (self.waiting.isa, self.waiting.known) = (block.branch.isa, is_known);
        }
        let waiting = &mut self.waiting;
        let n = (waiting.first + waiting.len) % ROOM;
        (waiting.starts[n], waiting.counts[n]) = (block.start, block.count);
        if let Some(target) = block.known {
            waiting.targets[n] = target;
        }
        waiting.len += 1;
    }

    /// Makes entries of the blocks that wait, as another step follows.
    fn enter_waiting(&mut self) {
        while self.waiting.len > 0 {
            let block = self.waiting.take(1);
            self.entries.push((Entry::Blocks(block), WAITS));
        }
    }

    /// Removes the last steps but `count`.
    pub(crate) fn truncate(&mut self, count: usize) {
        self.waiting.len = self.waiting.len.min(count.saturating_sub(self.entries.len()));
        while self.entries.len() > count {
            if let Some((Entry::Step, _)) = self.entries.pop() {
                self.steps.pop_back();
            }
        }
    }

    /// The packets of the first `count` steps end at `place` or before. Blocks of one packet become one entry.
    #[inline]
    pub(crate) fn write(&mut self, count: usize, place: u64) {
        let entries = count.min(self.entries.len());
        for (_, end) in self.entries[..entries].iter_mut().rev().take_while(|(_, end)| *end == WAITS) {
            *end = place;
        }
        if count > entries {
            let blocks = self.waiting.take(count - entries);
            self.entries.push((Entry::Blocks(blocks), place));
        }
    }

    /// Takes the first `count` steps, which are written.
    pub(crate) fn take(&mut self, count: usize, mut each: impl FnMut(&Logged, u64)) {
        for (entry, end) in self.entries.drain(..count) {
            match entry {
                Entry::Blocks(blocks) => each(&Logged::Blocks(blocks), end),
                Entry::Target(address) => each(&Logged::Target(address), end),
                Entry::Step => {
                    if let Some(step) = self.steps.pop_front() {
                        each(&Logged::Step(step), end);
                    }
                }
            }
        }
    }
}
