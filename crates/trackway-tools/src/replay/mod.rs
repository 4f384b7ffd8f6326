//! A position that moves through a trace, forwards and backwards: the core of a debugger.
//!
//! - [`Replay`] is a position of one source, and the state there: registers, memory, call stack.
//! - [`Stops`] are addresses of code and memory at which it stops.
//! - [`Session`] has a position for each source, and the commands that debuggers offer.
//!
//! A position is *before* an instruction. With the first move the index of the trace is used, or made, so that a search
//! skips stretches in which nothing can stop it, and the state at any place is that of the last checkpoint and a short
//! way from it.

mod commands;
mod registers;
mod rows;
mod search;
mod session;
mod way;

pub use registers::Register;
pub use rows::{Query, Row, Shown};
pub use search::{Direction, Landmark, Stop, Stops, Watch};
pub use session::{Broken, Ended, Session, Thread};
pub use way::Unit;

use std::ops::Range;
use std::sync::Arc;

use trackway::index::{Part, Stretch};
use trackway::machine::Machine;
use trackway::{Health, Position, Result, Trace};
use trackway_core::{Isa, Saved, Source};
use trackway_image::{Image, program};

use crate::past::{self, Kept, Location, Origin, Past, Piece, Point, Why};

/// A position in the only or picked source of a trace.
pub struct Replay {
    trace: Trace,
    programs: Vec<Arc<Image>>,
    /// The index, from the first move on.
    part: Option<Part>,
    kept: Kept,
    now: u64,
    /// The state at `now`, once it was asked for.
    point: Option<Point>,
}

impl std::fmt::Debug for Replay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Replay(at {})", self.now)
    }
}

impl Replay {
    /// At the start of a trace, which has one source or one that is picked.
    ///
    /// # Errors
    /// The trace has several sources; it cannot be read.
    pub fn new(mut trace: Trace) -> Result<Self> {
        trace.refuse_several()?;
        let programs = trace.programs()?;
        Ok(Replay { trace, programs, part: None, kept: Kept::default(), now: 0, point: None })
    }

    /// The index. Reads all of the trace unless it has one.
    fn part(&mut self) -> Result<&Part> {
        self.prepare(|_, _| {})
    }

    /// Reads all of the trace unless it has an index: the first move would.
    pub fn prepare(&mut self, progress: impl FnMut(&dyn Source, &Health)) -> Result<&Part> {
        if self.part.is_none() {
            let part = match known(&mut self.trace) {
                Some(part) => part,
                None => {
                    let (index, _) = self.trace.make_index(None, progress)?;
                    self.trace.keep_index(index)?;
                    known(&mut self.trace).unwrap_or_default()
                }
            };
            let place = |saved: &Saved| (saved.instruction, Saved { source: 0, ..saved.clone() });
            self.kept.places.extend(part.checkpoints.iter().map(|one| place(&one.saved)));
            self.part = Some(part);
        }
        Ok(self.part.get_or_insert_default())
    }

    /// Number of the instruction that comes next.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Number of instructions.
    pub fn count(&mut self) -> Result<u64> {
        Ok(self.part()?.all.instructions)
    }

    /// Number of gaps.
    pub fn gaps(&mut self) -> Result<u64> {
        Ok(self.part()?.all.tally.gaps)
    }

    /// Number of errors: places where the trace is damaged.
    pub fn errors(&mut self) -> Result<u64> {
        Ok(self.part()?.all.errors)
    }

    /// True once the number of instructions is known without reading the trace.
    pub fn is_counted(&self) -> bool {
        self.part.is_some()
    }

    /// The trace.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// The programs that ran.
    pub fn programs(&self) -> &[Arc<Image>] {
        &self.programs
    }

    /// The instruction set of the trace; [`Machine::context`] can have another one at a position.
    pub fn isa(&self) -> Isa {
        self.trace.meta().isa
    }

    /// Moves to an instruction, or to the end if there are fewer.
    pub fn go(&mut self, number: u64) -> Result<()> {
        self.now = number.min(self.count()?);
        self.point = None;
        Ok(())
    }

    /// The number of the instruction at a position: `123`, `sym:main`, `gap:2`, `end-10`.
    pub fn locate(&mut self, position: &str) -> Result<u64> {
        let position = Position::parse(position, &self.programs)?;
        self.trace.locate(&position, None)
    }

    /// The state here.
    pub fn point(&mut self) -> Result<&Point> {
        let point = match self.point.take() {
            Some(point) => point,
            None => match past::at(&mut self.trace, self.now)? {
                Ok(point) => point,
                // Damage at the end: fewer instructions than the index counted.
                Err(total) => {
                    let machine = Machine::new(self.isa());
                    Point { number: total, machine, next: None, passed: None }
                }
            },
        };
        Ok(self.point.insert(point))
    }

