//! Instructions of runs that were attempted and did not retire.
//!
//! A run says so of its last instruction; for the others their encoding decides, as it does where runs are expanded.

use std::sync::Arc;

use trackway_core::{Accesses, Context, EventKind, Isa, Outcome, Run};
use trackway_image::{Image, Memory, expand, program};
use trackway_isa::{Key, Recent};

/// Counts them, run by run; each run is expanded once.
#[derive(Debug)]
pub struct Attempted {
    /// Instructions attempted only, so far.
    pub count: u64,
    programs: Arc<[Arc<Image>]>,
    memory: Option<Arc<Memory>>,
    known: Recent<RunKey, (u64, bool), 4096>,
}

/// Runs with the same key have the same instructions.
#[derive(Debug, PartialEq)]
pub(crate) struct RunKey {
    start: u64,
    count: u32,
    isa: Isa,
    /// Address of the memory that the code is read from.
    view: usize,
}

impl RunKey {
    /// The key of `run`, whose code is in `memory`.
    #[inline]
    pub(crate) fn new(memory: &Memory, run: &Run) -> Self {
        let view = std::ptr::from_ref(memory).addr();
        RunKey { start: run.start, count: run.count, isa: run.isa, view }
    }
}

impl Key for RunKey {
    #[inline(always)]
    fn digest(&self) -> u64 {
        self.start ^ u64::from(self.count) << 48
    }
}

impl Attempted {
    /// With programs, one for each source or one for all.
    pub fn new(programs: &[Arc<Image>]) -> Self {
        Self::with(programs.into())
    }

    fn with(programs: Arc<[Arc<Image>]>) -> Self {
        Attempted { count: 0, programs, memory: None, known: Recent::default() }
    }

    /// The same for another part of the trace.
    pub fn fork(&self) -> Self {
        Self::with(Arc::clone(&self.programs))
    }

    /// The runs that follow are of this context and source.
    pub fn enter(&mut self, source: u16, context: &Context) {
        self.memory = (!self.programs.is_empty()).then(|| program(&self.programs, source).memory(context));
    }

    /// Counts a run.
    #[inline]
    pub fn run(&mut self, run: &Run) {
        let Some(memory) = &self.memory else {
            self.count += u64::from(run.attempted);
            return;
        };
        let &(count, last) = self.known.get(RunKey::new(memory, run), || by_encoding(memory, run));
        self.count += count + u64::from(run.attempted && !last);
    }
}

/// Instructions that never retire, and whether the last one is among them.
fn by_encoding(memory: &Memory, run: &Run) -> (u64, bool) {
    let plain = Run { attempted: false, ..*run };
    let (mut count, mut last) = (0, false);
    expand(memory, &plain, Accesses::default(), |kind| {
        last = matches!(kind, EventKind::Step(step) if step.outcome == Outcome::Attempted);
        count += u64::from(last);
    });
    (count, last)
}
