//! The shapes of `dump` with one interface.

use std::io::Result;
use trackway_core::{Batch, Context, Event, Exit, Run};
use trackway_image::Memory;

/// Writes events one by one into memory, in one of the shapes.
pub(crate) trait View {
    /// Everything written so far; the caller takes it out.
    fn text(&mut self) -> &mut Vec<u8>;

    /// The events that follow come from this source; `heading` is its name where there are several.
    fn source(&mut self, source: u16, heading: Option<&str>, budget: &mut Budget) -> Result<()>;

    /// The context of the events that follow, where those that set it were not shown.
    fn enter(&mut self, context: &Context) {
        let _ = context;
    }

    /// One event; `number` is that of its first instruction.
    fn event(&mut self, batch: &Batch, event: &Event, number: u64, budget: &mut Budget) -> Result<()>;

    /// Shows the steps at the front of `events`, where it has a faster way for several; returns how many it has shown. Only where
    /// everything is shown.
    fn steps(&mut self, batch: &Batch, events: &[Event]) -> usize {
        let _ = (batch, events);
        0
    }

    /// Shows a run by its program, where it has a faster way than step by step; false if it has not. Only where everything is
    /// shown.
    fn run(&mut self, memory: &Memory, run: &Run, number: u64) -> bool {
        let _ = (memory, run, number);
        false
    }

    /// After the last event.
    fn end(&mut self, budget: &mut Budget) -> Result<()> {
        let _ = budget;
        Ok(())
    }

    /// Before a part of a trace, which begins in this context. It is shown apart from the part before it, which another
    /// view may have.
    fn begin_part(&mut self, context: &Context) {
        self.enter(context);
    }

    /// After a part: all that is open at its ends.
    fn end_part(&mut self) -> Ends {
        Ends::default()
    }

    /// Joins a part that another view showed, and that follows everything shown so far: writes what comes before its text.
    fn join(&mut self, part: Ends) -> Result<()> {
        let _ = part;
        Ok(())
    }
}

/// The end of the run that is open where a part begins, with the run of the part that may continue it.
pub(crate) type First = (Option<Straight>, Exit);

/// The ends of a part, which decide what its neighbours print.
#[derive(Default)]
pub(crate) struct Ends {
    /// Instructions without an address.
    pub(crate) unknown: u64,
    /// The source at its end.
    pub(crate) name: Option<String>,
    /// Its first run, if it saw the end of one.
    pub(crate) first: Option<First>,
    /// The run at its end; the only one if there is no first.
    pub(crate) last: Option<Straight>,
}

/// A straight run.
pub(crate) struct Straight {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Number of its first instruction.
    pub(crate) number: u64,
    pub(crate) count: u64,
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
