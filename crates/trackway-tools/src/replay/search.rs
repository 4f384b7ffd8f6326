//! Where a move ends.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use trackway::Result;
use trackway::index::Stretch;
use trackway_core::{EventKind, MemAccess, MemKind};

use super::Replay;
use crate::past::{Here, Kept, Past};

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
pub(super) enum Found<T> {
    At(T),
    Nowhere,
    Cancelled,
}

/// Instructions between two questions whether to cancel.
pub(super) const PATIENCE: u64 = 1 << 17;

/// Instructions that several threads search.
const LONG: u64 = 1 << 16;

/// Between two looks at threads.
const POLL: Duration = Duration::from_millis(2);

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
        if here.event.kind.instructions() == 0 {
            return None;
        }
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
        let start = self.now;
        let may = |stretch: &Stretch<'_>| stops.may_hit(stretch.sketch);
        let is = || |here: &Here<'_>| stops.at(here, start, direction);
        let found = self.seek(direction, may, is, &mut cancelled)?;
        match (found, direction) {
            (Found::Cancelled, _) => Ok(Stop::Cancelled),
            (Found::At((number, stop)), _) => {
                self.go(number)?;
                Ok(stop)
            }
            (Found::Nowhere, Direction::Forwards) => self.end(),
            (Found::Nowhere, Direction::Backwards) => {
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
        let is = || {
            move |here: &Here<'_>| {
                let beyond = match direction {
                    Direction::Forwards => here.number > start,
                    Direction::Backwards => here.number < start,
                };
                (beyond && landmark.is(&here.event.kind)).then_some(here.number)
            }
        };
        let found = self.seek(direction, |stretch| landmark.may_be_in(stretch), is, &mut cancelled)?;
        Ok(if let Found::At(number) = found { Some(number) } else { None })
    }

    /// The nearest event on one side that one made by `is` has an answer for, in stretches of which `may` is true.
    ///
    /// Stretches are read from their checkpoints on, each once, the nearest first; a long way on several threads.
    pub(super) fn seek<T: Send, F: FnMut(&Here<'_>) -> Option<T>>(
        &mut self,
        direction: Direction,
        may: impl Fn(&Stretch<'_>) -> bool,
        is: impl Fn() -> F + Sync,
        cancelled: &mut dyn FnMut() -> bool,
    ) -> Result<Found<T>> {
        let within = match direction {
            // Events after the last instruction have its number and one.
            Direction::Forwards => self.now..self.count()?.saturating_add(1),
            Direction::Backwards => 0..self.now,
        };
        let pieces = self.pieces(direction, within, may)?;
        let mut one = is();
        let mut left = &pieces[..];
        while let [piece, rest @ ..] = left {
            if self.is_long(left) && left.len() < pieces.len() {
                return self.seek_on_threads(direction, left, is, cancelled);
            }
            if cancelled() {
                return Ok(Found::Cancelled);
            }
            let mut is_cancelled = false;
            let mut ask = || {
                is_cancelled = cancelled();
                is_cancelled
            };
            let found = self.with_past(|past| in_piece(past, piece, direction, &mut one, &mut ask))?;
            match found {
                _ if is_cancelled => return Ok(Found::Cancelled),
                Some(found) => return Ok(Found::At(found)),
                None => left = rest,
            }
        }
        Ok(Found::Nowhere)
    }

    /// Several threads are worth their start.
    fn is_long(&self, pieces: &[Range<u64>]) -> bool {
        self.trace.threads() > 1 && pieces.iter().map(|piece| piece.end - piece.start).sum::<u64>() > LONG
    }

    /// The first of these pieces with an answer. Threads take the next piece each, until one has an answer.
    fn seek_on_threads<T: Send, F: FnMut(&Here<'_>) -> Option<T>>(
        &mut self,
        direction: Direction,
        pieces: &[Range<u64>],
        is: impl Fn() -> F + Sync,
        cancelled: &mut dyn FnMut() -> bool,
    ) -> Result<Found<T>> {
        let (open, places) = (self.trace.reopener()?, &self.kept.places);
        let (next, first) = (AtomicUsize::new(0), AtomicUsize::new(pieces.len()));
        let answers = Mutex::new(BTreeMap::new());
        let search = || -> Result<()> {
            let mut trace = open()?;
            let mut past = Past::new(&mut trace)?.with_kept(Kept::at(places.clone()));
            let mut is = is();
            loop {
                let n = next.fetch_add(1, Relaxed);
                let Some(piece) = pieces.get(n).filter(|_| n < first.load(Relaxed)) else { return Ok(()) };
                let mut is_late = || n >= first.load(Relaxed);
                if let Some(found) = in_piece(&mut past, piece, direction, &mut is, &mut is_late)? {
                    first.fetch_min(n, Relaxed);
                    answers.lock().unwrap_or_else(PoisonError::into_inner).insert(n, found);
                }
            }
        };
        let mut is_cancelled = false;
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..self.trace.threads()).map(|_| scope.spawn(search)).collect();
            while threads.iter().any(|thread| !thread.is_finished()) {
                if !is_cancelled && cancelled() {
                    is_cancelled = true;
                    first.store(0, Relaxed);
                }
                std::thread::sleep(POLL);
            }
            let joined = threads.into_iter().map(|thread| match thread.join() {
                Ok(searched) => searched,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            joined.collect::<Result<()>>()
        })?;
        let answers = answers.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(match answers.into_iter().next() {
            _ if is_cancelled => Found::Cancelled,
            Some((_, found)) => Found::At(found),
            None => Found::Nowhere,
        })
    }

    /// The instructions of `within` in stretches of which `may` is true, cut at checkpoints, the nearest first.
    fn pieces(
        &mut self,
        direction: Direction,
        within: Range<u64>,
        may: impl Fn(&Stretch<'_>) -> bool,
    ) -> Result<Vec<Range<u64>>> {
        let ranges = self.ranges(within, may)?;
        let cuts: Vec<u64> = self.part()?.checkpoints.iter().map(|one| one.saved.instruction).collect();
        let mut pieces = Vec::new();
        for range in ranges {
            let mut start = range.start;
            let first = cuts.partition_point(|cut| *cut <= start);
            for cut in cuts[first..].iter().take_while(|cut| **cut < range.end) {
                pieces.push(start..*cut);
                start = *cut;
            }
            pieces.push(start..range.end);
        }
        if direction == Direction::Backwards {
            pieces.reverse();
        }
        Ok(pieces)
    }
}

/// The nearest answer in a piece; any or none where `ask` ended it.
fn in_piece<T>(
    past: &mut Past<'_>,
    piece: &Range<u64>,
    direction: Direction,
    is: &mut impl FnMut(&Here<'_>) -> Option<T>,
    ask: &mut dyn FnMut() -> bool,
) -> Result<Option<T>> {
    let (mut found, mut asked) = (None, piece.start);
    past.sweep(piece.start, piece.end, |here| {
        if here.number >= asked.saturating_add(PATIENCE) {
            asked = here.number;
            if ask() {
                return false;
            }
        }
        found = is(&here).or(found.take());
        found.is_none() || direction == Direction::Backwards
    })?;
    Ok(found)
}
