//! Statistics of a trace: events, instructions by class, branches, memory accesses and their footprint, traps,
//! contexts, hot blocks.
//!
//! Parts of a trace can be observed separately and merged in order; the result is that of observing all of it. The
//! one thing that a part has to assume is which code it runs, if a context before the part says so: see
//! [`Stats::is_exact`].
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
//! assert_eq!((stats.retired, stats.memory.loads, stats.memory.bytes_read), (1, 1, 8));
//! assert_eq!(stats.classes()["load"], 1);
//! ```

mod blocks;
mod code;
mod count;
mod decode;
mod footprint;
mod memory;
mod observe;
mod table;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trackway_core::*;
use trackway_image::Image;
use trackway_isa::Class;

use crate::contexts::Contexts;
use blocks::Blocks;
use code::{Assumptions, CurrentCode, Shared};
use decode::DecodeCache;
use table::Table;

pub use blocks::Block;
pub use footprint::{LINE, PAGE};
pub use memory::Memory;

/// Names of the events, in the order of [`Stats::events`]'s counts.
const EVENTS: [&str; 9] = ["step", "run", "trap", "context", "time", "mark", "state", "gap", "foreign"];

/// Counts of a trace, or of a part of it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Stats {
    /// Instructions that retired.
    pub retired: u64,
    /// Instructions that were only attempted.
    pub attempted: u64,
    /// Instructions of which not even the address is known.
    pub unknown: u64,
    /// Conditional branches.
    pub branches: Branches,
    /// Memory accesses.
    pub memory: Memory,
    /// Register reads and writes that are recorded.
    pub registers: [u64; 2],
    /// CSR reads and writes among them.
    pub csrs: [u64; 2],
    /// First and last time stamp.
    pub times: Option<(u64, u64)>,
    events: [u64; EVENTS.len()],
    /// By [`Class`].
    classes: [u64; Class::ALL.len()],
    /// Instructions without a known encoding.
    undecoded: u64,
    /// Instructions of runs without known code.
    in_runs: u64,
    traps: BTreeMap<(TrapKind, Option<u64>, Option<u8>), u64>,
    gaps: BTreeMap<GapReason, u64>,
    contexts: Contexts,
    blocks: Blocks,
    #[serde(skip)]
    code: CurrentCode,
    assumed: Assumptions,
    /// An assumption of a part was wrong.
    misread: bool,
    #[serde(skip)]
    shared: Arc<Shared>,
    /// `None` until the first batch.
    #[serde(skip)]
    cache: Option<DecodeCache>,
}

/// Conditional branches.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Branches {
    /// Taken, not taken, unknown.
    pub outcomes: [u64; 3],
    places: Table<()>,
}

impl Branches {
    /// Number of distinct branches.
    pub fn distinct(&self) -> u64 {
        self.places.entries.len() as u64
    }

    #[inline]
    fn observe(&mut self, pc: u64, taken: Option<bool>) {
        self.outcomes[match taken {
            Some(true) => 0,
            Some(false) => 1,
            None => 2,
        }] += 1;
        self.places.at(pc);
    }
}

impl Stats {
    /// Empty statistics. With programs, one for each source or one for all, runs are counted instruction by
    /// instruction.
    pub fn new(isa: Isa, programs: &[Arc<Image>]) -> Self {
        Self::with(Arc::new(Shared::new(isa, programs)))
    }

    fn with(shared: Arc<Shared>) -> Self {
        Stats {
            retired: 0,
            attempted: 0,
            unknown: 0,
            branches: Branches::default(),
            memory: Memory::default(),
            registers: [0; 2],
            csrs: [0; 2],
            times: None,
            events: [0; EVENTS.len()],
            classes: [0; Class::ALL.len()],
            undecoded: 0,
            in_runs: 0,
            traps: BTreeMap::new(),
            gaps: BTreeMap::new(),
            contexts: Contexts::default(),
            blocks: Blocks::default(),
            code: CurrentCode { isa: shared.isa, memory: None, assumed: Assumptions::default() },
            assumed: Assumptions::default(),
            misread: false,
            shared,
            cache: None,
        }
    }

    /// Before the first batch: the part begins in this context of this source.
    pub fn enter(&mut self, source: u16, context: &Context) {
        self.contexts.begin(source, context);
        self.follow_context(source);
    }

    /// The counts in few bytes, for [`unpack`](Stats::unpack).
    pub fn pack(&self) -> Option<Vec<u8>> {
        pack(self)
    }

    /// Counts of a part of the same trace; `None` if the bytes are not such counts.
    pub fn unpack(&self, bytes: &[u8]) -> Option<Self> {
        let mut stats: Stats = unpack(bytes)?;
        stats.shared = Arc::clone(&self.shared);
        stats.code.isa = self.shared.isa;
        Some(stats)
    }

    /// True if observing everything in one part has the same result. False where a part was decoded for the wrong
    /// instruction set, or with the wrong program, because the context that says so came before it.
    pub fn is_exact(&self) -> bool {
        !self.misread
    }

    /// Events by kind.
    pub fn events(&self) -> BTreeMap<&'static str, u64> {
        EVENTS.into_iter().zip(self.events).filter(|(_, count)| *count > 0).collect()
    }

    /// Instructions by class; runs without known code have one of their own.
    pub fn classes(&self) -> BTreeMap<&'static str, u64> {
        let classes = Class::ALL.iter().map(|class| class.as_str()).zip(self.classes);
        let others = [("unknown", self.undecoded), ("in runs", self.in_runs)];
        classes.chain(others).filter(|(_, count)| *count > 0).collect()
    }

    /// Instructions by context.
    pub fn contexts(&self) -> BTreeMap<String, u64> {
        let mut named = self.contexts.by_name();
        named.retain(|_, count| *count > 0);
        named
    }

    /// Traps by kind, cause and Arm exception class.
    pub fn traps(&self) -> &BTreeMap<(TrapKind, Option<u64>, Option<u8>), u64> {
        &self.traps
    }

    /// Gaps by reason.
    pub fn gaps(&self) -> BTreeMap<&'static str, u64> {
        self.gaps.iter().map(|(reason, count)| (reason.as_str(), *count)).collect()
    }

    /// Distinct blocks entered.
    pub fn block_count(&self) -> u64 {
        self.blocks.all().len() as u64
    }

    /// The `n` blocks with most instructions executed in them, hottest first.
    pub fn hottest(&self, n: usize) -> Vec<(u64, Block)> {
        let mut all: Vec<(u64, Block)> = self.blocks.all().into_iter().collect();
        all.sort_unstable_by_key(|(start, block)| (std::cmp::Reverse(block.instructions), *start));
        all.truncate(n);
        all
    }
}
