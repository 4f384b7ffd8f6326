//! Raw records on several threads: cut after a common instruction, where little state carries over
//! (docs/design/parallel.md).

use std::convert::Infallible;

use trackway_core::{Batch, Pool, Show, in_parts};

use super::common::{is_common, next_pc};
use super::state::{FULL, State};
use crate::layout::{RECORD, from_bytes};

/// Records per part.
pub(super) const PART: usize = 1 << 16;

/// Parts per thread and call.
pub(super) const STRETCH: usize = 16;

/// Records to be lifted on their own.
struct Part<'r> {
    records: &'r [[u8; RECORD]],
    /// Offset of the first record.
    offset: u64,
    /// State at its start, assuming that no context changed since the first part.
    state: State,
}

impl Part<'_> {
    /// Shows its events, with instructions counted from its start; returns the state at its end.
    fn show(&self, show: &mut Show<'_>, batch: &mut Batch) -> State {
        let (mut records, mut offset, mut state) = (self.records, self.offset, self.state.clone());
        while !records.is_empty() {
            batch.clear();
            let first = state.instructions;
            while !records.is_empty() && (batch.events.len() < FULL || state.open) {
                let used = state.lift(offset, records, batch);
                offset += (used * RECORD) as u64;
                records = &records[used..];
            }
            show.batch(batch, state.instructions - first);
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
struct Cuts<'r> {
    records: &'r [[u8; RECORD]],
    offset: u64,
    /// Maximum number of records per part.
    size: usize,
    /// State at the start of `records`.
    state: State,
}

impl<'r> Iterator for Cuts<'r> {
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

impl State {
    /// Shows `most` parts of at most `size` records; returns the number of records.
    pub(super) fn observe_parts<'r>(
        &mut self,
        offset: u64,
        records: &'r [[u8; RECORD]],
        (size, most): (usize, usize),
        threads: usize,
        show: &mut Show<'_>,
    ) -> usize {
        if cut(records, size).is_none() {
            return 0;
        }
        let state = State { others: [0; 7], instructions: 0, ..self.clone() };
        let parts = Cuts { records, offset, size, state };
        let pool = Pool::default();
        let shown = |part: &Part<'_>, show: &mut Show<'_>| {
            let mut batch = pool.take_or(Batch::with_capacity);
            let after = part.show(show, &mut batch);
            pool.put(batch);
            after
        };
        let mut used = 0;
        let alone = |part: Part<'r>, show: &mut Show<'_>| {
            let after = shown(&part, show);
            (part, after)
        };
        let Ok(()) = in_parts(threads, show, parts.take(most), alone, |show, (mut part, mut after), seen| {
            if part.correct(self) {
                // Rare: the first vector length, entry to and exit from an unsupported mode.
                after = show.again(|show| shown(&part, show));
            } else {
                show.join(seen);
            }
            used += part.records.len();
            after.others.iter_mut().zip(self.others).for_each(|(sum, n)| *sum += n);
            after.instructions += self.instructions;
            *self = after;
            Ok::<(), Infallible>(())
        });
        used
    }
}
