//! The output of stage 3: batches of events, the last of which may still change.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use trackway_core::{Batch, Error, Event, EventKind, Gap, Result, Run, Trap};

/// A complete batch, and the number of its instructions.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) batch: Batch,
    pub(crate) instructions: u64,
}

/// Complete batches, and the one that is being filled. A mispredict can still correct the exit of the last run, and
/// the next address completes the last trap and gap: these events and all after them are held back.
#[derive(Debug)]
pub(crate) struct Output {
    /// Complete batches, oldest first.
    finished: VecDeque<Finished>,
    /// The damage after them.
    error: Option<Error>,
    batch: Batch,
    /// Index of the run whose exit may change.
    run: usize,
    /// Indexes of the trap and the gap that wait for the next address.
    trap: usize,
    gap: usize,
    /// Number of instructions in the open batch.
    instructions: u64,
    /// Batches to reuse: allocating one costs more than filling it.
    spare: Vec<Batch>,
}

/// Events at the end of the output that may still change, taken out of it.
#[derive(Clone, Debug)]
pub(crate) struct Unsettled {
    batch: Batch,
    run: usize,
    trap: usize,
    gap: usize,
}

impl PartialEq for Unsettled {
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (&self.batch, &other.batch);
        (self.run, self.trap, self.gap) == (other.run, other.trap, other.gap)
            && a.events == b.events
            && a.traps == b.traps
            && a.contexts == b.contexts
            && a.gaps == b.gaps
            && a.bytes == b.bytes
    }
}

/// Events at the end of the output that may still change, as lines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct SavedOutput {
    lines: Vec<String>,
    run: Option<u8>,
    trap: Option<u8>,
    gap: Option<u8>,
}

/// More events are not saved.
const MOST_SAVED: usize = 16;

/// Maximum number of batches kept for reuse.
const SPARE: usize = 2;

const NONE: usize = usize::MAX;

/// A batch of this length is handed on even if it may change: damaged input must not fill memory.
const LONGEST: usize = 64 * Batch::FULL;

impl Output {
    pub(crate) fn new() -> Self {
        Output {
            finished: VecDeque::new(),
            error: None,
            batch: Self::room(),
            run: NONE,
            trap: NONE,
            gap: NONE,
            instructions: 0,
            spare: Vec::new(),
        }
    }

    /// The events that are not complete, unless they are many or complete ones wait before them.
    pub(crate) fn save(&self) -> Option<SavedOutput> {
        let events = &self.batch.events;
        if self.is_pending() || events.len() > MOST_SAVED {
            return None;
        }
        let line = |event| {
            let mut line = String::new();
            self.batch.write_line(event, &mut line);
            line
        };
        let index = |index: usize| (index < events.len()).then_some(index as u8);
        let (run, trap, gap) = (index(self.run), index(self.trap), index(self.gap));
        Some(SavedOutput { lines: events.iter().map(line).collect(), run, trap, gap })
    }

    /// Fresh output continues with events that are not complete; false if they are not possible.
    pub(crate) fn restore(&mut self, saved: &SavedOutput) -> bool {
        let mut batch = Batch::default();
        let is_read = saved.lines.len() <= MOST_SAVED
            && saved.lines.iter().all(|line| batch.read_line(line).is_some())
            && batch.events.iter().all(|event| match event.kind {
                EventKind::Run(run) => run.accesses.is_none(),
                EventKind::Context(_) | EventKind::Time(_) | EventKind::Mark(_) | EventKind::Gap(_) => true,
                EventKind::Trap(n) => batch.traps[n as usize].words.len == 0,
                EventKind::Step(_) | EventKind::State(_) | EventKind::Foreign(_) => false,
            });
        let count = batch.events.len();
        let index = |index: Option<u8>| index.map_or(Some(NONE), |n| Some(n.into()).filter(|n| *n < count));
        let indexes = (index(saved.run), index(saved.trap), index(saved.gap));
        let (true, (Some(run), Some(trap), Some(gap))) = (is_read, indexes) else { return false };
        self.clear();
        self.resume(&Unsettled { batch, run, trap, gap });
        true
    }

    /// An empty batch with the capacity of a full one.
    fn room() -> Batch {
        Batch { events: Vec::with_capacity(Batch::FULL + 64), ..Batch::default() }
    }

    /// Takes back a batch for reuse.
    pub(crate) fn recycle(&mut self, mut batch: Batch) {
        if self.spare.len() < SPARE {
            batch.clear();
            self.spare.push(batch);
        }
    }

    fn fresh(&mut self) -> Batch {
        let mut batch = self.spare.pop().unwrap_or_else(Self::room);
        // A batch that the consumer kept comes back as an empty one without room.
        batch.events.reserve(Batch::FULL + 64);
        batch
    }

