//! A trace over time: counts for each interval of instructions, working sets, and where code and data were touched.
//!
//! Intervals are counted from the first instruction of each source, as positions are. How many lines are new in an
//! interval depends on all before it, and no part of a trace knows where its intervals begin, so a trace is observed in
//! order. Memory is bounded by distinct lines, pages and branches: without a given width intervals are put together in
//! pairs whenever there are too many of them.
//!
//! ```
//! use trackway_core::*;
//! use trackway_tools::series::{Series, Width};
//!
//! let mut batch = Batch::default();
//! for n in 0..5 {
//!     let begun = batch.begin_accesses();
//!     batch.mem.push(MemAccess::read(0x1000 + 64 * (n / 2), 8, Value::Unknown));
//!     let accesses = batch.end_accesses(begun).expect("one access fits");
//!     batch.push(0, EventKind::Step(Step { accesses, ..Step::new(0x8000, 0x6108, 2) })); // c.ld a0, 0(a0)
//! }
//! let mut series = Series::new(Isa::Rv64, &[], Width::Fixed(3));
//! series.observe(&batch);
//! let timelines = series.finish();
//! let lines: Vec<_> = timelines[&0].intervals.iter().map(|interval| (interval.lines(), interval.new_lines())).collect();
//! assert_eq!(lines, [(2, 2), (2, 1)]);
//! ```

mod density;
mod interval;
mod timeline;

use std::collections::BTreeMap;
use std::sync::Arc;

use trackway_core::*;
use trackway_image::{Image, Memory, expand, program, taken_at_end};
use trackway_isa::{Class, Recent, class};

use crate::attempted::RunKey;
use crate::stats::is_conditional;

pub use density::Density;
pub use interval::{Interval, Times};
pub use timeline::{LONGEST_ACCESS, MOST_FIXED, Timeline};

/// Kinds of instructions: the classes, then those without a known encoding and those of runs without known code.
pub const KINDS: usize = Class::ALL.len() + 2;
const UNKNOWN: u8 = KINDS as u8 - 2;
const IN_RUNS: u8 = KINDS as u8 - 1;

/// The name of a kind.
pub fn kind_name(kind: usize) -> &'static str {
    match Class::ALL.get(kind) {
        Some(class) => class.as_str(),
        None if kind == usize::from(UNKNOWN) => "unknown",
        None => "in runs",
    }
}

/// How many instructions an interval has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// This many, without density maps.
    Fixed(u64),
    /// As many as needed for a picture.
    Fitting,
}

/// Observes a trace in order.
#[derive(Debug)]
pub struct Series {
    isa: Isa,
    programs: Vec<Arc<Image>>,
    /// All contexts see the same of the programs.
    is_everywhere: bool,
    width: Width,
    lanes: BTreeMap<u16, Lane>,
    kinds: Recent<u64, Kind, 4096>,
    runs: Recent<RunKey, Box<[Piece]>, 1024>,
}

/// One source.
#[derive(Debug)]
struct Lane {
    context: Context,
    memory: Option<Arc<Memory>>,
    timeline: Timeline,
}

/// An instruction, as intervals see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kind {
    class: u8,
    is_conditional: bool,
}

/// Instructions of a run: one of known code, or several of unknown code.
#[derive(Clone, Copy, Debug)]
struct Piece {
    pc: u64,
    /// `None` if the code is not known.
    kind: Option<Kind>,
    count: u32,
    is_attempted: bool,
}

/// The longest run whose instructions are kept.
const LONGEST_RUN: u32 = 4096;

impl Series {
    /// Nothing seen yet. With programs, one for each source or one for all, runs are counted by instruction.
    pub fn new(isa: Isa, programs: &[Arc<Image>], width: Width) -> Self {
        Series {
            isa,
            programs: programs.to_vec(),
            is_everywhere: programs.iter().all(|program| program.is_everywhere()),
            width,
            lanes: BTreeMap::new(),
            kinds: Recent::default(),
            runs: Recent::default(),
        }
    }

