//! All events of a trace, past damage where possible, with progress.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use trackway::{Before, Comparisons, Counts, Ended, Health, ProgramCheck, Verdict, read_all, read_in_groups};
use trackway_core::{Batch, Context, Isa, Observer, Source};
use trackway_image::Image;

use crate::args::Common;
use crate::exit::Failure;
use crate::progress::Progress;
use crate::report::{placed_at, say};

/// Shows each batch to `visit`, in order and with the number of errors passed before it, until it breaks; returns the
/// health of what was read, and what ended it.
pub(crate) fn walk(
    common: &Common,
    path: &Path,
    source: &mut dyn Source,
    progress: &Progress,
    mut visit: impl FnMut(&Batch, u64) -> Result<ControlFlow<()>, Failure>,
) -> (Health, Result<(), Failure>) {
    let mut batch = Batch::default();
    let errors = Cell::new(0);
    let (health, ended) = read_all(
        source,
        common.strict,
        |source, counts| {
            let more = source.fill(&mut batch).map_err(Ended::Error)?;
            counts.observe(&batch);
            Ok(more && visit(&batch, errors.get()).map_err(Ended::Caller)?.is_continue())
        },
        |source, health| {
            errors.set(health.errors);
            progress.update(source, health);
        },
    );
    let ended = ended.map_err(|ended| failure(common, path, &health, ended));
    (health, ended)
}

/// As [`walk`], in groups on several threads: `work` sees each with the state before it, and `join` its results in order.
pub(crate) fn walk_in_groups<B: Before, L, T: Send>(
    (common, path, threads): (&Common, &Path, usize),
    source: &mut dyn Source,
    progress: &Progress,
    past: &mut B,
    local: impl Fn() -> L + Sync,
    work: impl Fn(&mut L, B::State, &mut [Batch]) -> T + Sync,
    join: impl FnMut(T) -> Result<(), Failure>,
) -> (Health, Result<(), Failure>) {
    let (health, ended) = read_in_groups(
        source,
        (threads, common.strict),
        past,
        |source, health| progress.update(source, health),
        local,
        work,
        join,
    );
    let ended = ended.map_err(|ended| failure(common, path, &health, ended));
    (health, ended)
}

/// Shows all events to `observer`, on several threads where the format can and `in_parts` allows it; returns the
/// health of what was read, and what ended it.
pub(crate) fn observe<O: Observer>(
    common: &Common,
    path: &Path,
    source: &mut dyn Source,
    in_parts: bool,
    observer: &mut O,
) -> (Health, Result<(), Failure>) {
    if !in_parts {
        let progress = Progress::new(common.quiet);
        return walk(common, path, source, &progress, |batch, _| {
            observer.observe(batch);
            Ok(ControlFlow::Continue(()))
        });
    }
    observe_until(common, path, source, observer, |_| false)
}

