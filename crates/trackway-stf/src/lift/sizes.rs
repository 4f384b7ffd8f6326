//! Sizes of accesses in bytes, whatever unit they were written in.

use trackway_core::*;

use super::group::Lifter;
use crate::config::SizeUnit;

impl Lifter {
    /// Turns the sizes of a group's accesses into bytes.
    pub(super) fn sizes(&mut self, opcode: u32, group: &mut [MemAccess]) {
        group.iter_mut().for_each(|access| self.size(opcode, access));
    }

    /// Turns the size of an access into bytes.
    #[inline(always)]
    pub(super) fn size(&mut self, opcode: u32, access: &mut MemAccess) {
        // The usual case first: one content word.
        if let Value::Word(_) = access.data
            && self.config.size_unit == SizeUnit::Auto
        {
            let bytes = match access.size {
                8 => self.named_sizes.get(self.isa, opcode, 8),
                // One content word holds 8 bytes at most: more than 8 are bits.
                9.. => access.size / 8,
                _ => return,
            };
            (access.size, access.inferred) = (bytes, bytes != access.size);
            return;
        }
        self.rare_size(opcode, access);
    }

    fn rare_size(&mut self, opcode: u32, access: &mut MemAccess) {
        let size = access.size;
        let bytes = match self.config.size_unit {
            SizeUnit::Bytes => size,
            SizeUnit::Bits => size / 8,
            SizeUnit::Auto if size < 8 => size,
            SizeUnit::Auto => self.named_sizes.get(self.isa, opcode, size),
        };
        access.inferred = bytes != size && self.config.size_unit == SizeUnit::Auto;
        access.size = bytes;
        if let Value::Bytes(span) = &mut access.data {
            span.len = span.len.min(bytes.min(u64::from(u32::MAX)) as u32);
        }
    }
}

/// Access sizes that opcodes name, for those seen last: loops ask for the same ones again and again.
#[derive(Clone, Debug)]
pub(super) struct NamedSizes([(u32, u64, u64); 64]);

impl Default for NamedSizes {
    fn default() -> Self {
        NamedSizes([(0, 0, 0); 64])
    }
}

impl NamedSizes {
    /// What `size` is in bytes; itself where the opcode does not tell.
    #[inline(always)]
    fn get(&mut self, isa: Isa, opcode: u32, size: u64) -> u64 {
        let slot = &mut self.0[(opcode.wrapping_mul(0x9e37_79b1) >> 26) as usize];
        if (slot.0, slot.1) != (opcode, size) {
            *slot = (opcode, size, look_up(isa, opcode, size));
        }
        slot.2
    }
}

#[cold]
fn look_up(isa: Isa, opcode: u32, size: u64) -> u64 {
    crate::check::encoding::size_in_bytes(isa, opcode, size).unwrap_or(size)
}
