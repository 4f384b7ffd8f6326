//! The loop over common instructions: where lifting spends its time.
//!
//! It is short and has all it needs at hand; anything out of the ordinary ends it (decision 0146).

use trackway_core::*;

use super::{State, UNKNOWN, returns};
use crate::layout::{RECORD, from_bytes};
use crate::record::Instruction;

// Of the first word of an Instruction: type and `xattr_mode`, and the flags that tell what it does.
const TYPE: u64 = 0x3ff;
const TAGGED: u64 = 1 << 17;
const BRANCH: u64 = 1 << 19;
const MOVES: u64 = 3 << 20;
const VALID: u64 = 1 << 22;
/// Flags that no common instruction has.
const OTHER: u64 = 1 << 18 | 1 << 23;

/// By `MOVES`: what an access does.
static MEM_KINDS: [Option<MemKind>; 4] =
    [None, Some(MemKind::Read), Some(MemKind::Write), Some(MemKind::ReadWrite)];

/// What a common instruction does.
#[derive(Clone, Copy)]
enum Common {
    /// Neither of the others.
    Plain,
    /// It has one access, which reads or writes.
    Access(MemKind),
    /// It is a branch, taken or not.
    Branch,
}

/// Tells a common instruction by the first word of its record: `xattr_mode` is 0, and it did not trap.
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

/// Is the record a common instruction?
pub(super) fn is_common(record: &[u8; RECORD]) -> bool {
    common(from_bytes(record)[0]).is_some()
}

/// Where the flow goes on behind a common instruction, or [`UNKNOWN`].
pub(super) fn follows(record: &[u8; RECORD]) -> u64 {
    let [first, pc, ea, _] = from_bytes(record);
    if returns((first >> 32) as u32) {
        UNKNOWN
    } else if first & BRANCH != 0 && first & VALID != 0 {
        ea
    } else {
        pc.wrapping_add(4)
    }
}

impl State {
    /// Lifts the common instructions at the front of a chunk that follow each other; gives how many.
    pub(super) fn common(&mut self, offset: u64, chunk: &[[u8; RECORD]], batch: &mut Batch) -> usize {
        if self.open || self.string.is_some() {
            return 0;
        }
        batch.reserve_steps(chunk.len());
        let count = run(self.expected, offset, chunk, batch);
        if let Some(record) = chunk[..count].last() {
            let [first, pc, ..] = from_bytes(record);
            (self.expected, self.last_pc, self.last, self.times) = (follows(record), pc, first, 0);
            self.instructions += count as u64;
        }
        count
    }
}

/// The loop itself, over a batch that has room; apart from the rest, for the registers.
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
        // Each arm appends its own event: what is a constant there is stored as one.
        let mut push = |step| put(events, Event { offset: at, kind: EventKind::Step(step) });
        expected = pc.wrapping_add(4);
        let fits = match common {
            Common::Plain => push(step),
            Common::Access(kind) => {
                let accesses = Accesses { mem_start: mem.len() as u32, mem_len: 1, ..Accesses::default() };
                let access = MemAccess::new(kind, ea, (first >> 24 & 0xff) + 1, Value::Unknown);
                put(mem, MemAccess { tagged: first & TAGGED != 0, ..access })
                    && push(Step { accesses, ..step })
            }
            Common::Branch if first & VALID == 0 => push(Step { taken: Some(false), ..step }),
            Common::Branch => {
                expected = ea;
                let extra = Batch::extra_at(extras.len());
                put(extras, StepExtra { target: Some(ea), ..StepExtra::default() })
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
