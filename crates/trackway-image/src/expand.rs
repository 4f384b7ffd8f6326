//! From runs to steps, with the program.

use std::sync::Arc;

use trackway_core::{Accesses, EventKind, Exit, Isa, Outcome, Run, Step};

use crate::image::Image;
use crate::memory::{Memory, fetch};

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
    let rest = each_instruction(memory, run, |pc, encoding, length, is_last, is_attempted| {
        let mut step = Step::new(pc, encoding, length);
        if is_last {
            (step.accesses, step.taken) = (accesses, taken_at_end(run));
        }
        if is_attempted {
            step.outcome = Outcome::Attempted;
        }
        put(EventKind::Step(step));
    });
    rest.into_iter().for_each(|rest| put(EventKind::Run(rest)));
}

/// The addresses of the steps that [`expand`] makes, and whether they are attempted only; returns what is left.
pub fn addresses(memory: &Memory, run: &Run, mut put: impl FnMut(u64, bool)) -> Option<Run> {
    each_instruction(memory, run, |pc, _, _, _, is_attempted| put(pc, is_attempted))
}

/// Calls `each` with address, encoding, length (0 where the code is not known), and whether it is the last one and attempted
/// only. Returns the rest of the run, of which the addresses are not known either.
#[inline(always)]
fn each_instruction(
    memory: &Memory,
    run: &Run,
    mut each: impl FnMut(u64, u32, u8, bool, bool),
) -> Option<Run> {
    let mut pc = run.start;
    let last = run.count.saturating_sub(1);
    // From `pc` on: a run seldom leaves its segment.
    let mut bytes: &[u8] = &[];
    for n in 0..run.count {
        if bytes.len() < 4 {
            bytes = memory.bytes_at(pc).unwrap_or(&[]);
        }
        let found = if bytes.len() < 4 { memory.fetch(run.isa, pc) } else { fetch(run.isa, bytes) };
        let (encoding, length) = match found {
            Some(found) => found,
            // A64 and A32 instructions are 4 bytes long: the addresses are known without the code.
            None if matches!(run.isa, Isa::A64 | Isa::A32) => (0, 0),
            None => return Some(Run { start: pc, count: run.count - n, ..*run }),
        };
        let never_retires = length > 0 && trackway_isa::never_retires(run.isa, encoding);
        each(pc, encoding, length, n == last, never_retires || (n == last && run.attempted));
        bytes = bytes.get(usize::from(length)..).unwrap_or(&[]);
        pc = pc.wrapping_add(if length > 0 { length.into() } else { 4 });
    }
    None
}
