//! The past of a point: stretches of a trace, read backwards, and questions about them.
//!
//! - [`Past`] reads stretches, from the last one to the first, with the runs of flow formats expanded to steps.
//! - [`memory()`] says what memory holds at a point, as far as the trace shows it.
//! - [`why()`] finds the instruction that wrote a value, those that wrote its inputs, and so on.
//! - [`at()`] is the [`Machine`](trackway::machine::Machine) at a point and the instruction there.

mod at;
mod memory;
mod names;
mod operands;
mod why;

pub use at::{Next, Point, at};
pub(crate) use memory::memory_in;
pub use memory::{Origin, Piece, memory};
pub(crate) use names::number;
pub use names::{bytes, register};
pub use operands::{Location, Role};
pub use why::{Cause, End, Input, Node, Why, why};

use std::collections::BTreeMap;
use std::sync::Arc;

use trackway::machine::{another_space, another_thread};
use trackway::{Error, Result, Trace};
use trackway_core::{Batch, Context, ErrorKind, Event, EventKind, Isa, Saved, Source};
use trackway_image::{Image, Memory, expand, program};

/// Instructions in a stretch: few enough to be kept in memory with all their accesses.
const STRETCH: u64 = 1 << 15;

/// Stretches that are kept for the next question.
const KEPT: usize = 4;

/// Reads stretches of a trace, from the last to the first.
///
/// Where the trace can be entered in the middle, by its container or an index, that is used. Where it cannot, the first
/// stretch is reached by decoding all that is before it, and the places that decoding can be entered again are kept.
pub struct Past<'t> {
    trace: &'t mut Trace,
    programs: Vec<Arc<Image>>,
    kept: Kept,
    isa: Isa,
    /// The first error that was passed on the way.
    pub passed: Option<trackway_core::Error>,
}

impl std::fmt::Debug for Past<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Past({:?}, {} places)", self.trace, self.kept.places.len())
    }
}

/// Everything that one question leaves for the next one.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// Places where decoding can be entered, by instruction.
    pub(crate) places: BTreeMap<u64, Saved>,
    /// The last stretches that were read, by their first instruction; the newest first.
    stretches: Vec<(u64, Arc<Stretch>)>,
}

/// An event of a stretch, with the number of its instruction, or of the one that comes next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Here<'s> {
    pub(crate) batch: &'s Batch,
    pub(crate) event: &'s Event,
    pub(crate) number: u64,
    pub(crate) isa: Isa,
    /// A context with which another process or thread begins.
    pub(crate) other_thread: bool,
    /// A context with which another address space begins.
    pub(crate) other_space: bool,
}

impl Kept {
    /// The places of another one.
    pub(crate) fn at(places: BTreeMap<u64, Saved>) -> Self {
        Kept { places, ..Kept::default() }
    }
}

/// Instructions `[from, to)`, expanded.
#[derive(Debug, Default)]
struct Stretch {
    batches: Vec<Expanded>,
}

/// A batch of a stretch.
#[derive(Debug)]
struct Expanded {
    batch: Batch,
    /// In order; the first one is at the first event.
    changes: Vec<Change>,
}

impl Expanded {
    /// Shows the events that are inside, by their number and the number of their instructions, in order; false if `visit`
    /// ended it.
    fn show(&self, inside: impl Fn(u64, u64) -> bool, visit: &mut impl FnMut(Here<'_>) -> bool) -> bool {
        let Expanded { batch, changes } = self;
        let mut number = batch.first_instruction;
        let (mut change, mut left) = (changes[0], &changes[1..]);
        for (place, event) in batch.events.iter().enumerate() {
            while let [next, rest @ ..] = left
                && next.place <= place
            {
                (change, left) = (*next, rest);
            }
            let (is_here, count) = (change.place == place, event.kind.instructions());
            let here = Here {
                batch,
                event,
                number,
                isa: change.isa,
                other_thread: is_here && change.other_thread,
                other_space: is_here && change.other_space,
            };
            if inside(number, count) && !visit(here) {
                return false;
            }
            number += count;
        }
        true
    }
}

/// A change of instruction set, thread or address space.
#[derive(Clone, Copy, Debug)]
struct Change {
    /// Its place among the events.
    place: usize,
    isa: Isa,
    other_thread: bool,
    other_space: bool,
}

impl Change {
    fn isa(place: usize, isa: Isa) -> Self {
        Change { place, isa, other_thread: false, other_space: false }
    }
}

impl<'t> Past<'t> {
    /// The past of any point of a trace.
    pub fn new(trace: &'t mut Trace) -> Result<Self> {
        let (programs, isa) = (trace.programs()?, trace.meta().isa);
        Ok(Past { trace, programs, kept: Kept::default(), isa, passed: None })
    }

