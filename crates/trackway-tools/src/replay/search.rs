//! Where a move ends.

use std::collections::BTreeSet;
use std::ops::Range;

use trackway::Result;
use trackway::index::Stretch;
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

/// Events that are not instructions and that one wants to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Landmark {
    /// Something is missing.
    Gap,
    /// An exception, an interrupt, or the return from one.
    Trap,
    /// A marker of the producer.
    Mark,
}

/// The result of a search.
pub(super) enum Found {
    At(u64),
    Nowhere,
    Cancelled,
}

/// Instructions between two questions whether to cancel.
pub(super) const PATIENCE: u64 = 1 << 17;

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

    /// Where a move from `start` in this direction stops at an instruction, and why.
    pub(super) fn at(&self, here: &Here<'_>, start: u64, direction: Direction) -> Option<(u64, Stop)> {
        let code = || self.code_at(here).then_some((here.number, Stop::Code));
        match direction {
            // The instruction where the move begins does not stop it again.
            Direction::Forwards => (here.number > start)
                .then(code)
                .flatten()
                .or_else(|| Some((here.number + 1, Stop::Data(self.data_at(here)?.clone())))),
            Direction::Backwards => {
                self.data_at(here).map(|watch| (here.number, Stop::Data(watch.clone()))).or_else(code)
            }
        }
    }
}

impl Landmark {
    fn is(self, kind: &EventKind) -> bool {
        match self {
            Landmark::Gap => matches!(kind, EventKind::Gap(_)),
            Landmark::Trap => matches!(kind, EventKind::Trap(_)),
            Landmark::Mark => matches!(kind, EventKind::Mark(_)),
        }
    }

    fn may_be_in(self, stretch: &Stretch<'_>) -> bool {
        let (before, after) = (stretch.before.tally, stretch.after.tally);
        match self {
            Landmark::Gap => before.gaps != after.gaps,
            Landmark::Trap => before.traps != after.traps,
            Landmark::Mark => before.marks != after.marks,
        }
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
    pub(super) fn end(&mut self) -> Result<Stop> {
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
        let (start, mut reason) = (self.now, None);
        let found = self.seek(
            direction,
            |stretch| stops.may_hit(stretch.sketch),
            |here| {
                if here.event.kind.instructions() > 0 {
                    reason = stops.at(here, start, direction);
                }
                reason.is_some()
            },
            &mut cancelled,
        )?;
        match (found, reason, direction) {
            (Found::Cancelled, ..) => Ok(Stop::Cancelled),
            (Found::At(_), Some((number, stop)), _) => {
                self.go(number)?;
                Ok(stop)
            }
            (_, _, Direction::Forwards) => self.end(),
            (_, _, Direction::Backwards) => {
                self.go(0)?;
                Ok(Stop::Begin)
            }
        }
    }

    /// The number of the nearest gap, trap or mark on one side, that of the instruction after it; `None` if there is none
    /// or the search was cancelled.
    pub fn nearest(
        &mut self,
        landmark: Landmark,
        direction: Direction,
        mut cancelled: impl FnMut() -> bool,
    ) -> Result<Option<u64>> {
        let start = self.now;
        let is = |here: &Here<'_>| {
            let beyond = match direction {
                Direction::Forwards => here.number > start,
                Direction::Backwards => here.number < start,
            };
            beyond && landmark.is(&here.event.kind)
        };
        let found = self.seek(direction, |stretch| landmark.may_be_in(stretch), is, &mut cancelled)?;
        Ok(if let Found::At(number) = found { Some(number) } else { None })
    }

    /// The nearest event on one side of which `is` is true, in stretches of which `may` is.
    pub(super) fn seek(
        &mut self,
        direction: Direction,
        may: impl Fn(&Stretch<'_>) -> bool,
        mut is: impl FnMut(&Here<'_>) -> bool,
        cancelled: &mut dyn FnMut() -> bool,
    ) -> Result<Found> {
        let within = match direction {
            // Events after the last instruction have its number and one.
            Direction::Forwards => self.now..self.count()?.saturating_add(1),
            Direction::Backwards => 0..self.now,
        };
        for range in self.pieces(direction, within, may)? {
            if cancelled() {
                return Ok(Found::Cancelled);
            }
            let mut found = None;
            let mut visit = |here: Here<'_>| {
                let met = here.number >= range.start && is(&here);
                found = met.then_some(here.number);
                !met
            };
            self.with_past(|past| match direction {
                Direction::Forwards => past.forwards(range.start, range.end, visit),
                Direction::Backwards => past.backwards_to(range.start, range.end, &mut visit),
            })?;
            if let Some(number) = found {
                return Ok(Found::At(number));
            }
        }
        Ok(Found::Nowhere)
    }

    /// The instructions of `within` in stretches of which `may` is true, in pieces, the nearest first.
    fn pieces(
        &mut self,
        direction: Direction,
        within: Range<u64>,
        may: impl Fn(&Stretch<'_>) -> bool,
    ) -> Result<Vec<Range<u64>>> {
        let ranges = self.ranges(within, may)?;
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
}
