//! Tables as record batches, read on a thread while Python works on the last one.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, to_ffi};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, RecordBatch, RecordBatchReader, StructArray};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use trackway::{Error, Health, Trace};
use trackway_columns::{
    Chunk, Ended, Integers, Selection, Sink, Table, ToArrow, arrow_schema, read, rows_of,
};
use trackway_core::Cancel;

use crate::error::Failed;
use crate::opening::Opening;
use crate::thread;

/// Batches that wait at most: one is worked on, one is ready.
const QUEUE: usize = 2;

/// A message of the thread that reads.
pub(crate) enum Message {
    Batch(RecordBatch),
    /// The end: errors that were passed, as text.
    End(Result<Vec<String>, Failed>),
}

/// A table, its columns and how numbers are written.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    table: &'static Table,
    pub(crate) selection: Selection,
    integers: Integers,
}

impl Asked {
    pub(crate) fn new(table: &str, columns: Option<Vec<String>>, integers: &str) -> Result<Self, Failed> {
        let selection = Selection::new(&[table.to_string()], &columns.unwrap_or_default())?;
        let table = selection.tables().next().ok_or_else(|| Failed::Usage("no table".into()))?;
        let integers = match integers {
            "unsigned" => Integers::Unsigned,
            "signed" => Integers::Signed,
            "decimal" => Integers::Decimal,
            other => {
                return Err(Failed::Usage(format!("{other}: integers are unsigned, signed or decimal")));
            }
        };
        Ok(Asked { table, selection, integers })
    }

    fn schema(&self) -> SchemaRef {
        arrow_schema(self.table, &self.selection, self.integers)
    }
}

/// Hands chunks to Python.
pub(crate) struct Queue {
    to_arrow: ToArrow,
    sender: SyncSender<Message>,
}

