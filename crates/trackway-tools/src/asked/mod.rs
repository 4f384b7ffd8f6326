//! Analyses that statistics run when they are asked for: predictors, loops, dependences, reuse, strides, sharing.
//!
//! They complete the [statistics](crate::stats) in the same pass. Parts of a trace can be observed separately and merged in
//! order. Dependences, reuse, strides and sharing count each part alone and settle at its borders what reaches over them;
//! predictors and loops need everything that came before, so a part keeps its flow, a byte or two for each block, and they
//! follow it when the part is merged. Each has a result only where the trace holds what it is about, and says how many gaps
//! taint it.
//!
//! ```
//! use trackway_core::*;
//! use trackway_tools::asked::{Analysis, Asked};
//!
//! // 1: c.addi a0, 1; bne a0, a1, 1b: three times round.
//! let mut batch = Batch::default();
//! for taken in [true, true, false] {
//!     batch.push(0, EventKind::Step(Step::new(0x8000, 0x0505, 2)));
//!     batch.push(0, EventKind::Step(Step { taken: Some(taken), ..Step::new(0x8002, 0xfeb5_1fe3, 4) }));
//! }
//! let mut asked = Asked::new(Isa::Rv64, &[], &[Analysis::Loops, Analysis::Reuse]);
//! asked.observe(&batch);
//! let (summary, answers) = asked.finish();
//! let looped = &answers.loops.unwrap().list[0];
//! assert_eq!((looped.header.pc, looped.entries, looped.iterations), (0x8000, 1, 3));
//! assert!(answers.reuse.is_none()); // no memory accesses in this trace
//! assert_eq!(summary.retired, 6);
//! ```

mod accesses;
mod dependences;
mod exits;
mod loops;
mod positions;
mod powers;
mod predict;
mod reuse;
mod sharing;
mod strides;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trackway_core::{Batch, Context, Gap, Isa, Observer, Trap, pack, unpack};
use trackway_image::Image;

use crate::executed::{FlowLog, Follow, Pass, Space};
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

/// Statistics of a trace or a part of it, with the analyses that were asked for. Parts can be merged in order, and the result
/// is that of observing all of it.
#[derive(Debug)]
pub struct Asked {
    stats: Stats,
    flow: Following,
    parts: Parts<dependences::Observing>,
}

/// Predictors and loops need the order of the whole trace.
#[derive(Debug)]
enum Following {
    /// Neither was asked for.
    Not,
    /// Of the whole trace: they follow it.
    Live(Box<Flow>),
    /// Of a part: its flow is kept for them.
    Kept(FlowLog),
}

/// Those that count each part alone.
#[derive(Debug, Serialize, Deserialize)]
struct Parts<D> {
    dependences: Option<D>,
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
#[derive(Debug, Default)]
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
    /// Statistics and the analyses of the list, of a whole trace before its first batch. With programs, one for each source or
    /// one for all, runs are counted instruction by instruction.
    pub fn new(isa: Isa, programs: &[Arc<Image>], list: &[Analysis]) -> Self {
        let asks = |analysis| list.contains(&analysis);
        let flow = Flow {
            exits: exits::Exits::default(),
            predictors: asks(Analysis::Predictors).then(predict::Following::default),
            loops: asks(Analysis::Loops).then(loops::Following::default),
        };
        let follows = flow.predictors.is_some() || flow.loops.is_some();
        Asked {
            stats: Stats::new(isa, programs),
            flow: if follows { Following::Live(Box::new(flow)) } else { Following::Not },
            parts: Parts {
                dependences: asks(Analysis::Dependences).then(|| dependences::Observing::new(isa, programs)),
                reuse: asks(Analysis::Reuse).then(|| reuse::Observing::new(EXACT_LINES)),
                strides: asks(Analysis::Strides).then(strides::Observing::default),
                sharing: asks(Analysis::Sharing).then(sharing::Observing::default),
            },
        }
    }

    /// Reuse distances are exact up to this number of distinct lines.
    pub fn exact_lines(mut self, lines: usize) -> Self {
        self.parts.reuse = self.parts.reuse.map(|_| reuse::Observing::new(lines));
        self
    }

    /// A part of the same trace, before its first batch.
    pub fn part(&self) -> Self {
        let Parts { dependences, reuse, strides, sharing } = &self.parts;
        Asked {
            stats: self.stats.another(),
            flow: match self.flow {
                Following::Not => Following::Not,
                Following::Live(_) | Following::Kept(_) => Following::Kept(FlowLog::default()),
            },
            parts: Parts {
                dependences: dependences.as_ref().map(dependences::Observing::fork),
                reuse: reuse.as_ref().map(reuse::Observing::fork),
                strides: strides.as_ref().map(|_| strides::Observing::default()),
                sharing: sharing.as_ref().map(|_| sharing::Observing::default()),
            },
        }
    }