    /// The program's memory, as far as every context sees the same of it.
    fn image(&self) -> Option<Arc<Memory>> {
        self.programs.first().map(|image| image.memory(&Context::default()))
    }

    /// True in `.bss`: the program has no bytes there, but says that they are zero.
    fn starts_as_zero(&self, address: u64) -> bool {
        let Some(image) = self.programs.first() else { return false };
        let seen = image.parts().iter().filter(|part| part.space.matches(&Context::default()));
        seen.flat_map(|part| &part.segments).any(|segment| {
            let start = segment.address.wrapping_add(segment.bytes().len() as u64);
            address.wrapping_sub(start) < segment.zeros()
        })
    }

    /// Continues with the leavings of another past of the trace.
    pub(crate) fn with_kept(mut self, kept: Kept) -> Self {
        self.kept = kept;
        self
    }

    /// The leavings.
    pub(crate) fn into_kept(self) -> Kept {
        self.kept
    }

    /// Shows each event before instruction `at` to `visit`, the last one first, until it returns false or the trace begins.
    pub(crate) fn backwards(&mut self, at: u64, visit: impl FnMut(Here<'_>) -> bool) -> Result<()> {
        self.backwards_to(0, at, visit).map(drop)
    }

    /// The same, from instruction `least` on; false if `visit` ended it.
    pub(crate) fn backwards_to(
        &mut self,
        least: u64,
        at: u64,
        mut visit: impl FnMut(Here<'_>) -> bool,
    ) -> Result<bool> {
        let mut to = at;
        loop {
            let start = to.saturating_sub(1) / STRETCH * STRETCH;
            let (from, stretch) = (start.max(least), self.stretch(start)?);
            if to == at && batch_end(&stretch) < at {
                let text = format!("there are {} instructions, not {at}", batch_end(&stretch));
                return Err(Error::Config(text));
            }
            for Expanded { batch, changes } in stretch.batches.iter().rev() {
                let mut number = batch.first_instruction + batch.instructions();
                let mut left = &changes[..];
                for (place, event) in batch.events.iter().enumerate().rev() {
                    number -= event.kind.instructions();
                    while let [rest @ .., last] = left
                        && last.place > place
                    {
                        left = rest;
                    }
                    let Some(change) = left.last() else { continue };
                    let is_here = change.place == place;
                    // Events between two instructions belong to the stretch that ends with them.
                    let inside = match event.kind.instructions() {
                        0 => number <= to && (number > from || from == least),
                        count => number < to && number + count > from,
                    };
                    if inside
                        && !visit(Here {
                            batch,
                            event,
                            number,
                            isa: change.isa,
                            other_thread: is_here && change.other_thread,
                            other_space: is_here && change.other_space,
                        })
                    {
                        return Ok(false);
                    }
                }
            }
            if from == least {
                return Ok(true);
            }
            to = from;
        }
    }

    /// Shows each event from instruction `from` on and before `to`, in order; false if `visit` ended it.
    pub(crate) fn forwards(
        &mut self,
        from: u64,
        to: u64,
        mut visit: impl FnMut(Here<'_>) -> bool,
    ) -> Result<bool> {
        let mut from = from;
        while from < to {
            let start = from / STRETCH * STRETCH;
            let (end, stretch) = (start.saturating_add(STRETCH).min(to), self.stretch(start)?);
            for expanded in &stretch.batches {
                let inside = |number: u64, _: u64| number >= from && number < end;
                if !expanded.show(inside, &mut visit) {
                    return Ok(false);
                }
            }
            from = end;
        }
        Ok(true)
    }

    /// Shows each event from instruction `from` on and before `to`, in order, those after the last one included, and keeps
    /// none: for long ways. False if `visit` ended it.
    pub(crate) fn sweep(
        &mut self,
        from: u64,
        to: u64,
        mut visit: impl FnMut(Here<'_>) -> bool,
    ) -> Result<bool> {
        let mut source = self.enter(from)?;
        let mut context = source.context();
        let mut batch = Batch::default();
        while self.fill(&mut *source, &mut batch)? {
            if batch.first_instruction > to {
                break;
            }
            if batch.first_instruction + batch.instructions() < from {
                batch.contexts.iter().for_each(|change| context.update(change));
                continue;
            }
            let changes = self.expand(&mut batch, &mut context);
            let expanded = Expanded { batch, changes };
            let inside =
                |number: u64, count: u64| number >= from && (number < to || count == 0 && number == to);
            if !expanded.show(inside, &mut visit) {
                return Ok(false);
            }
            batch = expanded.batch;
        }
        Ok(true)
    }

    /// The next batch; damage is passed. False at the end, or where nothing can be read after an error.
    fn fill(&mut self, source: &mut dyn Source, batch: &mut Batch) -> Result<bool> {
        loop {
            match source.fill(batch) {
                Ok(more) => return Ok(more),
                Err(error) if matches!(error.kind, ErrorKind::Cancelled | ErrorKind::Io(_)) => {
                    return Err(error.into());
                }
                // Damage: what follows begins with a gap, or nothing follows.
                Err(error) => {
                    let found = source.resync()?;
                    self.passed.get_or_insert(error);
                    if !found {
                        return Ok(false);
                    }
                }
            }
        }
    }

    /// The stretch that begins at instruction `start`, as it was read before or anew.
    fn stretch(&mut self, start: u64) -> Result<Arc<Stretch>> {
        let stretches = &mut self.kept.stretches;
        let stretch = match stretches.iter().position(|one| one.0 == start) {
            Some(place) => stretches.remove(place).1,
            None => Arc::new(self.read(start, start.saturating_add(STRETCH))?),
        };
        let stretches = &mut self.kept.stretches;
        stretches.truncate(KEPT - 1);
        stretches.insert(0, (start, Arc::clone(&stretch)));
        Ok(stretch)
    }

    /// Reads a stretch; batches that reach beyond it come whole.
    fn read(&mut self, from: u64, to: u64) -> Result<Stretch> {
        let mut source = self.enter(from)?;
        let mut stretch = Stretch::default();
        let mut context = source.context();
        let mut batch = Batch::default();
        while self.fill(&mut *source, &mut batch)? {
            let end = batch.first_instruction + batch.instructions();
            if batch.first_instruction > to {
                break;
            }
            if end < from {
                batch.contexts.iter().for_each(|change| context.update(change));
                self.keep_place(&*source, end);
                continue;
            }
            let changes = self.expand(&mut batch, &mut context);
            stretch.batches.push(Expanded { batch: std::mem::take(&mut batch), changes });
        }
        Ok(stretch)
    }

    /// A source that begins at or before instruction `from`, as near as possible.
    fn enter(&mut self, from: u64) -> Result<Box<dyn Source>> {
        if let Some((_, saved)) = self.kept.places.range(..=from).next_back() {
            let mut source = self.trace.events()?;
            if source.restore(saved)? {
                return Ok(source);
            }
        }
        let mut source = self.trace.events()?;
        source.seek(from)?;
        Ok(source)
    }

    fn keep_place(&mut self, source: &dyn Source, number: u64) {
        let last = self.kept.places.range(..=number).next_back().map_or(0, |place| *place.0);
        if number >= last + STRETCH
            && let Some(saved) = source.save()
        {
            self.kept.places.insert(number, saved);
        }
    }

    /// Replaces the runs of a batch by their steps; returns the changes on the way.
    fn expand(&self, batch: &mut Batch, context: &mut Context) -> Vec<Change> {
        let mut isa = context.isa.unwrap_or(self.isa);
        let mut changes = vec![Change::isa(0, isa)];
        if !batch.events.iter().any(|event| matches!(event.kind, EventKind::Run(_) | EventKind::Context(_))) {
            return changes;
        }
        let image = program(&self.programs, batch.source);
        let mut memory = None;
        let events = std::mem::take(&mut batch.events);
        for event in events {
            match event.kind {
                EventKind::Run(run) if !run.withdrawn => {
                    let memory = memory.get_or_insert_with(|| image.memory(context));
                    let accesses = batch.accesses_of(&run);
                    // A run says its instruction set itself; its steps do not.
                    if run.isa != isa {
                        isa = run.isa;
                        changes.push(Change::isa(batch.events.len(), isa));
                    }
                    expand(memory, &run, accesses, |kind| batch.push(event.offset, kind));
                }
                EventKind::Context(n) => {
                    let before = *context;
                    context.update(&batch.contexts[n as usize]);
                    isa = context.isa.unwrap_or(self.isa);
                    changes.push(Change {
                        place: batch.events.len(),
                        isa,
                        other_thread: another_thread(&before, context),
                        other_space: another_space(&before, context),
                    });
                    memory = None;
                    batch.events.push(event);
                }
                _ => batch.events.push(event),
            }
        }
        changes
    }
}

fn batch_end(stretch: &Stretch) -> u64 {
    let last = stretch.batches.last();
    last.map_or(0, |last| last.batch.first_instruction + last.batch.instructions())
}
