//! Exception types of ETE, and of ETMv4 on the A and R profiles (K10.5.2.13).
#![allow(missing_docs)] // The names are the specification's.

pub const PE_RESET: u16 = 0;
pub const DEBUG_HALT: u16 = 1;
/// SVC, HVC or SMC.
pub const CALL: u16 = 2;
/// Any other synchronous exception.
pub const TRAP: u16 = 3;
pub const SYSTEM_ERROR: u16 = 4;
pub const INSTRUCTION_DEBUG: u16 = 6;
pub const DATA_DEBUG: u16 = 7;
pub const ALIGNMENT: u16 = 10;
pub const INSTRUCTION_FAULT: u16 = 11;
pub const DATA_FAULT: u16 = 12;
pub const IRQ: u16 = 14;
pub const FIQ: u16 = 15;
/// ETE: the transaction failed; not a P0 element.
pub const TRANSACTION_FAILURE: u16 = 24;
/// ETE: like a PE reset, without a return address (K10.5.6.3.12).
pub const NO_RETURN: u16 = 25;
