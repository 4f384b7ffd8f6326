//! All events of a trace, past damage where possible, with progress.

use std::ops::ControlFlow;
use std::path::Path;

use trackway::{Counts, Ended, Health, read_all};
use trackway_core::{Batch, Observer, Source};

use crate::cli::Common;
use crate::exit::Failure;
use crate::progress::Progress;
use crate::report::placed_at;

/// Shows each batch to `visit`, in order, until it breaks; returns the health of what was read, and what ended it.
pub(crate) fn walk(
    common: &Common,
    path: &Path,
    source: &mut dyn Source,
    progress: &Progress,
    mut visit: impl FnMut(&Batch) -> Result<ControlFlow<()>, Failure>,
) -> (Health, Result<(), Failure>) {
    let mut batch = Batch::default();
    let (health, ended) = read_all(
        source,
        common.strict,
        |source, counts| {
            let more = source.fill(&mut batch).map_err(Ended::Error)?;
            counts.observe(&batch);
            Ok(more && visit(&batch).map_err(Ended::Caller)?.is_continue())
        },
        |source, health| progress.update(source, health),
    );
    let ended = ended.map_err(|ended| failure(common, path, &health, ended));
    (health, ended)
}

/// Shows all events to `observer`, on several threads where the format can; returns the health of what was read, and
/// what ended it.
pub(crate) fn observe<O: Observer>(
    common: &Common,
    path: &Path,
    source: &mut dyn Source,
    observer: &mut O,
) -> (Health, Result<(), Failure>) {
    let progress = Progress::new(common.quiet);
    let mut counted = Counted { counts: Counts::default(), other: observer.fork() };
    let (health, ended) = read_all(
        source,
        common.strict,
        |source, counts| {
            let more = source.observe(&mut counted);
            counts.clone_from(&counted.counts);
            more.map_err(Ended::Error)
        },
        |source, health| progress.update(source, health),
    );
    observer.merge(counted.other);
    let ended = ended.map_err(|ended| failure(common, path, &health, ended));
    (health, ended)
}

fn failure(common: &Common, path: &Path, health: &Health, ended: Ended<Failure>) -> Failure {
    match ended {
        Ended::Error(error) => placed_at(common, path, error, health.counts.instructions),
        Ended::Strict(error) => Failure::Strict(format!("{}: {error}", path.display())),
        Ended::Caller(failure) => failure,
    }
}

/// The caller's observer, and the counts that every report needs.
struct Counted {
    counts: Counts,
    other: Box<dyn Observer>,
}

impl Observer for Counted {
    fn observe(&mut self, batch: &Batch) {
        self.counts.observe(batch);
        self.other.observe(batch);
    }

    fn fork(&self) -> Box<dyn Observer> {
        Box::new(Counted { counts: Counts::default(), other: self.other.fork() })
    }

    fn merge(&mut self, later: Box<dyn Observer>) {
        let later = later.downcast::<Self>();
        self.counts.merge(Box::new(later.counts));
        self.other.merge(later.other);
    }
}
