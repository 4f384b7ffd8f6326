//! Parquet: columns of a group of rows are encoded on several threads.

use std::io::{self, Result, Write};
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use arrow_array::ArrayRef;
use arrow_schema::{ArrowError, SchemaRef};
use parquet::arrow::ArrowSchemaConverter;
use parquet::arrow::add_encoded_arrow_schema_to_metadata;
use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves,
};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;

use crate::Integers;
use crate::arrow::ToArrow;
use crate::schema::{Kind, Table};
use crate::selection::Selection;
use crate::sink::Sink;
use crate::store::Chunk;

/// Rows after which a group ends even where the trace cannot be entered.
const MOST: usize = 1 << 20;
/// Rows of the smallest group that ends where it can.
const LEAST: usize = 1 << 17;

/// Writes one table.
pub struct Parquet<W: Write + Send> {
    to_arrow: ToArrow,
    /// None once it was finished.
    file: Option<SerializedFileWriter<W>>,
    factory: ArrowRowGroupWriterFactory,
    threads: usize,
    group: Group,
    rows: usize,
}

/// The columns of the current group.
enum Group {
    /// Nothing was written yet.
    None,
    Here(Vec<ArrowColumnWriter>),
    Threads(Vec<Worker>),
}

/// A thread that encodes every nth column.
struct Worker {
    queue: SyncSender<Vec<ArrayRef>>,
    thread: JoinHandle<std::result::Result<Vec<ArrowColumnChunk>, ParquetError>>,
}

impl<W: Write + Send> std::fmt::Debug for Parquet<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Parquet({:?}, {} threads)", self.to_arrow.schema(), self.threads)
    }
}

impl<W: Write + Send> Parquet<W> {
    /// For the columns of a table that are asked for.
    pub fn new(
        out: W,
        table: &Table,
        selection: &Selection,
        integers: Integers,
        threads: usize,
    ) -> Result<Self> {
        let to_arrow = ToArrow::new(table, selection, integers);
        let schema = to_arrow.schema();
        let mut properties = properties(table, integers);
        let parquet = ArrowSchemaConverter::new().convert(schema).map_err(failed)?;
        add_encoded_arrow_schema_to_metadata(schema, &mut properties);
        let root = parquet.root_schema_ptr();
        let file = SerializedFileWriter::new(out, root, Arc::new(properties)).map_err(failed)?;
        let factory = ArrowRowGroupWriterFactory::new(&file, Arc::clone(schema));
        let threads = threads.min(schema.fields().len());
        Ok(Parquet { to_arrow, file: Some(file), factory, threads, group: Group::None, rows: 0 })
    }

    fn begin(&mut self) -> std::result::Result<(), ParquetError> {
        let number = self.file.as_ref().map_or(0, |file| file.flushed_row_groups().len());
        let writers = self.factory.create_column_writers(number)?;
        if self.threads < 2 {
            self.group = Group::Here(writers);
            return Ok(());
        }
        let mut dealt: Vec<Vec<(usize, ArrowColumnWriter)>> = (0..self.threads).map(|_| Vec::new()).collect();
        for (n, writer) in writers.into_iter().enumerate() {
            dealt[n % self.threads].push((n, writer));
        }
        let schema = self.to_arrow.schema();
        let work = |writers: Vec<(usize, ArrowColumnWriter)>| {
            let schema = Arc::clone(schema);
            // Two chunks at most wait: memory stays small.
            let (queue, tasks) = sync_channel::<Vec<ArrayRef>>(2);
            let thread = std::thread::spawn(move || {
                let mut writers = writers;
                for arrays in tasks {
                    for ((n, writer), array) in writers.iter_mut().zip(arrays) {
                        write(&schema, *n, writer, &array)?;
                    }
                }
                writers.into_iter().map(|(_, writer)| writer.close()).collect()
            });
            Worker { queue, thread }
        };
        self.group = Group::Threads(dealt.into_iter().map(work).collect());
        Ok(())
    }

    fn end(&mut self) -> std::result::Result<(), ParquetError> {
        let chunks: Vec<ArrowColumnChunk> = match std::mem::replace(&mut self.group, Group::None) {
            Group::None => return Ok(()),
            Group::Here(writers) => {
                writers.into_iter().map(ArrowColumnWriter::close).collect::<std::result::Result<_, _>>()?
            }
            Group::Threads(workers) => {
                let mut of_workers = Vec::new();
                for Worker { queue, thread } in workers {
                    drop(queue);
                    let died = |_| ParquetError::General("a thread of the writer died".into());
                    of_workers.push(thread.join().map_err(died)??.into_iter());
                }
                let columns = self.to_arrow.schema().fields().len();
                (0..columns).filter_map(|n| of_workers[n % self.threads].next()).collect()
            }
        };
        self.rows = 0;
        let Some(file) = &mut self.file else { return Ok(()) };
        let mut group = file.next_row_group()?;
        for chunk in chunks {
            chunk.append_to_row_group(&mut group)?;
        }
        group.close().map(drop)
    }
}

fn write(
    schema: &SchemaRef,
    n: usize,
    writer: &mut ArrowColumnWriter,
    array: &ArrayRef,
) -> std::result::Result<(), ParquetError> {
    for leaf in compute_leaves(schema.field(n), array)? {
        writer.write(&leaf)?;
    }
    Ok(())
}

impl<W: Write + Send> Sink for Parquet<W> {
    fn put(&mut self, chunk: Chunk) -> Result<()> {
        if chunk.rows == 0 {
            return Ok(());
        }
        let batch = self.to_arrow.batch(chunk).map_err(arrow_failed)?;
        if matches!(self.group, Group::None) {
            self.begin().map_err(failed)?;
        }
        self.rows += batch.num_rows();
        let schema = Arc::clone(self.to_arrow.schema());
        let mut died = false;
        match &mut self.group {
            Group::None => {}
            Group::Here(writers) => {
                for (n, writer) in writers.iter_mut().enumerate() {
                    write(&schema, n, writer, batch.column(n)).map_err(failed)?;
                }
            }
            Group::Threads(workers) => {
                for (first, worker) in workers.iter().enumerate() {
                    let arrays = batch.columns().iter().skip(first).step_by(self.threads).cloned().collect();
                    died |= worker.queue.send(arrays).is_err();
                }
            }
        }
        if died || self.rows >= MOST {
            self.end().map_err(failed)?;
        }
        Ok(())
    }

    fn group(&mut self) -> Result<()> {
        if self.rows >= LEAST { self.end().map_err(failed) } else { Ok(()) }
    }

    fn finish(&mut self) -> Result<()> {
        self.end().map_err(failed)?;
        match self.file.take() {
            Some(mut file) => {
                file.finish().map(drop).and_then(|()| Ok(file.inner_mut().flush()?)).map_err(failed)
            }
            None => Ok(()),
        }
    }
}

/// Addresses, numbers and times as differences, words and encodings by dictionary, everything through zstd.
fn properties(table: &Table, integers: Integers) -> WriterProperties {
    let zstd = ZstdLevel::try_new(1).unwrap_or_default();
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(zstd))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_created_by(concat!("trackway ", env!("CARGO_PKG_VERSION")).into());
    for column in table.columns {
        let is_wide = matches!(column.kind, Kind::Count | Kind::Address | Kind::Time);
        if column.kind == Kind::Number || is_wide && integers != Integers::Decimal {
            let path = ColumnPath::from(column.name);
            properties = properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        }
    }
    properties.build()
}

fn failed(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        error => io::Error::other(error),
    }
}

fn arrow_failed(error: ArrowError) -> io::Error {
    io::Error::other(error)
}
