//! From a position to the number of an instruction.

use std::sync::Arc;

use trackway_core::{Batch, Context, Count, ErrorKind, Event, EventKind, Source};
use trackway_format::{Error, Result};
use trackway_image::{Image, expand, program};

use crate::position::{Follow, Position, Tally};
use crate::trace::Trace;

impl Trace {
    /// The number of the instruction at `position`: the first one after it where that is between two, and the number
    /// of all instructions for the end. Of positions that are the [next](Position::is_next) of their kind it is the
    /// first one with a number greater than `after`.
    ///
    /// A number is returned as it is: the trace is not read to see whether it has that many instructions.
    ///
    /// # Errors
    /// The trace never reaches it; it has several sources and none is picked; it is a stream, which cannot be read twice.
    pub fn locate(&mut self, position: &Position, after: Option<u64>) -> Result<u64> {
        self.refuse_several()?;
        match position {
            Position::Number(n) => Ok(*n),
            Position::End(back) => {
                let count = self.count(position)?;
                let before = || Error::Config(format!("{position}: there are {count} instructions"));
                count.checked_sub(*back).ok_or_else(before)
            }
            _ => {
                let programs = self.programs()?;
                let mut source = self.again(position)?.events()?;
                let search = Search::new(position, after, &programs, &*source);
                search.run(&mut *source, self.is_strict())?.ok_or_else(|| never_reached(position))
            }
        }
    }

    /// The position in a form that can be followed while the trace is read: places before the end become numbers.
    pub fn settle(&mut self, position: Position) -> Result<Position> {
        Ok(match position {
            Position::End(_) => Position::Number(self.locate(&position, None)?),
            position => position,
        })
    }

    /// The number of instructions of its only or picked source, as far as it can be read.
    pub fn instructions(&mut self) -> Result<u64> {
        self.refuse_several()?;
        self.count(&"the number of instructions")
    }

    fn count(&self, wanted: &dyn std::fmt::Display) -> Result<u64> {
        let mut source = self.again(wanted)?.events()?;
        let mut count = Count::default();
        loop {
            match source.observe(&mut count) {
                Ok(true) => {}
                Ok(false) => return Ok(count.0),
                Err(error) if !passes(&mut *source, error, self.is_strict())? => return Ok(count.0),
                Err(_) => {}
            }
        }
    }

    /// The same trace, to look for something in.
    fn again(&self, wanted: &dyn std::fmt::Display) -> Result<Trace> {
        self.reopen().map_err(|error| match error {
            Error::ReadOnce => {
                Error::Config(format!("{wanted}: a stream cannot be read twice; use a file, or a number"))
            }
            error => error,
        })
    }
}

/// The trace has been read, and the position was not there.
pub fn never_reached(position: &Position) -> Error {
    Error::Config(format!("the trace never reaches {position}"))
}

/// True if reading continues after an error; an error that must end it is returned.
fn passes(source: &mut dyn Source, error: trackway_core::Error, strict: bool) -> Result<bool> {
    if strict || error.kind == ErrorKind::Cancelled {
        return Err(error.into());
    }
    Ok(source.resync().unwrap_or(false))
}

/// A search for one position.
struct Search<'s> {
    follow: Follow,
    position: &'s Position,
    /// The smallest number that counts.
    least: u64,
    programs: &'s [Arc<Image>],
    context: Context,
}

impl<'s> Search<'s> {
    fn new(
        position: &'s Position,
        after: Option<u64>,
        programs: &'s [Arc<Image>],
        source: &dyn Source,
    ) -> Self {
        let least = if position.is_next() { after.map_or(0, |after| after.saturating_add(1)) } else { 0 };
        let follow = Follow::new(position.clone(), Tally::default());
        Search { follow, position, least, programs, context: source.context() }
    }

    fn run(mut self, source: &mut dyn Source, strict: bool) -> Result<Option<u64>> {
        let mut batch = Batch::default();
        loop {
            match source.fill(&mut batch) {
                Ok(false) => return Ok(None),
                Ok(true) => {}
                Err(error) if !passes(source, error, strict)? => return Ok(None),
                Err(_) => continue,
            }
            let mut number = batch.first_instruction;
            for event in &batch.events {
                if let EventKind::Context(n) = event.kind {
                    self.context.update(&batch.contexts[n as usize]);
                }
                let reached = self.follow.is_reached(&batch, event, number);
                if let Some(found) = reached.then(|| self.exact(&batch, event, number)).flatten() {
                    return Ok(Some(found));
                }
                number += event.kind.instructions();
            }
        }
    }

    /// The number within an event that reaches the position.
    fn exact(&self, batch: &Batch, event: &Event, number: u64) -> Option<u64> {
        let EventKind::Run(run) = event.kind else { return (number >= self.least).then_some(number) };
        let memory = program(self.programs, batch.source).memory(&self.context);
        let (mut at, mut found) = (number, None);
        expand(&memory, &run, batch.accesses_of(&run), |kind| {
            let is_it = match kind {
                EventKind::Step(step) => step.pc.is_some_and(|pc| self.position.is_at(pc)),
                // Without the code the place within it is unknown.
                EventKind::Run(rest) => self.position.is_within(rest.start..rest.end),
                _ => false,
            };
            if found.is_none() && is_it && at >= self.least {
                found = Some(at);
            }
            at += kind.instructions();
        });
        found
    }
}
