//! Lines to events: one decoder for all logs.

use std::sync::Arc;

use trackway_core::{
    Batch, Census, Decode, Entry, Error, ErrorKind, Feed, Gap, GapReason, Input, Isa, Parts, Result, Seen,
    Show, in_parts, pack, unpack,
};

use crate::lines::Place;
use crate::log::{Lift, Log};
use crate::walk::{Stop, each};
use trackway_format::Cut;

/// Bytes per part, for analyses on threads.
const PART: usize = 1 << 20;

/// Parts per thread and call.
const STRETCH: usize = 16;

/// Accesses after which a batch is full.
const ACCESSES: usize = 1 << 15;

/// Most kinds of lines that a log has.
const KINDS: usize = 16;

/// Decodes one source of a log.
#[derive(Debug)]
pub(crate) struct Decoder<L: Log> {
    log: Arc<L>,
    source: usize,
    feed: Feed,
    lift: L::Lift,
    tally: Tally,
    /// Bytes of the input, where they are in memory.
    size: Option<u64>,
    part: usize,
}

/// Counts of the lines read so far.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    place: Place,
    instructions: u64,
    /// Lines by kind; the last entry counts those of other sources.
    kinds: [u64; KINDS],
}

impl Tally {
    /// Adds a part that was read on its own.
    fn add(&mut self, part: &Tally, instructions: u64) {
        self.place.offset = part.place.offset;
        self.place.number += part.place.number;
        self.instructions += instructions;
        self.kinds.iter_mut().zip(part.kinds).for_each(|(all, more)| *all += more);
    }
}

impl<L: Log> Decoder<L> {
    pub(crate) fn new(log: Arc<L>, source: usize, input: Input, part: Option<usize>) -> Self {
        let size = match &input {
            Input::Whole(bytes) => Some((**bytes).as_ref().len() as u64),
            Input::Stream(_) => None,
        };
        let lift = log.lift(source);
        let part = part.unwrap_or(PART);
        Decoder { log, source, feed: Feed::new(input), lift, tally: Tally::default(), size, part }
    }

    /// The first places at or after the offsets `wanted` where a group begins; the end where there is none.
    pub(crate) fn cuts(mut self, wanted: &[u64]) -> Vec<Cut> {
        // An eager batch ends with its first group.
        let (mut cuts, mut batch) = (Vec::new(), Batch { is_eager: true, ..Batch::default() });
        let mut more = true;
        while more {
            batch.clear();
            more = match self.fill(&mut batch) {
                Ok(more) => more,
                Err(_) => !matches!(self.enter(), Ok(Entry::End) | Err(_)),
            };
            let offset = self.tally.place.offset;
            while wanted.get(cuts.len()).is_some_and(|at| *at <= offset) && !self.lift.is_open() {
                cuts.push(Cut { offset, ..Cut::default() });
            }
        }
        let end = Cut { offset: self.tally.place.offset, ..Cut::default() };
        cuts.resize(wanted.len(), end);
        cuts
    }
}

/// Fills `batch` from `bytes`; lines at and after `end` are only looked at.
#[inline(always)]
fn fill<L: Log>(
    (bytes, ended): (&[u8], bool),
    lift: &mut L::Lift,
    tally: &mut Tally,
    end: u64,
    batch: &mut Batch,
) -> Stop {
    let Tally { place, kinds, .. } = tally;
    let stop = each::<L>(bytes, ended, place, |line| {
        let full = line.offset >= end || batch.is_full() || batch.regs.len() + batch.mem.len() > ACCESSES;
        if full && !lift.is_open() {
            return Ok(false);
        }
        let taken = lift.line(line, full, batch)?;
        if let Some(kind) = taken {
            kinds[kind.min(KINDS - 1)] += 1;
        }
        Ok(taken.is_some())
    });
    if matches!(stop, Stop::Wrong(_)) {
        lift.end(batch);
    }
    stop
}

