//! Output files.

use std::io::{self, Seek, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use trackway_core::Output;

use crate::error::FileError;

/// Where a trace is written: a file that may have others beside it, or stdout.
#[derive(Clone, Debug)]
pub struct Target {
    /// None for stdout.
    pub path: Option<PathBuf>,
    failure: Arc<Mutex<Option<io::Error>>>,
}

impl Target {
    /// A file, or `-` for stdout.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Target { path: (path.as_os_str() != "-").then_some(path), failure: Arc::default() }
    }

    /// The reason why writing failed, for this target and its clones: the error of a sink alone does not say whether the
    /// output is full or the input is damaged.
    pub fn failure(&self) -> Option<io::Error> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(copy)
    }

    /// Creates the file.
    pub fn create(&self) -> Result<Output, FileError> {
        match &self.path {
            None => Ok(Output::Stream(Box::new(io::BufWriter::new(self.watch(io::stdout()))))),
            Some(path) => {
                let file =
                    std::fs::File::options().read(true).write(true).create(true).truncate(true).open(path);
                let file = file.map_err(FileError::at(path))?;
                // A pipe or terminal cannot seek.
                if file.metadata().is_ok_and(|metadata| metadata.is_file()) {
                    Ok(Output::File(Box::new(self.watch(file))))
                } else {
                    Ok(Output::Stream(Box::new(self.watch(file))))
                }
            }
        }
    }

    /// Removes what was written; a folder loses the files in it, nothing else.
    pub fn discard(&self) {
        let Some(path) = &self.path else { return };
        // If it cannot be removed, the caller has already reported why it is not to be used.
        if path.is_dir() {
            let files = std::fs::read_dir(path).into_iter().flatten().flatten();
            files.for_each(|entry| drop(std::fs::remove_file(entry.path())));
            let _ = std::fs::remove_dir(path);
        } else {
            let _ = std::fs::remove_file(path);
        }
    }

    fn watch<W>(&self, inner: W) -> Watched<W> {
        Watched { inner, failure: Arc::clone(&self.failure) }
    }
}

/// A writer that keeps the reason of its first failure.
struct Watched<W> {
    inner: W,
    failure: Arc<Mutex<Option<io::Error>>>,
}

/// A copy of an error: its number or its kind.
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
