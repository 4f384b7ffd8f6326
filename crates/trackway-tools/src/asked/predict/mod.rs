//! Mispredictions under predictors of stated sizes.
//!
//! Each source has predictors of its own. A gap forgets the history of outcomes and the return stack, and keeps the tables. Returns
//! from calls that are not in the trace are not counted, nor are jumps with a trap or a gap before their target.

mod directions;
mod tage;
mod targets;

use std::collections::BTreeMap;

use trackway_core::Isa;
use trackway_isa::Control;

use super::exits::Exit;
use crate::executed::{BlockId, Pass};
use crate::stats::{Address, Summary};
use directions::{Bimodal, Gshare};
use tage::Tage;
use targets::{ReturnStack, TargetCache};

/// A predictor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Predictor {
    /// A counter per branch.
    Bimodal,
    /// Counters by branch and the last outcomes.
    Gshare,
    /// Tables with histories of growing lengths.
    Tage,
    /// The target of returns.
    ReturnStack,
    /// The target of indirect jumps and calls.
    TargetCache,
}

impl Predictor {
    /// All of them.
    pub const ALL: [Predictor; 5] = [
        Predictor::Bimodal,
        Predictor::Gshare,
        Predictor::Tage,
        Predictor::ReturnStack,
        Predictor::TargetCache,
    ];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Predictor::Bimodal => "bimodal",
            Predictor::Gshare => "gshare",
            Predictor::Tage => "tage-like",
            Predictor::ReturnStack => "return stack",
            Predictor::TargetCache => "indirect target cache",
        }
    }

    /// Its size.
    pub fn size(self) -> String {
        match self {
            Predictor::Bimodal => format!("{} two-bit counters", directions::BIMODAL),
            Predictor::Gshare => {
                let (counters, history) = (directions::GSHARE, directions::GSHARE.ilog2());
                format!("{counters} two-bit counters, {history} outcomes of history")
            }
            Predictor::Tage => {
                let [a, b, c, d] = tage::HISTORIES;
                let (base, entries) = (directions::BIMODAL, tage::ENTRIES);
                format!(
                    "{base} two-bit counters, 4 tables of {entries} entries with {a}, {b}, {c} and {d} outcomes of history"
                )
            }
            Predictor::ReturnStack => format!("{} return addresses", targets::FRAMES),
            Predictor::TargetCache => format!("{} targets by address", targets::TARGETS),
        }
    }
}

/// Predictions of a trace.
#[derive(Clone, Debug)]
pub struct Predictors {
    /// Each of them.
    pub list: Vec<Predicted>,
    /// Gaps, after which histories begin anew.
    pub gaps: u64,
    /// Conditional branches without a known outcome: they are not predicted.
    pub unknown: u64,
}

/// Predictions of one predictor.
#[derive(Clone, Debug)]
pub struct Predicted {
    /// Which.
    pub predictor: Predictor,
    /// Predictions and mispredictions; `None` where the trace has nothing to predict.
    pub counts: Option<[u64; 2]>,
    /// Predictions and mispredictions of each branch whose address is known.
    pub places: BTreeMap<Address, [u64; 2]>,
}

/// Predictions while the trace is read.
#[derive(Debug, Default)]
pub(super) struct Following {
    cores: BTreeMap<u16, Core>,
    /// By number of the block that ends with the branch.
    blocks: Vec<Counts>,
    gaps: u64,
    unknown: u64,
}

/// Predictions at the end of a block.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    predictions: u64,
    /// Mispredictions of the three predictors of directions, or of the one for targets.
    missed: [u64; 3],
    /// The predictor for targets.
    targets: Option<Predictor>,
    pc: Option<u64>,
    source: u16,
}

/// The predictors of one source.
#[derive(Debug, Default)]
struct Core {
    bimodal: Bimodal,
    gshare: Gshare,
    tage: Tage,
    /// Outcomes, the last one in bit 0.
    history: u64,
    returns: ReturnStack,
    targets: TargetCache,
    /// A jump whose target comes next.
    pending: Option<Pending>,
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    id: BlockId,
    /// The predictor, its answer, and the key of the jump.
    predictor: Predictor,
    predicted: Option<u64>,
    key: u64,
}

