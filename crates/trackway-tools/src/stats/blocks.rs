//! Straight runs that are entered by transfers of control.

use std::collections::HashMap;

use super::table::Table;

/// A straight run that was entered by a transfer of control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Times it was entered.
    pub entries: u64,
    /// Instructions executed in it.
    pub instructions: u64,
}

impl Block {
    fn add(&mut self, other: Block) {
        self.entries += other.entries;
        self.instructions += other.instructions;
    }
}

/// Blocks by where they start.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    table: Table<Block>,
    /// A block that was at hand from the start on: it may go on with what came before.
    head: Option<Open>,
    now: Now,
}

/// Where control is.
#[derive(Clone, Copy, Debug, Default)]
enum Now {
    /// Nothing was seen yet.
    #[default]
    Start,
    /// In a block; from the start on?
    In(Open, bool),
    /// It led away, or got lost.
    Away,
}

/// A block that control has been in once more.
#[derive(Clone, Copy, Debug)]
struct Open {
    start: u64,
    /// Where it would go on.
    next: u64,
    instructions: u64,
}

impl Blocks {
    /// Instructions from `start` to `next`; a block goes on where nothing led away.
    #[inline]
    pub(super) fn enter(&mut self, start: u64, next: u64, instructions: u64, leaves: bool) {
        match &mut self.now {
            Now::In(open, _) if open.next == start => {
                open.next = next;
                open.instructions += instructions;
            }
            now => {
                let from_start = matches!(now, Now::Start);
                self.leave();
                self.now = Now::In(Open { start, next, instructions }, from_start);
            }
        }
        if leaves {
            self.leave();
        }
    }

    /// What comes next is entered anew.
    #[inline]
    pub(super) fn leave(&mut self) {
        if let Now::In(open, from_start) = std::mem::replace(&mut self.now, Now::Away) {
            if from_start {
                self.head = Some(open);
            } else {
                self.table.at(open.start).add(Block { entries: 1, instructions: open.instructions });
            }
        }
    }

    /// All of them.
    pub(super) fn all(&self) -> HashMap<u64, Block> {
        let mut all: HashMap<u64, Block> = self.table.entries.iter().copied().collect();
        let now = match self.now {
            Now::In(open, _) => Some(open),
            Now::Start | Now::Away => None,
        };
        for open in self.head.into_iter().chain(now) {
            all.entry(open.start).or_default().add(Block { entries: 1, instructions: open.instructions });
        }
        all
    }

    /// Takes over the blocks of what follows.
    pub(super) fn merge(&mut self, later: Blocks) {
        self.table.merge(later.table, Block::add);
        if let Some(open) = later.head {
            self.enter(open.start, open.next, open.instructions, true);
        }
        match later.now {
            Now::Start => {}
            Now::In(open, true) => self.enter(open.start, open.next, open.instructions, false),
            Now::In(_, false) | Now::Away => {
                self.leave();
                self.now = later.now;
            }
        }
    }
}
