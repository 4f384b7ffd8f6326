//! Memory behaviour, sizes, ZA indices and state writes of A64, for encodings by GNU as and LLVM.

use trackway_core::Isa;
use trackway_isa::Disassembler;
use trackway_isa::arm::memory::{
    Bytes, Memory, access_bytes, element_bytes, literal, memory, suppresses_faults,
};
use trackway_isa::arm::{StateWrite, has_za_index, state_write};

#[test]
fn words_of_the_example() {
    assert_eq!(memory(0xa941_53f3), Some(Memory::Load), "LDP x19,x20,[sp,#0x10]");
    assert_eq!(memory(0x2949_b0cb), Some(Memory::Load), "LDP w11,w12,[x6,#0x4c]");
    assert_eq!(memory(0xa881_30eb), Some(Memory::Store), "STP x11,x12,[x7],#0x10");
    for set in [0x1dc0_0693, 0x1dc0_4693, 0x1dc0_8693] {
        assert_eq!(memory(set), Some(Memory::Set { tags: true }));
    }
    assert_eq!(memory(0xe100_0004), Some(Memory::VectorLoad), "LDR ZA[w12,4],[x0,#4,MUL VL]");
    assert!(has_za_index(0xe100_0004));
    assert_eq!(state_write(0xd503_437f), Some(StateWrite::Streaming(true)), "SMSTART SM");
    assert_eq!(memory(0x6b00_007f), None, "CMP w3,w0");
}

#[test]
fn loads_and_stores_of_every_group() {
    use Memory::*;
    // Encodings by GNU as.
    let table: &[(u32, &str, Memory)] = &[
        (0xf940_0020, "ldr x0,[x1]", Load),
        (0xf900_0020, "str x0,[x1]", Store),
        (0x3940_0020, "ldrb w0,[x1]", Load),
        (0xb980_0020, "ldrsw x0,[x1]", Load),
        (0xf980_0020, "prfm pldl1keep,[x1]", Prefetch),
        (0xf880_0020, "prfum pldl1keep,[x1]", Prefetch),
        (0xf8a2_6820, "prfm pldl1keep,[x1,x2]", Prefetch),
        (0xd800_0000, "prfm pldl1keep,literal", Prefetch),
        (0x5800_0040, "ldr x0,literal", Load),
        (0x9800_0040, "ldrsw x0,literal", Load),
        (0x1c00_0040, "ldr s0,literal", Load),
        (0x3dc0_0020, "ldr q0,[x1]", Load),
        (0x3d80_0020, "str q0,[x1]", Store),
        (0xf862_6820, "ldr x0,[x1,x2]", Load),
        (0xf822_6820, "str x0,[x1,x2]", Store),
        (0xf840_0820, "ldtr x0,[x1]", Load),
        (0xf820_0420, "ldraa x0,[x1]", Load),
        (0x0c40_7020, "ld1 {v0.8b},[x1]", Load),
        (0x0d00_0020, "st1 {v0.b}[0],[x1]", Store),
        (0xc85f_7c20, "ldxr x0,[x1]", Load),
        (0xc802_7c20, "stxr w2,x0,[x1]", ConditionalStore),
        (0xc802_fc20, "stlxr w2,x0,[x1]", ConditionalStore),
        (0xc822_0820, "stxp w2,x0,x2,[x1]", ConditionalStore),
        (0xc8df_fc20, "ldar x0,[x1]", Load),
        (0xc89f_fc20, "stlr x0,[x1]", Store),
        (0xc8a0_7c22, "cas x0,x2,[x1]", CompareSwap),
        (0x4820_7c22, "casp x0,x1,x2,x3,[x1]", CompareSwap),
        (0xf820_0022, "ldadd x0,x2,[x1]", ReadWrite),
        (0xf820_8022, "swp x0,x2,[x1]", ReadWrite),
        (0xf8bf_c020, "ldapr x0,[x1]", Load),
        (0xf83f_9020, "st64b x0,[x1]", Store),
        (0xf822_b020, "st64bv x2,x0,[x1]", ConditionalStore),
        (0xf83f_d020, "ld64b x0,[x1]", Load),
        (0xd940_0020, "ldapur x0,[x1]", Load),
        (0xd900_0020, "stlur x0,[x1]", Store),
        (0xd920_0820, "stg x0,[x1]", TagStore),
        (0xd9a0_0820, "st2g x0,[x1]", TagStore),
        (0xd960_0820, "stzg x0,[x1]", TagDataStore),
        (0xd9e0_0820, "stz2g x0,[x1]", TagDataStore),
        (0xd960_0020, "ldg x0,[x1]", TagLoad),
        (0xd9e0_0020, "ldgm x0,[x1]", TagLoad),
        (0xd9a0_0020, "stgm x0,[x1]", TagStore),
        (0xd920_0020, "stzgm x0,[x1]", TagDataStore),
        (0x6900_0840, "stgp x0,x2,[x2]", TagDataStore),
        (0x6940_0840, "ldpsw x0,x2,[x2]", Load),
        (0x1902_0440, "cpyfp [x0]!,[x2]!,x2!", Copy),
        (0x1d02_0440, "cpyp [x0]!,[x2]!,x2!", Copy),
        (0x19c2_0440, "setp [x0]!,x2!,x2", Set { tags: false }),
        (0xd50b_7420, "dc zva,x0", ZeroBlock),
        (0xd50b_7460, "dc gva,x0", TagStore),
        (0xd50b_7480, "dc gzva,x0", TagDataStore),
        (0xd50b_7a20, "dc cvac,x0", Maintenance { tags: true }),
        (0xd508_7620, "dc ivac,x0", Maintenance { tags: true }),
        (0xd508_7640, "dc isw,x0", OtherMaintenance),
        (0xd50b_7520, "ic ivau,x0", Maintenance { tags: true }),
        (0xd508_7800, "at s1e1r,x0", Maintenance { tags: false }),
        (0xd508_8720, "tlbi vae1,x0", TlbMaintenance),
        (0xd50c_8420, "tlbi ipas2e1,x0", OtherMaintenance),
        (0xd50c_8400, "tlbi ipas2e1os,x0", OtherMaintenance),
        (0xd50c_8440, "tlbi ripas2e1,x0", OtherMaintenance),
        (0xd508_8620, "tlbi rvae1,x0", TlbRange),
        (0xa400_4020, "ld1b {z0.b},p0/z,[x1,x0]", VectorLoad),
        (0xe400_4020, "st1b {z0.b},p0,[x1,x0]", VectorStore),
        (0x85c0_0020, "prfb pldl1keep,p0,[x1]", VectorPrefetch),
        (0x8402_c020, "prfb pldl1keep,p0,[x1,x2]", VectorPrefetch),
    ];
    for (word, text, class) in table {
        assert_eq!(memory(*word), Some(*class), "{text}");
    }
    for (word, text) in [(0xd508_751f, "ic iallu"), (0xd508_871f, "tlbi vmalle1"), (0xd503_201f, "nop")] {
        assert_eq!(memory(word), None, "{text}");
    }
}

