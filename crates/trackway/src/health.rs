//! Reading a whole trace, past damage where possible, and the account of it.

use serde::{Deserialize, Serialize};
use trackway_core::{Batch, Error, ErrorKind, Event, EventKind, GapReason, Observer, Source};

/// Counts of the events seen so far: instructions, and losses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Instructions, attempted ones included.
    pub instructions: u64,
    /// Gaps.
    pub gaps: u64,
    /// Gaps because the program or the path was not known.
    pub unfollowed: u64,
    /// Runs that the program contradicts.
    pub doubtful: u64,
    /// Bytes of input that gaps skip.
    pub skipped: u64,
    /// Instructions of each source, by its index.
    pub by_source: Vec<u64>,
}

impl Counts {
    /// Counts one event of `batch`.
    #[inline]
    pub fn add(&mut self, batch: &Batch, event: &Event) {
        self.instructions += event.kind.instructions();
        match &event.kind {
            EventKind::Run(run) => self.doubtful += u64::from(run.doubtful && !run.withdrawn),
            EventKind::Gap(n) => {
                let gap = &batch.gaps[*n as usize];
                self.gaps += 1;
                self.unfollowed += u64::from(matches!(gap.reason, GapReason::NoCode | GapReason::NoPath));
                self.skipped += gap.bytes.unwrap_or(0);
            }
            _ => {}
        }
    }

    fn add_all(&mut self, later: &Counts) {
        self.instructions += later.instructions;
        self.gaps += later.gaps;
        self.unfollowed += later.unfollowed;
        self.doubtful += later.doubtful;
        self.skipped += later.skipped;
        later.by_source.iter().enumerate().for_each(|(source, n)| self.add_source(source, *n));
    }

    fn add_source(&mut self, source: usize, instructions: u64) {
        if self.by_source.len() <= source {
            self.by_source.resize(source + 1, 0);
        }
        self.by_source[source] += instructions;
    }
}

impl Observer for Counts {
    fn observe(&mut self, batch: &Batch) {
        // Sums of its own stay in registers, and most events are steps.
        let mut counts = Counts::default();
        let mut rest = &batch.events[..];
        loop {
            let steps = rest.iter().take_while(|event| matches!(event.kind, EventKind::Step(_))).count();
            counts.instructions += steps as u64;
            let Some((event, after)) = rest[steps..].split_first() else { break };
            counts.add(batch, event);
            rest = after;
        }
        counts.add_source(batch.source.into(), counts.instructions);
        self.add_all(&counts);
    }

    fn fork(&self) -> Box<dyn Observer> {
        Box::new(Counts::default())
    }

    fn merge(&mut self, later: Box<dyn Observer>) {
        self.add_all(&later.downcast::<Self>());
    }
}

/// An error after which decoding continued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// The error.
    pub error: Error,
    /// Instructions before it.
    pub instruction: u64,
}

/// How well a trace was read.
#[derive(Clone, Debug, Default)]
pub struct Health {
    /// Native items, where the format counts them.
    pub items: Option<u64>,
    /// Instructions, gaps, doubtful runs and bytes skipped.
    pub counts: Counts,
    /// Errors after which decoding continued.
    pub errors: u64,
    /// The first of them.
    pub first_errors: Vec<Passed>,
    /// Settings that were assumed, and observations that speak against the settings.
    pub doubts: Vec<String>,
}

impl Health {
    /// Errors that are kept, not only counted.
    const KEPT: usize = 16;

    /// Counts an error after which decoding continued.
    pub fn passed(&mut self, error: Error) {
        self.errors += 1;
        if self.first_errors.len() < Self::KEPT {
            self.first_errors.push(Passed { error, instruction: self.counts.instructions });
        }
    }

    /// Reads the next events by `step`, or passes the error that it meets; false at the end.
    pub(crate) fn step<E>(
        &mut self,
        source: &mut dyn Source,
        strict: bool,
        step: impl FnOnce(&mut dyn Source, &mut Counts) -> Result<bool, Ended<E>>,
    ) -> Result<bool, Ended<E>> {
        match step(source, &mut self.counts) {
            Err(Ended::Error(error)) => {
                if error.kind == ErrorKind::Cancelled || !source.resync().unwrap_or(false) {
                    return Err(Ended::Error(error));
                }
                if strict {
                    return Err(Ended::Strict(error));
                }
                self.passed(error);
                Ok(true)
            }
            read => read,
        }
    }

    /// Takes what only the source knows, once nothing more is read from it.
    pub(crate) fn finish(&mut self, source: &dyn Source) {
        self.counts.doubtful += source.doubtful();
        let items = source.census().total();
        self.items = (items > 0).then_some(items);
    }

    /// Takes the doubts among the facts of a trace that was read.
    pub fn doubt(&mut self, facts: &[(&'static str, String)]) {
        self.doubts.extend(facts.iter().filter_map(|(name, text)| match *name {
            "doubt" => Some(text.clone()),
            "assumed" | "ids without a source" => Some(format!("{name}: {text}")),
            _ => None,
        }));
    }

    /// True if something is missing, was skipped, or contradicts the program.
    pub fn is_damaged(&self) -> bool {
        self.counts.gaps > 0 || self.counts.doubtful > 0 || self.errors > 0
    }

    /// True if the path had to be followed through the program, and nowhere could be.
    pub fn is_unfollowed(&self) -> bool {
        self.counts.instructions == 0 && self.counts.unfollowed > 0
    }

    /// True if nothing could be read, neither items nor instructions: bytes were skipped, and that is all.
    pub fn is_unread(&self) -> bool {
        let Counts { instructions, skipped, .. } = self.counts;
        self.items.unwrap_or(0) == 0 && instructions == 0 && self.errors > 0 && skipped > 0
    }

    /// The line that every report ends with.
    pub fn line(&self) -> String {
        let items = self.items.map_or(String::new(), |items| format!("{items} items, "));
        let Counts { instructions, gaps, doubtful, skipped, .. } = self.counts;
        format!(
            "health: {items}{instructions} instructions, {gaps} gaps, {doubtful} doubtful runs, {skipped} bytes skipped"
        )
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
        match health.step(source, strict, &mut step) {
            Err(ended) => break Err(ended),
            Ok(more) => {
                progress(source, &health);
                if !more {
                    break Ok(());
                }
            }
        }
    };
    health.finish(source);
    (health, ended)
}
