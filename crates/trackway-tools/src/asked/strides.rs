//! Strides of loads and stores: from the address of one execution of an instruction to that of the next.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use trackway_core::Batch;

use super::accesses::{Part, is_data, parts};
use crate::stats::{Address, Summary};
use crate::table::Table;

/// Strides of an instruction that are counted: the shortest ones, so that it is the same ones however a trace is cut into
/// parts.
const KEPT: usize = 32;

/// The strides of one instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stride {
    /// The instruction.
    pub address: Address,
    /// Executions with an address.
    pub executions: u64,
    /// Strides between them.
    pub strides: u64,
    /// The most frequent one and how often it came; at least so often where strides were left out.
    pub most: Option<(i64, u64)>,
    /// Strides that were left out because there were too many different ones: those longer than the 32 shortest.
    pub left_out: u64,
}

/// The strides of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strides {
    /// The instruction executed most often first.
    pub list: Vec<Stride>,
    /// Accesses of runs, whose instruction is not known.
    pub unseen: u64,
    /// Gaps: no stride reaches over one.
    pub gaps: u64,
}

/// Strides while the trace is read.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Observing {
    lanes: BTreeMap<u16, Lane>,
    unseen: u64,
    gaps: u64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Lane {
    instructions: Table<Counts>,
    /// Gaps so far.
    gaps: u64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Counts {
    /// The first and the last address, and the gaps of the part before each.
    ends: Option<[(u64, u64); 2]>,
    executions: u64,
    /// Each with its count, the shortest first.
    strides: Vec<(i64, u64)>,
    left_out: u64,
}

impl Observing {
    pub(super) fn observe(&mut self, batch: &Batch) {
        let lane = self.lanes.entry(batch.source).or_default();
        for part in parts(batch) {
            match part {
                Part::Executed(Some(pc), accesses) => {
                    // An instruction that accesses several places counts with the first.
                    if let Some(access) = accesses.iter().find(|access| is_data(access)) {
                        lane.instructions.at(pc).count(access.address, lane.gaps);
                    }
                }
                Part::Executed(None, accesses) => {
                    self.unseen += accesses.iter().filter(|access| is_data(access)).count() as u64;
                }
                Part::Gap => {
                    lane.gaps += 1;
                    self.gaps += 1;
                }
            }
        }
    }

    /// Adds those of the part that follows.
    pub(super) fn merge(&mut self, later: Observing) {
        self.unseen += later.unseen;
        self.gaps += later.gaps;
        for (source, next) in later.lanes {
            let lane = self.lanes.entry(source).or_default();
            let gaps = lane.gaps;
            lane.instructions.merge(next.instructions, |to, counts| to.merge(counts, gaps));
            lane.gaps += next.gaps;
        }
    }

    pub(super) fn finish(self, stats: &Summary) -> Option<Strides> {
        let mut list = Vec::new();
        for (source, lane) in self.lanes {
            for (pc, counts) in lane.instructions.entries {
                let kept: u64 = counts.strides.iter().map(|(_, count)| count).sum();
                let most =
                    counts.strides.iter().max_by_key(|(stride, count)| (*count, std::cmp::Reverse(*stride)));
                list.push(Stride {
                    address: stats.address(source, pc),
                    executions: counts.executions,
                    strides: kept + counts.left_out,
                    most: most.copied(),
                    left_out: counts.left_out,
                });
            }
        }
        list.sort_by_key(|stride| (std::cmp::Reverse(stride.executions), stride.address));
        (!list.is_empty()).then_some(Strides { list, unseen: self.unseen, gaps: self.gaps })
    }
}

impl Counts {
    fn count(&mut self, address: u64, gaps: u64) {
        self.executions += 1;
        let here = (address, gaps);
        let Some([_, last]) = &mut self.ends else {
            self.ends = Some([here; 2]);
            return;
        };
        let (before, after) = (std::mem::replace(last, here), here);
        self.step(before, after);
    }

    /// From one address to the next.
    fn step(&mut self, (before, gaps_before): (u64, u64), (after, gaps): (u64, u64)) {
        if gaps_before == gaps {
            self.add(after.wrapping_sub(before) as i64, 1);
        }
    }

    fn add(&mut self, stride: i64, times: u64) {
        let length = |stride: i64| (stride.unsigned_abs(), stride);
        let place = self.strides.binary_search_by_key(&length(stride), |(known, _)| length(*known));
        match place {
            Ok(place) => self.strides[place].1 += times,
            Err(KEPT..) => self.left_out += times,
            Err(place) => {
                if self.strides.len() == KEPT {
                    self.left_out += self.strides.pop().map_or(0, |(_, times)| times);
                }
                self.strides.insert(place, (stride, times));
            }
        }
    }

    /// Adds those of the part that follows; `gaps` came before it.
    fn merge(&mut self, later: Counts, gaps: u64) {
        self.executions += later.executions;
        self.left_out += later.left_out;
        later.strides.into_iter().for_each(|(stride, times)| self.add(stride, times));
        let Some(ends) = later.ends else { return };
        let [first, last] = ends.map(|(address, before)| (address, gaps + before));
        let before = self.ends.map(|[_, before]| before);
        self.ends = Some([self.ends.map_or(first, |[first, _]| first), last]);
        if let Some(before) = before {
            self.step(before, first);
        }
    }
}
