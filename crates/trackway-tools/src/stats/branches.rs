//! Conditional branches.

use std::collections::BTreeMap;

use trackway_core::Exit;
use trackway_isa::flow;

use super::addresses::{Address, Addresses};
use super::count::add_each as add;
use crate::executed::Executed;

/// The conditional branches of a trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Branches {
    /// Taken, not taken, unknown.
    pub outcomes: [u64; 3],
    /// By address.
    pub places: BTreeMap<Address, Branch>,
    /// Those whose code is not known, by the address after them.
    pub unseen: BTreeMap<Address, Branch>,
}

/// The outcomes of one branch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Branch {
    /// Taken, not taken, unknown.
    pub outcomes: [u64; 3],
}

impl Branch {
    /// Share of the outcome that is more frequent, of those known; from 0.5 to 1.
    pub fn bias(&self) -> Option<f64> {
        let [taken, not_taken, _] = self.outcomes;
        let known = taken + not_taken;
        (known > 0).then(|| taken.max(not_taken) as f64 / known as f64)
    }

    /// Bits of surprise per outcome if outcomes were independent of each other: 0 for one that never changes, 1 for
    /// a coin.
    pub fn entropy(&self) -> Option<f64> {
        let p = self.bias()?;
        Some([p, 1.0 - p].into_iter().filter(|p| *p > 0.0).map(|p| -p * p.log2()).sum())
    }
}

impl Branches {
    pub(super) fn new(executed: &Executed, addresses: &Addresses) -> Self {
        let mut branches = Branches::default();
        for block in executed.blocks() {
            let code = &block.code;
            let at = |pc: u64| addresses.of_block(executed, block, pc);
            if let Some((_, Exit::Branch)) = code.opaque {
                add(&mut branches.outcomes, block.outcomes);
                add(&mut branches.unseen.entry(at(code.end)).or_default().outcomes, block.outcomes);
            }
            let last = code.insts.len().saturating_sub(1);
            for (n, (pc, inst)) in code.insts().enumerate() {
                if inst.length == 0 || !is_conditional(code.isa, inst.encoding) {
                    continue;
                }
                let outcomes = if n == last { block.outcomes } else { [0, 0, block.passes] };
                add(&mut branches.outcomes, outcomes);
                add(&mut branches.places.entry(at(pc)).or_default().outcomes, outcomes);
            }
        }
        branches
    }

    /// Number of distinct branches.
    pub fn distinct(&self) -> u64 {
        (self.places.len() + self.unseen.len()) as u64
    }
}

/// Is it a conditional branch?
pub(crate) fn is_conditional(isa: trackway_core::Isa, encoding: u32) -> bool {
    let flow = flow(isa, 0, encoding);
    flow.conditional || flow.control == trackway_isa::Control::Branch
}
