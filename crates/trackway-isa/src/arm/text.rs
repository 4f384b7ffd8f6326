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
    /// Names of A64 instructions by their keys.
    names: HashMap<u64, Cow<'static, str>>,
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
        let Some(key) = name_key(encoding).filter(|_| isa == Isa::A64) else {
            return self.first_word(isa, encoding);
        };
        if let Some(name) = self.names.get(&key) {
            return name.clone();
        }
        let name = self.first_word(isa, encoding);
        self.names.insert(key, name.clone());
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

/// A key of the name of an A64 instruction, for the frequent ones: its bits but for operands, and the facts about
/// operands that make it an alias.
fn name_key(word: u32) -> Option<u64> {
    const ROWS: [(u32, u32, u32); 15] = [
        // Class by mask and value, and the bits of the name: branches, conditional ones, CBZ and TBZ,
        (0x7c00_0000, 0x1400_0000, 0xfc00_0000),
        (0xff00_0000, 0x5400_0000, 0xff00_001f),
        (0x7c00_0000, 0x3400_0000, 0x7f00_0000),
        // ADR and ADRP, literal loads, pairs, loads and stores with an unsigned offset,
        (0x1f00_0000, 0x1000_0000, 0x9f00_0000),
        (0x3b00_0000, 0x1800_0000, 0xff00_0000),
        (0x3a00_0000, 0x2800_0000, 0xffc0_0000),
        (0x3b00_0000, 0x3900_0000, 0xffc0_0000),
        // with a signed one, with a register,
        (0x3b20_0000, 0x3800_0000, 0xffe0_0c00),
        (0x3b20_0c00, 0x3820_0800, 0xffe0_ec00),
        // additions of an immediate and of registers, logical ones of registers, CSEL, CCMP.
        (0x1f80_0000, 0x1100_0000, 0xffc0_0000),
        (0x1f20_0000, 0x0b00_0000, 0xffe0_8000),
        (0x1f20_0000, 0x0b20_0000, 0xffe0_fc00),
        (0x1f00_0000, 0x0a00_0000, 0xffe0_8000),
        (0x1fe0_0000, 0x1a80_0000, 0xffe0_0c00),
        (0x1fe0_0000, 0x1a40_0000, 0xffe0_0c10),
    ];
    let [first, base, second, third] = [0, 5, 10, 16].map(|place| word >> place & 31);
    // Some pairs and written bases that name a register twice are not instructions; hints have names of their own.
    let is_pair = word & 0x3a00_0000 == 0x2800_0000;
    let is_load = word & 0x3b00_0000 == 0x3800_0000;
    if is_pair && (first == second || second == base) || (is_pair || is_load) && first == base {
        return None;
    }
    if is_load && word & 0xffc0_0000 == 0xf880_0000 {
        return None;
    }
    let (_, value, bits) = ROWS.iter().find(|(mask, value, _)| word & mask == *value)?;
    let facts = match value >> 24 {
        0x0a | 0x0b | 0x11 | 0x1a => [
            first == 31,
            base == 31,
            third == 31,
            base == third,
            // No shift, no immediate, and the conditions that are always true.
            word >> 10 & 63 == 0,
            word >> 10 & 0xfff == 0,
            word >> 13 & 7 == 7,
        ],
        _ => [false; 7],
    };
    let facts = facts.iter().fold(0, |all, fact| all << 1 | u64::from(*fact));
    Some(u64::from(word & bits) | facts << 32)
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
            kept += u32::from(name_key(word).is_some());
            assert_eq!(text.mnemonic(Isa::A64, word), text.first_word(Isa::A64, word), "{word:#x}");
        }
        assert!(kept > 20_000);
    }

    #[test]
    fn aliases_are_kept_apart() {
        let mut random = SplitMix64(8);
        let mut text = Text::default();
        // Additions, logical operations, conditional selections and loads, with operands that aliases ask for.
        let classes = [
            0x1100_0000,
            0x0b00_0000,
            0x0b20_0000,
            0x0a00_0000,
            0x1a80_0000,
            0x1a40_0000,
            0x3800_0000,
            0x3820_0800,
        ];
        for round in 0..60_000 {
            let class: u32 = classes[round % classes.len()];
            let fixed = if class >> 24 == 0x38 { 0x3b20_0000 } else { 0x1f20_0000 };
            let mut word = random.next_u64() as u32 & !fixed | class;
            for (place, width) in [(0, 5), (5, 5), (16, 5), (10, 6), (10, 12), (22, 1), (12, 4)] {
                let mask = ((1 << width) - 1) << place;
                match random.below(5) {
                    0 => word |= mask & !fixed,
                    1 => word &= !mask | fixed,
                    _ => {}
                }
            }
            if random.below(3) == 0 {
                word = word & !(31 << 16) | (word >> 5 & 31) << 16;
            }
            let name = text.mnemonic(Isa::A64, word);
            assert_eq!(name, text.first_word(Isa::A64, word), "{word:#x}");
        }
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
