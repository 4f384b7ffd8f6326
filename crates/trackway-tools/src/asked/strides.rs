//! Strides of loads and stores: from the address of one execution of an instruction to that of the next.

use std::collections::BTreeMap;

use trackway_core::Batch;

use super::accesses::{Part, is_data, parts};
use crate::stats::{Address, Summary};
use crate::table::Table;

/// Strides of an instruction that are counted.
const KEPT: usize = 16;

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
    /// Strides that were left out because there were too many different ones.
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
#[derive(Debug, Default)]
pub(super) struct Observing {
    lanes: BTreeMap<u16, Lane>,
    unseen: u64,
    gaps: u64,
}

#[derive(Debug, Default)]
struct Lane {
    instructions: Table<Counts>,
    /// Gaps so far.
    gaps: u64,
}

#[derive(Debug, Default)]
struct Counts {
    /// The last address, and the gaps before it.
    last: Option<(u64, u64)>,
    executions: u64,
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
        let Some((last, before)) = self.last.replace((address, gaps)) else { return };
        if before != gaps {
            return;
        }
        let stride = address.wrapping_sub(last) as i64;
        if let Some((_, count)) = self.strides.iter_mut().find(|(known, _)| *known == stride) {
            *count += 1;
            return;
        }
        if self.strides.len() < KEPT {
            return self.strides.push((stride, 1));
        }
        // The rarest one makes room.
        if let Some(rarest) = self.strides.iter_mut().min_by_key(|(_, count)| *count) {
            self.left_out += rarest.1;
            *rarest = (stride, 1);
        }
    }
}