    /// Emits a run whose exit may still change.
    #[inline(always)]
    pub(crate) fn run(&mut self, offset: u64, run: Run) {
        self.run = self.batch.events.len();
        (self.trap, self.gap) = (NONE, NONE);
        self.instructions += u64::from(run.count);
        self.batch.push(offset, EventKind::Run(run));
    }

    /// The events of the open batch, to which runs are added; call [`ran`](Output::ran) afterwards.
    #[inline(always)]
    pub(crate) fn open_events(&mut self) -> &mut Vec<Event> {
        &mut self.batch.events
    }

    /// Runs were added, which have that number of instructions; the exit of the last one may still change.
    #[inline(always)]
    pub(crate) fn ran(&mut self, instructions: u64) {
        self.run = self.batch.events.len() - 1;
        (self.trap, self.gap) = (NONE, NONE);
        self.instructions += instructions;
    }

    /// Number of events at which the open batch is handed on between packets.
    #[inline]
    pub(crate) fn full(&self) -> usize {
        if self.batch.is_eager { 1 } else { Batch::FULL }
    }

    /// The run whose exit may still change.
    pub(crate) fn last_run(&mut self) -> Option<&mut Run> {
        match self.batch.events.get_mut(self.run) {
            Some(Event { kind: EventKind::Run(run), .. }) => Some(run),
            _ => None,
        }
    }

    /// Makes the last run final.
    #[inline]
    pub(crate) fn settle(&mut self) {
        self.run = NONE;
    }

    /// Number of events in the open batch.
    pub(crate) fn events(&self) -> usize {
        self.batch.events.len()
    }

    /// Removes all but `count` events of the open batch; the removed ones are runs.
    pub(crate) fn rewind(&mut self, count: usize) {
        self.batch.events.truncate(count);
        self.instructions = self.batch.instructions();
        if self.run >= count {
            self.run = NONE;
        }
    }

    /// Offset of the last event in the open batch.
    pub(crate) fn last_offset(&self) -> u64 {
        self.batch.events.last().map_or(0, |event| event.offset)
    }

    /// Emits any other event.
    pub(crate) fn push(&mut self, offset: u64, kind: EventKind) {
        self.batch.push(offset, kind);
    }

    /// The open batch, for events with side data.
    pub(crate) fn batch(&mut self) -> &mut Batch {
        &mut self.batch
    }

    /// Emits a trap; the next address completes it.
    pub(crate) fn trap(&mut self, offset: u64, trap: Trap) {
        self.trap = self.batch.events.len();
        self.batch.push_trap(offset, trap);
    }

    /// Emits a gap; the next address completes it.
    pub(crate) fn gap(&mut self, offset: u64, gap: Gap) {
        self.gap = self.batch.events.len();
        self.trap = NONE;
        self.batch.push_gap(offset, gap);
    }

    /// The last event, if it is a gap.
    pub(crate) fn last_gap(&mut self) -> Option<(u64, &mut Gap)> {
        match self.batch.events.last() {
            Some(&Event { offset, kind: EventKind::Gap(index) }) => {
                self.batch.gaps.get_mut(index as usize).map(|gap| (offset, gap))
            }
            _ => None,
        }
    }

    /// The next address: completes the last trap and gap. A prediction may be corrected before the next run.
    #[inline]
    pub(crate) fn address(&mut self, address: u64) {
        if self.trap != NONE
            && let Some(EventKind::Trap(index)) = self.kind(self.trap)
        {
            self.batch.traps[index as usize].to = Some(address);
        }
        if self.gap != NONE
            && let Some(EventKind::Gap(index)) = self.kind(self.gap)
        {
            self.batch.gaps[index as usize].to = Some(address);
        }
    }

    /// Tracing stopped: the next address is not where the last trap led to.
    pub(crate) fn leave_trap(&mut self) {
        self.trap = NONE;
    }

    fn kind(&self, index: usize) -> Option<EventKind> {
        self.batch.events.get(index).map(|event| event.kind)
    }

    /// No trap or gap waits for an address, so that two decoders can be compared.
    pub(crate) fn is_quiet(&self) -> bool {
        self.trap == NONE && self.gap == NONE
    }

    fn held(&self) -> usize {
        self.run.min(self.trap).min(self.gap)
    }

    /// Hands on the open batch if it is full; called between packets.
    #[inline]
    pub(crate) fn turn(&mut self) {
        if self.batch.is_full() {
            self.turn_full();
        }
    }

    #[cold]
    fn turn_full(&mut self) {
        let held = self.held().min(self.batch.events.len());
        if held == 0 && self.batch.events.len() < LONGEST {
            return;
        }
        let held = if held == 0 { self.batch.events.len() } else { held };
        let mut next = self.fresh();
        append(&mut next, &self.batch, held..self.batch.events.len());
        truncate(&mut self.batch, held);
        let batch = std::mem::replace(&mut self.batch, next);
        let moved = self.batch.instructions();
        let instructions = self.instructions - moved;
        self.instructions = moved;
        self.finished.push_back(Finished { batch, instructions });
        for index in [&mut self.run, &mut self.trap, &mut self.gap] {
            *index = if *index == NONE || *index < held { NONE } else { *index - held };
        }
    }

