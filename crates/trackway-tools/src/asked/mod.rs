//! Analyses that statistics run when they are asked for: predictors, loops, dependences, reuse, strides, sharing.
//!
//! They need the order of things, so they take in a trace on one thread, together with the [statistics](crate::stats) that
//! they complete. Each has a result only where the trace holds what it is about, and says how many gaps taint it.
//!
//! ```
//! use trackway_core::*;
//! use trackway_tools::asked::{Analysis, Asked};
//! use trackway_tools::stats::Stats;
//!
//! // 1: c.addi a0, 1; bne a0, a1, 1b: three times round.
//! let mut batch = Batch::default();
//! for taken in [true, true, false] {
//!     batch.push(0, EventKind::Step(Step::new(0x8000, 0x0505, 2)));
//!     batch.push(0, EventKind::Step(Step { taken: Some(taken), ..Step::new(0x8002, 0xfeb5_1fe3, 4) }));
//! }
//! let mut stats = Stats::new(Isa::Rv64, &[]);
//! let mut asked = Asked::new(Isa::Rv64, &[], &[Analysis::Loops, Analysis::Reuse]);
//! asked.observe(&mut stats, &batch);
//! let (summary, answers) = asked.finish(stats);
//! let looped = &answers.loops.unwrap().list[0];
//! assert_eq!((looped.header.pc, looped.entries, looped.iterations), (0x8000, 1, 3));
//! assert!(answers.reuse.is_none()); // no memory accesses in this trace
//! assert_eq!(summary.retired, 6);
//! ```

mod accesses;
mod dependences;
mod exits;
mod loops;
mod powers;
mod predict;
mod reuse;
mod sharing;
mod strides;

use std::sync::Arc;

use trackway_core::{Batch, Gap, Isa, Trap};
use trackway_image::Image;

use crate::executed::{Follow, Pass, Space};
use crate::stats::{Stats, Summary};

pub use dependences::Dependences;
pub use loops::{Loop, Loops};
pub use powers::Powers;
pub use predict::{Predicted, Predictor, Predictors};
pub use reuse::{EXACT_LINES, Reuse};
pub use sharing::{SharedLine, Sharing};
pub use strides::{Stride, Strides};

/// An analysis that can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Analysis {
    /// Mispredictions of branches, returns and indirect jumps.
    Predictors,
    /// Loops and their trip counts.
    Loops,
    /// Distances from the producer of a register to its consumer.
    Dependences,
    /// Reuse distances of cache lines.
    Reuse,
    /// Strides of loads and stores.
    Strides,
    /// Lines that several sources touch.
    Sharing,
}

impl Analysis {
    /// All of them.
    pub const ALL: [Analysis; 6] = [
        Analysis::Predictors,
        Analysis::Loops,
        Analysis::Dependences,
        Analysis::Reuse,
        Analysis::Strides,
        Analysis::Sharing,
    ];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Analysis::Predictors => "predictors",
            Analysis::Loops => "loops",
            Analysis::Dependences => "dependences",
            Analysis::Reuse => "reuse",
            Analysis::Strides => "strides",
            Analysis::Sharing => "sharing",
        }
    }

    /// Its result in a few words.
    pub const fn about(self) -> &'static str {
        match self {
            Analysis::Predictors => {
                "Mispredictions under bimodal, gshare and TAGE-like predictors, return stack and target cache"
            }
            Analysis::Loops => "Loops with trip counts",
            Analysis::Dependences => "Distances from the writer of a register to its readers",
            Analysis::Reuse => "Reuse distances of cache lines",
            Analysis::Strides => "Strides of loads and stores",
            Analysis::Sharing => "Lines that several sources touch, and false sharing",
        }
    }
}

/// The analyses that run.
#[derive(Debug)]
pub struct Asked {
    flow: Flow,
    dependences: Option<dependences::Observing>,
    reuse: Option<reuse::Observing>,
    strides: Option<strides::Observing>,
    sharing: Option<sharing::Observing>,
}

