//! A trace as cells: one for each instruction, with the facts that belong to it and those before it.

use trackway_core::{
    Batch, Contexts, ErrorKind, EventKind, Fact, Found, MarkKind, Outcome, Result, Source, each_of_event,
};

/// One instruction, and everything since the one before it.
#[derive(Debug, Default)]
pub(super) struct Cell {
    /// Its address, where the trace has one.
    pub pc: Option<u64>,
    /// Something is missing between this instruction and the one before it.
    pub gap: bool,
    /// Byte offset of its item.
    pub offset: u64,
    /// False for what follows the last instruction.
    pub is_instruction: bool,
    /// Facts of the instruction itself.
    pub own: Vec<Found>,
    /// Facts since the instruction before it.
    pub before: Vec<Found>,
}

/// The cells of one source of a trace.
pub(super) struct Cells {
    source: Box<dyn Source>,
    /// The source to look at; batches of others are passed over.
    only: u16,
    /// Attempted instructions are not cells.
    retired_only: bool,
    batch: Batch,
    next: usize,
    contexts: Contexts,
    ended: bool,
}

impl Cells {
    pub(super) fn new(source: Box<dyn Source>, only: u16, retired_only: bool) -> Self {
        let contexts = Contexts::new(source.meta());
        Cells { source, only, retired_only, batch: Batch::default(), next: 0, contexts, ended: false }
    }

    /// The next cell; false after the last, which is not an instruction.
    pub(super) fn next(&mut self, cell: &mut Cell) -> Result<bool> {
        cell.before.clear();
        cell.own.clear();
        (cell.gap, cell.is_instruction) = (false, false);
        loop {
            while let Some(event) = self.batch.events.get(self.next) {
                self.next += 1;
                let batch = &self.batch;
                match event.kind {
                    EventKind::Step(step)
                        if !batch.extra_of(&step).is_some_and(|extra| extra.placeholder)
                            && (step.pc.is_some() || step.length > 0) =>
                    {
                        let hidden = self.retired_only && step.outcome == Outcome::Attempted;
                        // Contents of registers are recorded at an instruction or before it.
                        let mut each = |fact, value| {
                            let before = hidden || fact == Fact::RegisterStates;
                            if before { &mut cell.before } else { &mut cell.own }.push((fact, value));
                        };
                        each_of_event(batch, &event.kind, &mut self.contexts, &mut each);
                        if !hidden {
                            (cell.pc, cell.offset) = (step.pc, event.offset);
                            cell.is_instruction = true;
                            return Ok(true);
                        }
                    }
                    ref kind => {
                        // Breaks in tracing are shown as marks or gaps, by the habit of the format.
                        let paused = |kind| matches!(kind, MarkKind::TraceOn | MarkKind::TraceOff);
                        cell.gap |= match kind {
                            EventKind::Gap(_) => true,
                            EventKind::Mark(mark) => paused(mark.kind),
                            EventKind::Run(run) => !run.withdrawn,
                            _ => false,
                        };
                        let mut each = |fact, value| cell.before.push((fact, value));
                        each_of_event(batch, kind, &mut self.contexts, &mut each);
                    }
                }
            }
            if self.ended {
                return Ok(false);
            }
            self.fill()?;
        }
    }

    /// The next batch of this source, past damage as a conversion reads it.
    fn fill(&mut self) -> Result<()> {
        self.next = 0;
        match self.source.fill(&mut self.batch) {
            Ok(more) => self.ended = !more,
            Err(error) if error.kind == ErrorKind::Cancelled => return Err(error),
            Err(_) => {
                self.batch.clear();
                self.ended = !self.source.resync().unwrap_or(false);
            }
        }
        if self.batch.source != self.only {
            self.batch.clear();
        }
        Ok(())
    }
}
