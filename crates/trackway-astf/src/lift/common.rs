//! The loop over common instructions: where lifting spends its time.
//!
//! Its state stays in registers, and anything out of the ordinary ends it (docs/spec-readings/astf.md).

use trackway_core::*;

use super::state::{State, is_exception_return};
use crate::layout::{RECORD, from_bytes};
use crate::record::Instruction;

// Masks of the first word of an Instruction: type and `xattr_mode`, and flags.
const TYPE: u64 = 0x3ff;
const TAGGED: u64 = 1 << 17;
const BRANCH: u64 = 1 << 19;
const MOVES: u64 = 3 << 20;
const VALID: u64 = 1 << 22;
/// Flags that no common instruction has.
const OTHER: u64 = 1 << 18 | 1 << 23;

/// Kind of an access, by its `MOVES` bits.
static MEM_KINDS: [Option<MemKind>; 4] =
    [None, Some(MemKind::Read), Some(MemKind::Write), Some(MemKind::ReadWrite)];

/// Kinds of common instructions.
#[derive(Clone, Copy)]
enum Common {
    /// Neither an access nor a branch.
    Plain,
    /// One access, which reads or writes.
    Access(MemKind),
    /// A branch, taken or not.
    Branch,
}

/// Recognises a common instruction by the first word of its record: `xattr_mode` is 0, and it did not trap.
#[inline(always)]
fn common(first: u64) -> Option<Common> {
    // Exception-generating instructions never retire.
    if (first >> 56) as u8 == 0xd4 {
        return None;
    }
    let is = |mask: u64, flags: u64| first & (TYPE | OTHER | mask) == flags | u64::from(Instruction::ID);
    if is(TAGGED | BRANCH | MOVES | VALID, 0) {
        Some(Common::Plain)
    } else if is(BRANCH | VALID, VALID) {
        MEM_KINDS[(first >> 20 & 3) as usize].map(Common::Access)
    } else if is(TAGGED | BRANCH | MOVES, BRANCH) {
        Some(Common::Branch)
    } else {
        None
    }
}

/// True if the record is a common instruction.
pub(super) fn is_common(record: &[u8; RECORD]) -> bool {
    common(from_bytes(record)[0]).is_some()
}

/// Address of the instruction after a common one, if it is known.
pub(super) fn next_pc(record: &[u8; RECORD]) -> Option<u64> {
    let [first, pc, ea, _] = from_bytes(record);
    if is_exception_return((first >> 32) as u32) {
        None
    } else if first & BRANCH != 0 && first & VALID != 0 {
        Some(ea)
    } else {
        Some(pc.wrapping_add(4))
    }
}

impl State {
    /// Lifts the common instructions at the front of a chunk that follow each other; returns how many.
    pub(super) fn common(&mut self, offset: u64, chunk: &[[u8; RECORD]], batch: &mut Batch) -> usize {
        let Some(expected) = self.expected.filter(|_| !self.open && self.string.is_none()) else { return 0 };
        batch.reserve_steps(chunk.len());
        let count = run(expected, offset, chunk, batch);
        if let Some(record) = chunk[..count].last() {
            let [first, pc, ..] = from_bytes(record);
            (self.expected, self.last_pc, self.last, self.times) = (next_pc(record), pc, first, 0);
            self.instructions += count as u64;
        }
        count
    }
}

/// The loop itself, over a batch that has room; a function of its own, so that its state stays in registers.
#[inline(never)]
fn run(mut expected: u64, offset: u64, chunk: &[[u8; RECORD]], batch: &mut Batch) -> usize {
    let Batch { events, mem, extras, .. } = batch;
    let mut at = offset;
    for record in chunk {
        let [first, pc, ea, _] = from_bytes(record);
        if pc != expected {
            break;
        }
        let Some(common) = common(first) else { break };
        let step = Step::new(pc, (first >> 32) as u32, 4);
        // Each arm appends its own event, most of whose fields are constants there.
        let mut push = |step| push_within_capacity(events, Event { offset: at, kind: EventKind::Step(step) });
        expected = pc.wrapping_add(4);
        let fits = match common {
            Common::Plain => push(step),
            Common::Access(kind) => {
                let accesses = Accesses { mem_start: mem.len() as u32, mem_len: 1, ..Accesses::default() };
                let access = MemAccess::new(kind, ea, (first >> 24 & 0xff) + 1, Value::Unknown);
                push_within_capacity(mem, MemAccess { tagged: first & TAGGED != 0, ..access })
                    && push(Step { accesses, ..step })
            }
            Common::Branch if first & VALID == 0 => push(Step { taken: Some(false), ..step }),
            Common::Branch => {
                expected = ea;
                let extra = Batch::extra_at(extras.len());
                push_within_capacity(extras, StepExtra { target: Some(ea), ..StepExtra::default() })
                    && push(Step { taken: Some(true), extra, ..step })
            }
        };
        if !fits {
            break;
        }
        at += RECORD as u64;
    }
    (at - offset) as usize / RECORD
}