impl<L: Log> Decode for Decoder<L> {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
        let mut ended = self.feed.is_whole();
        let filled = loop {
            let before = self.tally.place.offset;
            let Decoder { feed, lift, tally, .. } = self;
            let stop = fill::<L>((feed.bytes(), ended), lift, tally, u64::MAX, batch);
            feed.consume((tally.place.offset - before) as usize);
            match stop {
                Stop::Declined => break Ok(true),
                Stop::Wrong(error) => break Err(error),
                Stop::More if ended => {
                    lift.end(batch);
                    break Ok(false);
                }
                Stop::More => {}
            }
            match feed.some() {
                Ok(more) => ended = !more,
                Err(error) => {
                    lift.end(batch);
                    break Err(error);
                }
            }
        };
        self.tally.instructions += batch.instructions();
        filled
    }

    fn instructions(&self) -> u64 {
        self.tally.instructions
    }

    /// Skips the line that cannot be read.
    fn enter(&mut self) -> Result<Entry> {
        let offset = self.tally.place.offset;
        loop {
            let bytes = self.feed.bytes();
            let (length, found) = L::unit(bytes).map_or((bytes.len(), false), |length| (length, true));
            self.feed.consume(length);
            self.tally.place.offset += length as u64;
            if found {
                break;
            }
            if !self.feed.more().unwrap_or(false) {
                return Ok(Entry::End);
            }
        }
        self.tally.place.number += 1;
        let bytes = Some(self.tally.place.offset - offset);
        Ok(Entry::After { offset, gap: Gap { bytes, ..Gap::new(GapReason::BadInput) } })
    }

    fn observe_parts(&mut self, threads: usize, show: &mut Show<'_>) -> Result<Parts> {
        if !self.feed.is_whole() || self.lift.is_open() {
            return Ok(Parts::None);
        }
        let Decoder { log, source, feed, lift, tally, part, .. } = self;
        let before = tally.place.offset;
        let fresh = if L::LOOK_BACK > 0 { lift.clone() } else { log.lift(*source) };
        let first = Before::Known(lift.clone());
        let cuts: Cuts<'_, L> =
            Cuts { bytes: feed.bytes(), base: before, from: 0, before: Some(first), size: *part, fresh };
        let ended = in_parts(
            threads,
            show,
            cuts.take(STRETCH * threads),
            |part, show| part.alone(show),
            |show, (part, mut done): (Part<'_, L>, Done<L>), seen: Seen| {
                let place = tally.place.offset;
                if part.offset != place || done.assumed != Some(lift.state()) {
                    let part = part.after(place);
                    let (again, instructions) = show.again(|show| part.run(lift.clone(), show));
                    tally.add(&again.tally, instructions);
                    done = again;
                } else {
                    let instructions = seen.instructions;
                    show.join(seen);
                    tally.add(&done.tally, instructions);
                }
                *lift = done.lift;
                match done.error {
                    Some(error) => Err(numbered(error, tally.place.number)),
                    None => {
                        show.place(|| Some((tally.place.offset, saved(lift, tally)?)));
                        Ok(())
                    }
                }
            },
        );
        let used = tally.place.offset - before;
        feed.consume(used as usize);
        ended?;
        Ok(if used > 0 { Parts::Shown } else { Parts::None })
    }

    fn places_parts(&self) -> bool {
        // A part of an Arm log may begin in another instruction set, which the observers of a part cannot know.
        self.feed.is_whole() && matches!(self.log.meta().isa, Isa::Rv32 | Isa::Rv64)
    }

    fn save(&self) -> Option<Vec<u8>> {
        self.size?;
        saved(&self.lift, &self.tally)
    }

    fn restore(&mut self, state: &[u8], instructions: u64) -> Result<bool> {
        type State<L> = <<L as Log>::Lift as Lift>::State;
        let Some((place, state)) = unpack::<(Place, State<L>)>(state) else { return Ok(false) };
        let fits = self.size.is_some_and(|size| place.offset <= size) && place.number <= place.offset;
        if !fits || instructions > u64::MAX / 2 || self.tally.place != Place::default() {
            return Ok(false);
        }
        self.feed.consume(place.offset as usize);
        self.lift.set_state(state);
        self.tally = Tally { place, instructions, ..Tally::default() };
        Ok(true)
    }

    fn position(&self) -> u64 {
        self.tally.place.offset
    }

    fn size(&self) -> Option<u64> {
        self.size
    }

    fn census(&self) -> Census {
        Census::new(L::KINDS, self.tally.kinds)
    }
}

/// The state between two groups, with its place.
fn saved<L: Lift>(lift: &L, tally: &Tally) -> Option<Vec<u8>> {
    if lift.is_open() { None } else { pack(&(tally.place, lift.state())) }
}

/// An error of a part, with the lines before it counted.
#[cold]
fn numbered(error: Error, number: u64) -> Error {
    match error.kind {
        ErrorKind::Line { column, expected, .. } => {
            Error { kind: ErrorKind::Line { line: number + 1, column, expected }, ..error }
        }
        _ => error,
    }
}

/// Knowledge of the state before a part.
enum Before<'b, L: Log> {
    /// The state.
    Known(L::Lift),
    /// The group before it, and its offset.
    Group(&'b [u8], u64),
}

/// Whole groups, to be lifted on their own.
struct Part<'b, L: Log> {
    /// From its first line to the end of the input: the line after the part is looked at.
    bytes: &'b [u8],
    /// Offset of its first line.
    offset: u64,
    /// Offset of the group after it.
    end: u64,
    before: Before<'b, L>,
    /// The state at the start of the source.
    fresh: L::Lift,
}

/// The end of a part.
struct Done<L: Log> {
    /// The state that was assumed at its start.
    assumed: Option<<L::Lift as Lift>::State>,
    lift: L::Lift,
    tally: Tally,
    error: Option<Error>,
}