#[test]
fn indices_of_sme_instructions() {
    // Encodings and text by LLVM 22; a longer comparison of its text with these masks found no difference.
    let indexed = [
        (0xc000_0000, "mov za0h.b[w12, 0], p0/m, z0.b"),
        (0xc002_0000, "mov z0.b, p0/m, za0h.b[w12, 0]"),
        (0xc004_0800, "mov za.d[w8, 0, vgx2], { z0.d, z1.d }"),
        (0xc006_0800, "mov { z0.d, z1.d }, za.d[w8, 0, vgx2]"),
        (0xc00c_0000, "zero za.d[w8, 0, vgx2]"),
        (0xc120_1800, "fmla za.s[w8, 0, vgx2], { z0.s, z1.s }, z0.s"),
        (0xc100_0000, "smlall za.s[w8, 0:3], z0.b, z0.b[0]"),
        (0xc150_8000, "fmla za.s[w8, 0, vgx4], { z0.s - z3.s }, z0.s[0]"),
        (0xe000_0000, "ld1b {za0h.b[w12, 0]}, p0/z, [x0, x0]"),
        (0xe120_0000, "str za[w12, 0], [x0]"),
    ];
    for (word, text) in indexed {
        assert!(has_za_index(word), "{text}");
    }
    let others = [
        (0x8080_0000, "fmopa za0.s, p0/m, p0/m, z0.s, z0.s"),
        (0xa080_0000, "smopa za0.s, p0/m, p0/m, z0.b, z0.b"),
        (0xc008_00ff, "zero {za}"),
        (0xc048_0001, "zero { zt0 }"),
        (0xc090_0000, "addha za0.s, p0/m, p0/m, z0.s"),
        (0xc04c_03e0, "movt x0, zt0[0]"),
        (0xc120_e000, "fcvt z0.h, { z0.s, z1.s }"),
        (0xc120_8000, "sel { z0.b, z1.b }, pn8, { z0.b, z1.b }, { z0.b, z1.b }"),
        (0xa000_0000, "ld1b { z0.b, z1.b }, pn8/z, [x0, x0]"),
        (0xe11f_8020, "ldr zt0, [x1]"),
        (0xd503_437f, "smstart sm"),
    ];
    for (word, text) in others {
        assert!(!has_za_index(word), "{text}");
    }
}

