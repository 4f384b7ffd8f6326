//! One source of several, where the format delivers them all.

use trackway_core::{Batch, Census, Meta, Result, Source};

/// The events of one source; it becomes the only one, with number 0.
pub(crate) struct OneSource {
    inner: Box<dyn Source>,
    index: usize,
    meta: Meta,
}

impl OneSource {
    /// The source with this index.
    pub(crate) fn new(inner: Box<dyn Source>, index: usize) -> Self {
        let mut meta = inner.meta().clone();
        meta.sources = meta.sources.into_iter().skip(index).take(1).collect();
        OneSource { inner, index, meta }
    }
}

impl Source for OneSource {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
        while self.inner.fill(batch)? {
            if usize::from(batch.source) == self.index {
                batch.source = 0;
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn resync(&mut self) -> Result<bool> {
        self.inner.resync()
    }

    fn progress(&self) -> Option<(u64, u64)> {
        self.inner.progress()
    }

    fn census(&self) -> Census {
        self.inner.census()
    }

    fn doubtful(&self) -> u64 {
        self.inner.doubtful()
    }
}
