//! Statistics of a trace: events, instructions by class, branches, memory accesses and their footprint, traps,
//! contexts, hot blocks, functions and lines.
//!
//! Parts of a trace can be observed separately and merged in order; the result is that of observing all of it. All
//! about instructions follows from the [executed blocks](crate::executed).
//!
//! ```
//! use trackway_core::*;
//! use trackway_tools::stats::Stats;
//!
//! let mut batch = Batch::default();
//! let begun = batch.begin_accesses();
//! batch.mem.push(MemAccess::read(0x1000, 8, Value::Unknown));
//! let accesses = batch.end_accesses(begun).expect("one access fits");
//! batch.push(0, EventKind::Step(Step { accesses, ..Step::new(0x8000, 0x6108, 2) })); // c.ld a0, 0(a0)
//! let mut stats = Stats::new(Isa::Rv64, &[]);
//! stats.observe(&batch);
//! let summary = stats.finish();
//! assert_eq!((summary.retired, summary.memory.loads, summary.memory.bytes_read), (1, 1, 8));
//! assert_eq!(summary.mix.classes["load"], 1);
//! ```

mod addresses;
mod branches;
mod count;
mod footprint;
mod memory;
mod mix;
mod observe;
mod places;
mod summary;
mod times;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trackway_core::*;
use trackway_image::Image;

use crate::contexts::Contexts;
use crate::executed::{Executed, FlowLog, Follow};
use times::Times;

pub use addresses::Address;
pub(crate) use branches::is_conditional;
pub use branches::{Branch, Branches};
pub use footprint::{LINE, PAGE};
pub use memory::Memory;
pub use mix::Mix;
pub use places::{By, Row};
pub use summary::{HotBlock, Summary};

/// Names of the events, in the order of their counts.
const EVENTS: [&str; 9] = ["step", "run", "trap", "context", "time", "mark", "state", "gap", "foreign"];

/// Traps by kind, cause and Arm exception class.
pub type Traps = BTreeMap<(TrapKind, Option<u64>, Option<u8>), u64>;

/// Counts of a trace, or of a part of it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Stats {
    executed: Executed,
    contexts: Contexts,
    memory: Memory,
    /// Register reads and writes that are recorded.
    registers: [u64; 2],
    /// CSR reads and writes among them.
    csrs: [u64; 2],
    /// First and last time stamp.
    times: Option<(u64, u64)>,
    /// Cycles and time by where they were counted.
    spent: Times,
    events: [u64; EVENTS.len()],
    traps: Traps,
    gaps: BTreeMap<GapReason, u64>,
}

impl Stats {
    /// Empty statistics of a whole trace; parts of it are [forked](Observer::fork). With programs, one for each source or one for all, runs are counted instruction by
    /// instruction.
    pub fn new(isa: Isa, programs: &[Arc<Image>]) -> Self {
        Self::with(Executed::new(isa, programs))
    }

    fn with(executed: Executed) -> Self {
        Stats {
            executed,
            contexts: Contexts::default(),
            memory: Memory::default(),
            registers: [0; 2],
            csrs: [0; 2],
            times: None,
            spent: Times::default(),
            events: [0; EVENTS.len()],
            traps: BTreeMap::new(),
            gaps: BTreeMap::new(),
        }
    }

    /// Before the first batch: the part begins in this context of this source.
    pub fn enter(&mut self, source: u16, context: &Context) {
        self.contexts.begin(source, context);
        self.executed.enter(source, context);
    }

    /// Takes in a batch, and shows the passes to `follow`; those of a part are [kept](FlowLog).
    pub fn follow(&mut self, batch: &Batch, follow: &mut dyn Follow) {
        self.executed.follow(batch, follow);
        self.count(batch);
    }

    /// Adds what follows, and shows its flow to `follow`.
    pub fn join(&mut self, mut later: Stats, log: &FlowLog, follow: &mut dyn Follow) {
        let executed = std::mem::replace(&mut later.executed, self.executed.another());
        self.executed.join(executed, log, follow);
        self.add(later);
    }

    /// The same for another part of the same trace.
    pub(crate) fn another(&self) -> Self {
        Self::with(self.executed.another())
    }

    /// After the last batch: passes that are still open end there.
    pub fn end(&mut self, follow: &mut dyn Follow) {
        self.executed.end(follow);
    }

    /// The counts in few bytes, for [`unpack`](Stats::unpack).
    pub fn pack(&self) -> Option<Vec<u8>> {
        pack(self)
    }

    /// Counts of a part of the same trace; `None` if the bytes are not such counts.
    pub fn unpack(&self, bytes: &[u8]) -> Option<Self> {
        let mut stats: Stats = unpack(bytes)?;
        stats.executed.restore()?;
        stats.executed.share(&self.executed);
        Some(stats)
    }

    /// True if observing everything in one part has the same result. False where a part was decoded for the wrong
    /// instruction set, or with the wrong program, because the context that says so came before it.
    pub fn is_exact(&self) -> bool {
        self.executed.is_exact()
    }

    /// The end of the trace: what the counts say.
    pub fn finish(self) -> Summary {
        Summary::new(self)
    }
}
