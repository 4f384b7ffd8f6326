//! Where events go, and what in them may still change.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use trackway_core::{Batch, Error, Event, EventKind, Gap, Run, Trap};

/// What comes out of decoding.
#[derive(Debug)]
pub(crate) enum Piece {
    /// Events.
    Events(Batch),
    /// Decoding broke here; what follows is behind the next synchronisation.
    Broken(Error),
}

/// Batches that are full, and the one that is being filled. The exit of the last run can still be
/// corrected, and where a trap or gap leads is known at the next address: these are held back.
#[derive(Debug)]
pub(crate) struct Out {
    /// Complete pieces, oldest first.
    pub(crate) done: VecDeque<Piece>,
    /// Pieces before those in `done` that were taken away.
    pub(crate) taken: usize,
    batch: Batch,
    /// Index of the run whose exit is provisional.
    run: usize,
    /// Indexes of the trap and the gap that want to know where they lead.
    trap: usize,
    gap: usize,
    /// Instructions in the open batch.
    instructions: u64,
    /// Batches to use again.
    pool: Pool,
}

/// Batches to use again, shared by all decoders of a source: giving memory back to the system and
/// taking it again would cost more than filling it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pool(Arc<Mutex<Vec<Batch>>>);

impl Pool {
    fn take(&self) -> Batch {
        let mut pool = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut batch = pool.pop().unwrap_or_default();
        batch.clear();
        batch
    }

    pub(crate) fn give(&self, batch: Batch) {
        let mut pool = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if pool.len() < POOLED {
            pool.push(batch);
        }
    }
}

/// Batches that a pool keeps at the most.
const POOLED: usize = 256;

const NONE: usize = usize::MAX;

/// A batch is handed on although it may change once it is this long: damaged input must not fill memory.
const LONGEST: usize = 64 * Batch::FULL;

impl Out {
    pub(crate) fn new(pool: &Pool) -> Self {
        Out {
            done: VecDeque::new(),
            taken: 0,
            batch: pool.take(),
            run: NONE,
            trap: NONE,
            gap: NONE,
            instructions: 0,
            pool: pool.clone(),
        }
    }

    /// A run whose exit can still be corrected.
    #[inline(always)]
    pub(crate) fn run(&mut self, offset: u64, run: Run) {
        self.run = self.batch.events.len();
        self.instructions += u64::from(run.count);
        self.batch.push(offset, EventKind::Run(run));
    }

    /// The run whose exit can still be corrected.
    pub(crate) fn last_run(&mut self) -> Option<&mut Run> {
        match self.batch.events.get_mut(self.run) {
            Some(Event { kind: EventKind::Run(run), .. }) => Some(run),
            _ => None,
        }
    }

    /// The last run stays as it is.
    #[inline]
    pub(crate) fn settle(&mut self) {
        self.run = NONE;
    }

    /// How many events are in the open batch.
    pub(crate) fn events(&self) -> usize {
        self.batch.events.len()
    }

    /// Takes back all but `count` events of the open batch, which were runs.
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

    /// Any other event.
    pub(crate) fn push(&mut self, offset: u64, kind: EventKind) {
        self.batch.push(offset, kind);
    }

    /// The batch, for events with side data.
    pub(crate) fn batch(&mut self) -> &mut Batch {
        &mut self.batch
    }

    /// A trap that leads to the next address.
    pub(crate) fn trap(&mut self, offset: u64, trap: Trap) {
        self.trap = self.batch.events.len();
        self.batch.push_trap(offset, trap);
    }

    /// A gap that leads to the next address.
    pub(crate) fn gap(&mut self, offset: u64, gap: Gap) {
        self.gap = self.batch.events.len();
        self.batch.push_gap(offset, gap);
    }

    /// The gap that was pushed last, if nothing came behind it.
    pub(crate) fn last_gap(&mut self) -> Option<(u64, &mut Gap)> {
        match self.batch.events.last() {
            Some(&Event { offset, kind: EventKind::Gap(index) }) => {
                self.batch.gaps.get_mut(index as usize).map(|gap| (offset, gap))
            }
            _ => None,
        }
    }

