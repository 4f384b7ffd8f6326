//! The bytes that trace units emit, source by source.

use std::sync::Arc;

use trackway_core::Result;
use trackway_image::Image;

use crate::config::Config;

/// Takes the bytes of trace units.
pub trait UnitSink: Send {
    /// Takes further bytes of source `n`.
    fn write(&mut self, n: usize, bytes: &[u8]) -> Result<()>;

    /// All bytes were written; `sources` describes the sources.
    fn finish(&mut self, sources: &[WrittenSource]) -> Result<()> {
        let _ = sources;
        Ok(())
    }
}

/// The bytes of each source.
impl UnitSink for Vec<Vec<u8>> {
    fn write(&mut self, n: usize, bytes: &[u8]) -> Result<()> {
        if self.len() <= n {
            self.resize(n + 1, Vec::new());
        }
        self[n].extend_from_slice(bytes);
        Ok(())
    }
}

/// A source that was written.
#[derive(Clone, Debug)]
pub struct WrittenSource {
    /// The trace unit's registers.
    pub config: Config,
    /// The program that ran on its core, with code that only the events have.
    pub image: Arc<Image>,
}
