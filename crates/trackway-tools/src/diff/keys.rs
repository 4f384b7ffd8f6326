//! Keys of instructions: equal keys may be the same instruction.

use trackway_core::{Batch, MemKind, RegRole, Step, Value};

/// Data that both traces have, and keys can count on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Data {
    pub(super) registers: bool,
    pub(super) memory: bool,
    pub(super) outcomes: bool,
}

impl Data {
    /// More than the way through the program.
    pub(super) fn any(self) -> bool {
        self.registers || self.memory
    }
}

fn mix(digest: u64, word: u64) -> u64 {
    let mixed = (digest ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ mixed >> 29
}

/// The address, or the encoding where there is none; and whether a branch was not taken: the last turn of a loop differs by it.
#[inline]
pub(super) fn weak(step: &Step, data: Data) -> u64 {
    let not_taken = data.outcomes && step.taken == Some(false);
    mix(1 + u64::from(not_taken), step.pc.unwrap_or(u64::from(step.encoding) | 1 << 63))
}

/// Address and data: the turns of a loop differ by it.
pub(super) fn strong(weak: u64, batch: &Batch, step: &Step, data: Data) -> u64 {
    let mut digest = weak;
    if data.registers {
        for access in batch.regs_of(step.accesses) {
            if access.role == RegRole::Destination
                && let Value::Word(word) = access.value
            {
                digest = mix(digest, mix(word, u64::from(access.reg.number) << 8 | access.reg.class as u64));
            }
        }
    }
    if data.memory {
        for access in batch.mem_of(step.accesses) {
            if matches!(access.kind, MemKind::Read | MemKind::Write | MemKind::ReadWrite) {
                digest = mix(digest, access.address);
            }
        }
    }
    digest
}
