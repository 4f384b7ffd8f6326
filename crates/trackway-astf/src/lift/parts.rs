//! Raw records on several threads: cut after a common instruction, where little state carries over
//! (docs/design/parallel.md).

use std::convert::Infallible;

use trackway_core::{Batch, Observer, Pool, in_order};

use super::common::{is_common, next_pc};
use super::{FULL, Lift, State};
use crate::layout::{RECORD, from_bytes};

/// Records per part.
const PART: usize = 1 << 16;

/// Parts per thread in one call of `observe`.
const STRETCH: usize = 16;

/// Records to be lifted on their own.
struct Part<'r> {
    records: &'r [[u8; RECORD]],
    /// Offset of the first record.
    offset: u64,
    /// State at its start, assuming that no context changed since the first part.
    state: State,
}

impl Part<'_> {
    /// Shows its events to the observer, with instructions counted from its start; returns the state at its end.
    fn observe(&self, observer: &mut dyn Observer, batch: &mut Batch) -> State {
        let (mut records, mut offset, mut state) = (self.records, self.offset, self.state.clone());
        while !records.is_empty() {
            batch.clear();
            batch.source = 0;
            batch.first_instruction = state.instructions;
            while !records.is_empty() && (batch.events.len() < FULL || state.open) {
                let used = state.lift(offset, records, batch);
                offset += (used * RECORD) as u64;
                records = &records[used..];
            }
            if !batch.events.is_empty() {
                observer.observe(batch);
            }
        }
        state
    }

    /// Takes over the context flags of `before`, the state at the end of the previous part; true if they differ from those
    /// assumed.
    fn correct(&mut self, before: &State) -> bool {
        let known = (before.scalable, before.unsupported);
        let assumed = (self.state.scalable, self.state.unsupported);
        (self.state.scalable, self.state.unsupported) = known;
        known != assumed
    }
}

/// Cuts records into parts.
struct Parts<'r> {
    records: &'r [[u8; RECORD]],
    offset: u64,
    /// Maximum number of records per part.
    size: usize,
    /// State at the start of `records`.
    state: State,
}

impl<'r> Iterator for Parts<'r> {
    type Item = Part<'r>;

    fn next(&mut self) -> Option<Part<'r>> {
        let (records, rest) = self.records.split_at(cut(self.records, self.size)?);
        let mut after = State::new(self.state.level);
        let [first, pc, ..] = from_bytes(records.last()?);
        (after.expected, after.last_pc, after.last) = (next_pc(records.last()?), pc, first);
        (after.scalable, after.unsupported) = (self.state.scalable, self.state.unsupported);
        let offset = self.offset;
        self.offset += records.as_flattened().len() as u64;
        self.records = rest;
        let state = std::mem::replace(&mut self.state, after);
        Some(Part { records, offset, state })
    }
}

/// Where to cut: after the last common instruction of the first `size` records; `None` if there are fewer, or none is.
fn cut(records: &[[u8; RECORD]], size: usize) -> Option<usize> {
    let most = records.get(..size)?;
    most.iter().rposition(is_common).map(|last| last + 1)
}

impl Lift {
    /// True if all records are in memory, and there are enough for several threads.
    pub(super) fn can_cut(&self) -> bool {
        let quiet = self.pending.is_none() && self.gap.is_none() && self.context.is_none();
        self.jobs > 1 && quiet && cut(self.records.mapped(), PART).is_some()
    }

    /// Shows the next parts to observers on several threads.
    pub(super) fn observe_parts(&mut self, observer: &mut dyn Observer) {
        let records = self.records.mapped();
        let most = STRETCH * self.jobs;
        let used =
            self.state.observe_parts(self.records.offset(), records, (PART, most), self.jobs, observer);
        self.number = self.state.instructions;
        self.records.consume(used);
    }
}

impl State {
    /// Shows `most` parts of at most `size` records; returns the number of records.
    pub(super) fn observe_parts<'r>(
        &mut self,
        offset: u64,
        records: &'r [[u8; RECORD]],
        (size, most): (usize, usize),
        jobs: usize,
        observer: &mut dyn Observer,
    ) -> usize {
        let state = State { others: [0; 7], instructions: 0, ..self.clone() };
        let template = observer.fork();
        let parts = Parts { records, offset, size, state }.map(move |part| (part, template.fork()));
        let spare = Pool::default();
        let work = |(part, mut observer): (Part<'r>, Box<dyn Observer>)| {
            let mut batch = spare.take_or(Batch::with_room);
            let after = part.observe(&mut *observer, &mut batch);
            spare.put(batch);
            (part, observer, after)
        };
        let mut used = 0;
        let Ok(()) = in_order(jobs, parts.take(most), work, |(mut part, mut seen, mut after)| {
            if part.correct(self) {
                // Rare: the first vector length, entry to and exit from an unsupported mode.
                seen = observer.fork();
                after = part.observe(&mut *seen, &mut spare.take_or(Batch::with_room));
            }
            observer.merge(seen);
            used += part.records.len();
            after.others.iter_mut().zip(self.others).for_each(|(sum, n)| *sum += n);
            after.instructions += self.instructions;
            *self = after;
            Ok::<(), Infallible>(())
        });
        used
    }
}