#[test]
fn first_faulting_and_non_faulting_loads() {
    // LDFF1B contiguous, LDNF1B, LDFF1B gather; LD1B, LDR ZA.
    assert!([0xa400_6020, 0xa410_a020, 0x8400_6020].into_iter().all(suppresses_faults));
    assert!(![0xa400_4020, 0xe100_0004].into_iter().any(suppresses_faults));
    // Words and text by LLVM; a longer comparison of its text with these masks found no difference.
    let others = [
        (0x8472_a7bb, "ld1rb { z27.h }, p1/z, [x29, #50]"),
        (0x856a_ab1d, "ld1rsh { z29.s }, p2/z, [x24, #84]"),
        (0x8477_7780, "prfd pldl1keep, p5, [x28, z23.s, sxtw #3]"),
        (0x8583_e2c0, "prfd pldl1keep, p0, [z22.s, #24]"),
        (0x8400_a000, "ldnt1b { z0.s }, p0/z, [z0.s]"),
        (0xc400_e000, "prfb pldl1keep, p0, [z0.d]"),
    ];
    for (word, text) in others {
        assert!(!suppresses_faults(word), "{text}");
    }
}

#[test]
fn tracked_registers() {
    assert_eq!(state_write(0xd503_415f), Some(StateWrite::Dit(true)), "msr dit,#1");
    assert_eq!(state_write(0xd503_403f), Some(StateWrite::Ssbs(false)), "msr ssbs,#0");
    assert_eq!(state_write(0xd500_41bf), Some(StateWrite::StackPointer(true)), "msr spsel,#1");
    assert_eq!(state_write(0xd503_427f), Some(StateWrite::Streaming(false)), "smstop sm");
    assert_eq!(state_write(0xd503_447f), None, "smstop za");
    assert_eq!(state_write(0xd518_1000), Some(StateWrite::Register), "msr sctlr_el1,x0");
    assert_eq!(state_write(0xd51c_1200), Some(StateWrite::Register), "msr zcr_el2,x0");
    assert_eq!(state_write(0xd51b_4240), Some(StateWrite::Register), "msr svcr,x0");
    assert_eq!(state_write(0xd518_4020), None, "msr elr_el1,x0");
}

