//! Errors before and around the trace itself.

use std::path::PathBuf;

use trackway_io::{FileError, OpenError};

/// An error of opening, converting or writing a trace.
#[derive(thiserror::Error)]
pub enum Error {
    /// The trace itself.
    #[error(transparent)]
    Trace(#[from] trackway_core::Error),
    /// The program that ran.
    #[error(transparent)]
    Image(#[from] trackway_image::Error),
    /// A file could not be opened or created.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        error: std::io::Error,
    },
    /// No format recognises the content.
    #[error("{}", if head.is_empty() { "the file is empty" } else { "not a trace that Trackway recognises" })]
    NotRecognised {
        /// Its first bytes.
        head: Vec<u8>,
        /// Formats that it may be of, and what is missing to open it.
        maybe: Vec<String>,
    },
    /// Options or settings that cannot be.
    #[error("{0}")]
    Config(String),
    /// The format cannot do this.
    #[error("{0}")]
    Unsupported(String),
    /// A run of instructions cannot be expanded without the program.
    #[error("no program covers {pc:#x}: name the ELF file that ran")]
    NoProgram {
        /// Address of the first instruction.
        pc: u64,
    },
    /// Damage that was refused instead of passed.
    #[error("{0}")]
    Strict(String),
    /// An output does not hold what the ledger says.
    #[error("the output does not hold what the ledger says: {0}")]
    Unproved(String),
    /// A stream was read and is asked for again.
    #[error("the input is a stream and was already read; use a file to read it again")]
    ReadOnce,
}

/// The result of everything around a trace.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl From<FileError> for Error {
    fn from(FileError { path, error }: FileError) -> Self {
        Error::File { path, error }
    }
}

impl From<OpenError> for Error {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::File(error) => error.into(),
            OpenError::Content(error) => error.into(),
        }
    }
}

impl std::fmt::Debug for Error {
    /// The message, so that `unwrap` and `main() -> Result` print a line and not the first bytes of a file.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}
