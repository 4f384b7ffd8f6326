//! Traps as data: causes, exceptions, and traps that were taken.

use crate::state::Level;

/// Exception causes (privileged 3.1.15, table of cause codes).
pub mod cause {
    /// Instruction address misaligned.
    pub const FETCH_MISALIGNED: u8 = 0;
    /// Instruction access fault.
    pub const FETCH_ACCESS: u8 = 1;
    /// Illegal instruction.
    pub const ILLEGAL: u8 = 2;
    /// Breakpoint.
    pub const BREAKPOINT: u8 = 3;
    /// Load address misaligned.
    pub const LOAD_MISALIGNED: u8 = 4;
    /// Load access fault.
    pub const LOAD_ACCESS: u8 = 5;
    /// Store or AMO address misaligned.
    pub const STORE_MISALIGNED: u8 = 6;
    /// Store or AMO access fault.
    pub const STORE_ACCESS: u8 = 7;
    /// Environment call from U.
    pub const ECALL_U: u8 = 8;
    /// Environment call from S.
    pub const ECALL_S: u8 = 9;
    /// Environment call from M.
    pub const ECALL_M: u8 = 11;
    /// Instruction page fault.
    pub const FETCH_PAGE: u8 = 12;
    /// Load page fault.
    pub const LOAD_PAGE: u8 = 13;
    /// Store or AMO page fault.
    pub const STORE_PAGE: u8 = 15;
}

/// Why an instruction did not complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exception {
    /// Cause code, as in `mcause`.
    pub cause: u8,
    /// Trap value: address, instruction bits, or 0.
    pub value: u64,
}

impl Exception {
    /// With its value.
    pub const fn new(cause: u8, value: u64) -> Self {
        Self { cause, value }
    }
}

/// A trap that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Cause code, without the interrupt bit.
    pub cause: u8,
    /// An interrupt, not an exception.
    pub interrupt: bool,
    /// Trap value, as in `mtval`.
    pub value: u64,
    /// Address of the instruction that trapped, or that an interrupt came before.
    pub from: u64,
    /// Address of the handler.
    pub to: u64,
    /// Level it came from.
    pub from_level: Level,
    /// Level it went to.
    pub to_level: Level,
}
