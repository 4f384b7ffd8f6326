//! A source that is sought by an index, and that makes one while it is read.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use trackway_core::{Batch, Error, ErrorKind, Meta, Observer, Result, Saved, Source};

use crate::index::{Builder, Cache, Checkpoint, Identity, Index, Part};

/// Where a new index is kept.
#[derive(Clone, Debug)]
pub(crate) struct Keep {
    pub(crate) cache: Cache,
    pub(crate) trace: PathBuf,
    pub(crate) identity: Identity,
    pub(crate) survey: Option<Vec<u8>>,
    /// An index is worth its place if reading takes longer.
    pub(crate) after: Duration,
}

/// The events of a trace with its index.
pub(crate) struct Indexed {
    inner: Box<dyn Source>,
    index: Option<Arc<Index>>,
    strict: bool,
    keep: Option<Keep>,
    /// Looks on from the start of the trace, or from the last checkpoint.
    builder: Option<Builder>,
    /// Somebody else shows it the batches.
    is_lent: bool,
    /// Nothing was read yet.
    is_new: bool,
    /// Read to its end.
    is_complete: bool,
    /// Time that reading took.
    spent: Duration,
}

impl Indexed {
    pub(crate) fn new(
        inner: Box<dyn Source>,
        index: Option<Arc<Index>>,
        keep: Option<Keep>,
        strict: bool,
    ) -> Self {
        let (is_new, is_complete, spent) = (true, false, Duration::ZERO);
        let is_lent = false;
        Indexed { inner, index, strict, keep, builder: None, is_lent, is_new, is_complete, spent }
    }

    /// The part of the only source.
    fn part(&self) -> Option<&Part> {
        let sources = &self.inner.meta().sources;
        if sources.len() > 1 {
            return None;
        }
        self.index.as_ref()?.sources.get(sources.first().map_or("", String::as_str))
    }

    /// Before the first events: an index is made unless there is a complete one.
    fn begin(&mut self) {
        if !std::mem::take(&mut self.is_new) || self.keep.is_none() {
            return;
        }
        let meta = self.inner.meta();
        let known = |name: &str| {
            let part = self.index.as_ref().and_then(|index| index.sources.get(name));
            part.is_some_and(|part| part.is_complete)
        };
        let is_known =
            if meta.sources.is_empty() { known("") } else { meta.sources.iter().all(|name| known(name)) };
        if !is_known {
            // The state of the machine would cost every reader more than it saves the few that ask for it.
            self.builder = Some(Builder::new(meta, false));
        }
    }

    /// Enters at a checkpoint; false if that cannot be.
    fn enter(&mut self, checkpoint: &Checkpoint) -> Result<bool> {
        if self.strict && checkpoint.before.errors > 0 {
            // Reading from the start reports them.
            return Ok(false);
        }
        let saved = Saved { source: 0, ..checkpoint.saved.clone() };
        let entered = self.inner.restore(&saved)?;
        if entered {
            self.is_new = false;
            // An index that ends here can be continued.
            let part = self.part().filter(|part| {
                !part.is_complete
                    && part.checkpoints.last().is_some_and(|last| last.saved == checkpoint.saved)
            });
            self.builder = part.and_then(|part| Builder::resume(self.inner.meta(), part));
        }
        Ok(entered)
    }

    /// Counts an error; one that ends everything makes no index.
    fn failed(&mut self, error: Error) -> Error {
        if matches!(error.kind, ErrorKind::Cancelled | ErrorKind::Io(_)) {
            (self.builder, self.is_lent) = (None, false);
        }
        if let Some(builder) = &mut self.builder {
            builder.error();
        }
        error
    }
}

impl Source for Indexed {
    fn meta(&self) -> &Meta {
        self.inner.meta()
    }

    fn inner(&self) -> Option<&dyn Source> {
        Some(&*self.inner)
    }

    fn inner_mut(&mut self) -> Option<&mut dyn Source> {
        Some(&mut *self.inner)
    }

    fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
        self.begin();
        if self.builder.is_none() && !self.is_lent {
            return self.inner.fill(batch);
        }
        let start = Instant::now();
        let filled = self.inner.fill(batch);
        if let (Ok(true), Some(builder)) = (&filled, &mut self.builder) {
            builder.observe(batch);
            builder.place(&mut || self.inner.save());
        }
        self.spent += start.elapsed();
        self.is_complete |= filled == Ok(false);
        filled.map_err(|error| self.failed(error))
    }

    fn observe(&mut self, observer: &mut dyn Observer) -> Result<bool> {
        self.begin();
        let Some(builder) = self.builder.take() else { return self.inner.observe(observer) };
        let start = Instant::now();
        let mut both = Both { builder, other: observer.fork() };
        let observed = self.inner.observe(&mut both);
        observer.merge(both.other);
        self.builder = Some(both.builder);
        self.spent += start.elapsed();
        self.is_complete |= observed == Ok(false);
        observed.map_err(|error| self.failed(error))
    }

    fn lend(&mut self) -> Option<Box<dyn Observer>> {
        self.begin();
        // An error belongs to a source, which a part without events does not know.
        let builder = if self.meta().sources.len() > 1 { None } else { self.builder.take() };
        self.is_lent = builder.is_some();
        builder.map(|builder| Box::new(builder) as Box<dyn Observer>)
    }

    fn take_back(&mut self, observer: Box<dyn Observer>) {
        // After an error that ends everything there is no index.
        self.builder = std::mem::take(&mut self.is_lent).then(|| *observer.downcast());
    }

    fn resync(&mut self) -> Result<bool> {
        let resynced = self.inner.resync();
        self.is_complete |= resynced == Ok(false);
        resynced
    }

    fn seek(&mut self, n: u64) -> Result<u64> {
        let checkpoint = self.part().and_then(|part| part.at_or_before(n)).cloned();
        if let Some(checkpoint) = checkpoint
            && self.enter(&checkpoint)?
        {
            return Ok(checkpoint.saved.instruction);
        }
        let first = self.inner.seek(n)?;
        self.is_new &= first == 0;
        Ok(first)
    }

    fn save(&self) -> Option<Saved> {
        self.inner.save()
    }

    fn restore(&mut self, saved: &Saved) -> Result<bool> {
        let restored = self.inner.restore(saved)?;
        self.is_new &= !restored;
        Ok(restored)
    }
}

impl Drop for Indexed {
    fn drop(&mut self) {
        let (Some(builder), Some(keep)) = (self.builder.take(), &self.keep) else { return };
        if self.spent < keep.after {
            return;
        }
        let mut index = Index { survey: keep.survey.clone(), ..builder.finish(self.is_complete) };
        // Sources that were not read keep what is known of them.
        for (name, part) in self.index.iter().flat_map(|index| &index.sources) {
            let is_better = |found: &Part| found.all.instructions >= part.all.instructions;
            if !index.sources.get(name).is_some_and(is_better) {
                index.sources.insert(name.clone(), part.clone());
            }
        }
        let stored = keep.cache.store(&keep.trace, &keep.identity, &index);
        if let (Err(error), Some(failed)) = (stored, keep.cache.failed) {
            failed(&keep.cache.folder, &error);
        }
    }
}

/// The caller's observer, and the index.
struct Both {
    builder: Builder,
    other: Box<dyn Observer>,
}

impl Observer for Both {
    fn observe(&mut self, batch: &Batch) {
        self.builder.observe(batch);
        self.other.observe(batch);
    }

    fn place(&mut self, save: &mut dyn FnMut() -> Option<Saved>) {
        self.builder.place(save);
    }

    fn fork(&self) -> Box<dyn Observer> {
        Box::new(Both { builder: *self.builder.fork().downcast(), other: self.other.fork() })
    }

    fn merge(&mut self, later: Box<dyn Observer>) {
        let later = later.downcast::<Self>();
        self.builder.merge(Box::new(later.builder));
        self.other.merge(later.other);
    }
}
