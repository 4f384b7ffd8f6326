//! The program as the analyser sees it: block tables by context and instruction set, and blocks as runs.

use trackway_core::{Context, Isa, Privilege, Run, Security};
use trackway_image::{Block, Cursor, Near};
use trackway_isa::Control;

use super::Analyser;
use crate::decode::element::ContextState;

/// A block table that is in use.
#[derive(Debug)]
pub(super) struct Table {
    context: ContextState,
    isa: Isa,
    pub(super) cursor: Cursor,
}

/// How many tables are kept at hand; the image has the others.
const TABLES: usize = 16;

impl Analyser {
    /// Chooses the block table for the context and instruction set.
    #[cold]
    pub(super) fn select(&mut self) {
        self.stale = false;
        let isa = self.flow.isa();
        self.isa = isa;
        if self.flow.told_isa != Some(isa) && !self.withdrawn {
            self.flow.told_isa = Some(isa);
            let offset = self.out.last_offset();
            self.out.batch().push_context(offset, Context { isa: Some(isa), ..Context::default() });
        }
        let context = if self.spaces { self.flow.context } else { ContextState::default() };
        if let Some(index) = self.tables.iter().position(|table| table.isa == isa && table.context == context)
        {
            self.table = index;
            return;
        }
        let blocks = self.image.blocks(&event_context(&self.flow.context), isa, self.waypoints);
        let table = Table { context, isa, cursor: blocks.cursor() };
        if self.tables.len() < TABLES {
            self.tables.push(table);
            self.table = self.tables.len() - 1;
        } else {
            self.table = (self.table + 1) % TABLES;
            self.tables[self.table] = table;
        }
    }

    /// The block at an address. One that is only cut by its length is joined with the next.
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

    /// A block of more than one piece; it stays sequential if code is missing at its end.
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

/// The run of a whole block. It is doubtful if the program has no such way out of it: something that is
/// always taken was not, unless its target is what follows anyway.
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

/// The same for what most blocks are.
#[inline(always)]
pub(super) fn run_near(near: Near, start: u64, isa: Isa, taken: bool) -> Run {
    let end = near.end();
    Run {
        start,
        end,
        count: near.count(),
        accesses: None,
        isa,
        exit: near.control().exit(),
        taken: Some(taken),
        attempted: false,
        doubtful: !taken & !near.conditional() & (near.target() != end),
        withdrawn: false,
    }
}

/// The context in the words of the event model.
pub(crate) fn event_context(context: &ContextState) -> Context {
    Context {
        privilege: Some(match context.el {
            0 => Privilege::El0,
            1 => Privilege::El1,
            2 => Privilege::El2,
            _ => Privilege::El3,
        }),
        security: Some(match context.security {
            0 => Security::Secure,
            1 => Security::NonSecure,
            2 => Security::Root,
            _ => Security::Realm,
        }),
        context_id: context.context_id.map(u64::from),
        vmid: context.vmid.map(u64::from),
        isa: Some(if context.sixty_four_bit { Isa::A64 } else { Isa::A32 }),
        ..Context::default()
    }
}
