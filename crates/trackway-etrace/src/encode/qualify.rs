//! What is traced: every block is asked here before it becomes rows (chapter 5).

use crate::port::{Block, Cycle};

/// Decides which blocks are traced. Today triggers of the debug module do (table 4.5).
#[derive(Clone, Debug, Default)]
pub(super) struct Qualifier {
    /// A trigger has switched tracing off.
    off: bool,
}

impl Qualifier {
    /// Is the block traced? It is asked once for each, in order.
    #[inline]
    pub(super) fn qualifies(&mut self, block: &Block, _cycle: &Cycle<'_>) -> bool {
        if block.trigger.on {
            self.off = false;
        }
        !self.off
    }

    /// Does tracing stop behind a block that was traced?
    #[inline]
    pub(super) fn stops(&mut self, block: &Block) -> bool {
        self.off |= block.trigger.off;
        block.trigger.off
    }
}
