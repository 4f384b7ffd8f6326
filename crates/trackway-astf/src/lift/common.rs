//! The loop over common instructions: where lifting spends its time.
//!
//! Its state stays in registers, and anything out of the ordinary ends it (docs/spec-readings/astf.md).

use std::mem::take;

use trackway_core::*;

use super::state::{State, is_exception_return};
use crate::layout::{RECORD, from_bytes};
use crate::record::Instruction;

// Flags of an Instruction, in the first half of its first word.
const TAGGED: u32 = 1 << 17;
const BRANCH: u32 = 1 << 19;
const READ: u32 = 1 << 20;
const WRITE: u32 = 1 << 21;
const VALID: u32 = 1 << 22;
/// Type and `xattr_mode`, `trap` and `extra_eas`, and the flags above.
const SHAPE: u32 = 0x3ff | 1 << 18 | 1 << 23 | TAGGED | BRANCH | READ | WRITE | VALID;

// Shapes of common instructions: `xattr_mode` is 0, and they did not trap.
const PLAIN: u32 = Instruction::ID as u32;
const LOAD: u32 = PLAIN | VALID | READ;
const STORE: u32 = PLAIN | VALID | WRITE;
const SWAP: u32 = LOAD | STORE;
const TAKEN: u32 = PLAIN | BRANCH | VALID;
const NOT_TAKEN: u32 = PLAIN | BRANCH;

/// First byte of the encoding of instructions that generate exceptions and never retire.
const GENERATES: u32 = 0xd4;

/// Flags and encoding of an Instruction: the halves of its first word.
#[inline(always)]
fn halves(record: &[u8; RECORD]) -> [u32; 2] {
    let (halves, _) = record.as_chunks();
    [u32::from_le_bytes(halves[0]), u32::from_le_bytes(halves[1])]
}

/// Kind of an access that is tagged, or reads and writes; `None` for other shapes.
#[inline(always)]
fn other_access(shape: u32) -> Option<MemKind> {
    match shape & !TAGGED {
        LOAD => Some(MemKind::Read),
        STORE => Some(MemKind::Write),
        SWAP => Some(MemKind::ReadWrite),
        _ => None,
    }
}

/// True if the record is a common instruction.
pub(super) fn is_common(record: &[u8; RECORD]) -> bool {
    let [flags, encoding] = halves(record);
    let shape = flags & SHAPE;
    let is_common = matches!(shape, PLAIN | TAKEN | NOT_TAKEN) || other_access(shape).is_some();
    is_common && encoding >> 24 != GENERATES
}

/// Address of the instruction after a common one, if it is known.
pub(super) fn next_pc(record: &[u8; RECORD]) -> Option<u64> {
    let [first, pc, ea, _] = from_bytes(record);
    if is_exception_return((first >> 32) as u32) {
        None
    } else if first as u32 & (BRANCH | VALID) == BRANCH | VALID {
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

// Steps and accesses but for their numbers. A copy of a constant is stored in fewer pieces than its fields would be.
const STEP: Step = Step::new(0, 0, 4);
const JUMP: Step = Step { taken: Some(true), ..STEP };
const FALL: Step = Step { taken: Some(false), ..STEP };
const ACCESSES: Accesses = Accesses { mem_start: 0, regs_start: 0, mem_len: 1, regs_len: 0 };
const ACCESSING: Step = Step { accesses: ACCESSES, ..STEP };
const READING: MemAccess = MemAccess::new(MemKind::Read, 0, 0, Value::Unknown);
const WRITING: MemAccess = MemAccess { kind: MemKind::Write, ..READING };

/// The loop itself, over a batch that has room; a function of its own, so that its state stays in registers.
#[inline(never)]
fn run(mut expected: u64, offset: u64, chunk: &[[u8; RECORD]], batch: &mut Batch) -> usize {
    // Taken out of the batch, their lengths stay in registers as well.
    let (mut events, mut mem, mut extras) =
        (take(&mut batch.events), take(&mut batch.mem), take(&mut batch.extras));
    let (before, mut at) = (events.len(), offset);
    for record in chunk {
        let [flags, encoding] = halves(record);
        let [_, pc, ea, _] = from_bytes(record);
        if pc != expected || encoding >> 24 == GENERATES {
            break;
        }
        expected = pc.wrapping_add(4);
        // Each arm appends its own event, most of which is constant there.
        let mut push = |mut step: Step| {
            (step.pc, step.encoding) = (Some(pc), encoding);
            push_within_capacity(&mut events, Event { offset: at, kind: EventKind::Step(step) })
        };
        let mut push_access = |mut access: MemAccess| {
            let mut step = ACCESSING;
            step.accesses.mem_start = mem.len() as u32;
            (access.address, access.size) = (ea, u64::from(flags >> 24) + 1);
            push_within_capacity(&mut mem, access) && push(step)
        };
        // Most are neither accesses nor taken branches: they come first, in tests of their own.
        let fits = if flags & (SHAPE & !BRANCH) == PLAIN {
            if flags & BRANCH == 0 { push(STEP) } else { push(FALL) }
        } else {
            match flags & SHAPE {
                LOAD => push_access(READING),
                STORE => push_access(WRITING),
                TAKEN => {
                    expected = ea;
                    let mut step = JUMP;
                    step.extra = Batch::extra_at(extras.len());
                    push_within_capacity(&mut extras, StepExtra { target: Some(ea), ..StepExtra::default() })
                        && push(step)
                }
                shape => {
                    let Some(kind) = other_access(shape) else { break };
                    push_access(MemAccess { kind, tagged: shape & TAGGED != 0, ..READING })
                }
            }
        };
        if !fits {
            break;
        }
        at += RECORD as u64;
    }
    let count = events.len() - before;
    (batch.events, batch.mem, batch.extras) = (events, mem, extras);
    count
}
