//! The whole run, read once in the background: the index if there is none, then levels of detail, call tree, memory.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use trackway::index::Index;
use trackway_core::{Batch, Isa, Meta, Source};
use trackway_image::{Image, program};
use trackway_tools::calls::{CallTree, Called, Place, Watch};
use trackway_tools::executed::Pass;
use trackway_tools::flame::thread_name;

use crate::desk::{Answer, File, Passed, Shared, usable};
use crate::happenings::Happenings;
use crate::levels::{Frame, Levels, Names, drawn, frames};
use crate::memory::Touched;
use crate::tables::{Thread, Timeline};

/// One source of the whole run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Whole {
    pub(crate) levels: Levels,
    pub(crate) happenings: Happenings,
    pub(crate) touched: Touched,
}

/// The whole run. Stored ones are to be [restored](Overview::restore).
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Overview {
    /// The one source that was read; all of them without it.
    picked: Option<String>,
    pub(crate) called: Called,
    #[serde(skip)]
    pub(crate) frames: Vec<Frame>,
    pub(crate) sources: BTreeMap<u16, Whole>,
    /// Names of threads, by number.
    labels: Vec<String>,
    pub(crate) passed: Passed,
}

/// The name of an overview in the cache.
const NAME: &str = "view";

/// The overview of a file, and how far it is.
#[derive(Debug, Default)]
pub(crate) struct Building {
    done: Mutex<Option<Answer<Arc<Overview>>>>,
    /// Thousandths of all, in both passes.
    progress: AtomicU64,
}

impl Building {
    /// Reads a file on a thread of its own.
    pub(crate) fn start(file: &File, index: &Shared) -> Arc<Building> {
        let building = Arc::new(Building::default());
        let (file, index, ours) = (file.clone(), Arc::clone(index), Arc::clone(&building));
        std::thread::spawn(move || {
            let built = build(&file, &index, &ours.progress);
            *ours.done.lock().unwrap_or_else(PoisonError::into_inner) = Some(built.map(Arc::new));
        });
        building
    }

    /// The overview, once it is there.
    pub(crate) fn get(&self) -> Option<Answer<Arc<Overview>>> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Thousandths.
    pub(crate) fn progress(&self) -> u64 {
        self.progress.load(Relaxed).min(1000)
    }
}

fn permille(source: &dyn Source) -> u64 {
    source.progress().map_or(0, |(now, all)| (now as u128 * 1000 / u128::from(all.max(1))) as u64)
}

fn build(file: &File, shared: &Shared, progress: &AtomicU64) -> Answer<Overview> {
    let words = |error: trackway::Error| error.to_string();
    let mut trace = file.options.open(&file.path).map_err(words)?;
    let index: Arc<Index> = match usable(&mut trace) {
        Some(index) => index,
        None => {
            let note =
                |source: &dyn Source, _: &trackway::Health| progress.store(permille(source) / 2, Relaxed);
            let (index, _) = trace.make_index(None, note).map_err(words)?;
            let index = Arc::new(index);
            trace.keep_index(Arc::clone(&index)).map_err(words)?;
            index
        }
    };
    // Somebody else cannot have set it.
    let _ = shared.set(Arc::clone(&index));
    let (format, programs) = (trace.format(), trace.programs().map_err(words)?);
    let mut source = trace.events().map_err(words)?;
    let names = source.meta().sources.clone();
    // Names of threads do not repeat the source.
    let meta = Meta { sources: Vec::new(), ..source.meta().clone() };
    let picked = trace.source().map(str::to_string);
    let stored = trace.kept_value(NAME).filter(|stored: &Overview| stored.picked == picked);
    if let Some(stored) = stored.and_then(|stored| stored.restore(meta.isa, &programs)) {
        return Ok(stored);
    }
    let mut tree = CallTree::new(meta.isa, &programs);
    let mut watching = Watching::default();
    let (mut batch, mut passed, mut number) = (Batch::default(), Passed::default(), 0);
    loop {
        match source.fill(&mut batch) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                passed.note(number, &error);
                if !source.resync().map_err(|error| error.to_string())? {
                    break;
                }
                continue;
            }
        }
        let whole = watching.sources.entry(batch.source).or_insert_with(|| {
            let name = names.get(usize::from(batch.source)).map_or("", String::as_str);
            let all = index.sources.get(name).map_or(0, |part| part.all.instructions);
            Whole {
                levels: Levels::new(all),
                happenings: Happenings::new(format, &meta, all),
                touched: Touched::new(program(&programs, batch.source), 0, all),
            }
        });
        whole.happenings.take(&batch);
        whole.touched.take(&batch);
        tree.observe_with(&batch, &mut watching);
        number = batch.first_instruction + batch.instructions();
        progress.store(500 + permille(&*source) / 2, Relaxed);
    }
    let called = tree.finish_with(&mut watching);
    let frames = frames(&called.tree);
    let finish = |(source, whole): (u16, Whole)| {
        let levels = whole.levels.finish(&frames);
        (source, Whole { levels, ..whole })
    };
    let sources = watching.sources.into_iter().map(finish).collect();
    let labels = called.threads.iter().map(|space| thread_name(space, &meta)).collect();
    let overview = Overview { picked, called, frames, sources, labels, passed };
    drop(source);
    trace.keep_value(NAME, &overview);
    Ok(overview)
}

/// Shows each source's passes to its levels.
#[derive(Default)]
struct Watching {
    sources: BTreeMap<u16, Whole>,
}

impl Watch for Watching {
    fn pass(&mut self, pass: &Pass<'_>, place: &Place<'_>) {
        if let Some(whole) = self.sources.get_mut(&pass.source) {
            whole.levels.pass(pass, place);
        }
    }

    fn unplaced(&mut self, source: u16, thread: u32) {
        if let Some(whole) = self.sources.get_mut(&source) {
            whole.levels.unplaced(source, thread);
        }
    }
}

impl Overview {
    /// Puts back what is not stored; `None` if it cannot be that of a trace.
    fn restore(self, isa: Isa, programs: &[Arc<Image>]) -> Option<Self> {
        let called = self.called.restore(isa, programs)?;
        let frames = frames(&called.tree);
        let restore = |(source, whole): (u16, Whole)| {
            let Whole { levels, happenings, touched } = whole;
            let whole = Whole {
                levels: levels.restore(&frames)?,
                happenings: happenings.restore()?,
                touched: touched.restore()?,
            };
            Some((source, whole))
        };
        let sources = self.sources.into_iter().map(restore).collect::<Option<_>>()?;
        Some(Overview { called, frames, sources, ..self })
    }

    /// The threads of a source.
    pub(crate) fn threads(&self, source: u16) -> Vec<Thread> {
        let threads = self.called.threads.iter().zip(&self.labels).enumerate();
        threads
            .filter(|(_, (space, _))| space.source == source)
            .map(|(n, (_, label))| Thread { id: n as u64, name: label.clone() })
            .collect()
    }

    /// The timeline of `[from, to)` in about that many columns.
    pub(crate) fn timeline(&self, source: u16, from: u64, to: u64, columns: u64) -> Timeline {
        let Some(whole) = self.sources.get(&source) else { return Timeline::default() };
        let slices = whole.levels.slices(from, to, columns, &self.frames);
        let mut names = Names::default();
        let label = |id: u32| self.called.functions.get(id).label();
        let slices = drawn(&slices, &self.frames, &mut names, &label);
        let threads = self.threads(source);
        Timeline { slices, names: names.list, threads, ..whole.happenings.timeline(from, to, columns) }
    }
}
