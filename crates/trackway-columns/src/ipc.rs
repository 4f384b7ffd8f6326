//! Arrow IPC: a stream for pipes, a file for mapping.

use std::io::{self, Result, Write};

use arrow_ipc::writer::{DictionaryHandling, FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::ArrowError;

use crate::Integers;
use crate::arrow::ToArrow;
use crate::schema::Table;
use crate::selection::Selection;
use crate::sink::Sink;
use crate::store::Chunk;

/// Declares a sink around one of Arrow's writers.
macro_rules! ipc {
    ($(#[$meta:meta])* $name:ident, $writer:ident) => {
        $(#[$meta])*
        pub struct $name<W: Write> {
            to_arrow: ToArrow,
            writer: $writer<W>,
        }

        impl<W: Write> std::fmt::Debug for $name<W> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}({:?})", stringify!($name), self.to_arrow.schema())
            }
        }

        impl<W: Write> $name<W> {
            /// For the columns of a table that are asked for.
            pub fn new(out: W, table: &Table, selection: &Selection, integers: Integers) -> Result<Self> {
                let to_arrow = ToArrow::new(table, selection, integers);
                // Dictionaries grow: a file holds each word once.
                let options = IpcWriteOptions::default().with_dictionary_handling(DictionaryHandling::Delta);
                let writer = $writer::try_new_with_options(out, to_arrow.schema(), options).map_err(failed)?;
                Ok($name { to_arrow, writer })
            }
        }

        impl<W: Write> Sink for $name<W> {
            fn put(&mut self, chunk: Chunk) -> Result<()> {
                if chunk.rows == 0 {
                    return Ok(());
                }
                let batch = self.to_arrow.batch(chunk).map_err(failed)?;
                self.writer.write(&batch).map_err(failed)
            }

            fn finish(&mut self) -> Result<()> {
                self.writer.finish().map_err(failed)?;
                self.writer.get_mut().flush()
            }
        }
    };
}

ipc! {
    /// The streaming format.
    IpcStream, StreamWriter
}

ipc! {
    /// The file format.
    IpcFile, FileWriter
}

fn failed(error: ArrowError) -> io::Error {
    match error {
        ArrowError::IoError(_, error) => error,
        error => io::Error::other(error),
    }
}
