//! Qualification (chapter 5): whether a block is traced, before it becomes rows.

use super::filter::{Filters, Qualified, Row};
use super::row::PortTrap;
use crate::config::Config;
use crate::port::{Access, Block, Cycle};

/// Decides by triggers of the debug module (table 4.5) and by filters which blocks are traced.
#[derive(Clone, Debug, Default)]
pub(super) struct Qualifier {
    /// A trigger has switched tracing off.
    off: bool,
    /// Instruction trace is disabled.
    pub(super) disabled: bool,
    filters: Filters,
    /// The last row was a trap that was not traced, with its privilege: a traced handler begins with it.
    pub(super) trap: Option<(PortTrap, u32)>,
}

impl Qualifier {
    pub(super) fn new(config: &Config) -> Self {
        Qualifier { filters: Filters::new(config), ..Qualifier::default() }
    }

    /// Is every block traced?
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        !self.filters.is_active() && !self.disabled
    }

    /// Switches to other filters.
    pub(super) fn reconfigure(&mut self, config: &Config) {
        self.filters = Filters::new(config);
    }

    /// Is the block traced? Must be asked once for each block, in order.
    #[inline]
    pub(super) fn qualifies(
        &mut self,
        block: &Block,
        cycle: &Cycle<'_>,
        accesses: &[(u64, Access)],
    ) -> Qualified {
        if block.trigger.on {
            self.off = false;
        }
        let mut qualified = Qualified { instructions: true, notify: false };
        if self.filters.is_active() {
            qualified = self.filters.row(&Row { block, cycle, accesses });
        }
        qualified.instructions &= !(self.off || self.disabled);
        qualified
    }

    /// Is the `n`th access of the last block traced?
    pub(super) fn access(&self, n: usize) -> bool {
        self.filters.access(n)
    }

    /// Does tracing stop after this block, which was traced?
    #[inline]
    pub(super) fn stops(&mut self, block: &Block) -> bool {
        self.off |= block.trigger.off;
        block.trigger.off
    }
}
