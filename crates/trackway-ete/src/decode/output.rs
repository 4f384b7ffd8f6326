//! Where events go, and what in them may still change.

use std::collections::VecDeque;

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
    batch: Batch,
    /// Index of the run whose exit is provisional.
    run: usize,
    /// Indexes of the trap and the gap that want to know where they lead.
    trap: usize,
    gap: usize,
    /// Instructions in the open batch.
    instructions: u64,
    /// Batches to use again: taking memory from the system would cost more than filling it.
    spare: Vec<Batch>,
}

/// Events at the end of the output that may still change, taken out of it.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    batch: Batch,
    run: usize,
    trap: usize,
    gap: usize,
}

impl PartialEq for Held {
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

/// Batches that are kept to be used again.
const SPARE: usize = 2;

const NONE: usize = usize::MAX;

/// A batch is handed on although it may change once it is this long: damaged input must not fill memory.
const LONGEST: usize = 64 * Batch::FULL;

impl Out {
    pub(crate) fn new() -> Self {
        Out {
            done: VecDeque::new(),
            batch: Self::room(),
            run: NONE,
            trap: NONE,
            gap: NONE,
            instructions: 0,
            spare: Vec::new(),
        }
    }

    /// A batch with room for all events of a full one.
    fn room() -> Batch {
        Batch { events: Vec::with_capacity(Batch::FULL + 64), ..Batch::default() }
    }

    /// Takes a batch back that is not needed any more.
    pub(crate) fn give(&mut self, mut batch: Batch) {
        if self.spare.len() < SPARE {
            batch.clear();
            self.spare.push(batch);
        }
    }

    fn fresh(&mut self) -> Batch {
        self.spare.pop().unwrap_or_else(Self::room)
    }

    /// A run whose exit can still be corrected.
    #[inline(always)]
    pub(crate) fn run(&mut self, offset: u64, run: Run) {
        self.run = self.batch.events.len();
        self.instructions += u64::from(run.count);
        self.batch.push(offset, EventKind::Run(run));
    }

    /// Runs in a row, of which the last one's exit can still be corrected.
    #[inline(always)]
    pub(crate) fn runs(&mut self) -> Runs<'_> {
        Runs { begun: self.batch.events.len(), out: self, instructions: 0 }
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
        let mut next = self.fresh();
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
            let next = self.fresh();
            let mut full = std::mem::replace(&mut self.batch, next);
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
        self.done.pop_front()
    }

    /// Takes what may still change out of the open batch.
    pub(crate) fn hold(&mut self) -> Held {
        let from = self.held().min(self.batch.events.len());
        let mut batch = Batch::default();
        append(&mut batch, &self.batch, from..self.batch.events.len());
        truncate(&mut self.batch, from);
        self.instructions -= batch.instructions();
        let moved = |index: &mut usize| std::mem::replace(index, NONE).checked_sub(from).unwrap_or(NONE);
        let (run, trap, gap) = (moved(&mut self.run), moved(&mut self.trap), moved(&mut self.gap));
        let of = |index: usize| if index < batch.events.len() { index } else { NONE };
        Held { run: of(run), trap: of(trap), gap: of(gap), batch }
    }

    /// Puts back what may still change, behind all else.
    pub(crate) fn resume(&mut self, held: &Held) {
        let shift = self.batch.events.len();
        append(&mut self.batch, &held.batch, 0..held.batch.events.len());
        self.instructions += held.batch.instructions();
        let moved = |index: usize| if index == NONE { NONE } else { index + shift };
        (self.run, self.trap, self.gap) = (moved(held.run), moved(held.trap), moved(held.gap));
    }

    /// Forgets all output.
    pub(crate) fn clear(&mut self) {
        (self.run, self.trap, self.gap) = (NONE, NONE, NONE);
        self.batch.clear();
        self.instructions = 0;
        self.clear_done();
    }

    /// Forgets the pieces that are complete.
    pub(crate) fn clear_done(&mut self) {
        while let Some(piece) = self.done.pop_front() {
            if let Piece::Events(batch) = piece {
                self.give(batch);
            }
        }
    }
}

/// Runs that are being pushed: what is known of all is noted at the end.
pub(crate) struct Runs<'o> {
    out: &'o mut Out,
    begun: usize,
    instructions: u64,
}

impl Runs<'_> {
    #[inline(always)]
    pub(crate) fn push(&mut self, offset: u64, run: Run) {
        self.instructions += u64::from(run.count);
        self.out.batch.push(offset, EventKind::Run(run));
    }

    /// Were there any?
    #[inline(always)]
    pub(crate) fn end(self) -> bool {
        let count = self.out.batch.events.len();
        if count == self.begun {
            return false;
        }
        self.out.run = count - 1;
        self.out.instructions += self.instructions;
        true
    }
}

/// Takes what is behind the first `count` events off a batch; none if there is nothing.
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
