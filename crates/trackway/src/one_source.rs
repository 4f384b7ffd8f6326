//! One source of several, where the format delivers them all.

use trackway_core::{Batch, Meta, Result, Saved, Source};

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

    fn inner(&self) -> Option<&dyn Source> {
        Some(&*self.inner)
    }

    fn inner_mut(&mut self) -> Option<&mut dyn Source> {
        Some(&mut *self.inner)
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

    fn save(&self) -> Option<Saved> {
        let saved = self.inner.save().filter(|saved| usize::from(saved.source) == self.index)?;
        Some(Saved { source: 0, ..saved })
    }

    fn restore(&mut self, saved: &Saved) -> Result<bool> {
        self.inner.restore(&Saved { source: self.index as u16, ..saved.clone() })
    }
}
