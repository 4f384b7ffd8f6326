//! Text of Arm instructions, by capstone. Slow (about a microsecond each): callers keep it per pc.

use std::fmt::Write;

use capstone::Capstone;
use capstone::arch::{BuildsCapstone, BuildsCapstoneExtraMode, arm, arm64};
use trackway_core::Isa;

use super::t32;

/// Text of Arm instructions.
#[derive(Default)]
pub struct Text {
    a64: Option<Capstone>,
    a32: Option<Capstone>,
    t32: Option<Capstone>,
}

impl std::fmt::Debug for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Text")
    }
}

impl Text {
    /// The text of one instruction: mnemonic, a blank, operands; `.inst 0x…` for what is not known.
    pub fn text(&mut self, isa: Isa, pc: u64, encoding: u32) -> String {
        let bytes = encoding.to_le_bytes();
        let length = if isa == Isa::T32 && !t32::is_wide(encoding) { 2 } else { 4 };
        let mut out = String::new();
        if let Some(engine) = self.engine(isa)
            && let Ok(list) = engine.disasm_count(&bytes[..length], pc, 1)
            && let Some(insn) = list.first()
        {
            out.push_str(insn.mnemonic().unwrap_or_default());
            if let Some(operands) = insn.op_str().filter(|text| !text.is_empty()) {
                out.push(' ');
                out.push_str(operands);
            }
        }
        if out.is_empty() {
            // Writing to a String cannot fail.
            let _ = match length {
                2 => write!(out, ".inst.n 0x{:04x}", encoding & 0xffff),
                _ => write!(out, ".inst 0x{encoding:08x}"),
            };
        }
        out
    }

    /// The engine for an instruction set, made at the first use; `None` if capstone refuses.
    fn engine(&mut self, isa: Isa) -> Option<&Capstone> {
        let slot = match isa {
            Isa::A64 => &mut self.a64,
            Isa::A32 => &mut self.a32,
            Isa::T32 => &mut self.t32,
            Isa::Rv32 | Isa::Rv64 | Isa::Other => return None,
        };
        if slot.is_none() {
            *slot = match isa {
                Isa::A64 => Capstone::new().arm64().mode(arm64::ArchMode::Arm).build().ok(),
                Isa::A32 => Capstone::new()
                    .arm()
                    .mode(arm::ArchMode::Arm)
                    .extra_mode([arm::ArchExtraMode::V8].into_iter())
                    .build()
                    .ok(),
                _ => Capstone::new()
                    .arm()
                    .mode(arm::ArchMode::Thumb)
                    .extra_mode([arm::ArchExtraMode::V8].into_iter())
                    .build()
                    .ok(),
            };
        }
        slot.as_ref()
    }
}
