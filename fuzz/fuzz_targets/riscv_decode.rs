//! Any word as a RISC-V instruction: decoding, text and flow agree on what it is.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trackway_core::Isa;
use trackway_isa::riscv::{lookup, text};
use trackway_isa::{Style, flow};

fuzz_target!(|input: (bool, u64, u32)| {
    let (wide, pc, word) = input;
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
});
