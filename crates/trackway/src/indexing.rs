//! The index of a trace: found, made and used.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender};
use std::thread::{Scope, ScopedJoinHandle};

use serde::Serialize;
use serde::de::DeserializeOwned;
use trackway_core::{Batch, ErrorKind, Observer, Saved, Source};
use trackway_format::{Error, Result};
use trackway_io::FileError;

use crate::found::{Found, Indexing, SMALLEST, find, identity_of, settings_hash};
use crate::health::{Counts, Ended, Health, read_all};
use crate::index::{Builder, Cache, Fault, Identity, Index, beside, read_file, read_value, write_file};
use crate::trace::Trace;

impl Trace {
    /// Its index, where there is one that belongs to it.
    pub fn index(&mut self) -> Option<Arc<Index>> {
        self.find_index();
        Some(Arc::clone(&self.index.as_ref()?.index.as_ref()?.0))
    }

    /// The file of its [index](Trace::index).
    pub fn index_file(&mut self) -> Option<PathBuf> {
        self.find_index();
        Some(self.index.as_ref()?.index.as_ref()?.1.clone())
    }

    /// The file in the cache that its index has, whether it exists or not.
    pub fn cached_index_file(&mut self) -> Option<PathBuf> {
        let Indexing::Cache(cache, _) = self.opened_with().index.clone() else { return None };
        let path = self.path()?.to_path_buf();
        let identity = self.identity(&path).ok()?;
        Some(cache.file(&path, &identity))
    }

    /// An index that was found and is not used, and why.
    pub fn index_fault(&mut self) -> Option<(PathBuf, Fault)> {
        self.find_index();
        self.index.as_ref()?.fault.clone()
    }

    /// The part of the index for its only or picked source.
    pub fn index_part(&mut self) -> Option<(Arc<Index>, String)> {
        let index = self.index()?;
        let sources = &self.meta().sources;
        let name = match (self.source(), sources.as_slice()) {
            (_, []) => String::new(),
            (_, [only]) => only.clone(),
            (Some(_), sources) => sources[self.picked(sources)?].clone(),
            (None, _) => return None,
        };
        index.sources.contains_key(&name).then_some((index, name))
    }

    /// Looks for an index, once.
    pub(crate) fn find_index(&mut self) {
        if self.index.is_none() {
            self.index = Some(self.look());
        }
    }

    fn look(&mut self) -> Found {
        let Some(path) = self.path().map(Path::to_path_buf) else { return Found::default() };
        let indexing = self.opened_with().index.clone();
        find(&path, &indexing, || self.identity(&path))
    }

    /// The identity that an index of this trace, as it was opened, must have.
    fn identity(&mut self, path: &Path) -> Result<Identity> {
        // The programs of a folder are files in it.
        let depends = self.meta().flow_only && !(path.is_dir() && self.program().is_empty());
        self.identity_with(path, depends, false)
    }

    /// With the programs, and with the `names` of their functions.
    fn identity_with(&mut self, path: &Path, programs: bool, names: bool) -> Result<Identity> {
        let settings = {
            let options = self.opened_with();
            settings_hash(self.format(), self.settings(), options.force, options.strict)
        };
        let programs = if programs { self.programs()? } else { Vec::new() };
        identity_of(path, settings, &programs, names)
    }

    /// Makes the index of a file, and writes it beside the trace; returns it with its file and the health of the trace.
    ///
    /// # Errors
    /// The trace is a stream; it cannot be read; the index cannot be written.
    pub fn write_index(
        &mut self,
        progress: impl FnMut(&dyn Source, &Health),
    ) -> Result<(Arc<Index>, PathBuf, Health)> {
        self.write_index_at(None, progress)
    }

    /// As [`write_index`](Trace::write_index), with that many instructions between two checkpoints at first.
    #[doc(hidden)]
    pub fn write_index_at(
        &mut self,
        distance: Option<u64>,
        progress: impl FnMut(&dyn Source, &Health),
    ) -> Result<(Arc<Index>, PathBuf, Health)> {
        let Some(path) = self.path().map(Path::to_path_buf) else {
            return Err(Error::Config("a stream cannot be entered again: only a file has an index".into()));
        };
        let identity = self.identity(&path)?;
        let (index, health) = self.make_index(distance, progress)?;
        let index = Index { survey: self.opened().survey(), ..index };
        let file = beside(&path);
        write_file(&file, &identity, &index).map_err(FileError::at(&file))?;
        let index =
            Arc::new(read_file(&file, &identity).map_err(|fault| Error::Unsupported(fault.to_string()))?);
        self.index = Some(Found {
            index: Some((Arc::clone(&index), file.clone())),
            identity: Some(identity),
            fault: None,
        });
        Ok((index, file, health))
    }