#[test]
fn sizes_of_every_group() {
    use Bytes::*;
    // Encodings by GNU as.
    let table: &[(u32, &str, Option<Bytes>)] = &[
        (0xa941_53f3, "ldp x19,x20,[sp,#0x10]", Some(Fixed(16))),
        (0x2949_b0cb, "ldp w11,w12,[x6,#0x4c]", Some(Fixed(8))),
        (0x6940_0840, "ldpsw x0,x2,[x2]", Some(Fixed(8))),
        (0x6900_0840, "stgp x0,x2,[x2]", Some(Fixed(16))),
        (0x2d40_0440, "ldp s0,s1,[x2]", Some(Fixed(8))),
        (0x6d40_0440, "ldp d0,d1,[x2]", Some(Fixed(16))),
        (0xad40_0440, "ldp q0,q1,[x2]", Some(Fixed(32))),
        (0xf940_0020, "ldr x0,[x1]", Some(Fixed(8))),
        (0x3900_0020, "strb w0,[x1]", Some(Fixed(1))),
        (0x7980_0020, "ldrsh x0,[x1]", Some(Fixed(2))),
        (0xb980_0020, "ldrsw x0,[x1]", Some(Fixed(4))),
        (0x3dc0_0020, "ldr q0,[x1]", Some(Fixed(16))),
        (0x3d40_0020, "ldr b0,[x1]", Some(Fixed(1))),
        (0xfc41_0420, "ldr d0,[x1],#16", Some(Fixed(8))),
        (0xf862_6820, "ldr x0,[x1,x2]", Some(Fixed(8))),
        (0xf820_0420, "ldraa x0,[x1]", Some(Fixed(8))),
        (0x5800_0040, "ldr x0,literal", Some(Fixed(8))),
        (0x9800_0040, "ldrsw x0,literal", Some(Fixed(4))),
        (0x9c00_0040, "ldr q0,literal", Some(Fixed(16))),
        (0x0c40_7020, "ld1 {v0.8b},[x1]", Some(Fixed(8))),
        (0x4c40_0020, "ld4 {v0.16b-v3.16b},[x1]", Some(Fixed(64))),
        (0x4c40_4020, "ld3 {v0.16b-v2.16b},[x1]", Some(Fixed(48))),
        (0x4c40_8020, "ld2 {v0.16b,v1.16b},[x1]", Some(Fixed(32))),
        (0x0d00_0020, "st1 {v0.b}[0],[x1]", Some(Fixed(1))),
        (0x0d60_6020, "ld4 {v0.h-v3.h}[0],[x1]", Some(Fixed(8))),
        (0x4d40_8420, "ld1 {v0.d}[1],[x1]", Some(Fixed(8))),
        (0x4d40_c820, "ld1r {v0.4s},[x1]", Some(Fixed(4))),
        (0x4d60_ec20, "ld4r {v0.2d-v3.2d},[x1]", Some(Fixed(32))),
        (0xc85f_7c20, "ldxr x0,[x1]", Some(Fixed(8))),
        (0x0802_7c20, "stxrb w2,w0,[x1]", Some(Fixed(1))),
        (0xc822_0820, "stxp w2,x0,x2,[x1]", Some(Fixed(16))),
        (0x8822_0820, "stxp w2,w0,w2,[x1]", Some(Fixed(8))),
        (0x4820_7c22, "casp x0,x1,x2,x3,[x1]", Some(Fixed(16))),
        (0x48a0_7c22, "cash w0,w2,[x1]", Some(Fixed(2))),
        (0xf820_0022, "ldadd x0,x2,[x1]", Some(Fixed(8))),
        (0x3820_8022, "swpb w0,w2,[x1]", Some(Fixed(1))),
        (0xb8bf_c020, "ldapr w0,[x1]", Some(Fixed(4))),
        (0xf83f_9020, "st64b x0,[x1]", Some(Fixed(64))),
        (0xd940_0020, "ldapur x0,[x1]", Some(Fixed(8))),
        (0xd920_0820, "stg x0,[x1]", Some(Fixed(16))),
        (0xd9a0_0820, "st2g x0,[x1]", Some(Fixed(32))),
        (0xd9e0_0820, "stz2g x0,[x1]", Some(Fixed(32))),
        (0xd960_0020, "ldg x0,[x1]", Some(Fixed(16))),
        (0xd9e0_0020, "ldgm x0,[x1]", None),
        (0xd920_0020, "stzgm x0,[x1]", None),
        (0xd50b_7420, "dc zva,x0", Some(Block(4, 2048))),
        (0xd50b_7480, "dc gzva,x0", Some(Block(16, 2048))),
        (0x8580_4020, "ldr z0,[x1]", Some(Vector(1))),
        (0xe580_0020, "str p0,[x1]", Some(Vector(8))),
        (0xe100_0004, "ldr za[w12,4],[x0,#4,mul vl]", Some(Array)),
        (0xe11f_8020, "ldr zt0,[x1]", Some(Fixed(64))),
        (0xa400_4020, "ld1b {z0.b},p0/z,[x1,x0]", None),
        (0xf980_0020, "prfm pldl1keep,[x1]", None),
        (0x1902_0440, "cpyfp [x0]!,[x2]!,x2!", None),
    ];
    for (word, text, bytes) in table {
        assert_eq!(access_bytes(*word), *bytes, "{text}");
    }
}

#[test]
fn elements_of_loads_that_suppress_faults() {
    let mut disassembler = Disassembler::default();
    let mut seen = [0; 4];
    // Contiguous, non-faulting, gathers of 32 and 64 bits: every type.
    for form in 0..16u32 {
        for base in [0xa400_6020, 0xa410_a020, 0x8400_6020, 0xc400_6020, 0xc440_a020, 0xc460_e020] {
            let word = base | if base >> 25 == 0x52 { form << 21 } else { (form & 3) << 23 };
            let text = disassembler.text(Isa::A64, 0, word).to_string();
            let Some((_, rest)) = text.split_once("ldff1").or(text.split_once("ldnf1")) else { continue };
            let letter = rest.trim_start_matches('s').chars().next();
            let log = "bhwd".find(letter.expect("a size")).expect("a size");
            assert!(suppresses_faults(word), "{text}");
            assert_eq!(element_bytes(word), 1 << log, "{word:#x} {text}");
            seen[log] += 1;
        }
    }
    assert!(seen.iter().all(|count| *count >= 4), "{seen:?}");
}

#[test]
fn literals() {
    assert_eq!(literal(0x1000, 0x5800_0040), Some(0x1008), "ldr x0,.+8");
    assert_eq!(literal(0x1000, 0x58ff_ffe0), Some(0xffc), "ldr x0,.-4");
    assert_eq!(literal(0x1000, 0xd800_0040), Some(0x1008), "prfm pldl1keep,.+8");
    assert_eq!(literal(0x1000, 0xf940_0020), None, "ldr x0,[x1]");
}