/// Shows events to `observer`, on several threads where the format can, until it has seen `enough`.
pub(crate) fn observe_until<O: Observer>(
    common: &Common,
    path: &Path,
    source: &mut dyn Source,
    observer: &mut O,
    enough: impl Fn(&O) -> bool,
) -> (Health, Result<(), Failure>) {
    let progress = Progress::new(common.quiet);
    observe_with((common, path), source, &progress, observer, |observer| {
        Ok(if enough(observer) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })
}

/// The same; `seen` looks at the observer after each stretch.
pub(crate) fn observe_with<O: Observer>(
    (common, path): (&Common, &Path),
    source: &mut dyn Source,
    progress: &Progress,
    observer: &mut O,
    mut seen: impl FnMut(&mut O) -> Result<ControlFlow<()>, Failure>,
) -> (Health, Result<(), Failure>) {
    // It moves in there for as long as the trace is read.
    let other = std::mem::replace(observer, *observer.fork().downcast());
    let mut counted = Counted { counts: Counts::default(), other: Box::new(other) };
    let (health, ended) = read_all(
        source,
        common.strict,
        |source, counts| {
            let more = source.observe(&mut counted);
            counts.clone_from(&counted.counts);
            let observer: &mut dyn std::any::Any = &mut *counted.other;
            // Before an error comes what was seen before it.
            let flow = match observer.downcast_mut() {
                Some(observer) => seen(observer).map_err(Ended::Caller)?,
                None => ControlFlow::Continue(()),
            };
            more.map(|more| more && flow.is_continue()).map_err(Ended::Error)
        },
        |source, health| progress.update(source, health),
    );
    *observer = *counted.other.downcast();
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

/// Compares the encodings of a trace with its programs, where there are any.
pub(crate) fn checked_program(isa: Isa, programs: &[Arc<Image>]) -> CheckedProgram {
    CheckedProgram((!programs.is_empty()).then(|| ProgramCheck::new(isa, programs)))
}

/// An analysis that compares, or does nothing.
#[derive(Debug)]
pub(crate) struct CheckedProgram(Option<ProgramCheck>);

impl CheckedProgram {
    /// Before the first batch: the part begins in this context of this source.
    pub(crate) fn enter(&mut self, source: u16, context: &Context) {
        if let Some(check) = &mut self.0 {
            check.enter(source, context);
        }
    }

    /// One for a thread that sees parts of the trace, and enters each.
    pub(crate) fn apart(&self) -> Self {
        CheckedProgram(self.0.as_ref().map(ProgramCheck::apart))
    }

    /// The comparisons since it was asked last.
    pub(crate) fn take(&mut self) -> Comparisons {
        self.0.as_mut().map(ProgramCheck::take).unwrap_or_default()
    }

    /// Adds those of the part that follows.
    pub(crate) fn add(&mut self, part: Comparisons) {
        if let Some(check) = &mut self.0 {
            check.add(part);
        }
    }

    /// The comparisons in few bytes; none where there is no program.
    pub(crate) fn pack(&self) -> Option<Vec<u8>> {
        self.0.as_ref().map_or(Some(Vec::new()), ProgramCheck::pack)
    }

    /// Comparisons of a part; `None` if the bytes are not such.
    pub(crate) fn unpack(&self, bytes: &[u8]) -> Option<Self> {
        match &self.0 {
            Some(check) => check.unpack(bytes).map(|check| CheckedProgram(Some(check))),
            None => bytes.is_empty().then_some(CheckedProgram(None)),
        }
    }

    /// The result, where something was compared.
    pub(crate) fn verdict(&self) -> Option<Verdict> {
        self.0.as_ref().map(ProgramCheck::verdict).filter(|verdict| verdict.distinct() > 0)
    }

    /// Prints a line if the program differs.
    pub(crate) fn warn(&self) {
        if let Some(verdict) = self.verdict().filter(|verdict| !verdict.is_right()) {
            say!("warning: {verdict}");
        }
    }
}

impl Observer for CheckedProgram {
    fn observe(&mut self, batch: &Batch) {
        if let Some(check) = &mut self.0 {
            check.observe(batch);
        }
    }

    fn fork(&self) -> Box<dyn Observer> {
        let forked = self.0.as_ref().map(|check| *check.fork().downcast());
        Box::new(CheckedProgram(forked))
    }

    fn merge(&mut self, later: Box<dyn Observer>) {
        if let (Some(check), Some(later)) = (&mut self.0, later.downcast::<Self>().0) {
            check.merge(Box::new(later));
        }
    }
}

/// An analysis, and the comparison of the trace with its programs.
#[derive(Debug)]
pub(crate) struct Checked<O> {
    pub(crate) analysis: O,
    pub(crate) program: CheckedProgram,
}

impl<O: Observer> Observer for Checked<O> {
    fn observe(&mut self, batch: &Batch) {
        self.analysis.observe(batch);
        self.program.observe(batch);
    }

    fn fork(&self) -> Box<dyn Observer> {
        let analysis: O = *self.analysis.fork().downcast();
        Box::new(Checked { analysis, program: *self.program.fork().downcast() })
    }

    fn merge(&mut self, later: Box<dyn Observer>) {
        let later = later.downcast::<Self>();
        self.analysis.merge(Box::new(later.analysis));
        self.program.merge(Box::new(later.program));
    }
}
