//! What can go wrong before and around the trace itself.

use std::path::PathBuf;

/// An error of the front door.
#[derive(Debug, thiserror::Error)]
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
        /// Which.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// No format recognises the content.
    #[error("{}", if head.is_empty() { "it is empty" } else { "not a trace that Trackway recognises" })]
    NotRecognised {
        /// Its first bytes.
        head: Vec<u8>,
    },
    /// Options or configuration that cannot be.
    #[error("{0}")]
    Config(String),
    /// The format cannot do this.
    #[error("{0}")]
    Unsupported(String),
}

/// The result of the front door's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;
