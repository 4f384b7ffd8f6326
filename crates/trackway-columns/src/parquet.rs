//! Parquet files.

mod encoders;

use std::io::{self, Result, Write};
use std::sync::Arc;

use arrow_array::RecordBatch;
use parquet::arrow::arrow_writer::ArrowRowGroupWriterFactory;
use parquet::arrow::{ArrowSchemaConverter, add_encoded_arrow_schema_to_metadata};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;

use self::encoders::Encoders;
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
    encoders: Encoders,
    /// Groups that were begun.
    groups: usize,
    /// Rows of the current group.
    rows: usize,
}

impl<W: Write + Send> std::fmt::Debug for Parquet<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Parquet({:?})", self.to_arrow.schema())
    }
}

impl<W: Write + Send> Parquet<W> {
    /// For the columns of a table that are asked for. The bytes do not depend on the number of threads.
    pub fn new(
        out: W,
        table: &Table,
        selection: &Selection,
        integers: Integers,
        threads: usize,
    ) -> Result<Self> {
        let to_arrow = ToArrow::new(table, selection, integers);
        let schema = to_arrow.schema();
        let mut properties = parquet_properties(table, integers);
        let parquet = ArrowSchemaConverter::new().convert(schema).map_err(failed)?;
        add_encoded_arrow_schema_to_metadata(schema, &mut properties);
        let root = parquet.root_schema_ptr();
        let file = SerializedFileWriter::new(out, root, Arc::new(properties)).map_err(failed)?;
        let factory = ArrowRowGroupWriterFactory::new(&file, Arc::clone(schema));
        let encoders = Encoders::new(Arc::clone(schema), threads);
        Ok(Parquet { to_arrow, file: Some(file), factory, encoders, groups: 0, rows: 0 })
    }

    fn write(&mut self, batch: &RecordBatch) -> std::result::Result<(), ParquetError> {
        if self.rows == 0 {
            self.encoders.begin_group(self.factory.create_column_writers(self.groups)?)?;
            self.groups += 1;
        }
        self.rows += batch.num_rows();
        self.encoders.write(batch)?;
        if self.rows >= MOST {
            self.end_group();
        }
        self.append()
    }

    fn end_group(&mut self) {
        if std::mem::take(&mut self.rows) > 0 {
            self.encoders.end_group();
        }
    }

    /// Writes the groups that are encoded.
    fn append(&mut self) -> std::result::Result<(), ParquetError> {
        let Some(file) = &mut self.file else { return Ok(()) };
        while let Some(chunks) = self.encoders.next_group() {
            let mut group = file.next_row_group()?;
            chunks.into_iter().try_for_each(|chunk| chunk.append_to_row_group(&mut group))?;
            group.close()?;
        }
        Ok(())
    }

    fn end(&mut self) -> std::result::Result<(), ParquetError> {
        self.end_group();
        self.encoders.finish()?;
        self.append()?;
        let Some(mut file) = self.file.take() else { return Ok(()) };
        file.finish()?;
        Ok(file.inner_mut().flush()?)
    }
}

impl<W: Write + Send> Sink for Parquet<W> {
    fn put(&mut self, chunk: Chunk) -> Result<()> {
        if chunk.rows == 0 {
            return Ok(());
        }
        let batch = self.to_arrow.batch(chunk).map_err(io::Error::other)?;
        self.write(&batch).map_err(failed)
    }

    fn group(&mut self) -> Result<()> {
        if self.rows >= LEAST {
            self.end_group();
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        self.end().map_err(failed)
    }
}

/// How a table is written: addresses, numbers and times as differences, words and encodings by dictionary, everything through zstd.
pub fn parquet_properties(table: &Table, integers: Integers) -> WriterProperties {
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
