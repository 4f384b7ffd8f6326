//! Runs to steps, by the program.

use std::sync::Arc;

use trackway_core::{Batch, Context, Event, EventKind, Meta, Observer, Result, Saved, Source};
use trackway_image::{Image, Memory, expand, program};

/// A source whose runs are expanded to steps where the program is known; the rest stays as it is.
///
/// Formats that record single instructions can then take the events of flow formats.
pub struct Expand {
    inner: Box<dyn Source>,
    /// The program of each source, or one for all.
    programs: Vec<Arc<Image>>,
    source: u16,
    /// Context so far: it chooses what the program looks like.
    context: Context,
    memory: Arc<Memory>,
    events: Vec<Event>,
    doubtful: u64,
}

impl std::fmt::Debug for Expand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Expand({:?})", self.programs)
    }
}

impl Expand {
    /// Expands the runs of each source by its program; a single program is for all.
    pub fn new(inner: Box<dyn Source>, programs: Vec<Arc<Image>>) -> Self {
        let context = inner.context();
        let memory = program(&programs, 0).memory(&context);
        Expand { inner, programs, source: 0, context, memory, events: Vec::new(), doubtful: 0 }
    }

    fn enter(&mut self, source: u16, context: Context) {
        (self.source, self.context) = (source, context);
        self.memory = program(&self.programs, source).memory(&context);
    }
}

impl Source for Expand {
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
        let more = self.inner.fill(batch)?;
        if batch.source != self.source {
            self.enter(batch.source, Context::default());
        }
        let is_run = |event: &Event| matches!(event.kind, EventKind::Run(run) if !run.withdrawn);
        if !batch.events.iter().any(is_run) {
            if !batch.contexts.is_empty() {
                batch.contexts.iter().for_each(|context| self.context.update(context));
                self.memory = program(&self.programs, self.source).memory(&self.context);
            }
            return Ok(more);
        }
        self.events.clear();
        std::mem::swap(&mut self.events, &mut batch.events);
        for n in 0..self.events.len() {
            let Event { offset, kind } = self.events[n];
            match kind {
                // A withdrawn run did not happen: it stays in one piece and is not counted.
                EventKind::Run(run) if !run.withdrawn => {
                    let accesses = batch.accesses_of(&run);
                    expand(&self.memory, &run, accesses, |kind| batch.push(offset, kind));
                    // A rest that stays a run is still marked itself.
                    let is_left = matches!(batch.events.last(), Some(Event { kind: EventKind::Run(_), .. }));
                    self.doubtful += u64::from(run.doubtful && !is_left);
                }
                EventKind::Context(n) => {
                    self.context.update(&batch.contexts[n as usize]);
                    self.memory = program(&self.programs, self.source).memory(&self.context);
                    batch.push(offset, kind);
                }
                _ => batch.push(offset, kind),
            }
        }
        Ok(more)
    }

    fn seek(&mut self, n: u64) -> Result<u64> {
        let first = self.inner.seek(n)?;
        self.enter(0, self.inner.context());
        Ok(first)
    }

    fn save(&self) -> Option<Saved> {
        self.inner.save()
    }

    fn restore(&mut self, saved: &Saved) -> Result<bool> {
        if !self.inner.restore(saved)? {
            return Ok(false);
        }
        self.enter(saved.source, saved.context);
        Ok(true)
    }

    fn doubtful(&self) -> u64 {
        self.doubtful
    }

    fn lend(&mut self) -> Option<Box<dyn Observer>> {
        // Of a flow format it shows steps in the place of runs.
        if self.meta().flow_only { None } else { self.inner.lend() }
    }
}