    /// Hands on everything: nothing changes any more.
    pub(crate) fn close(&mut self) {
        (self.run, self.trap, self.gap) = (NONE, NONE, NONE);
        if !self.batch.events.is_empty() {
            let next = self.fresh();
            let batch = std::mem::replace(&mut self.batch, next);
            let instructions = std::mem::take(&mut self.instructions);
            self.finished.push_back(Finished { batch, instructions });
        }
    }

    /// Hands on everything, then `error`.
    pub(crate) fn fail(&mut self, error: Error) {
        self.close();
        self.error = Some(error);
    }

    /// A complete batch is there.
    #[inline]
    pub(crate) fn is_ready(&self) -> bool {
        !self.finished.is_empty()
    }

    /// A complete batch or an error is there.
    pub(crate) fn is_pending(&self) -> bool {
        self.is_ready() || self.error.is_some()
    }

    /// Takes the oldest complete batch, or the error after the last one.
    pub(crate) fn take(&mut self) -> Result<Option<Finished>> {
        match (self.finished.pop_front(), &mut self.error) {
            (None, error) if error.is_some() => error.take().map_or(Ok(None), Err),
            (finished, _) => Ok(finished),
        }
    }

    /// Takes the events that may still change out of the open batch.
    pub(crate) fn hold(&mut self) -> Unsettled {
        let from = self.held().min(self.batch.events.len());
        let mut batch = Batch::default();
        append(&mut batch, &self.batch, from..self.batch.events.len());
        truncate(&mut self.batch, from);
        self.instructions -= batch.instructions();
        let moved = |index: &mut usize| std::mem::replace(index, NONE).checked_sub(from).unwrap_or(NONE);
        let (run, trap, gap) = (moved(&mut self.run), moved(&mut self.trap), moved(&mut self.gap));
        let of = |index: usize| if index < batch.events.len() { index } else { NONE };
        Unsettled { run: of(run), trap: of(trap), gap: of(gap), batch }
    }

    /// Puts back events that may still change, after all others.
    pub(crate) fn resume(&mut self, held: &Unsettled) {
        let shift = self.batch.events.len();
        append(&mut self.batch, &held.batch, 0..held.batch.events.len());
        self.instructions += held.batch.instructions();
        let moved = |index: usize| if index == NONE { NONE } else { index + shift };
        (self.run, self.trap, self.gap) = (moved(held.run), moved(held.trap), moved(held.gap));
    }

    /// Drops all output.
    pub(crate) fn clear(&mut self) {
        (self.run, self.trap, self.gap) = (NONE, NONE, NONE);
        self.batch.clear();
        self.instructions = 0;
        self.clear_finished();
    }

    /// Drops the complete batches.
    pub(crate) fn clear_finished(&mut self) {
        while let Some(finished) = self.finished.pop_front() {
            self.recycle(finished.batch);
        }
    }
}

/// Splits a batch after `count` events and returns the rest, if there is any.
pub(crate) fn split(batch: &mut Batch, count: usize) -> Option<Batch> {
    if count >= batch.events.len() {
        return None;
    }
    let mut rest = Batch { source: batch.source, ..Batch::default() };
    append(&mut rest, batch, count..batch.events.len());
    truncate(batch, count);
    rest.first_instruction = batch.first_instruction + batch.instructions();
    Some(rest)
}

/// Keeps the first `count` events of a batch, and their side data, which is in the order of the events.
fn truncate(batch: &mut Batch, count: usize) {
    while batch.events.len() > count {
        match batch.events.pop().map(|event| event.kind) {
            Some(EventKind::Trap(_)) => drop(batch.traps.pop()),
            Some(EventKind::Context(_)) => drop(batch.contexts.pop()),
            Some(EventKind::Gap(_)) => drop(batch.gaps.pop()),
            _ => {}
        }
    }
}

/// Appends events of one batch, with their side data, to another.
fn append(to: &mut Batch, from: &Batch, range: std::ops::Range<usize>) {
    for event in &from.events[range] {
        match event.kind {
            EventKind::Trap(index) => to.push_trap(event.offset, from.traps[index as usize]),
            EventKind::Context(index) => to.push_context(event.offset, from.contexts[index as usize]),
            EventKind::Gap(index) => to.push_gap(event.offset, from.gaps[index as usize]),
            EventKind::Mark(mut mark) => {
                mark.text = to.add_bytes(from.bytes_of(mark.text));
                to.push(event.offset, EventKind::Mark(mark));
            }
            kind => to.push(event.offset, kind),
        }
    }
}
