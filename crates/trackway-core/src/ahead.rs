//! Writing ahead: what a sink writes of some events depends on nothing but them, so that another thread may do it before it is
//! their turn.

use std::any::Any;
use std::collections::VecDeque;

use crate::events::{Batch, Context, EventKind};

/// Writes events for a sink before it is their turn, as far as they do not depend on those before them. The sink looks in
/// [`put_ahead`](crate::Sink::put_ahead) whether they follow what it has written.
pub trait Ahead: Any + Send {
    /// Writes what it can of the next batch; `before` is the context of its source before it.
    fn write(&mut self, batch: &Batch, before: &Context);
}

/// Rows of events that were written ahead, for the batches that they are from.
#[derive(Debug)]
pub struct Rows<R> {
    rows: VecDeque<Row<R>>,
    /// Events of the batches that were written ahead, and of those that the sink has taken since.
    written: usize,
    taken: usize,
    /// The bytes of all rows.
    bytes: Vec<u8>,
}

#[derive(Debug)]
struct Row<R> {
    /// Number of its first event.
    first: usize,
    /// Events.
    len: usize,
    /// Place of its bytes.
    bytes: std::ops::Range<usize>,
    what: R,
}

impl<R> Default for Rows<R> {
    fn default() -> Self {
        Rows { rows: VecDeque::new(), written: 0, taken: 0, bytes: Vec::new() }
    }
}

impl<R> Rows<R> {
    /// Goes through a batch, which begins in the context `before`: `write` appends the row that begins with an event, in the
    /// context of that, and returns its number of events with what else the sink has to know of it. The event after a row
    /// is left to the sink, as one is that begins none.
    pub fn write(
        &mut self,
        batch: &Batch,
        before: &Context,
        mut write: impl FnMut(usize, &Context, &mut Vec<u8>) -> Option<(usize, R)>,
    ) {
        let (mut context, mut n, mut seen) = (*before, 0, 0);
        while n < batch.events.len() {
            for event in &batch.events[std::mem::replace(&mut seen, n)..n] {
                if let EventKind::Context(change) = event.kind {
                    context.update(&batch.contexts[change as usize]);
                }
            }
            let start = self.bytes.len();
            match write(n, &context, &mut self.bytes) {
                Some((len, what)) if len > 0 => {
                    let (first, bytes) = (self.written + n, start..self.bytes.len());
                    self.rows.push_back(Row { first, len, bytes, what });
                    n += len;
                }
                _ => self.bytes.truncate(start),
            }
            n += 1;
        }
        self.written += batch.events.len();
    }

    /// Rows that were written and not yet passed.
    pub fn count(&self) -> usize {
        self.rows.len()
    }

    /// The row that begins with event `n` of the next batch that the sink takes: its number of events, what it says, and its bytes.
    pub fn at(&mut self, n: usize) -> Option<(usize, &R, &[u8])> {
        let first = self.taken + n;
        while self.rows.front().is_some_and(|row| row.first < first) {
            self.rows.pop_front();
        }
        let row = self.rows.front().filter(|row| row.first == first)?;
        Some((row.len, &row.what, &self.bytes[row.bytes.clone()]))
    }

    /// The sink has taken the batch.
    pub fn take(&mut self, batch: &Batch) {
        self.taken += batch.events.len();
        if self.taken >= self.written {
            self.rows.clear();
            self.bytes.clear();
            (self.written, self.taken) = (0, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::Step;

    #[test]
    fn rows_are_found_where_they_begin() {
        let mut batch = Batch::default();
        (0..7).for_each(|n| batch.push(n, EventKind::Step(Step::new(n, 0, 4))));
        let mut rows = Rows::default();
        for round in 0..3u8 {
            // Rows of two events, with one between them; the first batch has none.
            for number in 0..2 {
                rows.write(&batch, &Context::default(), |n, _, out| {
                    out.push(n as u8);
                    (number == 1 && n > 0).then_some((2, round))
                });
            }
            assert!((0..7).all(|n| rows.at(n).is_none()));
            rows.take(&batch);
            assert_eq!(rows.at(0), None);
            assert_eq!(rows.at(1), Some((2, &round, &[1][..])));
            // One that was passed by is gone.
            assert_eq!(rows.at(4), Some((2, &round, &[4][..])));
            assert_eq!(rows.at(1), None);
            rows.take(&batch);
        }
        assert!(rows.bytes.is_empty() && rows.rows.is_empty());
    }
}
