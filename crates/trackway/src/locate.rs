//! From a position to the number of an instruction.

use std::sync::Arc;

use trackway_core::{Batch, Context, Count, ErrorKind, Event, EventKind, Source};
use trackway_format::{Error, Result};
use trackway_image::{Image, expand, program};

use crate::index::{Checkpoint, Part, Stretch};
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
            _ => self.search(position, after)?.map(|found| found.0).ok_or_else(|| never_reached(position)),
        }
    }

    /// Its events from a place before `from` on, as near as an index or the container allows, and what was counted
    /// before that place. It reads on to `from` itself, and counts up to `to`, with a [`Bounds`](crate::Bounds).
    pub fn events_from(
        &mut self,
        from: Option<&Position>,
        to: Option<&Position>,
    ) -> Result<(Box<dyn Source>, Tally)> {
        let part = self.index_part();
        let part = part.as_ref().and_then(|(index, name)| index.sources.get(name));
        let checkpoint = match (from, part) {
            (Some(Position::Number(n)), Some(part)) => part.at_or_before(*n).cloned(),
            (Some(from), Some(_)) => self.search(from, None)?.ok_or_else(|| never_reached(from))?.1,
            _ => None,
        };
        let mut source = self.events()?;
        if let Some(checkpoint) = checkpoint {
            // The number of a checkpoint is its own: two are never equal.
            if source.seek(checkpoint.saved.instruction)? == checkpoint.saved.instruction {
                return Ok((source, checkpoint.before.tally));
            }
            source = self.reopen()?.events()?;
        }
        if let Some(Position::Number(n)) = from
            && !to.is_some_and(Position::is_counted)
        {
            source.seek(*n)?;
        }
        Ok((source, Tally::default()))
    }

    /// The number of the instruction at a position, and the checkpoint from which it was found; `None` if it is never
    /// reached.
    fn search(
        &mut self,
        position: &Position,
        after: Option<u64>,
    ) -> Result<Option<(u64, Option<Checkpoint>)>> {
        let (programs, strict) = (self.programs()?, self.is_strict());
        let least = if position.is_next() { after.map_or(0, |after| after.saturating_add(1)) } else { 0 };
        let part = self.index_part();
        let part = part.as_ref().and_then(|(index, name)| index.sources.get(name));
        let mut wanted = Wanted::new(part, position, least);
        while let Some((checkpoint, mut end)) = wanted.next() {
            let mut source = self.again(position)?.events()?;
            let mut before = Tally::default();
            let place = checkpoint.map(|checkpoint| checkpoint.saved.instruction);
            if let Some(checkpoint) = checkpoint {
                if Some(source.seek(checkpoint.saved.instruction)?) == place {
                    before = checkpoint.before.tally;
                } else {
                    // It cannot be entered: everything is read.
                    (source, wanted) = (self.again(position)?.events()?, Wanted::new(None, position, least));
                    end = None;
                }
            }
            let search = Search {
                follow: Follow::new(position.clone(), before),
                position,
                least,
                programs: &programs,
                context: source.context(),
            };
            if let Some(found) = search.run(&mut *source, strict, end)? {
                return Ok(Some((found, checkpoint.filter(|_| !wanted.is_all).cloned())));
            }
            if wanted.is_all {
                return Ok(None);
            }
        }
        Ok(None)
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

    fn count(&mut self, wanted: &dyn std::fmt::Display) -> Result<u64> {
        if let Some((index, name)) = self.index_part()
            && let Some(part) = index.sources.get(&name).filter(|part| part.is_complete)
            && !(self.is_strict() && part.all.errors > 0)
        {
            return Ok(part.all.instructions);
        }
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

impl Search<'_> {
    /// Reads until it is found, or to the first batch that begins at instruction `end` or after.
    fn run(mut self, source: &mut dyn Source, strict: bool, end: Option<u64>) -> Result<Option<u64>> {
        let mut batch = Batch::default();
        loop {
            match source.fill(&mut batch) {
                Ok(false) => return Ok(None),
                Ok(true) => {}
                Err(error) if !passes(source, error, strict)? => return Ok(None),
                Err(_) => continue,
            }
            let mut number = batch.first_instruction;
            if end.is_some_and(|end| number > end) {
                return Ok(None);
            }
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

/// Stretches of an index that may reach a position, joined where they follow each other.
struct Wanted<'i> {
    stretches: std::iter::Peekable<Box<dyn Iterator<Item = Stretch<'i>> + 'i>>,
    /// After the index, if it does not reach to the end.
    rest: Option<Option<&'i Checkpoint>>,
    /// There is no index: everything is read.
    is_all: bool,
}

impl<'i> Wanted<'i> {
    fn new(part: Option<&'i Part>, position: &'i Position, least: u64) -> Self {
        let may =
            move |stretch: &Stretch<'_>| stretch.after.instructions >= least && stretch.may_reach(position);
        let stretches: Box<dyn Iterator<Item = Stretch<'i>> + 'i> = match part {
            Some(part) => Box::new(part.stretches().filter(may)),
            None => Box::new(std::iter::empty()),
        };
        let rest = match part {
            Some(part) if part.is_complete => None,
            Some(part) => Some(part.checkpoints.last()),
            None => Some(None),
        };
        Wanted { stretches: stretches.peekable(), rest, is_all: part.is_none() }
    }

    /// Where to begin, and the number of the first instruction after it, if it has an end.
    fn next(&mut self) -> Option<(Option<&'i Checkpoint>, Option<u64>)> {
        let Some(first) = self.stretches.next() else { return self.rest.take().map(|rest| (rest, None)) };
        let mut end = first.after.instructions;
        while let Some(next) = self.stretches.next_if(|next| next.before.instructions == end) {
            end = next.after.instructions;
        }
        Some((first.checkpoint, Some(end)))
    }
}
