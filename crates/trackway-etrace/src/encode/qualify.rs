//! What is traced: every block is asked here before it becomes rows (chapter 5).

use super::filter::{Filters, Qualified, Row};
use super::row::PortTrap;
use crate::config::Config;
use crate::port::{Access, Block, Cycle};

/// Decides which blocks are traced: by triggers of the debug module (table 4.5) and by filters.
#[derive(Clone, Debug, Default)]
pub(super) struct Qualifier {
    /// A trigger has switched tracing off.
    off: bool,
    /// Instruction trace is off altogether.
    pub(super) disabled: bool,
    filters: Filters,
    /// The row before was a trap that was not traced: its handler, if traced, begins with it.
    pub(super) trap: Option<(PortTrap, u32)>,
}

impl Qualifier {
    pub(super) fn new(config: &Config) -> Self {
        Qualifier { filters: Filters::new(config), ..Qualifier::default() }
    }

    /// Can a block be left out at all?
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        !self.filters.is_active() && !self.disabled
    }

    /// Other filters, or the same with other settings.
    pub(super) fn renew(&mut self, config: &Config) {
        self.filters = Filters::new(config);
    }

    /// Is the block traced? It is asked once for each, in order.
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

    /// Does tracing stop behind a block that was traced?
    #[inline]
    pub(super) fn stops(&mut self, block: &Block) -> bool {
        self.off |= block.trigger.off;
        block.trigger.off
    }
}