impl Sink for Queue {
    fn put(&mut self, chunk: Chunk) -> io::Result<()> {
        let batch = self.to_arrow.batch(chunk).map_err(io::Error::other)?;
        // Nobody reads any more: the reader was dropped.
        self.sender.send(Message::Batch(batch)).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Counts rows, and drops them.
#[derive(Default)]
struct Count(u64);

impl Sink for Count {
    fn put(&mut self, chunk: Chunk) -> io::Result<()> {
        self.0 += chunk.rows as u64;
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The number of rows of a table, read with these columns.
#[pyfunction]
#[pyo3(signature = (opening, table, columns, start, stop))]
pub(crate) fn count(
    py: Python<'_>,
    opening: Opening,
    table: &str,
    columns: Option<Vec<String>>,
    start: Option<String>,
    stop: Option<String>,
) -> PyResult<u64> {
    let path = opening.path.clone();
    let asked = Asked::new(table, columns, "unsigned").map_err(|error| error.raise(py, &path))?;
    let cancel = Cancel::default();
    let inner = cancel.clone();
    let counted = thread::result(py, &cancel, move || {
        let mut rows = Count::default();
        let mut trace = opening.open(&inner)?;
        read_whole(&mut trace, &asked.selection, [start, stop], opening.strict, &mut rows)?;
        Ok(rows.0)
    })?;
    counted.map_err(|error: Failed| error.raise(py, &path))
}

/// Reads a trace, or what is between two positions, past damage where possible.
pub(crate) fn read_whole(
    trace: &mut Trace,
    selection: &Selection,
    [start, stop]: [Option<String>; 2],
    strict: bool,
    sink: &mut dyn Sink,
) -> Result<Health, Failed> {
    let (mut rows, mut source) = rows_of(trace, selection, start.as_deref(), stop.as_deref())?;
    let (health, ended) = read(&mut *source, strict, &mut rows, sink, |_, _| {});
    let instructions = Some(health.counts.instructions);
    match ended {
        Ok(()) if health.is_unfollowed() => {
            let text = "not one instruction could be followed: is this the program that ran (elf=)?";
            Err(Error::Unsupported(text.into()).into())
        }
        Ok(()) => Ok(health),
        Err(Ended::Error(error) | Ended::Strict(error)) => Err(Failed::Trace(error.into(), instructions)),
        Err(Ended::Caller(error)) => Err(Error::File { path: "batches".into(), error }.into()),
    }
}

/// Record batches of a table.
#[pyclass(frozen, module = "trackway._trackway")]
pub(crate) struct Batches {
    path: String,
    schema: SchemaRef,
    cancel: Cancel,
    messages: Arc<Mutex<Receiver<Message>>>,
    /// Errors after which reading continued.
    passed: Mutex<Vec<String>>,
}

impl Batches {
    /// Starts to read: `work` fills the queue and returns the health of what it read.
    pub(crate) fn start(
        path: String,
        asked: &Asked,
        cancel: Cancel,
        work: impl FnOnce(&mut Queue) -> Result<Health, Failed> + Send + 'static,
    ) -> PyResult<Self> {
        let (sender, messages) = sync_channel(QUEUE);
        let to_arrow = ToArrow::new(asked.table, &asked.selection, asked.integers);
        let schema = asked.schema();
        thread::spawn(move || {
            let mut queue = Queue { to_arrow, sender };
            let ended = work(&mut queue).map(|health| {
                let errors = health.first_errors.iter();
                errors.map(|passed| format!("{}", passed.error)).collect()
            });
            drop(queue.sender.send(Message::End(ended)));
        })?;
        let (messages, passed) = (Arc::new(Mutex::new(messages)), Mutex::default());
        Ok(Batches { path, schema, cancel, messages, passed })
    }
}

impl Drop for Batches {
    fn drop(&mut self) {
        // A stream may continue without it.
        if Arc::strong_count(&self.messages) == 1 {
            self.cancel.cancel();
        }
    }
}

#[pymethods]
impl Batches {
    /// The rows of a table, all of it or between two positions.
    #[new]
    #[pyo3(signature = (opening, table, columns, start, stop, integers))]
    fn new(
        py: Python<'_>,
        opening: Opening,
        table: &str,
        columns: Option<Vec<String>>,
        start: Option<String>,
        stop: Option<String>,
        integers: &str,
    ) -> PyResult<Self> {
        let raise = |error: Failed| error.raise(py, &opening.path);
        let asked = Asked::new(table, columns, integers).map_err(raise)?;
        let (cancel, path) = (Cancel::default(), opening.path.clone());
        let (inner, selection) = (cancel.clone(), asked.selection.clone());
        Batches::start(path, &asked, cancel, move |queue| {
            let mut trace = opening.open(&inner)?;
            read_whole(&mut trace, &selection, [start, stop], opening.strict, queue)
        })
    }

    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        match thread::next(py, &self.cancel, &self.messages)? {
            None => Ok(None),
            Some(Message::Batch(batch)) => Ok(Some(Batch(batch))),
            Some(Message::End(Ok(passed))) => {
                *self.passed.lock().unwrap_or_else(PoisonError::into_inner) = passed;
                Ok(None)
            }
            Some(Message::End(Err(error))) => Err(error.raise(py, &self.path)),
        }
    }

    /// Errors after which reading continued, once all was read.
    #[getter]
    fn passed(&self) -> Vec<String> {
        self.passed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.schema)
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let messages = Arc::clone(&self.messages);
        let reader = Reader { path: self.path.clone(), schema: Arc::clone(&self.schema), messages };
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
    }
}

/// The rest of the batches, for those who take streams of the C data interface. It runs without Python's lock.
struct Reader {
    path: String,
    schema: SchemaRef,
    messages: Arc<Mutex<Receiver<Message>>>,
}

impl Iterator for Reader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let message = self.messages.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()?;
        match message {
            Message::Batch(batch) => Some(Ok(batch)),
            Message::End(Ok(_)) => None,
            Message::End(Err(error)) => {
                let text = match error {
                    Failed::Usage(text) => text,
                    Failed::Trace(error, _) => format!("{}: {error}", self.path),
                };
                Some(Err(ArrowError::ExternalError(text.into())))
            }
        }
    }
}

impl RecordBatchReader for Reader {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

/// Rows of a table, for those who take arrays of the C data interface.
#[pyclass(frozen, module = "trackway._trackway")]
pub(crate) struct Batch(RecordBatch);

#[pymethods]
impl Batch {
    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let _ = requested_schema;
        let rows = StructArray::from(self.0.clone());
        let (array, _): (FFI_ArrowArray, FFI_ArrowSchema) = to_ffi(&rows.to_data()).map_err(wrong)?;
        let array = PyCapsule::new_with_value(py, array, c"arrow_array")?;
        Ok((schema_capsule(py, &self.0.schema())?, array))
    }
}

/// Columns and types of a table.
#[pyclass(frozen, module = "trackway._trackway")]
pub(crate) struct Schema(SchemaRef);

#[pymethods]
impl Schema {
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.0)
    }
}

/// The schema of a table.
#[pyfunction]
#[pyo3(signature = (table, columns, integers))]
pub(crate) fn schema(
    py: Python<'_>,
    table: &str,
    columns: Option<Vec<String>>,
    integers: &str,
) -> PyResult<Schema> {
    let asked = Asked::new(table, columns, integers).map_err(|error| error.raise(py, ""))?;
    Ok(Schema(asked.schema()))
}

/// The names of all tables.
#[pyfunction]
pub(crate) fn tables() -> Vec<&'static str> {
    Table::ALL.iter().map(|table| table.name).collect()
}

fn schema_capsule<'py>(py: Python<'py>, schema: &SchemaRef) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(&**schema).map_err(wrong)?;
    PyCapsule::new_with_value(py, schema, c"arrow_schema")
}

fn wrong(error: ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}
