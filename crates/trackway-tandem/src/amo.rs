//! Atomic memory operations: which one an encoding is, and what it stores.

use trackway_core::{mask, sign_extend};

use crate::record::MemOp;

/// The memory operation of an AMO, LR or SC encoding.
pub(crate) fn operation(encoding: u32) -> Option<MemOp> {
    if encoding & 0x7f != 0x2f {
        return None;
    }
    // Bits 31:27 in the order of the memory request opcodes.
    let op = match encoding >> 27 {
        0b00010 => 2,
        0b00011 => 3,
        0b00001 => 4,
        0b00000 => 5,
        0b00100 => 6,
        0b01100 => 7,
        0b01000 => 8,
        0b10000 => 9,
        0b10100 => 10,
        0b11000 => 11,
        0b11100 => 12,
        _ => return None,
    };
    Some(MemOp(op))
}

/// What an AMO on `size` bytes stores.
pub(crate) fn result(encoding: u32, old: u64, operand: u64, size: u8) -> Option<u64> {
    let bits = 8 * u32::from(size);
    let (a, b) = (mask(old, bits), mask(operand, bits));
    let (sa, sb) = (sign_extend(a, bits) as i64, sign_extend(b, bits) as i64);
    let stored = match operation(encoding)?.0 {
        4 => b,
        5 => a.wrapping_add(b),
        6 => a ^ b,
        7 => a & b,
        8 => a | b,
        9 => sa.min(sb) as u64,
        10 => sa.max(sb) as u64,
        11 => a.min(b),
        12 => a.max(b),
        _ => return None,
    };
    Some(mask(stored, bits))
}
