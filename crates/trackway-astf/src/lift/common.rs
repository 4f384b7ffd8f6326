//! The loop over common instructions: where lifting spends its time.
//!
//! It is short and has all it needs at hand; anything out of the ordinary ends it (decision 0146).

use trackway_core::*;

use super::{State, UNKNOWN, returns};
use crate::layout::from_bytes;
use crate::read::RECORD;

// Bits 23:16 of an Instruction: `ea_tagged`, `is_branch`, `ea_valid`.
const TAGGED: u8 = 1 << 1;
const BRANCH: u8 = 1 << 3;
const VALID: u8 = 1 << 6;
/// A branch that was taken.
const TAKEN: u64 = (BRANCH | VALID) as u64;

/// By bits 23:16 of an Instruction with `xattr_mode` 0, 1 if it is not common. A common one has no access or
/// one that reads or writes, or is a branch; it did not trap.
static RARE: [u8; 256] = {
    let mut rare = [1; 256];
    let mut flags = 0;
    while flags < 256 {
        let (tagged, branch, valid) = (flags & 2 != 0, flags & 8 != 0, flags & 0x40 != 0);
        let moves = flags & 0x30 != 0;
        let other = flags & 0x84 != 0;
        let common = !other && if branch { !tagged && !moves } else { valid == moves && (valid || !tagged) };
        rare[flags] = !common as u8;
        flags += 1;
    }
    rare
};

/// By bits 23:16: what an access does.
static MEM_KINDS: [MemKind; 256] = {
    let mut kinds = [MemKind::Unknown; 256];
    let mut flags = 0;
    while flags < 256 {
        kinds[flags] = [MemKind::Unknown, MemKind::Read, MemKind::Write, MemKind::ReadWrite][flags >> 4 & 3];
        flags += 1;
    }
    kinds
};

/// Is the record a common instruction?
pub(super) fn common(record: &[u8; RECORD]) -> bool {
    is_common(from_bytes(record)[0])
}

/// The same, by the first word of a record.
#[inline(always)]
fn is_common(first: u64) -> bool {
    // Type 1 with `xattr_mode` 0, and no exception-generating instruction.
    let odd = (first as u16 & 0x3ff) ^ 1;
    odd | u16::from(RARE[usize::from((first >> 16) as u8)]) == 0 && first >> 56 != 0xd4
}

/// Where the flow goes on behind a common instruction, or [`UNKNOWN`].
pub(super) fn follows(record: &[u8; RECORD]) -> u64 {
    let [first, pc, ea, _] = from_bytes(record);
    match first >> 16 & u64::from(BRANCH | VALID) {
        _ if returns((first >> 32) as u32) => UNKNOWN,
        TAKEN => ea,
        _ => pc.wrapping_add(4),
    }
}

impl State {
    /// Lifts the common instructions at the front of a chunk that follow each other; gives how many.
    pub(super) fn common(&mut self, offset: u64, chunk: &[[u8; RECORD]], batch: &mut Batch) -> usize {
        if self.open || self.string.is_some() {
            return 0;
        }
        let Batch { events, mem, extras, .. } = batch;
        let mut expected = self.expected;
        let mut at = offset;
        let mut last = None;
        for record in chunk {
            let [first, pc, ea, _] = from_bytes(record);
            let flags = (first >> 16) as u8;
            if !is_common(first) || pc != expected {
                break;
            }
            let mut step = Step::new(pc, (first >> 32) as u32, 4);
            expected = pc.wrapping_add(4);
            if flags & (BRANCH | VALID) != 0 {
                if flags & BRANCH == 0 {
                    step.accesses =
                        Accesses { mem_start: mem.len() as u32, mem_len: 1, ..Accesses::default() };
                    let size = (first >> 24 & 0xff) + 1;
                    let mut access = MemAccess::new(MEM_KINDS[usize::from(flags)], ea, size, Value::Unknown);
                    access.tagged = flags & TAGGED != 0;
                    mem.push(access);
                } else {
                    step.taken = Some(flags & VALID != 0);
                    if flags & VALID != 0 {
                        expected = ea;
                        step.extra = Batch::extra_at(extras.len());
                        extras.push(StepExtra { target: Some(ea), ..StepExtra::default() });
                    }
                }
            }
            events.push(Event { offset: at, kind: EventKind::Step(step) });
            at += RECORD as u64;
            last = Some(record);
        }
        let count = (at - offset) as usize / RECORD;
        if let Some(record) = last {
            let [first, pc, ..] = from_bytes(record);
            (self.expected, self.last_pc, self.last, self.times) = (follows(record), pc, first, 0);
            self.instructions += count as u64;
        }
        count
    }
}
