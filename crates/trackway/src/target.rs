//! Where a trace is written.

use std::io::{self, Seek, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use trackway_core::Output;

use crate::error::{Error, Result};

/// Where a trace is written: a file that may have others beside it, or stdout.
#[derive(Clone, Debug)]
pub struct Target {
    /// Where; none for stdout.
    pub path: Option<PathBuf>,
    failure: Arc<Mutex<Option<io::Error>>>,
}

impl Target {
    /// A file, or `-` for stdout.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Target { path: (path.as_os_str() != "-").then_some(path), failure: Arc::default() }
    }

    /// Why writing to what this or a copy of it created failed, if it did: errors of a sink do not tell whether the output is
    /// full or the input is damaged.
    pub fn failure(&self) -> Option<io::Error> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(copy)
    }

    /// Creates the file.
    pub fn create(&self) -> Result<Output> {
        match &self.path {
            None => Ok(Output::Stream(Box::new(io::BufWriter::new(self.watch(io::stdout()))))),
            Some(path) => {
                let file =
                    std::fs::File::options().read(true).write(true).create(true).truncate(true).open(path);
                let file = file.map_err(|error| Error::File { path: path.clone(), error })?;
                // A pipe or terminal cannot seek.
                if file.metadata().is_ok_and(|metadata| metadata.is_file()) {
                    Ok(Output::File(Box::new(self.watch(file))))
                } else {
                    Ok(Output::Stream(Box::new(self.watch(file))))
                }
            }
        }
    }

    fn watch<W>(&self, inner: W) -> Watched<W> {
        Watched { inner, failure: Arc::clone(&self.failure) }
    }
}

/// A writer that remembers why it failed.
struct Watched<W> {
    inner: W,
    failure: Arc<Mutex<Option<io::Error>>>,
}

/// As much of an error as can be had twice: its number or its kind.
fn copy(error: &io::Error) -> io::Error {
    error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)
}

impl<W> Watched<W> {
    fn note<T>(&self, result: io::Result<T>) -> io::Result<T> {
        result.inspect_err(|error| {
            self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(copy(error));
        })
    }
}

impl<W: Write> Write for Watched<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.inner.write(bytes);
        self.note(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.inner.flush();
        self.note(result)
    }
}

impl<W: Seek> Seek for Watched<W> {
    fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
        let result = self.inner.seek(to);
        self.note(result)
    }
}
