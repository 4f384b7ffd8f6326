//! Records to events.

mod common;
mod parts;
mod state;
#[cfg(test)]
mod tests;

use trackway_core::{Batch, Census, Decode, Entry, Error, Gap, GapReason, Parts, Result, Show, pack, unpack};

use crate::layout::{RECORD, Words, from_bytes};
use crate::record::{Context, Instruction, Level};
use crate::records::Records;
use parts::{PART, STRETCH};
pub(crate) use state::{FULL, State};

/// Decodes the records of a trace into events.
///
/// A record that does not fit its place (an Extra EA without an owner, an unknown type) becomes a [`Foreign`](trackway_core::Foreign) event,
/// verbatim; a break in the flow that no record explains becomes a [`Gap`].
#[derive(Debug)]
pub struct Lift {
    records: Records,
    state: State,
    /// Records per part, for analyses on threads.
    part: usize,
    /// The context at the place that `seek` found, for the next batch.
    context: Option<(u64, Words)>,
    /// Damage that `seek` met, for the next `fill`.
    seek_error: Option<Error>,
    /// Bytes of the decompressed stream, if it can be entered anywhere.
    seekable_len: Option<u64>,
}

impl Lift {
    /// `leading` is the number of records that are in the metadata: the Header, and the comments after it.
    pub(crate) fn new(level: Level, mut records: Records, leading: usize, part: Option<usize>) -> Self {
        let mut state = State::new(level);
        // They are available: opening the trace has read them.
        if let Ok(Some((_, chunk))) = records.chunk() {
            for record in chunk.iter().take(leading) {
                state.count(record[0]);
            }
            state.others[6] = 0;
            records.consume(leading);
        }
        let part = part.map_or(PART, |bytes| (bytes / RECORD).max(1));
        let seekable_len = records.seekable_len();
        Lift { records, state, part, context: None, seek_error: None, seekable_len }
    }
}

impl Decode for Lift {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
        if let Some(error) = self.seek_error.take() {
            return Err(error);
        }
        if let Some((offset, words)) = self.context.take() {
            self.state.context(offset, &words, batch);
        }
        while batch.events.len() < FULL || self.state.open {
            let Some((offset, chunk)) = self.records.chunk()? else {
                self.state.end_string(batch);
                return Ok(false);
            };
            let used = self.state.lift(offset, chunk, batch);
            self.records.consume(used);
        }
        Ok(true)
    }

    fn instructions(&self) -> u64 {
        self.state.instructions
    }

    fn enter(&mut self) -> Result<Entry> {
        let offset = self.records.offset();
        let Some(skipped) = self.records.resync() else { return Ok(Entry::End) };
        self.state.expected = None;
        self.state.open = false;
        self.state.string = None;
        let from = (self.state.last != 0).then_some(self.state.last_pc);
        let gap = Gap { from, bytes: Some(skipped), ..Gap::new(GapReason::BadInput) };
        Ok(Entry::After { offset, gap })
    }

    fn observe_parts(&mut self, threads: usize, show: &mut Show<'_>) -> Result<Parts> {
        if self.context.is_some() || self.seek_error.is_some() {
            return Ok(Parts::None);
        }
        let (records, offset) = (self.records.mapped(), self.records.offset());
        let used = self.state.observe_parts(offset, records, (self.part, STRETCH * threads), threads, show);
        self.records.consume(used);
        Ok(if used > 0 { Parts::Shown } else { Parts::None })
    }

    fn has_parts(&self) -> bool {
        !self.records.mapped().is_empty()
    }

    fn seek(&mut self, n: u64) -> Result<()> {
        let mut context = None;
        while self.state.instructions < n {
            let missing = n - self.state.instructions;
            let (offset, chunk) = match self.records.chunk() {
                Ok(Some(chunk)) => chunk,
                Ok(None) => break,
                // `fill` reports it, and `enter` skips it: numbers after it are known only then.
                Err(error) => {
                    self.seek_error = Some(error);
                    break;
                }
            };
            let mut passed = 0;
            let used = chunk.iter().position(|record| {
                passed += u64::from(record[0] == Instruction::ID);
                passed > missing
            });
            let skipped = &chunk[..used.unwrap_or(chunk.len())];
            let is_context = |record: &[u8; RECORD]| record[0] == Context::ID;
            if let Some(at) = skipped.iter().rposition(is_context) {
                // Only the last context is emitted; earlier ones just update the state.
                let here = (offset + (at * RECORD) as u64, from_bytes(&skipped[at]));
                let before = skipped[..at].iter().filter(|record| is_context(record)).map(from_bytes);
                for words in context.replace(here).map(|(_, words)| words).into_iter().chain(before) {
                    self.state.apply_context(&Context::read(&words));
                }
            }
            self.state.instructions += passed.min(missing);
            let count = skipped.len();
            self.records.consume(count);
        }
        self.context = context;
        Ok(())
    }

    fn save(&self) -> Option<Vec<u8>> {
        self.seekable_len?;
        let State { open, string, .. } = &self.state;
        // The last event may still change, or has not begun.
        if *open || string.is_some() || self.context.is_some() || self.seek_error.is_some() {
            return None;
        }
        pack(&(self.records.offset(), &self.state))
    }

    fn restore(&mut self, state: &[u8], instructions: u64) -> Result<bool> {
        let Some((offset, state)) = unpack::<(u64, State)>(state) else { return Ok(false) };
        let is_here = self.seekable_len.is_some_and(|len| (self.records.offset()..=len).contains(&offset))
            && offset.is_multiple_of(RECORD as u64);
        if !is_here || instructions > u64::MAX / 2 {
            return Ok(false);
        }
        let number = offset / RECORD as u64;
        if self.records.seek(number) != Ok(number) {
            return Ok(false);
        }
        self.state = State { level: self.state.level, instructions, ..state };
        Ok(true)
    }

    fn position(&self) -> u64 {
        self.records.position()
    }

    fn size(&self) -> Option<u64> {
        self.records.size()
    }

    fn census(&self) -> Census {
        Census::new(&NAMES, [1, self.state.instructions].into_iter().chain(self.state.others))
    }
}

/// Types of records: the Header, Instructions, and those of `State::others`.
const NAMES: [&str; 9] = [
    "Header",
    "Instruction",
    "Extra EA",
    "Context",
    "Trap",
    "String",
    "String continuation",
    "Timestamp",
    "Unknown",
];
