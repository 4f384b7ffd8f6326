//! Exit codes, and what ends a command.

use std::path::PathBuf;

/// How a command ended. The numbers are part of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// Fine.
    Fine = 0,
    /// It found something: a difference, a violation, a mismatch.
    Found = 1,
    /// Wrong usage.
    Usage = 2,
    /// Input unreadable or not understood.
    Unreadable = 3,
    /// Decoded with gaps, under `--strict`.
    Gaps = 4,
    /// A defect of ours.
    Internal = 5,
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command could not go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A trace could not be opened or read; `instruction` is the number of the next one.
    #[error("{}: {error}", path.display())]
    Input {
        /// The trace.
        path: PathBuf,
        /// What is wrong.
        error: Box<trackway::Error>,
        /// How far it was read.
        instruction: Option<u64>,
        /// The bytes around the place, ready to print.
        excerpt: Option<String>,
    },
    /// Options that make no sense.
    #[error("{0}")]
    Usage(String),
    /// stdout is gone or full.
    #[error("stdout: {0}")]
    Output(#[from] std::io::Error),
    /// A loss that `--strict` refuses.
    #[error("{0}")]
    Strict(String),
}

impl Failure {
    /// A failure to open or read a trace.
    pub(crate) fn input(path: &std::path::Path, error: impl Into<trackway::Error>) -> Self {
        Failure::Input { path: path.into(), error: Box::new(error.into()), instruction: None, excerpt: None }
    }

    /// The exit code for it.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Failure::Usage(_) => Exit::Usage,
            Failure::Input { error, .. } if matches!(**error, trackway::Error::Config(_)) => Exit::Usage,
            Failure::Input { .. } => Exit::Unreadable,
            Failure::Strict(_) => Exit::Gaps,
            // A closed pipe is how a reader says that it has enough.
            Failure::Output(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Exit::Fine,
            Failure::Output(_) => Exit::Internal,
        }
    }
}
