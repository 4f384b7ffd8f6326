//! Executed code: blocks, how often control passed through each, and which followed which.
//!
//! Instructions by class, hot functions and lines, coverage and profiles of compilers all follow from these counts and
//! the code, so one pass over the trace serves all of them. A block begins where control arrives and ends after the
//! first instruction from which control can go elsewhere; what was executed is known instruction by instruction, also
//! where code changes under the same address. Memory is bounded by the distinct blocks, not by the length of a trace.
//!
//! Parts of a trace can be observed separately and merged in order; the result is that of observing all of it. The
//! one thing that a part has to assume is which code it runs, if a context before the part says so: see
//! [`Executed::is_exact`]. Analyses that need the order of things [follow](Follow) the passes on one thread, where parts are
//! observed on several when they are merged.
//!
//! ```
//! use trackway_core::*;
//! use trackway_tools::executed::Executed;
//!
//! // 1: c.addi a0, 1; bne a0, a1, 1b: twice.
//! let mut batch = Batch::default();
//! for taken in [true, false] {
//!     batch.push(0, EventKind::Step(Step::new(0x8000, 0x0505, 2)));
//!     batch.push(0, EventKind::Step(Step { taken: Some(taken), ..Step::new(0x8002, 0xfeb5_1fe3, 4) }));
//! }
//! let mut executed = Executed::new(Isa::Rv64, &[]);
//! executed.observe(&batch);
//! let executed = executed.finish();
//! let block = &executed.blocks()[0];
//! assert_eq!((block.code.start, block.code.count(), block.passes), (0x8000, 2, 2));
//! assert_eq!(block.outcomes, [1, 1, 0]);
//! assert_eq!(executed.edges().next(), Some((0, 0, 1)));
//! ```

mod block;
mod follow;
mod lane;
mod log;
mod observe;
mod spaces;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trackway_core::{Batch, Context, Isa};
use trackway_image::Image;

use block::Blocks;
use lane::Lane;
use observe::{Caches, Shared};
use spaces::Spaces;

pub use block::{BOUNDARY, Block, BlockId, Code, End, Inst};
pub use follow::{Follow, Pass};
pub use log::FlowLog;
pub use spaces::Space;

/// The executed blocks of a trace or a part of it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Executed {
    blocks: Blocks,
    spaces: Spaces,
    lanes: BTreeMap<u16, Lane>,
    /// Instructions of which not even the address is known, by space.
    unknown: BTreeMap<u32, u64>,
    /// An assumption of a part was wrong.
    misread: bool,
    /// Sources are seen from their first event on.
    from_start: bool,
    #[serde(skip)]
    shared: Arc<Shared>,
    /// `None` until the first batch.
    #[serde(skip)]
    caches: Option<Caches>,
}

impl Executed {
    /// Nothing executed yet, of a whole trace; parts of it are [forked](trackway_core::Observer::fork). With programs, one for each source or one for all, runs of flow traces and instructions
    /// without encodings have their code from there.
    pub fn new(isa: Isa, programs: &[Arc<Image>]) -> Self {
        Self::with(Arc::new(Shared::new(isa, programs)), true)
    }

    fn with(shared: Arc<Shared>, from_start: bool) -> Self {
        Executed {
            blocks: Blocks::default(),
            spaces: Spaces::default(),
            lanes: BTreeMap::new(),
            unknown: BTreeMap::new(),
            misread: false,
            from_start,
            shared,
            caches: None,
        }
    }

    /// Takes in a batch, and shows the passes to `follow`; those of a part are [kept](FlowLog).
    pub fn follow(&mut self, batch: &Batch, follow: &mut dyn Follow) {
        self.take(batch, follow);
    }

    /// Adds what follows, and shows its flow to `follow`.
    pub fn join(&mut self, later: Executed, log: &FlowLog, follow: &mut dyn Follow) {
        self.add(later, log, follow);
    }

    /// After the last batch: passes that are still open end there.
    pub fn end(&mut self, follow: &mut dyn Follow) {
        self.cut(follow);
    }

    /// Before the first batch: the part begins in this context of this source.
    pub fn enter(&mut self, source: u16, context: &Context) {
        let Executed { lanes, spaces, from_start, .. } = self;
        let lane = lanes.entry(source).or_insert_with(|| Lane::new(source, *from_start, spaces));
        lane.enter(spaces, context);
    }

    /// The end of the trace: passes that are still open end there.
    pub fn finish(mut self) -> Executed {
        if self.from_start {
            self.cut(&mut ());
            return self;
        }
        let mut whole = Self::with(Arc::clone(&self.shared), true);
        whole.add(self, &FlowLog::default(), &mut ());
        whole.cut(&mut ());
        whole
    }

    /// Puts the tables back that are not stored.
    pub(crate) fn restore(&mut self) -> Option<()> {
        self.blocks.restore()?;
        self.spaces.restore()
    }

    /// The same for another part of the same trace.
    pub(crate) fn another(&self) -> Self {
        Self::with(Arc::clone(&self.shared), false)
    }

    /// The program and the instruction set of another one.
    pub(crate) fn share(&mut self, other: &Executed) {
        self.shared = Arc::clone(&other.shared);
    }

    /// True if observing everything in one part has the same result. False where a part was decoded for the wrong
    /// instruction set, or with the wrong program, because the context that says so came before it.
    pub fn is_exact(&self) -> bool {
        !self.misread
    }

    /// The programs: one for each source, or one for all.
    pub fn programs(&self) -> &[Arc<Image>] {
        &self.shared.programs
    }

    /// The blocks, by their numbers.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks.list
    }

    /// The spaces that blocks name by their numbers.
    pub fn spaces(&self) -> &[Space] {
        &self.spaces.list
    }

    /// Instructions of which not even the address is known, by space.
    pub fn unknown(&self) -> &BTreeMap<u32, u64> {
        &self.unknown
    }

    /// Every pair of blocks of which one followed the other, and how often; those with a trap or a gap between them
    /// are not among them.
    pub fn edges(&self) -> impl Iterator<Item = (BlockId, BlockId, u64)> + '_ {
        self.blocks.edges()
    }
}
