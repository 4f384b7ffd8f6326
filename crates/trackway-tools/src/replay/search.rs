//! Where a move ends.

use std::collections::BTreeSet;
use std::ops::Range;

use trackway::Result;
use trackway::machine::Calls;
use trackway_core::{EventKind, MemAccess, MemKind};

use super::Replay;
use crate::past::Here;

/// A way through a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// As it was executed.
    Forwards,
    /// Against it.
    Backwards,
}

/// Memory that is watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watch {
    /// Its addresses.
    pub range: Range<u64>,
    /// Reads stop.
    pub reads: bool,
    /// Writes stop.
    pub writes: bool,
}

/// Everything at which a move stops.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stops {
    /// Addresses of instructions.
    pub code: BTreeSet<u64>,
    /// Memory.
    pub data: Vec<Watch>,
}

/// Why a move ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The move was a single step, or reached what it was asked for.
    Done,
    /// At an instruction of [`Stops::code`].
    Code,
    /// At an access of watched memory: forwards after it, backwards before it.
    Data(Watch),
    /// The trace begins here.
    Begin,
    /// The trace ends here.
    End,
    /// It was cancelled.
    Cancelled,
}

/// Instructions between two questions whether to cancel.
const PATIENCE: u64 = 1 << 17;

impl Watch {
    fn is_hit(&self, access: &MemAccess) -> bool {
        let (reads, writes) = match access.kind {
            MemKind::Read => (true, false),
            MemKind::Write => (false, true),
            MemKind::ReadWrite => (true, true),
            _ => (false, false),
        };
        let end = access.address.saturating_add(access.size.max(1));
        !access.unplaced
            && (self.reads && reads || self.writes && writes)
            && access.address < self.range.end
            && self.range.start < end
    }
}

impl Stops {
    fn may_hit(&self, sketch: &trackway::index::Sketch) -> bool {
        self.code.iter().any(|pc| sketch.may_execute(&(*pc..pc.saturating_add(1))))
            || self.data.iter().any(|watch| sketch.may_access(&watch.range))
    }

    /// The address of an instruction is one of them.
    fn code_at(&self, here: &Here<'_>) -> bool {
        matches!(here.event.kind, EventKind::Step(step) if step.pc.is_some_and(|pc| self.code.contains(&pc)))
    }

    /// The first watched memory that an instruction accesses.
    fn data_at(&self, here: &Here<'_>) -> Option<&Watch> {
        let EventKind::Step(step) = &here.event.kind else { return None };
        let accesses = here.batch.mem_of(step.accesses);
        self.data.iter().find(|watch| accesses.iter().any(|access| watch.is_hit(access)))
    }
}

impl Replay {
    /// Moves by one instruction.
    pub fn step(&mut self, direction: Direction) -> Result<Stop> {
        match direction {
            Direction::Forwards if self.now + 1 >= self.count()? => self.end(),
            Direction::Backwards if self.now == 0 => Ok(Stop::Begin),
            Direction::Forwards => self.go(self.now + 1).map(|()| Stop::Done),
            Direction::Backwards => self.go(self.now - 1).map(|()| Stop::Done),
        }
    }

    /// Moves to the end: after the last instruction, or before it where the address that follows is not known. A
    /// debugger cannot be anywhere without an address.
    fn end(&mut self) -> Result<Stop> {
        let count = self.count()?;
        self.go(count)?;
        if self.pc()?.is_none() {
            self.go(count.saturating_sub(1))?;
        }
        Ok(Stop::End)
    }

