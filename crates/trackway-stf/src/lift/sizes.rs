//! Sizes of accesses in bytes: writers use bytes or bits, and the record does not say which.

use trackway_core::*;
use trackway_isa::riscv::{self, Class};

use super::group::Lifter;
use crate::config::SizeUnit;

impl Lifter {
    /// Turns the sizes of a group's accesses into bytes.
    pub(super) fn sizes(&mut self, opcode: u32, group: &mut [MemAccess]) {
        for access in group {
            (access.size, access.inferred) = self.size(self.isa, opcode, access.size, access.data);
            if let Value::Bytes(span) = &mut access.data {
                span.len = span.len.min(access.size.min(u64::from(u32::MAX)) as u32);
            }
        }
    }

    /// The size of an access in bytes, and whether it was inferred. `isa` is that of the trace, as far as loops know it:
    /// RV32 and RV64 are alike here.
    #[inline(always)]
    pub(super) fn size(&mut self, isa: Isa, opcode: u32, size: u64, data: Value) -> (u64, bool) {
        // The common case: one content word.
        if let Value::Word(_) = data
            && self.config.size_unit == SizeUnit::Auto
        {
            let bytes = match size {
                0..8 => size,
                8 => match names_a_byte(isa, opcode) {
                    Some(true) => 1,
                    Some(false) => 8,
                    None => self.size_in_bytes(opcode, 8),
                },
                // One content word holds at most 8 bytes, so a larger size is in bits.
                9.. => size / 8,
            };
            return (bytes, bytes != size);
        }
        self.rare_size(opcode, size)
    }

    /// The size in bytes of an access that was recorded with `size`.
    #[inline(always)]
    fn size_in_bytes(&mut self, opcode: u32, size: u64) -> u64 {
        *self.named_sizes.get((opcode, size), || size_in_bytes(self.isa, opcode, size))
    }

    fn rare_size(&mut self, opcode: u32, size: u64) -> (u64, bool) {
        let bytes = match self.config.size_unit {
            SizeUnit::Bytes => size,
            SizeUnit::Bits => size / 8,
            SizeUnit::Auto if size < 8 => size,
            SizeUnit::Auto => self.size_in_bytes(opcode, size),
        };
        (bytes, bytes != size && self.config.size_unit == SizeUnit::Auto)
    }
}

/// A quick look: does the encoding name an access of one byte? `None` where this does not know.
#[inline(always)]
fn names_a_byte(isa: Isa, opcode: u32) -> Option<bool> {
    if !matches!(isa, Isa::Rv32 | Isa::Rv64) {
        return Some(false);
    }
    // LOAD and STORE; of funct3 0 and 4 LB, LBU, SB, and a reserved store.
    if opcode & 0x5f == 0x03 {
        return Some((opcode & 0x3000 == 0) & (opcode & 0x4020 != 0x4020));
    }
    // Quadrants 0 and 2 of compressed ones but the row of C.LBU and C.SB.
    if (opcode & 1 == 0) & (opcode & 0xe000 != 0x8000) { Some(false) } else { None }
}

/// A size in bytes: unchanged unless the encoding shows that it is in bits.
#[cold]
fn size_in_bytes(isa: Isa, opcode: u32, size: u64) -> u64 {
    match access_size(isa, opcode).map(u64::from) {
        Some(bytes) if size == 8 * bytes => bytes,
        _ => size,
    }
}

/// The size in bytes of the accesses of an instruction, if its encoding names it.
fn access_size(isa: Isa, opcode: u32) -> Option<u8> {
    if !matches!(isa, Isa::Rv32 | Isa::Rv64) {
        return None;
    }
    match riscv::decode(isa, opcode)?.op.class() {
        // A vector instruction names its elements; writers log those, or whole registers.
        Class::VectorLoad(_) | Class::VectorStore(_) => None,
        class => class.memory()?.size,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quick_look_agrees_with_the_encoding() {
        let narrow = (0..0x1_0000).filter(|opcode| opcode & 3 != 3);
        let wide = (0..1 << 18).map(|n| (n >> 5 << 20) | (n & 7) << 12 | (n >> 3 & 31) << 2 | 3);
        for opcode in narrow.chain(wide) {
            for isa in [Isa::Rv32, Isa::Rv64] {
                let is_byte = access_size(isa, opcode) == Some(1);
                assert_eq!(names_a_byte(isa, opcode).unwrap_or(is_byte), is_byte, "{opcode:#x}");
            }
        }
    }
}
