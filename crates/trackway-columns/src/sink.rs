//! Where chunks go.

use std::io::Result;

use crate::store::Chunk;

/// Takes the rows of one table or more.
pub trait Sink {
    /// Writes rows.
    fn put(&mut self, chunk: Chunk) -> Result<()>;

    /// The trace can be entered here: a good place to begin a group of rows.
    fn group(&mut self) -> Result<()> {
        Ok(())
    }

    /// Writes what is pending.
    fn finish(&mut self) -> Result<()>;
}
