//! Raw records on several threads: cut behind a common instruction, where little carries over, and found
//! out by a look at what comes before (decision 0147).

use trackway_core::{Batch, Observer, Result, Spare, in_order};

use super::common::{follows, is_common};
use super::{ENOUGH, Lift, State};
use crate::layout::from_bytes;
use crate::read::RECORD;
use crate::record::{Context, Instruction};

/// Records of a part: few enough for the cache, enough that taking the next one is rare.
const PART: usize = 1 << 16;

/// Parts per thread in one call of `observe`.
const STRETCH: usize = 16;

/// Records to be lifted on their own.
pub(super) struct Part<'r> {
    records: &'r [[u8; RECORD]],
    /// Of the first of them.
    offset: u64,
    /// At its start.
    state: State,
    observer: Box<dyn Observer>,
}

impl Part<'_> {
    /// Shows all of its events; gives the observer, and the state at its end.
    pub(super) fn observe(mut self, batch: &mut Batch) -> (Box<dyn Observer>, State) {
        while !self.records.is_empty() {
            batch.clear();
            batch.source = 0;
            batch.first_instruction = self.state.instructions;
            while !self.records.is_empty() && (batch.events.len() < ENOUGH || self.state.open) {
                let used = self.state.lift(self.offset, self.records, batch);
                self.offset += (used * RECORD) as u64;
                self.records = &self.records[used..];
            }
            if !batch.events.is_empty() {
                self.observer.observe(batch);
            }
        }
        (self.observer, self.state)
    }
}

/// Cuts records into parts.
pub(super) struct Parts<'r> {
    pub(super) records: &'r [[u8; RECORD]],
    pub(super) offset: u64,
    /// Records of a part, at most.
    pub(super) size: usize,
    /// At the start of `records`.
    pub(super) state: State,
    pub(super) template: Box<dyn Observer>,
}

impl<'r> Iterator for Parts<'r> {
    type Item = Part<'r>;

    fn next(&mut self) -> Option<Part<'r>> {
        let (records, rest) = self.records.split_at(cut(self.records, self.size)?);
        let mut after = State::new(self.state.level);
        let [first, pc, ..] = from_bytes(records.last()?);
        (after.expected, after.last_pc, after.last) = (follows(records.last()?), pc, first);
        (after.scalable, after.unsupported) = (self.state.scalable, self.state.unsupported);
        after.instructions = self.state.instructions;
        for record in records {
            after.instructions += u64::from(record[0] == Instruction::ID);
            if record[0] == Context::ID {
                after.note(&Context::read(&from_bytes(record)));
            }
        }
        let offset = self.offset;
        self.offset += records.as_flattened().len() as u64;
        self.records = rest;
        let state = std::mem::replace(&mut self.state, after);
        Some(Part { records, offset, state, observer: self.template.another() })
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
        self.jobs > 1 && quiet && cut(self.records.at_hand(), PART).is_some()
    }

    /// Shows the next parts to observers of their own, on several threads.
    pub(super) fn observe_parts(&mut self, observer: &mut dyn Observer) -> Result<bool> {
        let mut state = self.state.clone();
        state.others = [0; 7];
        let offset = self.records.offset();
        let records = self.records.at_hand();
        let parts = Parts { records, offset, size: PART, state, template: observer.another() };
        let spare = Spare::default();
        let work = |part: Part<'_>| {
            let mut batch = spare.take_or(Batch::with_room);
            let size = part.records.len();
            let seen = part.observe(&mut batch);
            spare.put(batch);
            (seen, size)
        };
        let (mut used, mut last) = (0, None);
        let mut others = self.state.others;
        in_order(self.jobs, parts.take(STRETCH * self.jobs), work, |((seen, state), size)| {
            observer.merge(seen);
            others.iter_mut().zip(state.others).for_each(|(sum, n)| *sum += n);
            used += size;
            last = Some(state);
            Ok::<(), trackway_core::Error>(())
        })?;
        if let Some(state) = last {
            self.state = state;
        }
        (self.state.others, self.number) = (others, self.state.instructions);
        self.records.consume(used);
        Ok(true)
    }
}