    /// Makes an index, with that many instructions between two checkpoints at first. With more than one thread, all
    /// decode parts where the format places them; else one decodes and one looks on.
    pub fn make_index(
        &mut self,
        distance: Option<u64>,
        mut progress: impl FnMut(&dyn Source, &Health),
    ) -> Result<(Index, Health)> {
        let (strict, threads) = (self.is_strict(), self.threads());
        let mut source = self.plain_events()?;
        let mut builder = Builder::new(source.meta(), true);
        if let Some(distance) = distance {
            builder = builder.with_distance(distance);
        }
        if source.places_parts() {
            return index_parts(&mut *source, strict, builder, progress);
        }
        let (health, ended, builder) = std::thread::scope(|scope| {
            let mut onlooker = Onlooker::new(scope, builder, threads);
            let mut batch = Batch::default();
            let (mut health, ended) = read_all::<std::convert::Infallible>(
                &mut *source,
                strict,
                |source, counts| match source.fill(&mut batch) {
                    Ok(more) => {
                        if more {
                            counts.instructions += onlooker.show(&mut batch, source);
                        }
                        Ok(more)
                    }
                    Err(error) => {
                        onlooker.error();
                        Err(Ended::Error(error))
                    }
                },
                &mut progress,
            );
            let Counted { builder, counts } = onlooker.finish();
            let doubtful = health.counts.doubtful + counts.doubtful;
            health.counts = Counts { doubtful, ..counts };
            (health, ended, builder)
        });
        finish_index(builder, health, ended)
    }

    /// True unless it can only be read from its start: a compression that holds it in one piece.
    pub fn can_be_entered(&self) -> bool {
        /// Batches in which some place must be found.
        const BATCHES: usize = 64;
        let Ok(mut source) = self.reopen().and_then(|mut trace| trace.plain_events()) else { return true };
        let mut batch = Batch::default();
        for _ in 0..BATCHES {
            match source.fill(&mut batch) {
                Ok(true) if source.save().is_none() => {}
                // A short trace is read at once.
                _ => return true,
            }
        }
        false
    }

    /// Uses this index, and keeps it in the cache where there is one: the next to read this trace has it at once.
    ///
    /// # Errors
    /// The trace is a stream.
    pub fn keep_index(&mut self, index: impl Into<Arc<Index>>) -> Result<()> {
        let index = index.into();
        self.set_index(Arc::clone(&index))?;
        if let Some((cache, path, identity)) = self.cache(false) {
            let index = Index { survey: self.opened().survey(), ..(*index).clone() };
            say(&cache, cache.store(&path, &identity, &index));
        }
        Ok(())
    }

    /// Something that was worked out from all of this trace and its program, and [kept](Trace::keep_value) by that name.
    pub fn kept_value<T: DeserializeOwned>(&mut self, name: &str) -> Option<T> {
        let (cache, path, identity) = self.cache(true)?;
        read_value(&cache.value_file(&path, &identity, name), &identity).ok()
    }

    /// Keeps it in the cache where there is one.
    pub fn keep_value<T: Serialize>(&mut self, name: &str, value: &T) {
        if let Some((cache, path, identity)) = self.cache(true) {
            say(&cache, cache.store_value(&path, &identity, name, value));
        }
    }

    /// The cache, for a trace that is worth it; `names` as with its identity.
    fn cache(&mut self, names: bool) -> Option<(Cache, PathBuf, Identity)> {
        let Indexing::Cache(cache, _) = self.opened_with().index.clone() else { return None };
        let path = self.path()?.to_path_buf();
        let identity = if names { self.identity_with(&path, true, true) } else { self.identity(&path) };
        Some((cache, path, identity.ok().filter(|identity| identity.size >= SMALLEST)?))
    }

    /// Uses this index, as if it had been found.
    #[doc(hidden)]
    pub fn set_index(&mut self, index: impl Into<Arc<Index>>) -> Result<()> {
        let Some(path) = self.path().map(Path::to_path_buf) else { return Err(Error::ReadOnce) };
        let identity = self.identity(&path)?;
        self.index = Some(Found { index: Some((index.into(), path)), identity: Some(identity), fault: None });
        Ok(())
    }
}