    /// Moves until it is stopped, or to the end of the trace on that side.
    pub fn resume(
        &mut self,
        direction: Direction,
        stops: &Stops,
        mut cancelled: impl FnMut() -> bool,
    ) -> Result<Stop> {
        let within = match direction {
            Direction::Forwards => self.now..self.count()?,
            Direction::Backwards => 0..self.now,
        };
        for range in self.pieces(direction, within, stops)? {
            if cancelled() {
                return Ok(Stop::Cancelled);
            }
            let found = match direction {
                Direction::Forwards => self.first(range, stops)?,
                Direction::Backwards => self.last(range, stops)?,
            };
            if let Some((number, stop)) = found {
                self.go(number)?;
                return Ok(stop);
            }
        }
        match direction {
            Direction::Forwards => self.end(),
            Direction::Backwards => {
                self.go(0)?;
                Ok(Stop::Begin)
            }
        }
    }

    /// Moves forwards until as many functions and handlers are entered and not left as `depth` allows.
    pub fn until_depth(&mut self, depth: u64, mut cancelled: impl FnMut() -> bool) -> Result<Stop> {
        let (mut machine, mut from) = (self.point()?.machine.clone(), self.now);
        let count = self.count()?;
        while from < count {
            if cancelled() {
                return Ok(Stop::Cancelled);
            }
            let to = from.saturating_add(PATIENCE).min(count);
            let (start, mut found) = (self.now, None);
            self.with_past(|past| {
                past.forwards(from, to, |here| {
                    machine.apply(here.batch, here.event, here.number);
                    // A call or return is known once the instruction after it is.
                    let is_step = matches!(here.event.kind, EventKind::Step(_));
                    let reached = is_step && here.number > start && machine.calls.depth() <= depth;
                    found = reached.then_some(here.number);
                    !reached
                })
            })?;
            if let Some(number) = found {
                self.go(number)?;
                return Ok(Stop::Done);
            }
            from = to;
        }
        self.end()
    }

    /// Functions and handlers that were entered and not left, the one of the next instruction included: a call is known
    /// once the instruction after it is.
    pub fn calls(&mut self) -> Result<Calls> {
        let (mut machine, now) = (self.point()?.machine.clone(), self.now);
        self.with_past(|past| {
            past.forwards(now, now.saturating_add(1), |here| {
                machine.apply(here.batch, here.event, here.number);
                true
            })
        })?;
        Ok(machine.calls)
    }

    /// The instructions of `within` that may stop it, in pieces, the nearest first.
    fn pieces(&mut self, direction: Direction, within: Range<u64>, stops: &Stops) -> Result<Vec<Range<u64>>> {
        let ranges = self.ranges(within, |stretch| stops.may_hit(stretch.sketch))?;
        let cut = |range: Range<u64>| {
            let starts = range.clone().step_by(PATIENCE as usize);
            starts.map(move |start| start..start.saturating_add(PATIENCE).min(range.end))
        };
        let mut pieces: Vec<Range<u64>> = ranges.into_iter().flat_map(cut).collect();
        if direction == Direction::Backwards {
            pieces.reverse();
        }
        Ok(pieces)
    }

    fn first(&mut self, range: Range<u64>, stops: &Stops) -> Result<Option<(u64, Stop)>> {
        let (start, mut found) = (self.now, None);
        self.with_past(|past| {
            past.forwards(range.start, range.end, |here| {
                found = match stops.data_at(&here) {
                    // The instruction where the move begins does not stop it again.
                    _ if here.number > start && stops.code_at(&here) => Some((here.number, Stop::Code)),
                    Some(watch) => Some((here.number + 1, Stop::Data(watch.clone()))),
                    None => None,
                };
                found.is_none()
            })
        })?;
        Ok(found)
    }

    fn last(&mut self, range: Range<u64>, stops: &Stops) -> Result<Option<(u64, Stop)>> {
        let mut found = None;
        self.with_past(|past| {
            past.backwards_to(range.start, range.end, |here| {
                if here.number < range.start || here.event.kind.instructions() == 0 {
                    return true;
                }
                found = match stops.data_at(&here) {
                    Some(watch) => Some((here.number, Stop::Data(watch.clone()))),
                    None if stops.code_at(&here) => Some((here.number, Stop::Code)),
                    None => None,
                };
                found.is_none()
            })
        })?;
        Ok(found)
    }
}
