//! The shapes of `dump` with one interface.

use std::io::Result;
use trackway_core::{Batch, Context, Event};

/// Prints events one by one, in one of the shapes.
pub(crate) trait View {
    /// The events that follow come from this source; `heading` is its name where there are several.
    fn source(&mut self, source: u16, heading: Option<&str>, budget: &mut Budget) -> Result<()>;

    /// The context of the events that follow, where those that set it were not shown.
    fn enter(&mut self, context: &Context) {
        let _ = context;
    }

    /// One event; `number` is that of its first instruction.
    fn event(&mut self, batch: &Batch, event: &Event, number: u64, budget: &mut Budget) -> Result<()>;

    /// After the last event.
    fn end(&mut self, budget: &mut Budget) -> Result<()>;
}

/// Lines that may still be printed; details of a line are free.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget(pub(crate) u64);

impl Budget {
    /// Takes a line, if there is one left.
    #[inline]
    pub(crate) fn take(&mut self) -> bool {
        let left = self.0 > 0;
        self.0 -= u64::from(left);
        left
    }
}
