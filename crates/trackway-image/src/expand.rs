//! From runs to steps, with the program.

use std::sync::Arc;

use trackway_core::{Accesses, EventKind, Exit, Isa, Outcome, Run, Step};

use crate::image::Image;
use crate::memory::Memory;

/// The program of a source; one program is for all.
pub fn program(programs: &[Arc<Image>], source: u16) -> Arc<Image> {
    programs.get(usize::from(source)).or(programs.last()).cloned().unwrap_or_default()
}

/// Outcome of the branch at the end of a run: an unconditional transfer of control is taken.
pub fn taken_at_end(run: &Run) -> Option<bool> {
    use Exit::*;
    let always = matches!(run.exit, Jump | Call | IndirectJump | IndirectCall | Return | TrapReturn);
    run.taken.or(always.then_some(true))
}

/// The steps of a run, in order, as far as the program is known; what is left stays a run. `accesses` are those of the run:
/// its last instruction has them.
pub fn expand(memory: &Memory, run: &Run, accesses: Accesses, mut put: impl FnMut(EventKind)) {
    let mut pc = run.start;
    let last = run.count.saturating_sub(1);
    for n in 0..run.count {
        let (encoding, length) = match memory.fetch(run.isa, pc) {
            Some(found) => found,
            // A64 and A32 instructions are 4 bytes long: the addresses are known without the code.
            None if matches!(run.isa, Isa::A64 | Isa::A32) => (0, 0),
            None => return put(EventKind::Run(Run { start: pc, count: run.count - n, ..*run })),
        };
        let mut step = Step::new(pc, encoding, length);
        if n == last {
            (step.accesses, step.taken) = (accesses, taken_at_end(run));
            if run.attempted {
                step.outcome = Outcome::Attempted;
            }
        }
        if length > 0 && trackway_isa::never_retires(run.isa, encoding) {
            step.outcome = Outcome::Attempted;
        }
        put(EventKind::Step(step));
        pc = pc.wrapping_add(if length > 0 { length.into() } else { 4 });
    }
}