    /// The next address is known.
    #[inline]
    pub(crate) fn address(&mut self, address: u64) {
        if self.trap != NONE {
            if let Some(EventKind::Trap(index)) = self.kind(self.trap) {
                self.batch.traps[index as usize].to = Some(address);
            }
            self.trap = NONE;
        }
        if self.gap != NONE {
            if let Some(EventKind::Gap(index)) = self.kind(self.gap) {
                self.batch.gaps[index as usize].to = Some(address);
            }
            self.gap = NONE;
        }
    }

    fn kind(&self, index: usize) -> Option<EventKind> {
        self.batch.events.get(index).map(|event| event.kind)
    }

    /// Traps and gaps know where they lead, so that two decoders can be compared.
    pub(crate) fn is_quiet(&self) -> bool {
        self.trap == NONE && self.gap == NONE
    }

    /// Place of the first event that may still change: pieces, then events of the open batch.
    pub(crate) fn place(&self) -> (usize, usize) {
        (self.taken + self.done.len(), self.held().min(self.batch.events.len()))
    }

    fn held(&self) -> usize {
        self.run.min(self.trap).min(self.gap)
    }

    /// Hands the batch on if it is full; called between packets.
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
        let mut next = self.pool.take();
        append(&mut next, &self.batch, held..self.batch.events.len());
        truncate(&mut self.batch, held);
        let mut full = std::mem::replace(&mut self.batch, next);
        let moved = self.batch.instructions();
        full.first_instruction = self.instructions - moved;
        self.instructions = moved;
        self.done.push_back(Piece::Events(full));
        for index in [&mut self.run, &mut self.trap, &mut self.gap] {
            *index = if *index == NONE || *index < held { NONE } else { *index - held };
        }
    }

    /// Nothing changes any more: the end, or a break.
    pub(crate) fn close(&mut self) {
        (self.run, self.trap, self.gap) = (NONE, NONE, NONE);
        if !self.batch.events.is_empty() {
            let mut full = std::mem::replace(&mut self.batch, self.pool.take());
            full.first_instruction = std::mem::take(&mut self.instructions);
            self.done.push_back(Piece::Events(full));
        }
    }

    /// Decoding breaks.
    pub(crate) fn broken(&mut self, error: Error) {
        self.close();
        self.done.push_back(Piece::Broken(error));
    }

    /// Takes the oldest piece away.
    pub(crate) fn take(&mut self) -> Option<Piece> {
        let piece = self.done.pop_front()?;
        self.taken += 1;
        Some(piece)
    }

    /// Cuts off what may still change and goes on with the output of `other`, from `place` there.
    pub(crate) fn splice(&mut self, mut other: Out, place: (usize, usize)) {
        let held = self.held();
        truncate(&mut self.batch, held);
        let (pieces, events) = place;
        other.done.drain(..pieces.saturating_sub(other.taken).min(other.done.len()));
        // The first piece is begun in the middle.
        match other.done.pop_front() {
            Some(Piece::Events(batch)) => {
                append(&mut self.batch, &batch, events.min(batch.events.len())..batch.events.len());
                self.instructions = self.batch.instructions();
                (self.run, self.trap, self.gap) = (NONE, NONE, NONE);
                self.close();
                self.pool.give(batch);
            }
            Some(broken) => {
                self.instructions = self.batch.instructions();
                self.close();
                self.done.push_back(broken);
            }
            None => {
                let begin = events.min(other.batch.events.len());
                let shift = self.batch.events.len();
                append(&mut self.batch, &other.batch, begin..other.batch.events.len());
                self.instructions = self.batch.instructions();
                let moved = |index: usize| if index == NONE { NONE } else { index - begin + shift };
                (self.run, self.trap, self.gap) = (moved(other.run), moved(other.trap), moved(other.gap));
                return;
            }
        }
        self.done.append(&mut other.done);
        self.batch = other.batch;
        self.instructions = other.instructions;
        (self.run, self.trap, self.gap) = (other.run, other.trap, other.gap);
    }
}

/// Keeps the first `count` events of a batch, and what they refer to. Side data is in the order of the
/// events.
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
