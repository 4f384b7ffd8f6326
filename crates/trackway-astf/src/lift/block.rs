//! The loops over common instructions: where lifting spends its time.
//!
//! What a record is cannot be predicted, and a wrong guess costs more than lifting a record: no jump in these
//! loops depends on it. Nor do they build values: copies of the usual ones are filled in (decision 0146).

use std::hint::select_unpredictable;

use trackway_core::*;

use super::{State, UNKNOWN, returns};
use crate::layout::from_bytes;
use crate::read::RECORD;

/// Records that are lifted together: as many as a mask has bits.
pub(super) const BLOCK: usize = 64;

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

/// By the top byte of the instruction word: 1 where exception-generating instructions are.
static CALLS: [u8; 256] = {
    let mut calls = [0; 256];
    calls[0xd4] = 1;
    calls
};

/// By bits 23:16: 1 for an access, 2 for a taken branch.
static EFFECTS: [u8; 256] = {
    let mut effects = [0; 256];
    let mut flags = 0;
    while flags < 256 {
        let (branch, valid) = (flags >> 3 & 1, flags >> 6 & 1);
        effects[flags] = (valid << branch) as u8;
        flags += 1;
    }
    effects
};

/// By bits 23:16: for a branch, was it taken?
static TAKEN: [Option<bool>; 256] = {
    let mut taken = [None; 256];
    let mut flags = 0;
    while flags < 256 {
        if flags & 8 != 0 {
            taken[flags] = Some(flags & 0x40 != 0);
        }
        flags += 1;
    }
    taken
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

// What is copied, and filled in where it differs.
static STEPS: [Event; BLOCK] = [Event { offset: 0, kind: EventKind::Step(Step::new(0, 0, 4)) }; BLOCK];
static ACCESSES: [MemAccess; BLOCK] = [MemAccess::new(MemKind::Read, 0, 0, Value::Unknown); BLOCK];
static TARGETS: [StepExtra; BLOCK] = [StepExtra {
    target: Some(0),
    physical_pc: None,
    sme_index: None,
    micro_ops: Span { start: 0, len: 0 },
    placeholder: false,
}; BLOCK];

/// What a look at a block of common instructions gives.
struct Look {
    /// A bit for each record, the first one lowest: it has an access.
    accesses: u64,
    /// The same: it is a taken branch.
    taken: u64,
}

/// Looks at a block that the flow enters at `expected`; `None` if there is anything else in it than common
/// instructions that follow each other.
fn look(block: &[[u8; RECORD]], mut expected: u64) -> Option<Look> {
    let (mut accesses, mut taken) = (0u64, 0u64);
    let (mut rare, mut broken, mut any, mut all) = (0u8, 0u64, 0u16, !0u16);
    for record in block {
        let [_, pc, ea, _] = from_bytes(record);
        let start = u16::from_le_bytes([record[0], record[1]]);
        let effect = EFFECTS[usize::from(record[2])];
        rare |= RARE[usize::from(record[2])] | CALLS[usize::from(record[7])];
        any |= start;
        all &= start;
        broken |= pc ^ expected;
        accesses = accesses.wrapping_mul(2).wrapping_add((effect & 1).into());
        taken = taken.wrapping_mul(2).wrapping_add((effect >> 1).into());
        expected = select_unpredictable(effect > 1, ea, pc.wrapping_add(4));
    }
    // All are of type 1 and have the `xattr_mode` 0.
    let common = any & 0x3ff == 1 && all & 1 == 1 && rare == 0 && broken == 0;
    let in_order = |mask: u64| mask.reverse_bits().checked_shr((BLOCK - block.len()) as u32).unwrap_or(0);
    common.then(|| Look { accesses: in_order(accesses), taken: in_order(taken) })
}

/// Is the record a common instruction?
pub(super) fn common(record: &[u8; RECORD]) -> bool {
    look(std::slice::from_ref(record), from_bytes(record)[1]).is_some()
}

/// Where the flow goes on behind a common instruction, or [`UNKNOWN`].
pub(super) fn follows(record: &[u8; RECORD]) -> u64 {
    let [first, pc, ea, _] = from_bytes(record);
    match EFFECTS[usize::from(record[2])] {
        _ if returns((first >> 32) as u32) => UNKNOWN,
        2 => ea,
        _ => pc.wrapping_add(4),
    }
}

impl State {
    /// Lifts a block of common instructions that follow each other; false, and nothing done, if there is
    /// anything else in it.
    pub(super) fn block(&mut self, offset: u64, block: &[[u8; RECORD]], batch: &mut Batch) -> bool {
        let Some(plain) = STEPS.get(..block.len()).filter(|_| !self.open && self.string.is_none()) else {
            return false;
        };
        let Some(Look { accesses, taken }) = look(block, self.expected) else { return false };

        let before = batch.events.len();
        batch.events.extend_from_slice(plain);
        let events = &mut batch.events[before..];
        let mut at = offset;
        for (event, record) in events.iter_mut().zip(block) {
            // They all are: this compares, and never jumps.
            let EventKind::Step(Step { pc: Some(pc), encoding, taken, .. }) = &mut event.kind else { break };
            *pc = from_bytes(record)[1];
            *encoding = u32::from_le_bytes([record[4], record[5], record[6], record[7]]);
            *taken = TAKEN[usize::from(record[2])];
            event.offset = at;
            at += RECORD as u64;
        }

        let before = batch.mem.len();
        batch.mem.extend_from_slice(&ACCESSES[..accesses.count_ones() as usize]);
        let indices = before as u32..;
        for ((access, n), mem_start) in batch.mem[before..].iter_mut().zip(Ones(accesses)).zip(indices) {
            let (Some(event), Some(record)) = (events.get_mut(n), block.get(n)) else { break };
            if let EventKind::Step(step) = &mut event.kind {
                step.accesses = Accesses { mem_start, mem_len: 1, ..Accesses::default() };
            }
            access.kind = MEM_KINDS[usize::from(record[2])];
            access.tagged = record[2] & 2 != 0;
            access.size = u64::from(record[3]) + 1;
            access.address = from_bytes(record)[2];
        }

        let before = batch.extras.len();
        batch.extras.extend_from_slice(&TARGETS[..taken.count_ones() as usize]);
        for ((extra, n), index) in batch.extras[before..].iter_mut().zip(Ones(taken)).zip(before..) {
            let (Some(event), Some(record)) = (events.get_mut(n), block.get(n)) else { break };
            if let EventKind::Step(step) = &mut event.kind {
                step.extra = Batch::extra_at(index);
            }
            extra.target = Some(from_bytes(record)[2]);
        }

        if let Some(record) = block.last() {
            let [first, pc, ..] = from_bytes(record);
            (self.expected, self.last_pc, self.last, self.times) = (follows(record), pc, first, 0);
        }
        self.instructions += block.len() as u64;
        true
    }
}

/// The places of the ones in a mask; 64 where there are no more.
struct Ones(u64);

impl Iterator for Ones {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        let place = self.0.trailing_zeros() as usize;
        self.0 &= self.0.wrapping_sub(1);
        Some(place)
    }
}
