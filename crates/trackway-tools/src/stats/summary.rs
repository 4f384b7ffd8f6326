//! The result of counting a trace.

use std::collections::BTreeMap;

use trackway_core::GapReason;

use super::addresses::{Address, Addresses};
use super::branches::Branches;
use super::memory::Memory;
use super::mix::Mix;
use super::observe::Kind;
use super::times::Times;
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
    pub(super) addresses: Addresses,
    pub(super) spent: Times,
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
        let addresses = Addresses::new(executed.programs());
        Summary {
            retired,
            attempted,
            unknown,
            mix: Mix::new(&executed),
            branches: Branches::new(&executed, &addresses),
            memory: stats.memory,
            registers: stats.registers,
            csrs: stats.csrs,
            times: stats.times,
            events: EVENTS.into_iter().zip(counts).filter(|(_, count)| *count > 0).collect(),
            traps: stats.traps,
            contexts,
            gaps: stats.gaps,
            executed,
            addresses,
            spent: stats.spent,
        }
    }

    /// An address that a source names.
    pub fn address(&self, source: u16, pc: u64) -> Address {
        self.addresses.of(source, pc)
    }

    /// Times that each known instruction was executed, and instructions of which only runs are known.
    pub fn executions(&self) -> (BTreeMap<Address, u64>, u64) {
        let mut all: BTreeMap<Address, u64> = BTreeMap::new();
        let mut unseen = 0;
        for block in self.executed.blocks() {
            unseen += block.code.opaque.map_or(0, |(count, _)| block.passes * u64::from(count));
            for (pc, _) in block.code.insts() {
                *all.entry(self.addresses.of_block(&self.executed, block, pc)).or_default() += block.passes;
            }
        }
        (all, unseen)
    }

    /// Cycles and ticks of timestamps by source and the address before which they were counted.
    pub fn spent(&self) -> Vec<(u16, Option<u64>, u64, u64)> {
        let spent = self.spent.places().map(|((source, pc), spent)| (source, pc, spent.cycles, spent.ticks));
        spent.collect()
    }

    /// The function at an address and how far, for people.
    pub fn symbol(&self, address: Address) -> Option<String> {
        self.addresses.program(address).place(address.pc)
    }

    /// The name of the source whose program an address is of, where there are several programs.
    pub fn program<'s>(&self, address: Address, sources: &'s [String]) -> Option<&'s str> {
        let several = self.addresses.are_several();
        several.then(|| sources.get(usize::from(address.program))).flatten().map(String::as_str)
    }

    /// Blocks by where they start.
    fn by_start(&self) -> BTreeMap<Address, HotBlock> {
        let mut starts: BTreeMap<Address, HotBlock> = BTreeMap::new();
        for block in self.executed.blocks() {
            let at = self.addresses.of_block(&self.executed, block, block.code.start);
            let hot = starts.entry(at).or_default();
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
    pub fn hottest(&self, n: usize) -> Vec<(Address, HotBlock)> {
        let mut all: Vec<(Address, HotBlock)> = self.by_start().into_iter().collect();
        all.sort_unstable_by_key(|(start, block)| (std::cmp::Reverse(block.instructions), *start));
        all.truncate(n);
        all
    }
}
