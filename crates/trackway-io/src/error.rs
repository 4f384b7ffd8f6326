//! A file that cannot be opened, read or written.

use std::path::{Path, PathBuf};

/// An error of the operating system with the file it concerns.
#[derive(Debug, thiserror::Error)]
#[error("{}: {error}", path.display())]
pub struct FileError {
    /// The file.
    pub path: PathBuf,
    /// The operating system's reason.
    pub error: std::io::Error,
}

impl FileError {
    /// For `map_err`: adds the path to an error.
    pub fn at(path: impl AsRef<Path>) -> impl Fn(std::io::Error) -> Self {
        move |error| FileError { path: path.as_ref().into(), error }
    }
}
