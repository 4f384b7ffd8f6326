//! Text of Arm instructions, by capstone. Slow (about a microsecond each): callers keep it per pc.

use std::borrow::Cow;
use std::collections::HashMap;
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
    /// Names of A64 instructions by the bits that decide them.
    names: HashMap<u32, Cow<'static, str>>,
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
        if out.is_empty() && isa == Isa::A64 {
            store_tag_and_pair(encoding, &mut out);
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

    /// The name of one instruction, as [`Text::text`] writes it.
    pub fn mnemonic(&mut self, isa: Isa, encoding: u32) -> Cow<'static, str> {
        let Some(mask) = name_bits(encoding).filter(|_| isa == Isa::A64) else {
            return self.first_word(isa, encoding);
        };
        if let Some(name) = self.names.get(&(encoding & mask)) {
            return name.clone();
        }
        let name = self.first_word(isa, encoding);
        self.names.insert(encoding & mask, name.clone());
        name
    }

    fn first_word(&mut self, isa: Isa, encoding: u32) -> Cow<'static, str> {
        let mut text = self.text(isa, 0, encoding);
        text.truncate(text.find(' ').unwrap_or(text.len()));
        text.into()
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

/// The bits that decide the name of an A64 instruction, for the frequent ones whose operands never change it.
fn name_bits(word: u32) -> Option<u32> {
    const ROWS: [(u32, u32, u32); 7] = [
        // Class by mask and value, and the bits of the name: branches, conditional ones, CBZ and TBZ,
        (0x7c00_0000, 0x1400_0000, 0xfc00_0000),
        (0xff00_0000, 0x5400_0000, 0xff00_001f),
        (0x7c00_0000, 0x3400_0000, 0x7f00_0000),
        // ADR and ADRP, literal loads, pairs, loads and stores with an unsigned offset.
        (0x1f00_0000, 0x1000_0000, 0x9f00_0000),
        (0x3b00_0000, 0x1800_0000, 0xff00_0000),
        (0x3a00_0000, 0x2800_0000, 0xffc0_0000),
        (0x3b00_0000, 0x3900_0000, 0xffc0_0000),
    ];
    // Some pairs that name a register twice are not instructions.
    let [first, base, second] = [word & 31, word >> 5 & 31, word >> 10 & 31];
    if word & 0x3a00_0000 == 0x2800_0000 && (first == second || first == base || second == base) {
        return None;
    }
    ROWS.iter().find(|(mask, value, _)| word & mask == *value).map(|(_, _, name)| *name)
}

/// STGP, which capstone does not know, in capstone's manner.
fn store_tag_and_pair(word: u32, out: &mut String) {
    let form = word >> 23 & 3;
    if word & 0xfe40_0000 != 0x6800_0000 || form == 0 {
        return;
    }
    let register = |number: u32, last: &str| match number & 31 {
        31 => last.to_string(),
        number => format!("x{number}"),
    };
    let (first, second) = (register(word, "xzr"), register(word >> 10, "xzr"));
    let base = register(word >> 5, "sp");
    let offset = (word << 10) as i32 >> 25 << 4;
    let offset = format!("#{}{:#x}", if offset < 0 { "-" } else { "" }, offset.unsigned_abs());
    // Writing to a String cannot fail.
    let _ = match form {
        1 => write!(out, "stgp {first}, {second}, [{base}], {offset}"),
        3 => write!(out, "stgp {first}, {second}, [{base}, {offset}]!"),
        _ if offset == "#0x0" => write!(out, "stgp {first}, {second}, [{base}]"),
        _ => write!(out, "stgp {first}, {second}, [{base}, {offset}]"),
    };
}

#[cfg(test)]
mod tests {
    use trackway_core::SplitMix64;

    use super::*;

    #[test]
    fn operands_do_not_change_the_names_that_are_kept() {
        let mut random = SplitMix64(7);
        let mut text = Text::default();
        let mut kept = 0;
        for _ in 0..200_000 {
            let word = random.next_u64() as u32;
            kept += u32::from(name_bits(word).is_some());
            assert_eq!(text.mnemonic(Isa::A64, word), text.first_word(Isa::A64, word), "{word:#x}");
        }
        assert!(kept > 20_000);
    }

    #[test]
    fn stores_of_a_tag_and_a_pair() {
        // Encodings by LLVM.
        let table = [
            (0x6900_0840, "stgp x0, x2, [x2]"),
            (0x68bf_7fe1, "stgp x1, xzr, [sp], #-0x20"),
            (0x6980_f861, "stgp x1, x30, [x3, #0x10]!"),
            (0x691f_8861, "stgp x1, x2, [x3, #0x3f0]"),
            (0x6920_0be1, "stgp x1, x2, [sp, #-0x400]"),
            (0x6800_0840, ".inst 0x68000840"),
            (0x6940_0840, "ldpsw x0, x2, [x2]"),
        ];
        let mut text = Text::default();
        for (word, expected) in table {
            assert_eq!(text.text(Isa::A64, 0, word), expected, "{word:#x}");
        }
    }
}
