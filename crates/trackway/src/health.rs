//! Reading a whole trace, past damage where possible, and the account of it.

use trackway_core::{Batch, Error, EventKind, Observer, Source};

/// Instructions, gaps and bytes skipped in the events seen so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Instructions, attempted ones included.
    pub instructions: u64,
    /// Gaps.
    pub gaps: u64,
    /// Bytes of input that gaps skip.
    pub skipped: u64,
}

impl Observer for Counts {
    fn observe(&mut self, batch: &Batch) {
        self.instructions += batch.instructions();
        self.gaps +=
            batch.events.iter().filter(|event| matches!(event.kind, EventKind::Gap(_))).count() as u64;
        self.skipped += batch.gaps.iter().filter_map(|gap| gap.bytes).sum::<u64>();
    }

    fn fork(&self) -> Box<dyn Observer> {
        Box::new(Counts::default())
    }

    fn merge(&mut self, later: Box<dyn Observer>) {
        let later = later.downcast::<Self>();
        self.instructions += later.instructions;
        self.gaps += later.gaps;
        self.skipped += later.skipped;
    }
}

/// How well a trace was read.
#[derive(Clone, Debug, Default)]
pub struct Health {
    /// Native items, where the format counts them.
    pub items: Option<u64>,
    /// Instructions, gaps and bytes skipped.
    pub counts: Counts,
    /// Errors after which decoding continued.
    pub errors: u64,
    /// The first of them.
    pub first_error: Option<Error>,
}

impl Health {
    /// Counts an error after which decoding continued.
    pub fn passed(&mut self, error: Error) {
        self.errors += 1;
        self.first_error.get_or_insert(error);
    }

    /// True if something is missing or was skipped.
    pub fn is_damaged(&self) -> bool {
        self.counts.gaps > 0 || self.errors > 0
    }

    /// The line that every report ends with.
    pub fn line(&self) -> String {
        let items = self.items.map_or(String::new(), |items| format!("{items} items, "));
        let Counts { instructions, gaps, skipped } = self.counts;
        format!("health: {items}{instructions} instructions, {gaps} gaps, {skipped} bytes skipped")
    }
}

/// Why reading ended early.
#[derive(Debug)]
pub enum Ended<E> {
    /// An error after which the trace cannot be entered again.
    Error(Error),
    /// An error that could have been passed, under `strict`.
    Strict(Error),
    /// The caller's own reason.
    Caller(E),
}

/// Reads a trace to its end, past damage where possible. `step` reads the next events from the source and adds to the
/// counts; `progress` is called after each step.
pub fn read_all<E>(
    source: &mut dyn Source,
    strict: bool,
    mut step: impl FnMut(&mut dyn Source, &mut Counts) -> Result<bool, Ended<E>>,
    mut progress: impl FnMut(&dyn Source, &Health),
) -> (Health, Result<(), Ended<E>>) {
    let mut health = Health::default();
    let ended = loop {
        let more = match step(source, &mut health.counts) {
            Ok(more) => more,
            Err(Ended::Error(error)) => {
                if !source.resync().unwrap_or(false) {
                    break Err(Ended::Error(error));
                }
                if strict {
                    break Err(Ended::Strict(error));
                }
                health.passed(error);
                true
            }
            Err(ended) => break Err(ended),
        };
        progress(source, &health);
        if !more {
            break Ok(());
        }
    };
    let items = source.census().total();
    health.items = (items > 0).then_some(items);
    (health, ended)
}
