//! Arm A64, A32 and T32: control transfer from our own masks, text from capstone.

use trackway_core::Isa;

use crate::Flow;

/// Text of Arm instructions.
#[derive(Debug, Default)]
pub struct Text {}

impl Text {
    /// The text of one instruction.
    pub fn text(&mut self, _isa: Isa, _pc: u64, encoding: u32) -> String {
        format!(".word 0x{encoding:08x}")
    }
}

/// How long an instruction is and where control can go after it.
pub fn flow(isa: Isa, _pc: u64, encoding: u32) -> Flow {
    let short = isa == Isa::T32 && (encoding & 0xf800) < 0xe800;
    Flow::sequential(if short { 2 } else { 4 })
}
