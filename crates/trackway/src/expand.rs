//! Runs to steps, by the program.

use std::sync::Arc;

use trackway_core::{Batch, Context, Event, EventKind, Meta, Observer, Result, Saved, Source};
use trackway_image::{Image, Memory, expand, program};

/// Makes runs to steps where the program is known, batch by batch; the rest stays as it is.
#[derive(Clone)]
pub(crate) struct Expander {
    /// The program of each source, or one for all.
    programs: Vec<Arc<Image>>,
    source: u16,
    /// Context so far: it chooses what the program looks like.
    context: Context,
    memory: Arc<Memory>,
    events: Vec<Event>,
    /// Doubtful runs that have become steps, which cannot say so.
    doubtful: u64,
}

impl Expander {
    pub(crate) fn new(programs: Vec<Arc<Image>>, context: Context) -> Self {
        let memory = program(&programs, 0).memory(&context);
        Expander { programs, source: 0, context, memory, events: Vec::new(), doubtful: 0 }
    }

    /// The events that follow are those of a source in a context.
    pub(crate) fn enter(&mut self, source: u16, context: Context) {
        if (self.source, self.context) != (source, context) {
            (self.source, self.context) = (source, context);
            self.memory = program(&self.programs, source).memory(&context);
        }
    }

    fn update(&mut self, change: &Context) {
        let mut context = self.context;
        context.update(change);
        self.enter(self.source, context);
    }

    pub(crate) fn batch(&mut self, batch: &mut Batch) {
        if batch.source != self.source {
            self.enter(batch.source, Context::default());
        }
        let is_run = |event: &Event| matches!(event.kind, EventKind::Run(run) if !run.withdrawn);
        if !batch.events.iter().any(is_run) {
            batch.contexts.iter().for_each(|context| self.update(context));
            return;
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
                    self.update(&batch.contexts[n as usize]);
                    batch.push(offset, kind);
                }
                _ => batch.push(offset, kind),
            }
        }
    }
}

/// A source whose runs are expanded to steps where the program is known; the rest stays as it is.
///
/// Formats that record single instructions can then take the events of flow formats.
pub struct Expand {
    inner: Box<dyn Source>,
    expander: Expander,
}

impl std::fmt::Debug for Expand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Expand({:?})", self.expander.programs)
    }
}

impl Expand {
    /// Expands the runs of each source by its program; a single program is for all.
    pub fn new(inner: Box<dyn Source>, programs: Vec<Arc<Image>>) -> Self {
        let expander = Expander::new(programs, inner.context());
        Expand { inner, expander }
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
        self.expander.batch(batch);
        Ok(more)
    }

    fn seek(&mut self, n: u64) -> Result<u64> {
        let first = self.inner.seek(n)?;
        self.expander.enter(0, self.inner.context());
        Ok(first)
    }

    fn save(&self) -> Option<Saved> {
        self.inner.save()
    }

    fn restore(&mut self, saved: &Saved) -> Result<bool> {
        if !self.inner.restore(saved)? {
            return Ok(false);
        }
        self.expander.enter(saved.source, saved.context);
        Ok(true)
    }

    fn doubtful(&self) -> u64 {
        self.expander.doubtful
    }

    fn lend(&mut self) -> Option<Box<dyn Observer>> {
        // Of a flow format it shows steps in the place of runs.
        if self.meta().flow_only { None } else { self.inner.lend() }
    }
}
