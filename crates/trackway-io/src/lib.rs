//! Files in and out.
//!
//! [`File`] opens a path, stdin or bytes: it maps files, looks through gzip, xz and zstd, and shows the first bytes for
//! recognition. [`Target`] is the way out: a file or stdout, through [`compress`] where asked. [`payload`] has
//! compressed payloads inside a file, decoded and encoded on threads and sought by block.

mod background;
mod compress;
mod error;
mod file;
mod map;
pub mod payload;
mod target;

pub use compress::{Compression, compress};
pub use error::FileError;
pub use file::{File, OpenError};
pub use map::map;
pub use target::{PartFile, Target};