    /// The address of the next instruction, where it is known.
    pub fn pc(&mut self) -> Result<Option<u64>> {
        let point = self.point()?;
        Ok(point.next.map_or(point.machine.next_pc(), |next| next.pc))
    }

    /// The content of memory here, as far as the trace and the program show it.
    ///
    /// Formats without memory accesses show only what nothing can have written: the program's read-only segments, and the
    /// instruction that is executed here. `None` if the search was given up, since `patience` is over.
    pub fn memory(
        &mut self,
        address: u64,
        length: u64,
        patience: impl FnMut() -> bool,
    ) -> Result<Option<Vec<Piece>>> {
        let point = self.point()?;
        let (context, next) = (point.machine.context, point.next);
        let is_flow = self.trace.meta().flow_only;
        // Where memory is not known, the instruction that is executed here is.
        let executed = next.and_then(|next| within(&next, address, length));
        let program = program(&self.programs, 0);
        let image = program.memory(&context);
        let range = address..address.saturating_add(length);
        // A dump of memory, which has no rights, may lie over the program.
        let parts = program.parts().iter().filter(|part| part.space.matches(&context));
        let constant = parts.flat_map(|part| &part.segments).any(|segment| {
            let end = segment.address.saturating_add(segment.bytes().len() as u64);
            !segment.writable && segment.address <= range.start && range.end <= end
        });
        let mut content = vec![0; length as usize];
        let touched = self.ranges(0..self.now, |stretch| stretch.sketch.may_access(&range))?;
        if constant && touched.is_empty() {
            image.read(address, &mut content);
            let content = Some(content);
            return Ok(Some(vec![Piece { address, length, content, origin: Origin::Image }]));
        }
        if is_flow {
            let origin = if executed.is_some() { Origin::Image } else { Origin::NoAddress(self.now) };
            return Ok(Some(vec![Piece { address, length, content: executed, origin }]));
        }
        let searched = self.ranges(0..self.now, |stretch| {
            let unseen = stretch.sketch.unplaced || !stretch.sketch.may_access(&(0..u64::MAX));
            let lost = stretch.before.tally.gaps != stretch.after.tally.gaps
                || stretch.before.errors != stretch.after.errors;
            unseen || lost || stretch.sketch.may_access(&range)
        })?;
        let now = self.now;
        let found = self.with_past(|past| {
            past::memory_in(past, &searched, now, address, length, Some(&image), patience)
        })?;
        Ok(found.map(|pieces| match executed {
            Some(_) if pieces.iter().all(|piece| piece.content.is_none()) => {
                vec![Piece { address, length, content: executed, origin: Origin::Shown(now) }]
            }
            _ => pieces,
        }))
    }

    /// Which instruction wrote a value that is here, and the chain back.
    pub fn why(&mut self, what: Location, depth: u32) -> Result<Why> {
        let now = self.now;
        self.with_past(|past| past::why(past, now, what, depth))
    }

    fn with_past<T>(&mut self, ask: impl FnOnce(&mut Past<'_>) -> Result<T>) -> Result<T> {
        let mut past = Past::new(&mut self.trace)?.with_kept(std::mem::take(&mut self.kept));
        let answer = ask(&mut past);
        self.kept = past.into_kept();
        answer
    }

    /// The instructions of `within` that are in stretches of which `may` is true, in order.
    fn ranges(&mut self, within: Range<u64>, may: impl Fn(&Stretch<'_>) -> bool) -> Result<Vec<Range<u64>>> {
        let mut found: Vec<Range<u64>> = Vec::new();
        if within.is_empty() {
            return Ok(found);
        }
        // Accesses of an instruction and events before it can be on both sides of a checkpoint.
        for stretch in self.part()?.stretches().filter(|stretch| may(stretch)) {
            let start = stretch.before.instructions.saturating_sub(1).max(within.start);
            let end = stretch.after.instructions.saturating_add(1).min(within.end);
            match found.last_mut() {
                Some(last) if last.end >= start => last.end = end.max(last.end),
                _ if start < end => found.push(start..end),
                _ => {}
            }
        }
        Ok(found)
    }
}

/// The index of a trace, if it is complete and has the state of the machine.
fn known(trace: &mut Trace) -> Option<Part> {
    let (index, name) = trace.index_part()?;
    let part = index.sources.get(&name)?;
    let has_machine = part.checkpoints.iter().all(|one| one.machine.is_some());
    (part.is_complete && has_machine).then(|| part.clone())
}

/// Bytes of an instruction.
fn within(next: &past::Next, address: u64, length: u64) -> Option<Vec<u8>> {
    let bytes = next.encoding.to_le_bytes();
    let size = usize::from(next.length).min(bytes.len());
    let from = usize::try_from(address.checked_sub(next.pc?)?).ok()?;
    let end = from.checked_add(usize::try_from(length).ok()?)?;
    bytes[..size].get(from..end).filter(|found| !found.is_empty()).map(<[u8]>::to_vec)
}
