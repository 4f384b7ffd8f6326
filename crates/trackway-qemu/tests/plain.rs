//! An instruction that is plain for the plugin is plain for the decoders too: it does not change the flow, and makes its accesses.

use trackway_core::{Isa, MemKind, SplitMix64};
use trackway_isa::{Control, flow, memory};

#[path = "../../../plugin/qemu/src/plain.rs"]
mod plain;

const SETS: [(Isa, &str); 3] = [(Isa::A64, "aarch64"), (Isa::Rv64, "riscv64"), (Isa::Rv32, "riscv32")];

#[test]
fn plain_instructions_follow_each_other() {
    let mut random = SplitMix64(11);
    for (isa, target) in SETS {
        let set = plain::Set::new(target);
        let (mut count, mut accesses) = (0, 0);
        for _ in 0..2_000_000 {
            let word = random.next_u64() as u32;
            // All forms of two bytes are as frequent as the others.
            let narrow = isa != Isa::A64 && word & 3 != 3;
            let (encoding, size) = if narrow { (word & 0xffff, 2) } else { (word, 4) };
            if !set.is_plain(encoding, size) {
                continue;
            }
            count += 1;
            assert_eq!(flow(isa, 0, encoding).control, Control::Sequential, "{isa} {encoding:#x}");
            // A prefetch makes no access in QEMU.
            if let Some(memory) = memory(isa, encoding).filter(|memory| memory.kind != MemKind::Prefetch) {
                accesses += 1;
                let is_certain = !memory.optional && memory.bytes.is_some();
                let is_one_way = matches!(memory.kind, MemKind::Read | MemKind::Write);
                assert!(is_certain && is_one_way, "{isa} {encoding:#x}: {memory:?}");
            }
        }
        assert!(count > 200_000 && accesses > 50_000, "{isa}: {count}, {accesses}");
    }
}

/// Instructions that may trap, or access what they need not, end their run.
#[test]
fn others_are_not() {
    let a64 = [
        0xd503_207f, // wfi
        0xd53b_e040, // mrs x0, cntvct_el0
        0xc85f_7c20, // ldxr
        0xc802_7c20, // stxr
        0xf820_0001, // ldadd
        0xd50b_7a21, // dc cvac
        0xdac1_1020, // autia
        0xa400_a020, // ld1b, of SVE
        0x4c40_7000, // ld1, of several registers
    ];
    let riscv = [
        0xc010_22f3, // rdtime
        0x1050_0073, // wfi
        0x00a5_352f, // amoadd.d
        0x18b5_352f, // sc.d
        0x0205_7007, // vle64.v
        0x0000_0017, // auipc zero, a landing pad
        0x02a5_7553, // fadd.d with the dynamic rounding mode
    ];
    for (target, encodings) in [("aarch64", &a64[..]), ("riscv64", &riscv[..])] {
        let set = plain::Set::new(target);
        for encoding in encodings {
            assert!(!set.is_plain(*encoding, 4), "{target} {encoding:#x}");
        }
    }
    // A32 may be conditional everywhere.
    assert!(!plain::Set::new("arm").is_plain(0xe280_0001, 4));
}
