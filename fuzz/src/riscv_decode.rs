//! Any word as a RISC-V instruction: decoding, text and flow agree on what it is.

use trackway_core::Isa;
use trackway_isa::riscv::{lookup, text};
use trackway_isa::{Style, flow};

/// Tries one input.
pub fn riscv_decode(data: &[u8]) {
    let Some(bytes) = data.first_chunk::<13>() else { return };
    let [wide, low @ .., a, b, c, d] = *bytes;
    let (wide, pc, word) = (wide & 1 == 1, u64::from_le_bytes(low), u32::from_le_bytes([a, b, c, d]));
    let isa = if wide { Isa::Rv64 } else { Isa::Rv32 };
    let flow = flow(isa, pc, word);
    let plain = text(isa, pc, word, Style { aliases: false, abi_names: false });
    let usual = text(isa, pc, word, Style::default());
    match lookup(isa, word) {
        Some((declared, inst)) => {
            assert_eq!(flow.length, inst.length);
            assert_eq!(inst.word & declared.mask, declared.value);
            assert!(!plain.starts_with('.') && !usual.starts_with('.'), "{plain} {usual}");
            assert!(inst.registers().count() <= 7);
            // Bits that are neither fixed nor of an operand do not matter, and those that are do decode again.
            assert_eq!(lookup(isa, inst.word).map(|(_, again)| again), Some(inst));
        }
        None => assert!(plain.starts_with('.') || plain == "c.unimp", "{plain}"),
    }
}
