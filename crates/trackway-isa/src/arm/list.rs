//! A list of registers under construction, and the fields of an A64 encoding that name them.

use trackway_core::{Reg, RegClass, RegRole};

use super::mask::bits;
use crate::registers::Registers;

/// NZCV, by op0, op1, CRn, CRm and op2 as `MRS` has them.
pub(super) const NZCV: u16 = 0xda10;

/// The stack pointer, where 31 means it.
pub(super) const SP: u32 = 31;

/// A list under construction.
#[derive(Default)]
pub(super) struct List(pub(super) Registers);

impl List {
    pub(super) fn int(&mut self, number: u32, role: RegRole) {
        self.0.add(RegClass::Int, number as u16, role);
    }

    /// Reads a general register; 31 is the zero register.
    pub(super) fn reads(&mut self, number: u32) {
        if number != 31 {
            self.int(number, RegRole::Source);
        }
    }

    /// Writes a general register; 31 is the zero register.
    pub(super) fn writes(&mut self, number: u32) {
        if number != 31 {
            self.int(number, RegRole::Destination);
        }
    }

    /// Reads a general register; 31 is the stack pointer.
    pub(super) fn reads_sp(&mut self, number: u32) {
        self.int(number, RegRole::Source);
    }

    /// Writes a general register; 31 is the stack pointer.
    pub(super) fn writes_sp(&mut self, number: u32) {
        self.int(number, RegRole::Destination);
    }

    /// Reads a register as an address; 31 is the stack pointer.
    pub(super) fn base(&mut self, number: u32) {
        self.int(number, RegRole::Source);
        self.0.mark_address(Reg { class: RegClass::Int, number: number as u16 });
    }

    /// Reads a register as an offset; 31 is the zero register.
    pub(super) fn offset(&mut self, number: u32) {
        if number != 31 {
            self.base(number);
        }
    }

    /// Updates the base of an address.
    pub(super) fn writeback(&mut self, number: u32) {
        self.int(number, RegRole::Destination);
        self.0.writeback = Some(Reg { class: RegClass::Int, number: number as u16 });
    }

    pub(super) fn reads_flags(&mut self) {
        self.0.add(RegClass::Csr, NZCV, RegRole::Source);
    }

    pub(super) fn writes_flags(&mut self) {
        self.0.add(RegClass::Csr, NZCV, RegRole::Destination);
    }

    pub(super) fn reads_vector(&mut self, number: u32) {
        self.0.add(RegClass::Vector, (number & 31) as u16, RegRole::Source);
    }

    pub(super) fn writes_vector(&mut self, number: u32) {
        self.0.add(RegClass::Vector, (number & 31) as u16, RegRole::Destination);
    }

    /// Loads or stores a register of either file.
    pub(super) fn data(&mut self, vector: bool, load: bool, number: u32) {
        match (vector, load) {
            (true, true) => self.writes_vector(number),
            (true, false) => self.reads_vector(number),
            (false, true) => self.writes(number),
            (false, false) => self.reads(number),
        }
    }
}

pub(super) fn rd(word: u32) -> u32 {
    word & 31
}

pub(super) fn rn(word: u32) -> u32 {
    bits(word, 5, 5)
}

pub(super) fn rm(word: u32) -> u32 {
    bits(word, 16, 5)
}

/// Third register: Ra, or Rt2 of a pair.
pub(super) fn ra(word: u32) -> u32 {
    bits(word, 10, 5)
}

pub(super) fn flag(word: u32, bit: u32) -> bool {
    word >> bit & 1 == 1
}