impl Following {
    pub(super) fn pass(&mut self, pass: &Pass<'_>, exit: &Exit) {
        let Following { cores, blocks, unknown, .. } = self;
        let core = cores.entry(pass.source).or_default();
        let code = &pass.block.code;
        if let Some(Pending { id, predictor, predicted, key }) = core.pending.take() {
            let counts = &mut blocks[id as usize];
            counts.predictions += 1;
            counts.missed[0] += u64::from(predicted != Some(code.start));
            if predictor == Predictor::TargetCache {
                core.targets.learn(key, code.start);
            }
        }
        if !exit.control.is_transfer() {
            return;
        }
        let place = pass.id as usize;
        if place >= blocks.len() {
            blocks.resize(place + 1, Counts::default());
        }
        let counts = &mut blocks[place];
        (counts.pc, counts.source) = (exit.pc, pass.source);
        // Without its code a branch is known by the address after it.
        let at = exit.pc.unwrap_or(code.end);
        let key = at >> if matches!(code.isa, Isa::A64 | Isa::A32) { 2 } else { 1 };
        if exit.conditional {
            let Some(taken) = pass.taken else {
                *unknown += 1;
                return;
            };
            if exit.control == Control::Branch {
                counts.predictions += 1;
                let Core { bimodal, gshare, tage, history, .. } = core;
                let predicted = [
                    bimodal.predict(key, taken),
                    gshare.predict(key, *history, taken),
                    tage.predict(key, *history, taken),
                ];
                for (missed, predicted) in counts.missed.iter_mut().zip(predicted) {
                    *missed += u64::from(predicted != taken);
                }
                *history = *history << 1 | u64::from(taken);
                return;
            }
            if !taken {
                return;
            }
        }
        let control = exit.control;
        if control.is_return() {
            counts.targets = Some(Predictor::ReturnStack);
            core.pending = core.returns.pop().map(|predicted| Pending {
                id: pass.id,
                predictor: Predictor::ReturnStack,
                predicted,
                key,
            });
        } else if control.is_indirect() && control != Control::TrapReturn {
            let predicted = core.targets.predict(key);
            counts.targets = Some(Predictor::TargetCache);
            core.pending = Some(Pending { id: pass.id, predictor: Predictor::TargetCache, predicted, key });
        }
        if control.is_call() {
            core.returns.push(code.end);
        }
    }

    /// Something comes between a jump and its target.
    pub(super) fn interrupt(&mut self, source: u16) {
        self.cores.entry(source).or_default().pending = None;
    }

    pub(super) fn gap(&mut self, source: u16) {
        self.gaps += 1;
        let core = self.cores.entry(source).or_default();
        (core.pending, core.history, core.returns) = (None, 0, ReturnStack::default());
    }

    pub(super) fn finish(self, stats: &Summary) -> Option<Predictors> {
        let list = Predictor::ALL.map(|predictor| {
            let mut places: BTreeMap<Address, [u64; 2]> = BTreeMap::new();
            let mut sums = [0; 2];
            for counts in &self.blocks {
                let missed = match (predictor, counts.targets) {
                    (Predictor::Bimodal, None) => counts.missed[0],
                    (Predictor::Gshare, None) => counts.missed[1],
                    (Predictor::Tage, None) => counts.missed[2],
                    (predictor, Some(targets)) if predictor == targets => counts.missed[0],
                    _ => continue,
                };
                sums[0] += counts.predictions;
                sums[1] += missed;
                if let Some(pc) = counts.pc.filter(|_| counts.predictions > 0) {
                    let place = places.entry(stats.address(counts.source, pc)).or_default();
                    place[0] += counts.predictions;
                    place[1] += missed;
                }
            }
            Predicted { predictor, counts: (sums[0] > 0).then_some(sums), places }
        });
        let any = list.iter().any(|predicted| predicted.counts.is_some());
        any.then(|| Predictors { list: list.into(), gaps: self.gaps, unknown: self.unknown })
    }
}
