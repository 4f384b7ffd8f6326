//! Through all events of a trace, over what can be stepped over.

use std::ops::ControlFlow;
use std::path::Path;

use trackway_core::{Batch, EventKind, Observer, Source};

use crate::cli::Common;
use crate::exit::Failure;
use crate::progress::Progress;
use crate::report::{Health, placed_at};

/// Shows each batch to `visit`, in order, until it breaks; gives the health of what was read, and what ended it.
pub(crate) fn walk(
    common: &Common,
    path: &Path,
    source: &mut dyn Source,
    progress: &Progress,
    mut visit: impl FnMut(&Batch) -> Result<ControlFlow<()>, Failure>,
) -> (Health, Result<(), Failure>) {
    let mut batch = Batch::default();
    steps(common, path, source, progress, |source, found| {
        let more = source.fill(&mut batch).map_err(Stop::Bad)?;
        found.observe(&batch);
        Ok(more && visit(&batch).map_err(Stop::Failed)?.is_continue())
    })
}

/// Shows all events to `observer`, on several threads where the format can; gives the health of what was read, and what ended it.
pub(crate) fn observe<O: Observer>(
    common: &Common,
    path: &Path,
    source: &mut dyn Source,
    observer: &mut O,
) -> (Health, Result<(), Failure>) {
    let mut both = Both { found: Found::default(), other: observer.another() };
    let walked = steps(common, path, source, &Progress::new(common.quiet), |source, found| {
        let more = source.observe(&mut both);
        *found = both.found.clone();
        more.map_err(Stop::Bad)
    });
    observer.merge(both.other);
    walked
}

/// Why a step did not succeed.
enum Stop {
    /// Bad input: it may be stepped over.
    Bad(trackway_core::Error),
    Failed(Failure),
}

fn steps(
    common: &Common,
    path: &Path,
    source: &mut dyn Source,
    progress: &Progress,
    mut step: impl FnMut(&mut dyn Source, &mut Found) -> Result<bool, Stop>,
) -> (Health, Result<(), Failure>) {
    let mut health = Health::default();
    let mut found = Found::default();
    let walked = loop {
        let more = match step(source, &mut found) {
            Ok(more) => more,
            Err(Stop::Failed(failure)) => break Err(failure),
            Err(Stop::Bad(error)) => {
                if !source.resync().unwrap_or(false) {
                    break Err(placed_at(common, path, error, found.instructions));
                }
                if common.strict {
                    break Err(Failure::Strict(format!("{}: {error}", path.display())));
                }
                health.stepped_over(error);
                true
            }
        };
        progress.update(source, found.instructions, health.errors);
        if !more {
            break Ok(());
        }
    };
    (health.instructions, health.gaps, health.skipped) = (found.instructions, found.gaps, found.skipped);
    let items: u64 = source.census().iter().map(|entry| entry.1).sum();
    health.items = (items > 0).then_some(items);
    (health, walked)
}

/// What every way through a trace counts.
#[derive(Clone, Debug, Default)]
struct Found {
    instructions: u64,
    gaps: u64,
    skipped: u64,
}

impl Found {
    fn observe(&mut self, batch: &Batch) {
        self.instructions += batch.instructions();
        self.gaps +=
            batch.events.iter().filter(|event| matches!(event.kind, EventKind::Gap(_))).count() as u64;
        self.skipped += batch.gaps.iter().filter_map(|gap| gap.bytes).sum::<u64>();
    }
}

/// That, and what somebody wants to know.
struct Both {
    found: Found,
    other: Box<dyn Observer>,
}

impl Observer for Both {
    fn observe(&mut self, batch: &Batch) {
        self.found.observe(batch);
        self.other.observe(batch);
    }

    fn another(&self) -> Box<dyn Observer> {
        Box::new(Both { found: Found::default(), other: self.other.another() })
    }

    fn merge(&mut self, later: Box<dyn Observer>) {
        let later = later.same::<Self>();
        self.found.instructions += later.found.instructions;
        self.found.gaps += later.found.gaps;
        self.found.skipped += later.found.skipped;
        self.other.merge(later.other);
    }
}
