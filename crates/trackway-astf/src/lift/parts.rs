//! Raw records on several threads: cut behind a common instruction, where little carries over (decision 0147).

use std::convert::Infallible;

use trackway_core::{Batch, Observer, Spare, in_order};

use super::common::{follows, is_common};
use super::{ENOUGH, Lift, State};
use crate::layout::{RECORD, from_bytes};

/// Records of a part: enough that taking the next one is rare.
const PART: usize = 1 << 16;

/// Parts per thread in one call of `observe`.
const STRETCH: usize = 16;

/// Records to be lifted on their own.
struct Part<'r> {
    records: &'r [[u8; RECORD]],
    /// Of the first of them.
    offset: u64,
    /// At its start, if contexts are as they were at the start of all parts.
    state: State,
}

impl Part<'_> {
    /// Shows all of its events, with instructions counted from its start; gives the state at its end.
    fn observe(&self, observer: &mut dyn Observer, batch: &mut Batch) -> State {
        let (mut records, mut offset, mut state) = (self.records, self.offset, self.state.clone());
        while !records.is_empty() {
            batch.clear();
            batch.source = 0;
            batch.first_instruction = state.instructions;
            while !records.is_empty() && (batch.events.len() < ENOUGH || state.open) {
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

    /// Takes over what `before`, the state at the end of all that precedes, says of contexts: was it assumed otherwise?
    fn follow(&mut self, before: &State) -> bool {
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
    /// Records of a part, at most.
    size: usize,
    /// At the start of `records`.
    state: State,
}

impl<'r> Iterator for Parts<'r> {
    type Item = Part<'r>;

    fn next(&mut self) -> Option<Part<'r>> {
        let (records, rest) = self.records.split_at(cut(self.records, self.size)?);
        let mut after = State::new(self.state.level);
        let [first, pc, ..] = from_bytes(records.last()?);
        (after.expected, after.last_pc, after.last) = (follows(records.last()?), pc, first);
        (after.scalable, after.unsupported) = (self.state.scalable, self.state.unsupported);
        let offset = self.offset;
        self.offset += records.as_flattened().len() as u64;
        self.records = rest;
        let state = std::mem::replace(&mut self.state, after);
        Some(Part { records, offset, state })
    }
}

/// Where to cut: behind the last common instruction of a part, if there are as many records and one of them is.
fn cut(records: &[[u8; RECORD]], size: usize) -> Option<usize> {
    let most = records.get(..size)?;
    most.iter().rposition(is_common).map(|last| last + 1)
}

impl Lift {
    /// Are all records at hand, and enough of them for several threads?
    pub(super) fn in_parts(&self) -> bool {
        let quiet = self.pending.is_none() && self.gap.is_none() && self.context.is_none();
        self.jobs > 1 && quiet && cut(self.records.mapped(), PART).is_some()
    }

    /// Shows the next parts to observers of their own, on several threads.
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
    /// Shows `most` parts of at most `size` records; gives how many records they were.
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
        let spare = Spare::default();
        let work = |(part, mut observer): (Part<'r>, Box<dyn Observer>)| {
            let mut batch = spare.take_or(Batch::with_room);
            let after = part.observe(&mut *observer, &mut batch);
            spare.put(batch);
            (part, observer, after)
        };
        let mut used = 0;
        let Ok(()) = in_order(jobs, parts.take(most), work, |(mut part, mut seen, mut after)| {
            if part.follow(self) {
                // Rare: the first vector length, the way into an unsupported mode and out of it.
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
