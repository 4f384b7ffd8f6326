//! The shapes of `dump` with one interface.

use trackway_core::{Batch, Event};

/// Prints events one by one, in one of the shapes.
pub(crate) trait View {
    /// One event; `number` is that of its first instruction. Of a run only the instructions in `window` are printed.
    fn event(&mut self, batch: &Batch, event: &Event, number: u64, window: Window) -> std::io::Result<()>;

    /// After the last event.
    fn end(&mut self) -> std::io::Result<()>;
}

/// Instructions to show, by number: `[from, to)`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) from: u64,
    pub(crate) to: u64,
}
