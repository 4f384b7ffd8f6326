//! Tandem verification: a trace beside the golden model (tandem spec 3.1 and 3.2).
//!
//! The trace's changes go into a *shadow state*; what the model cannot know (interrupts, time, devices) is
//! copied to it; the model makes one step; and all state is compared. After a mismatch the model takes the
//! shadow state and continues; the state without that is kept beside it (`worlds`). A step that reads an element in
//! which the two differ is judged with both values: one of them explains it, or it is a fault of its own.
//!
//! Any format can be verified: what the trace carries is checked, what it does not is not.

mod adopt;
mod collect;
mod compare;
pub mod coverage;
mod decode;
mod first_sight;
mod fresh;
mod history;
mod lacks;
mod masks;
mod memory;
mod minimise;
mod mismatch;
mod needs;
mod options;
mod report;
mod root_cause;
mod step;
mod suspects;
mod traced;
mod unsaid;
mod usual;
mod verifier;
mod worlds;

pub use coverage::Coverage;
pub use lacks::{Lack, Lacks, NotCompared, Place};
pub use masks::{Bits, Mask, MaskSettings, Masks};
pub use memory::{Memory, Range};
pub use minimise::{Minimal, minimise};
pub use needs::{Need, Needed};
pub use options::{Absent, Options};
pub(crate) use report::escape;
pub use report::{Class, Element, FollowUp, Mismatch, PastInstruction, Report, Verdict};
pub use verifier::Verifier;

use trackway_core::{Batch, Privilege, Result, Source};

/// Verifies a trace to its end, or until enough is found. Bad input is stepped over, and listed as not compared;
/// `memory` is filled with the program beforehand (see [`Verifier::memory`]).
pub fn verify(source: &mut dyn Source, verifier: &mut Verifier) -> Result<()> {
    run(source, verifier, Batch::default(), &mut |_| true)
}

/// Verifies a trace while it is written: instruction by instruction, as they come, and `watch` is shown the report
/// whenever a mismatch was added to it. It stops where `watch` returns false.
pub fn verify_live(
    source: &mut dyn Source,
    verifier: &mut Verifier,
    watch: &mut dyn FnMut(&Report) -> bool,
) -> Result<()> {
    run(source, verifier, Batch { is_eager: true, ..Batch::default() }, watch)
}

fn run(
    source: &mut dyn Source,
    verifier: &mut Verifier,
    mut batch: Batch,
    watch: &mut dyn FnMut(&Report) -> bool,
) -> Result<()> {
    let mut collector = collect::Collector::default();
    collector.is_flow = source.meta().flow_only;
    let mut seen = 0;
    let mut show = |verifier: &Verifier| {
        let count = verifier.report.mismatches.len();
        std::mem::replace(&mut seen, count) == count || watch(&verifier.report)
    };
    loop {
        match source.fill(&mut batch) {
            Ok(false) => break,
            Ok(true) => take(&batch, &mut collector, verifier),
            Err(error) => {
                collector.finish(&mut |observation| verifier.observe(observation));
                verifier.unreadable(error.offset);
                if !source.resync()? {
                    return Err(error);
                }
            }
        }
        if !show(verifier) || verifier.stopped() {
            return Ok(());
        }
    }
    collector.finish(&mut |observation| verifier.observe(observation));
    show(verifier);
    Ok(())
}

/// Takes the events of a batch: usual instructions at once, all others one by one.
fn take(batch: &Batch, collector: &mut collect::Collector, verifier: &mut Verifier) {
    let mut at = 0;
    while let Some(event) = batch.events.get(at) {
        match verifier.verify_steps(collector, batch, at) {
            0 => {
                collector.event(event, batch, &mut |observation| verifier.observe(observation));
                at += 1;
            }
            steps => at += steps,
        }
    }
}

/// Verifies events as somebody makes them, without a source.
#[derive(Debug)]
pub struct Feeder {
    collector: collect::Collector,
    /// The model and its findings.
    pub verifier: Verifier,
}

impl Feeder {
    /// A model before the first instruction.
    pub fn new(options: Options) -> Self {
        Feeder { collector: collect::Collector::default(), verifier: Verifier::new(options) }
    }

    /// Takes events. The last instruction of them is judged when the next one begins, or by
    /// [`finish`](Feeder::finish).
    pub fn put(&mut self, batch: &Batch) {
        take(batch, &mut self.collector, &mut self.verifier);
    }

    /// Judges the last instruction: the events said where it leads, or the trace has ended.
    pub fn finish(&mut self) {
        let Feeder { collector, verifier } = self;
        collector.finish(&mut |observation| verifier.observe(observation));
    }
}

/// Properties of a trace that decide how to verify it, found by reading it once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Elements that it never has, for [`Options::absent`].
    pub absent: Absent,
    /// All instructions are said to be in user mode: a program without its system.
    pub user_only: bool,
    /// It has contents of memory before its first instruction: what is not in them, nor in the program, is zero, and
    /// what the system writes later is recorded.
    pub memory_at_start: bool,
}

/// Goes through a trace. Bad input is stepped over.
pub fn survey(source: &mut dyn Source) -> Survey {
    use trackway_core::{EventKind, RegClass, RegRole, State};
    let mut absent = Absent { x: true, f: true, csr: true, privilege: true, memory: true, implied: false };
    let mut batch = Batch::default();
    let (mut privilege, mut user_only) = (None, true);
    let (mut started, mut memory_at_start) = (false, false);
    loop {
        match source.fill(&mut batch) {
            Ok(true) => {}
            Err(_) if matches!(source.resync(), Ok(true)) => continue,
            Ok(false) | Err(_) => break,
        }
        for event in &batch.events {
            let step = match event.kind {
                EventKind::Context(n) => {
                    privilege = batch.contexts[n as usize].privilege.or(privilege);
                    continue;
                }
                EventKind::Step(step) => step,
                EventKind::State(n) => {
                    if let State::Contents(accesses) = batch.states[n as usize] {
                        memory_at_start |= !started && accesses.mem_len > 0;
                    }
                    continue;
                }
                _ => continue,
            };
            started = true;
            user_only &= privilege == Some(Privilege::U);
            for access in batch.regs_of(step.accesses) {
                if access.role == RegRole::Destination {
                    match access.reg.class {
                        RegClass::Int => absent.x = false,
                        RegClass::Float => absent.f = false,
                        RegClass::Csr => absent.csr = false,
                        _ => {}
                    }
                }
            }
            absent.memory &= step.accesses.mem_len == 0;
        }
        absent.privilege &= batch.contexts.iter().all(|context| context.privilege.is_none());
    }
    Survey { absent, user_only: user_only && privilege.is_some(), memory_at_start }
}