impl<L: Log> Part<'_, L> {
    /// Lifts it by the state that the group before it leads to.
    fn alone(self, show: &mut Show<'_>) -> (Self, Done<L>) {
        let Some(lift) = self.state() else {
            let lift = self.fresh.clone();
            return (self, Done { assumed: None, lift, tally: Tally::default(), error: None });
        };
        let assumed = Some(lift.state());
        let (done, _) = self.run(lift, show);
        (self, Done { assumed, ..done })
    }

    /// The rest of it, if the part before took some of it.
    fn after(self, place: u64) -> Self {
        let taken = place.saturating_sub(self.offset);
        Part {
            bytes: self.bytes.get(taken as usize..).unwrap_or_default(),
            offset: self.offset + taken,
            ..self
        }
    }

    /// The state at its start, if the group before it can be read.
    fn state(&self) -> Option<L::Lift> {
        let (bytes, offset) = match &self.before {
            Before::Known(lift) => return Some(lift.clone()),
            Before::Group(bytes, offset) => (bytes, *offset),
        };
        let (mut lift, mut batch) = (self.fresh.clone(), Batch::default());
        let mut tally = Tally { place: Place { offset, number: 0 }, ..Tally::default() };
        let stop = fill::<L>((bytes, true), &mut lift, &mut tally, self.offset, &mut batch);
        (stop == Stop::Declined && tally.place.offset == self.offset).then_some(lift)
    }

    /// Shows its events; returns the state at its end and the number of instructions.
    fn run(&self, mut lift: L::Lift, show: &mut Show<'_>) -> (Done<L>, u64) {
        let mut tally = Tally { place: Place { offset: self.offset, number: 0 }, ..Tally::default() };
        let (mut batch, mut instructions, mut error) = (Batch::with_capacity(), 0, None);
        loop {
            batch.clear();
            let rest = &self.bytes[(tally.place.offset - self.offset) as usize..];
            let stop = fill::<L>((rest, true), &mut lift, &mut tally, self.end, &mut batch);
            let count = batch.instructions();
            instructions += count;
            show.batch(&mut batch, count);
            match stop {
                Stop::Declined if tally.place.offset < self.end => {}
                // The line after the part is not its own.
                Stop::Wrong(wrong) if tally.place.offset < self.end => {
                    error = Some(wrong);
                    break;
                }
                _ => break,
            }
        }
        (Done { assumed: None, lift, tally, error }, instructions)
    }
}

/// Cuts the input into parts that begin with a group.
struct Cuts<'b, L: Log> {
    bytes: &'b [u8],
    /// Offset of `bytes`.
    base: u64,
    /// Where the next part begins in `bytes`.
    from: usize,
    before: Option<Before<'b, L>>,
    /// Bytes of a part, at least.
    size: usize,
    /// The state at the start of the source; for a log that is looked back in, that before the first part.
    fresh: L::Lift,
}

impl<'b, L: Log> Iterator for Cuts<'b, L> {
    type Item = Part<'b, L>;

    /// None where no group begins after the part: the rest is decoded in order.
    fn next(&mut self) -> Option<Part<'b, L>> {
        let target = self.from.checked_add(self.size).filter(|target| *target < self.bytes.len())?;
        let at = |place: usize| self.base + place as u64;
        let (end, next) = if L::LOOK_BACK > 0 {
            let (end, lift) = self.look_back(target)?;
            (end, Before::Known(lift))
        } else {
            let before = self.group(L::boundary(self.bytes, target)?)?;
            let end = self.group(before + L::unit(&self.bytes[before..])?)?;
            (end, Before::Group(&self.bytes[before..], at(before)))
        };
        let part = Part {
            bytes: &self.bytes[self.from..],
            offset: at(self.from),
            end: at(end),
            before: self.before.replace(next)?,
            fresh: self.fresh.clone(),
        };
        self.from = end;
        Some(part)
    }
}

impl<L: Log> Cuts<'_, L> {
    /// The first group at or after `target`, and the state there as the lines before it show it.
    fn look_back(&self, target: usize) -> Option<(usize, L::Lift)> {
        let from = L::boundary(self.bytes, target - L::LOOK_BACK.min(self.size))?;
        let (mut lift, mut batch) = (self.fresh.clone(), Batch::default());
        lift.enter();
        let mut tally =
            Tally { place: Place { offset: self.base + from as u64, number: 0 }, ..Tally::default() };
        loop {
            batch.clear();
            let at = (tally.place.offset - self.base) as usize;
            let target = self.base + target as u64;
            let stop = fill::<L>((&self.bytes[at..], false), &mut lift, &mut tally, target, &mut batch);
            match stop {
                Stop::Declined if tally.place.offset < target => {}
                Stop::Declined => return Some(((tally.place.offset - self.base) as usize, lift)),
                _ => return None,
            }
        }
    }

    /// The first group at or after `from`, where lines begin.
    fn group(&self, from: usize) -> Option<usize> {
        let mut place = Place { offset: from as u64, number: 0 };
        loop {
            let bytes = self.bytes.get(place.offset as usize..)?;
            match each::<L>(bytes, false, &mut place, |line| Ok(!self.fresh.begins(line))) {
                Stop::Declined => return Some(place.offset as usize),
                Stop::More => return None,
                // A line that is too long.
                Stop::Wrong(_) => {
                    place.offset += L::unit(&self.bytes[place.offset as usize..])? as u64;
                }
            }
        }
    }
}