/// An index of events that are decoded in parts on several threads.
fn index_parts(
    source: &mut dyn Source,
    strict: bool,
    builder: Builder,
    progress: impl FnMut(&dyn Source, &Health),
) -> Result<(Index, Health)> {
    let mut builder = builder;
    let step = |source: &mut dyn Source, counts: &mut Counts| {
        let empty = Builder::new(source.meta(), false);
        let mut both = Counted { builder: std::mem::replace(&mut builder, empty), counts: Counts::default() };
        let observed = source.observe(&mut both);
        if observed.is_err() {
            both.builder.error();
        }
        counts.merge(Box::new(both.counts));
        builder = both.builder;
        observed.map_err(Ended::Error)
    };
    let (health, ended) = read_all::<std::convert::Infallible>(source, strict, step, progress);
    finish_index(builder, health, ended)
}

fn finish_index<E>(
    builder: Builder,
    health: Health,
    ended: std::result::Result<(), Ended<E>>,
) -> Result<(Index, Health)> {
    match ended {
        Err(Ended::Error(error)) if matches!(error.kind, ErrorKind::Cancelled | ErrorKind::Io(_)) => {
            Err(error.into())
        }
        Err(Ended::Strict(error)) => Err(Error::Strict(error.to_string())),
        // The part that can be read is indexed.
        _ => Ok((builder.finish(true), health)),
    }
}

/// A builder, and the counts of the same events.
struct Counted {
    builder: Builder,
    counts: Counts,
}

impl Observer for Counted {
    fn observe(&mut self, batch: &Batch) {
        self.counts.observe(batch);
        self.builder.observe(batch);
    }

    fn place(&mut self, save: &mut dyn FnMut() -> Option<Saved>) {
        self.builder.place(save);
    }

    fn fork(&self) -> Box<dyn Observer> {
        let builder = self.builder.fork().downcast::<Builder>();
        Box::new(Counted { builder: *builder, counts: Counts::default() })
    }

    fn merge(&mut self, later: Box<dyn Observer>) {
        let Counted { builder, counts } = *later.downcast::<Self>();
        self.counts.merge(Box::new(counts));
        self.builder.merge(Box::new(builder));
    }
}

/// A builder and counts, here or on a thread of their own.
enum Onlooker<'scope> {
    Here(Box<Counted>),
    Apart {
        send: SyncSender<Shown>,
        spare: Receiver<Batch>,
        thread: ScopedJoinHandle<'scope, Counted>,
        /// Instructions since the last place that was saved, and between two.
        since: u64,
        distance: u64,
    },
}

/// A batch and the place after it; none for an error.
type Shown = Option<(Batch, Option<Saved>)>;

impl<'scope> Onlooker<'scope> {
    fn new(scope: &'scope Scope<'scope, '_>, builder: Builder, threads: usize) -> Self {
        let mut both = Counted { builder, counts: Counts::default() };
        if threads < 2 {
            return Onlooker::Here(Box::new(both));
        }
        // Enough that neither side waits for the other when a third thread has its core.
        let (send, receive) = std::sync::mpsc::sync_channel(64);
        let (give_back, spare) = std::sync::mpsc::channel();
        let distance = both.builder.distance();
        let thread = scope.spawn(move || {
            for shown in receive {
                let Some((batch, mut saved)): Shown = shown else {
                    both.builder.error();
                    continue;
                };
                both.observe(&batch);
                both.place(&mut || saved.take());
                // The reader may have ended.
                let _ = give_back.send(batch);
            }
            both
        });
        Onlooker::Apart { send, spare, thread, since: 0, distance }
    }

    /// Shows a batch and the place after it; returns the number of its instructions.
    fn show(&mut self, batch: &mut Batch, source: &dyn Source) -> u64 {
        let instructions = batch.instructions();
        match self {
            Onlooker::Here(both) => {
                both.observe(batch);
                both.place(&mut || source.save());
            }
            Onlooker::Apart { send, spare, since, distance, .. } => {
                *since += instructions;
                let saved = if *since >= *distance { source.save() } else { None };
                if saved.is_some() {
                    *since = 0;
                }
                let shown = std::mem::replace(batch, spare.try_recv().unwrap_or_default());
                // If the thread is gone, joining it says why.
                let _ = send.send(Some((shown, saved)));
            }
        }
        instructions
    }

    fn error(&mut self) {
        match self {
            Onlooker::Here(both) => both.builder.error(),
            Onlooker::Apart { send, .. } => drop(send.send(None)),
        }
    }

    fn finish(self) -> Counted {
        match self {
            Onlooker::Here(both) => *both,
            Onlooker::Apart { send, thread, .. } => {
                drop(send);
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            }
        }
    }
}

/// Says that the cache cannot be written, where somebody wants to know.
fn say(cache: &Cache, stored: std::io::Result<PathBuf>) {
    if let (Err(error), Some(failed)) = (stored, cache.failed) {
        failed(&cache.folder, &error);
    }
}
