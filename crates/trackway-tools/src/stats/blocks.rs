//! Blocks: straight runs that control enters by a transfer.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::table::Table;

/// Executions of a straight run that control enters by a transfer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Blocks {
    table: Table<Block>,
    /// The block that the part begins in: it may continue one of the part before.
    head: Option<Open>,
    current: Current,
}

/// The block that control is in.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
enum Current {
    /// Before the first instruction.
    #[default]
    Start,
    /// In a block; true if the part begins in it.
    In(Open, bool),
    /// The last block ended, or control got lost.
    Away,
}

/// One pass through a block, so far.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Open {
    start: u64,
    /// Address of the next instruction, if the block continues.
    next: u64,
    instructions: u64,
}

impl Blocks {
    /// Adds instructions from `start` to `next`; they continue the block unless control left it.
    #[inline]
    pub(super) fn enter(&mut self, start: u64, next: u64, instructions: u64, leaves: bool) {
        match &mut self.current {
            Current::In(open, _) if open.next == start => {
                open.next = next;
                open.instructions += instructions;
            }
            current => {
                let from_start = matches!(current, Current::Start);
                self.leave();
                self.current = Current::In(Open { start, next, instructions }, from_start);
            }
        }
        if leaves {
            self.leave();
        }
    }

    /// Ends the block: the next instruction begins another.
    #[inline]
    pub(super) fn leave(&mut self) {
        if let Current::In(open, from_start) = std::mem::replace(&mut self.current, Current::Away) {
            if from_start {
                self.head = Some(open);
            } else {
                self.table.at(open.start).add(Block { entries: 1, instructions: open.instructions });
            }
        }
    }

    /// All blocks, by start.
    pub(super) fn all(&self) -> HashMap<u64, Block> {
        let mut all: HashMap<u64, Block> = self.table.entries.iter().copied().collect();
        let open = match self.current {
            Current::In(open, _) => Some(open),
            Current::Start | Current::Away => None,
        };
        for open in self.head.into_iter().chain(open) {
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
        match later.current {
            Current::Start => {}
            Current::In(open, true) => self.enter(open.start, open.next, open.instructions, false),
            Current::In(_, false) | Current::Away => {
                self.leave();
                self.current = later.current;
            }
        }
    }
}
