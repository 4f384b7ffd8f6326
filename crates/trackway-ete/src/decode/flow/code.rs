//! The program: block tables by context and instruction set, and blocks as runs.

use std::sync::Arc;

use trackway_core::{Context, Isa, Run};
use trackway_image::{Block, Cursor};
use trackway_isa::Control;

use super::Analyser;
use super::atoms::Exits;
use crate::wire::context::ContextState;

/// A block table, with the context and instruction set that it is for.
#[derive(Debug)]
pub(super) struct Table {
    context: ContextState,
    isa: Isa,
    pub(super) cursor: Cursor,
    pub(super) exits: Arc<Exits>,
}

/// Maximum number of tables kept here; the image caches the others.
const TABLES: usize = 16;

impl Analyser {
    /// Selects the block table for the context and instruction set.
    #[cold]
    pub(super) fn select(&mut self) {
        self.stale = false;
        let isa = self.flow.isa();
        self.isa = isa;
        if self.flow.reported_isa != Some(isa) && !self.withdrawn {
            self.flow.reported_isa = Some(isa);
            let offset = self.out.last_offset();
            self.out.batch().push_context(offset, Context { isa: Some(isa), ..Context::default() });
        }
        let context = if self.spaces { self.flow.context } else { ContextState::default() };
        if let Some(index) = self.tables.iter().position(|table| table.isa == isa && table.context == context)
        {
            self.table = index;
            return;
        }
        let blocks = self.program.image.blocks(&self.event_of(self.flow.context), isa, self.waypoints);
        let known = self.tables.iter().find(|table| table.isa == isa).map(|table| Arc::clone(&table.exits));
        let exits = known.unwrap_or_else(|| Arc::new(Exits::new(isa, self.return_stack)));
        let table = Table { context, isa, cursor: blocks.cursor(), exits };
        if self.tables.len() < TABLES {
            self.tables.push(table);
            self.table = self.tables.len() - 1;
        } else {
            self.table = (self.table + 1) % TABLES;
            self.tables[self.table] = table;
        }
    }

    /// The block at an address, joined with the next one if only its length cuts it.
    #[inline]
    pub(super) fn block(&mut self, pc: u64) -> Option<Block> {
        let block = self.cursor().at(pc)?;
        if block.control == Control::Sequential { self.long_block(block) } else { Some(block) }
    }

    #[inline]
    pub(super) fn cursor(&mut self) -> &mut Cursor {
        if self.stale {
            self.select();
        }
        &mut self.tables[self.table].cursor
    }

    /// Joins a block of several pieces; it stays sequential if code is missing at its end.
    #[cold]
    pub(super) fn long_block(&mut self, mut block: Block) -> Option<Block> {
        while block.control == Control::Sequential
            && let Some(next) = self.cursor().at(block.end)
        {
            block = Block { start: block.start, count: block.count.saturating_add(next.count), ..next };
        }
        Some(block)
    }
}

/// The run of a whole block. It is doubtful if the program does not have such an exit: an unconditional branch that
/// was not taken, unless its target is the next instruction.
#[inline]
pub(super) fn run_of(block: &Block, isa: Isa, taken: bool) -> Run {
    let sequential = block.control == Control::Sequential;
    Run {
        start: block.start,
        end: block.end,
        count: block.count,
        accesses: None,
        isa,
        exit: block.exit(),
        taken: if block.control.is_transfer() { Some(taken) } else { None },
        attempted: false,
        doubtful: !taken && !block.conditional && !sequential && block.target != Some(block.end),
        withdrawn: false,
    }
}
