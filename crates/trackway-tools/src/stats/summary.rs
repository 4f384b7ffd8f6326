//! The result of counting a trace.

use std::collections::BTreeMap;

use trackway_core::GapReason;

use super::branches::Branches;
use super::memory::Memory;
use super::mix::Mix;
use super::observe::Kind;
use super::{EVENTS, Stats, Traps};
use crate::executed::{End, Executed};

/// The statistics of a trace.
#[derive(Debug)]
pub struct Summary {
    /// Instructions that retired.
    pub retired: u64,
    /// Instructions that were only attempted.
    pub attempted: u64,
    /// Instructions of which not even the address is known.
    pub unknown: u64,
    /// Instructions by kind.
    pub mix: Mix,
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
    /// Events by kind.
    pub events: BTreeMap<&'static str, u64>,
    /// Traps.
    pub traps: Traps,
    /// Instructions by context; `unknown` where nothing is known of it.
    pub contexts: BTreeMap<String, u64>,
    /// Gaps by reason.
    pub gaps: BTreeMap<GapReason, u64>,
    /// The blocks that all of it comes from.
    pub executed: Executed,
}

/// Executions of code that control entered at one address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HotBlock {
    /// Times it was entered.
    pub entries: u64,
    /// Instructions executed in it.
    pub instructions: u64,
}

impl Summary {
    pub(super) fn new(stats: Stats) -> Self {
        let executed = stats.executed.finish();
        let mut contexts = stats.contexts.by_name();
        contexts.retain(|_, count| *count > 0);
        let unknown = executed.unknown().values().sum();
        let (mut retired, mut attempted) = (unknown, 0);
        let mut counts = stats.events;
        counts[Kind::Step as usize] += unknown;
        for block in executed.blocks() {
            let instructions = block.passes * block.code.count();
            let failed = if block.code.ending == End::Attempted { block.passes } else { 0 };
            attempted += failed;
            retired += instructions - failed;
            if block.code.opaque.is_some() {
                counts[Kind::Run as usize] += block.passes;
            } else {
                counts[Kind::Step as usize] += instructions;
            }
        }
        Summary {
            retired,
            attempted,
            unknown,
            mix: Mix::new(&executed),
            branches: Branches::new(&executed),
            memory: stats.memory,
            registers: stats.registers,
            csrs: stats.csrs,
            times: stats.times,
            events: EVENTS.into_iter().zip(counts).filter(|(_, count)| *count > 0).collect(),
            traps: stats.traps,
            contexts,
            gaps: stats.gaps,
            executed,
        }
    }

    /// Blocks by where they start.
    fn by_start(&self) -> BTreeMap<u64, HotBlock> {
        let mut starts: BTreeMap<u64, HotBlock> = BTreeMap::new();
        for block in self.executed.blocks() {
            let hot = starts.entry(block.code.start).or_default();
            hot.entries += block.passes;
            hot.instructions += block.passes * block.code.count();
        }
        starts
    }

    /// Distinct addresses at which blocks begin.
    pub fn block_count(&self) -> u64 {
        self.by_start().len() as u64
    }

    /// The `n` blocks with most instructions executed in them, hottest first.
    pub fn hottest(&self, n: usize) -> Vec<(u64, HotBlock)> {
        let mut all: Vec<(u64, HotBlock)> = self.by_start().into_iter().collect();
        all.sort_unstable_by_key(|(start, block)| (std::cmp::Reverse(block.instructions), *start));
        all.truncate(n);
        all
    }
}
