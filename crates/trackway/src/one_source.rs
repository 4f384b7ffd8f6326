//! One source of several, where the format delivers them all.

use trackway_core::{Batch, Census, Context, Meta, Result, Saved, Source};

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

    fn save(&self) -> Option<Saved> {
        let saved = self.inner.save().filter(|saved| usize::from(saved.source) == self.index)?;
        Some(Saved { source: 0, ..saved })
    }

    fn restore(&mut self, saved: &Saved) -> Result<bool> {
        self.inner.restore(&Saved { source: self.index as u16, ..saved.clone() })
    }

    fn context(&self) -> Context {
        self.inner.context()
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
