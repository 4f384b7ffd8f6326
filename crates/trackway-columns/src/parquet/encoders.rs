//! Columns of groups of rows, encoded by whichever thread is free: the one that decodes the trace helps when it is ahead.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowColumnWriter, compute_leaves};
use parquet::errors::{ParquetError, Result};

/// Batches that may wait, so that a thread always finds work and memory stays small.
const AHEAD: usize = 3;

/// Encodes batches column by column.
pub(super) struct Encoders {
    shared: Arc<Shared>,
    threads: usize,
    /// Have the other threads been started?
    started: bool,
}

struct Shared {
    schema: SchemaRef,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    columns: Vec<Column>,
    /// Tasks that are not done.
    pending: usize,
    failed: Option<ParquetError>,
    ended: bool,
}

/// A column: one thread at a time works on it, in order.
#[derive(Default)]
struct Column {
    tasks: VecDeque<Task>,
    /// Of the current group and those after it.
    writers: VecDeque<ArrowColumnWriter>,
    busy: bool,
    /// Of groups that are not written yet.
    done: VecDeque<ArrowColumnChunk>,
}

enum Task {
    Write(ArrayRef),
    EndGroup,
}

impl Encoders {
    /// For this number of threads, the caller's included.
    pub(super) fn new(schema: SchemaRef, threads: usize) -> Self {
        let columns = schema.fields().iter().map(|_| Column::default()).collect();
        let state = Mutex::new(State { columns, ..State::default() });
        let threads = threads.clamp(1, schema.fields().len().max(1));
        Encoders {
            shared: Arc::new(Shared { schema, state, changed: Condvar::new() }),
            threads,
            started: false,
        }
    }

    /// The next group of rows is written by these.
    pub(super) fn begin_group(&mut self, writers: Vec<ArrowColumnWriter>) -> Result<()> {
        if !std::mem::replace(&mut self.started, true) {
            for _ in 1..self.threads {
                let shared = Arc::clone(&self.shared);
                std::thread::Builder::new().spawn(move || shared.help())?;
            }
        }
        let mut state = self.shared.lock();
        state.columns.iter_mut().zip(writers).for_each(|(column, writer)| column.writers.push_back(writer));
        Ok(())
    }

    /// Rows of the current group.
    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.add(|n| Task::Write(Arc::clone(batch.column(n))));
        let most = if self.threads > 1 { AHEAD * batch.num_columns() } else { 0 };
        self.shared.settle(most)
    }

    pub(super) fn end_group(&mut self) {
        self.add(|_| Task::EndGroup);
    }

    fn add(&mut self, task: impl Fn(usize) -> Task) {
        let mut state = self.shared.lock();
        state.pending += state.columns.len();
        for (n, column) in state.columns.iter_mut().enumerate() {
            column.tasks.push_back(task(n));
        }
        drop(state);
        self.shared.changed.notify_all();
    }

    /// Encodes everything that waits.
    pub(super) fn finish(&mut self) -> Result<()> {
        self.shared.settle(0)
    }

    /// The next group, if all of its columns are encoded.
    pub(super) fn next_group(&mut self) -> Option<Vec<ArrowColumnChunk>> {
        let mut state = self.shared.lock();
        let is_whole = state.columns.iter().all(|column| !column.done.is_empty());
        is_whole.then(|| state.columns.iter_mut().filter_map(|column| column.done.pop_front()).collect())
    }
}

impl Drop for Encoders {
    fn drop(&mut self) {
        self.shared.lock().ended = true;
        self.shared.changed.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// A thread that does nothing else.
    fn help(&self) {
        let mut state = self.lock();
        while !state.ended {
            state = match state.pick() {
                Some(n) => self.encode(state, n),
                None => self.wait(state),
            };
        }
    }

    /// Encodes until at most `most` tasks are pending.
    fn settle(&self, most: usize) -> Result<()> {
        let mut state = self.lock();
        while !state.ended && state.pending > most {
            state = match state.pick() {
                Some(n) => self.encode(state, n),
                None => self.wait(state),
            };
        }
        let before = || ParquetError::General("the writer failed before".into());
        if state.ended { Err(state.failed.take().unwrap_or_else(before)) } else { Ok(()) }
    }

    /// Does the next task of a column, with the lock free.
    fn encode<'s>(&'s self, mut state: MutexGuard<'s, State>, n: usize) -> MutexGuard<'s, State> {
        let column = &mut state.columns[n];
        let (Some(task), Some(mut writer)) = (column.tasks.pop_front(), column.writers.pop_front()) else {
            state.fail(ParquetError::General("rows of a group that was not begun".into()));
            return state;
        };
        column.busy = true;
        drop(state);
        let guard = Panicked(self);
        let done = match task {
            Task::Write(array) => {
                let leaves = compute_leaves(self.schema.field(n), &array);
                let written = leaves.and_then(|leaves| leaves.iter().try_for_each(|leaf| writer.write(leaf)));
                written.map(|()| (Some(writer), None))
            }
            Task::EndGroup => writer.close().map(|chunk| (None, Some(chunk))),
        };
        drop(guard);
        let mut state = self.lock();
        let column = &mut state.columns[n];
        column.busy = false;
        match done {
            Ok((writer, chunk)) => {
                writer.into_iter().for_each(|writer| column.writers.push_front(writer));
                column.done.extend(chunk);
            }
            Err(error) => state.fail(error),
        }
        state.pending -= 1;
        self.changed.notify_all();
        state
    }
}

impl State {
    /// Nothing can be written any more.
    fn fail(&mut self, error: ParquetError) {
        self.failed.get_or_insert(error);
        self.ended = true;
    }

    /// The column that most tasks wait for, of those that no thread works on.
    fn pick(&self) -> Option<usize> {
        let free = |(_, column): &(usize, &Column)| !column.busy && !column.tasks.is_empty();
        let columns = self.columns.iter().enumerate().filter(free);
        columns.max_by_key(|(n, column)| (column.tasks.len(), std::cmp::Reverse(*n))).map(|(n, _)| n)
    }
}

/// A thread that died keeps no other waiting.
struct Panicked<'s>(&'s Shared);

impl Drop for Panicked<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.lock().fail(ParquetError::General("a thread of the writer died".into()));
            self.0.changed.notify_all();
        }
    }
}