/// Those that follow the flow.
#[derive(Debug)]
struct Flow {
    exits: exits::Exits,
    predictors: Option<predict::Following>,
    loops: Option<loops::Following>,
}

/// Their results; `None` where one was not asked for, or the trace holds nothing of it.
#[derive(Debug)]
pub struct Answers {
    /// Mispredictions.
    pub predictors: Option<Predictors>,
    /// Loops.
    pub loops: Option<Loops>,
    /// Dependence distances.
    pub dependences: Option<Dependences>,
    /// Reuse distances.
    pub reuse: Option<Reuse>,
    /// Strides.
    pub strides: Option<Strides>,
    /// Shared lines.
    pub sharing: Option<Sharing>,
}

impl Asked {
    /// Those of the list, before the first batch.
    pub fn new(isa: Isa, programs: &[Arc<Image>], list: &[Analysis]) -> Self {
        let asks = |analysis| list.contains(&analysis);
        Asked {
            flow: Flow {
                exits: exits::Exits::default(),
                predictors: asks(Analysis::Predictors).then(predict::Following::default),
                loops: asks(Analysis::Loops).then(loops::Following::default),
            },
            dependences: asks(Analysis::Dependences).then(|| dependences::Observing::new(isa, programs)),
            reuse: asks(Analysis::Reuse).then(|| reuse::Observing::new(EXACT_LINES)),
            strides: asks(Analysis::Strides).then(strides::Observing::default),
            sharing: asks(Analysis::Sharing).then(sharing::Observing::default),
        }
    }

    /// Reuse distances are exact up to this number of distinct lines.
    pub fn exact_lines(mut self, lines: usize) -> Self {
        self.reuse = self.reuse.map(|_| reuse::Observing::new(lines));
        self
    }

    /// Takes in a batch, in order, also for the statistics.
    pub fn observe(&mut self, stats: &mut Stats, batch: &Batch) {
        stats.follow(batch, &mut self.flow);
        if let Some(dependences) = &mut self.dependences {
            dependences.observe(batch);
        }
        if let Some(reuse) = &mut self.reuse {
            reuse.observe(batch);
        }
        if let Some(strides) = &mut self.strides {
            strides.observe(batch);
        }
        if let Some(sharing) = &mut self.sharing {
            sharing.observe(batch);
        }
    }

    /// The end of the trace.
    pub fn finish(mut self, mut stats: Stats) -> (Summary, Answers) {
        stats.end(&mut self.flow);
        let summary = stats.finish();
        let answers = Answers {
            predictors: self.flow.predictors.and_then(|predictors| predictors.finish(&summary)),
            loops: self.flow.loops.and_then(|loops| loops.finish(&summary)),
            dependences: self.dependences.and_then(dependences::Observing::finish),
            reuse: self.reuse.and_then(reuse::Observing::finish),
            strides: self.strides.and_then(|strides| strides.finish(&summary)),
            sharing: self.sharing.and_then(sharing::Observing::finish),
        };
        (summary, answers)
    }
}

impl Follow for Flow {
    fn pass(&mut self, pass: &Pass<'_>) {
        let exit = self.exits.of(pass);
        if let Some(predictors) = &mut self.predictors {
            predictors.pass(pass, &exit);
        }
        if let Some(loops) = &mut self.loops {
            loops.pass(pass, &exit);
        }
    }

    fn trap(&mut self, source: u16, trap: &Trap) {
        if let Some(predictors) = &mut self.predictors {
            predictors.interrupt(source);
        }
        if let Some(loops) = &mut self.loops {
            loops.trap(source, trap);
        }
    }

    fn gap(&mut self, source: u16, _gap: &Gap) {
        if let Some(predictors) = &mut self.predictors {
            predictors.gap(source);
        }
        if let Some(loops) = &mut self.loops {
            loops.gap(source);
        }
    }

    fn enter(&mut self, space: &Space) {
        if let Some(loops) = &mut self.loops {
            loops.enter(space);
        }
    }
}
