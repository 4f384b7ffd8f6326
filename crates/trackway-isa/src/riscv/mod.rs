//! RISC-V: RV32 and RV64.

mod flow;

pub use flow::{flow, length};

use trackway_core::Isa;

use crate::Style;

/// The text of one instruction.
pub fn text(_isa: Isa, _pc: u64, encoding: u32, _style: Style) -> String {
    if length(encoding as u16) == 2 {
        format!(".2byte 0x{:x}", encoding as u16)
    } else {
        format!(".4byte 0x{encoding:x}")
    }
}