    /// Before the first batch: the part begins in this context of this source.
    pub fn enter(&mut self, source: u16, context: &Context) {
        self.stats.enter(source, context);
        if let Some(dependences) = &mut self.parts.dependences {
            dependences.enter(source, context);
        }
    }

    /// The counts of a part in few bytes, for [`unpack`](Asked::unpack).
    pub fn pack(&self) -> Option<Vec<u8>> {
        let Parts { dependences, reuse, strides, sharing } = &self.parts;
        let log = match &self.flow {
            Following::Kept(log) => Some(log),
            Following::Not | Following::Live(_) => None,
        };
        let dependences = dependences.as_ref().map(dependences::Observing::counted);
        pack(&(self.stats.pack()?, log, dependences, reuse, strides, sharing))
    }

    /// Counts of a part of the same trace, with the same analyses; `None` if the bytes are not such counts.
    pub fn unpack(&self, bytes: &[u8]) -> Option<Self> {
        let (stats, log, parts): (Vec<u8>, Option<FlowLog>, Parts<dependences::Counted>) = unpack(bytes)?;
        let Parts { dependences, reuse, strides, sharing } = parts;
        let flow = match (&self.flow, log) {
            (Following::Not, None) => Following::Not,
            (Following::Live(_) | Following::Kept(_), Some(mut log)) => {
                log.restore()?;
                Following::Kept(log)
            }
            _ => return None,
        };
        let known = &self.parts;
        let same = known.reuse.is_some() == reuse.is_some()
            && known.strides.is_some() == strides.is_some()
            && known.sharing.is_some() == sharing.is_some();
        let dependences = match (&known.dependences, dependences) {
            (Some(known), Some(counted)) => Some(known.restore(counted)),
            (None, None) => None,
            _ => return None,
        };
        let parts = Parts { dependences, reuse, strides, sharing };
        same.then_some(Asked { stats: self.stats.unpack(&stats)?, flow, parts })
    }

    /// True if observing everything in one part has the same result: see [`Stats::is_exact`].
    pub fn is_exact(&self) -> bool {
        self.stats.is_exact()
    }

    /// The end of the trace.
    pub fn finish(self) -> (Summary, Answers) {
        let Asked { mut stats, flow, parts } = self;
        let (mut predictors, mut loops) = (None, None);
        if let Following::Live(mut flow) = flow {
            stats.end(&mut *flow);
            (predictors, loops) = (flow.predictors, flow.loops);
        }
        let summary = stats.finish();
        let Parts { dependences, reuse, strides, sharing } = parts;
        let answers = Answers {
            predictors: predictors.and_then(|predictors| predictors.finish(&summary)),
            loops: loops.and_then(|loops| loops.finish(&summary)),
            dependences: dependences.and_then(dependences::Observing::finish),
            reuse: reuse.and_then(reuse::Observing::finish),
            strides: strides.and_then(|strides| strides.finish(&summary)),
            sharing: sharing.and_then(sharing::Observing::finish),
        };
        (summary, answers)
    }
}

impl Observer for Asked {
    fn observe(&mut self, batch: &Batch) {
        match &mut self.flow {
            Following::Not => self.stats.observe(batch),
            Following::Live(flow) => self.stats.follow(batch, &mut **flow),
            Following::Kept(log) => self.stats.follow(batch, log),
        }
        let Parts { dependences, reuse, strides, sharing } = &mut self.parts;
        if let Some(dependences) = dependences {
            dependences.observe(batch);
        }
        if let Some(reuse) = reuse {
            reuse.observe(batch);
        }
        if let Some(strides) = strides {
            strides.observe(batch);
        }
        if let Some(sharing) = sharing {
            sharing.observe(batch);
        }
    }

    fn fork(&self) -> Box<dyn Observer> {
        Box::new(self.part())
    }

    fn merge(&mut self, later: Box<dyn Observer>) {
        let Asked { stats, flow, parts } = *later.downcast::<Self>();
        match (&mut self.flow, flow) {
            (Following::Live(flow), Following::Kept(log)) => self.stats.join(stats, &log, &mut **flow),
            (Following::Kept(kept), Following::Kept(log)) => self.stats.join(stats, &log, kept),
            _ => self.stats.merge(Box::new(stats)),
        }
        let Parts { dependences, reuse, strides, sharing } = &mut self.parts;
        if let (Some(here), Some(later)) = (dependences, parts.dependences) {
            here.merge(later);
        }
        if let (Some(here), Some(later)) = (reuse, parts.reuse) {
            here.merge(later);
        }
        if let (Some(here), Some(later)) = (strides, parts.strides) {
            here.merge(later);
        }
        if let (Some(here), Some(later)) = (sharing, parts.sharing) {
            here.merge(later);
        }
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