    /// Takes in a batch; batches come in order.
    pub fn observe(&mut self, batch: &Batch) {
        let Series { isa, programs, is_everywhere, width, lanes, kinds, runs } = self;
        let see = |context: &Context| {
            (!programs.is_empty()).then(|| program(programs, batch.source).memory(context))
        };
        let lane = lanes.entry(batch.source).or_insert_with(|| Lane {
            context: Context::default(),
            memory: see(&Context::default()),
            timeline: Timeline::new(batch.first_instruction, *width),
        });
        for event in &batch.events {
            let timeline = &mut lane.timeline;
            match &event.kind {
                EventKind::Step(step) => {
                    let isa = lane.context.isa.unwrap_or(*isa);
                    let kind = kind_of(kinds, lane.memory.as_deref(), isa, step);
                    timeline.instruction(step.pc, kind, step.taken, step.outcome == Outcome::Attempted);
                    timeline.accesses(batch.mem_of(step.accesses));
                }
                EventKind::Run(run) if run.withdrawn => {}
                EventKind::Run(run) => {
                    observe_run(timeline, kinds, runs, lane.memory.as_deref(), run);
                    timeline.accesses(batch.mem_of(batch.accesses_of(run)));
                }
                EventKind::Trap(n) => timeline.trap(&batch.traps[*n as usize]),
                EventKind::Gap(_) => timeline.gap(),
                EventKind::Time(time) => timeline.time(time),
                EventKind::Context(n) => {
                    lane.context.update(&batch.contexts[*n as usize]);
                    if !*is_everywhere {
                        lane.memory = see(&lane.context);
                    }
                }
                EventKind::Mark(_) | EventKind::State(_) | EventKind::Foreign(_) => {}
            }
        }
    }

    /// The end of the trace: the timeline of each source.
    pub fn finish(self) -> BTreeMap<u16, Timeline> {
        let timelines = self.lanes.into_iter().map(|(source, mut lane)| {
            lane.timeline.end();
            (source, lane.timeline)
        });
        timelines.collect()
    }
}

fn kind_of(kinds: &mut Recent<u64, Kind, 4096>, memory: Option<&Memory>, isa: Isa, step: &Step) -> Kind {
    let (mut encoding, mut length) = (step.encoding, step.length);
    if length == 0 {
        let found = step.pc.zip(memory).and_then(|(pc, memory)| memory.fetch(isa, pc));
        (encoding, length) = found.unwrap_or((0, 0));
    }
    if length == 0 {
        return Kind { class: UNKNOWN, is_conditional: false };
    }
    *kinds.get(u64::from(encoding) | (isa as u64) << 32, || Kind {
        class: class(isa, encoding) as u8,
        is_conditional: is_conditional(isa, encoding),
    })
}

/// A run, instruction by instruction where its code is known.
fn observe_run(
    timeline: &mut Timeline,
    kinds: &mut Recent<u64, Kind, 4096>,
    runs: &mut Recent<RunKey, Box<[Piece]>, 1024>,
    memory: Option<&Memory>,
    run: &Run,
) {
    let taken = taken_at_end(run);
    let mut left = run.count;
    let mut show = |piece: Piece| {
        left = left.saturating_sub(piece.count);
        let taken = taken.filter(|_| left == 0);
        match piece.kind {
            Some(kind) => {
                let is_attempted = piece.is_attempted || (left == 0 && run.attempted);
                timeline.instruction(Some(piece.pc), kind, taken, is_attempted);
            }
            None => timeline.unknown_code(piece.pc, piece.count, run, taken),
        }
    };
    let Some(memory) = memory else {
        return show(Piece { pc: run.start, kind: None, count: run.count, is_attempted: false });
    };
    if run.count > LONGEST_RUN {
        return pieces(kinds, memory, run, show);
    }
    let known = runs.get(RunKey::new(memory, run), || {
        let mut list = Vec::new();
        pieces(kinds, memory, run, |piece| list.push(piece));
        list.into()
    });
    known.iter().for_each(|piece| show(*piece));
}

fn pieces(kinds: &mut Recent<u64, Kind, 4096>, memory: &Memory, run: &Run, mut put: impl FnMut(Piece)) {
    let plain = Run { attempted: false, ..*run };
    expand(memory, &plain, Accesses::default(), |kind| match kind {
        EventKind::Step(step) => put(Piece {
            pc: step.pc.unwrap_or(0),
            kind: Some(kind_of(kinds, None, run.isa, &step)),
            count: 1,
            is_attempted: step.outcome == Outcome::Attempted,
        }),
        EventKind::Run(rest) => {
            put(Piece { pc: rest.start, kind: None, count: rest.count, is_attempted: false })
        }
        _ => {}
    });
}
