//! What the instruction word says a record's flags must be (ASTF 4.5).
//!
//! Control transfer comes from [`trackway_isa`]; memory behaviour from the masks below, which follow the
//! A64 encoding index of the Arm ARM (C4.1). The streaming and scalable groups are told apart as far as the
//! rules need it.

use trackway_core::{Isa, Syscall};
use trackway_isa::{Control, flow};

/// What an instruction does, in the terms of ASTF 4.5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Nothing that the record shows.
    Plain,
    /// A branch (4.5.1).
    Branch {
        /// It may fall through.
        conditional: bool,
        /// Where it goes, if the encoding tells.
        target: Option<u64>,
    },
    /// ERET and its kin.
    ExceptionReturn,
    /// SVC, HVC or SMC, and the immediate.
    Syscall(Syscall, u16),
    /// BRK or HLT: always an exception.
    Breakpoint,
    /// UDF and the reserved space: always an exception.
    Undefined,
    /// WFE, WFI and their timed forms.
    Wait,
    /// Accesses memory (4.5.2).
    Memory(Memory),
}

/// What a memory-accessing instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// Load.
    Load,
    /// Store.
    Store,
    /// Atomic read-modify-write.
    ReadWrite,
    /// Compare and swap: reads, writes if equal.
    CompareSwap,
    /// Store that may fail: exclusives, ST64BV.
    ConditionalStore,
    /// PRFM, PRFUM, RPRFM.
    Prefetch,
    /// SVE PRF*.
    VectorPrefetch,
    /// IC, DC by address, AT; `tags` if it may be Tag Checked (IC, DC).
    Maintenance {
        /// It may be Tag Checked.
        tags: bool,
    },
    /// TLBI by address.
    TlbMaintenance,
    /// TLBI by range.
    TlbRange,
    /// Maintenance by set and way, or by intermediate address: an address is not demanded.
    OtherMaintenance,
    /// DC ZVA: stores zeros.
    ZeroBlock,
    /// LDG, LDGM.
    TagLoad,
    /// STG, ST2G, STGM, DC GVA.
    TagStore,
    /// STZG, STZ2G, STZGM, STGP, DC GZVA: also stores data.
    TagDataStore,
    /// FEAT_MOPS copy.
    Copy,
    /// FEAT_MOPS set; `tags` for SETG*.
    Set {
        /// It also writes tags.
        tags: bool,
    },
    /// SVE or SME load; elements may be inactive or their faults suppressed.
    VectorLoad,
    /// SVE or SME store.
    VectorStore,
}

/// Classifies the instruction word at `pc`.
pub fn classify(pc: u64, word: u32) -> Class {
    let flow = flow(Isa::A64, pc, word);
    match flow.control {
        Control::TrapReturn => Class::ExceptionReturn,
        Control::SystemCall => {
            let syscall = match word & 3 {
                2 => Syscall::Hvc,
                3 => Syscall::Smc,
                _ => Syscall::Svc,
            };
            Class::Syscall(syscall, (word >> 5) as u16)
        }
        Control::Breakpoint => Class::Breakpoint,
        Control::Undefined => Class::Undefined,
        Control::Wait => Class::Wait,
        control if control.is_transfer() => {
            Class::Branch { conditional: flow.conditional, target: flow.target }
        }
        _ => memory(word).map_or(Class::Plain, Class::Memory),
    }
}

/// Memory behaviour of a word; `None` if it accesses none.
#[inline]
pub fn memory(word: u32) -> Option<Memory> {
    match word >> 25 & 0xf {
        0b0100 | 0b0110 | 0b1100 | 0b1110 => load_store(word),
        0b0010 => scalable(word),
        0b0000 if word >> 31 == 1 => streaming(word),
        0b1010 if word & 0xfff8_0000 == 0xd508_0000 => system(word),
        _ => None,
    }
}

fn by_load_bit(word: u32) -> Option<Memory> {
    Some(if word >> 22 & 1 == 1 { Memory::Load } else { Memory::Store })
}

/// Loads and stores: C4.1.94.
fn load_store(word: u32) -> Option<Memory> {
    let size = word >> 30;
    let vector = word >> 26 & 1 == 1;
    match word >> 24 & 0x3b {
        // Advanced SIMD structures, exclusives and ordered accesses.
        0b00_1000 | 0b00_1001 if vector => by_load_bit(word),
        0b00_1000 => exclusive(word),
        // Tags, copies, atomics of 128 bits, ordered unscaled accesses; literal loads.
        0b01_1001 => miscellaneous(word),
        0b01_1000 => Some(if size == 3 && !vector { Memory::Prefetch } else { Memory::Load }),
        // Pairs.
        0b10_1000 | 0b10_1001 => {
            let store_tags = size == 1 && !vector && word >> 22 & 1 == 0 && word >> 23 & 3 != 0;
            if store_tags { Some(Memory::TagDataStore) } else { by_load_bit(word) }
        }
        // Single registers.
        0b11_1000 | 0b11_1001 => single(word),
        _ => None,
    }
}

fn exclusive(word: u32) -> Option<Memory> {
    let (ordered, load, pair) = (word >> 23 & 1 == 1, word >> 22 & 1 == 1, word >> 21 & 1 == 1);
    Some(match (ordered, pair) {
        (true, true) => Memory::CompareSwap,
        (false, true) if word >> 31 == 0 => Memory::CompareSwap,
        (true, false) if load => Memory::Load,
        (true, false) => Memory::Store,
        (false, _) if load => Memory::Load,
        (false, _) => Memory::ConditionalStore,
    })
}

fn miscellaneous(word: u32) -> Option<Memory> {
    let vector = word >> 26 & 1 == 1;
    match (word >> 21 & 1, word >> 10 & 3) {
        (0, 1) => match (word >> 22 & 3, vector) {
            (3, tags) => Some(Memory::Set { tags }),
            _ => Some(Memory::Copy),
        },
        (1, kind) if word >> 30 == 3 && !vector => Some(match (word >> 22 & 3, kind) {
            (1, 0) | (3, 0) => Memory::TagLoad,
            (0, 0) | (1, _) | (3, _) => Memory::TagDataStore,
            _ => Memory::TagStore,
        }),
        (1, 2 | 3) if !vector => Some(Memory::CompareSwap),
        (1, _) => Some(Memory::ReadWrite),
        // LDAPUR sign-extends in the forms with opc 2 and 3.
        (_, 0) => Some(if word >> 22 & 3 == 0 { Memory::Store } else { Memory::Load }),
        _ => by_load_bit(word),
    }
}

fn single(word: u32) -> Option<Memory> {
    let (size, vector, opc) = (word >> 30, word >> 26 & 1 == 1, word >> 22 & 3);
    let unsigned_offset = word >> 24 & 1 == 1;
    let form = word >> 10 & 3;
    if !unsigned_offset && word >> 21 & 1 == 1 && form != 2 {
        // Atomics, and loads with pointer authentication.
        return match form {
            0 => atomic(word),
            _ => Some(Memory::Load),
        };
    }
    if vector {
        return by_load_bit(word);
    }
    Some(match opc {
        0 => Memory::Store,
        2 if size == 3 => Memory::Prefetch,
        _ => Memory::Load,
    })
}

fn atomic(word: u32) -> Option<Memory> {
    let vector = word >> 26 & 1 == 1;
    Some(match (word >> 15 & 1, word >> 12 & 7) {
        _ if vector => Memory::ReadWrite,
        // LDAPR.
        (1, 4) => Memory::Load,
        // ST64B, ST64BV0, ST64BV, LD64B; the smaller sizes are atomics on page tables.
        (1, 1) if word >> 30 == 3 => Memory::Store,
        (1, 2 | 3) if word >> 30 == 3 => Memory::ConditionalStore,
        (1, 5) if word >> 30 == 3 => Memory::Load,
        _ => Memory::ReadWrite,
    })
}

/// SVE: C4.1.37 and what follows it.
fn scalable(word: u32) -> Option<Memory> {
    const PREFETCHES: [(u32, u32); 7] = [
        (0xffc0_8010, 0x85c0_0000),
        (0xfe60_e010, 0x8400_c000),
        (0xffa0_8010, 0x8420_0000),
        (0xfe60_e010, 0x8400_e000),
        (0xffa0_8010, 0xc420_0000),
        (0xffe0_8010, 0xc460_8000),
        (0xfe60_e010, 0xc400_e000),
    ];
    if word >> 31 == 0 {
        return None;
    }
    let prefetch = PREFETCHES.iter().any(|(mask, value)| word & mask == *value);
    Some(match word >> 29 & 3 {
        _ if prefetch => Memory::VectorPrefetch,
        3 => Memory::VectorStore,
        _ => Memory::VectorLoad,
    })
}

/// LDFF1* and LDNF1*: loads that suppress faults.
pub fn suppresses_faults(word: u32) -> bool {
    let contiguous = word & 0xfe00_e000 == 0xa400_6000 || word & 0xfe10_e000 == 0xa410_a000;
    contiguous || (word >> 13 & 1 == 1 && is_gather(word))
}

/// Is this in the groups of gathers that have a first-faulting form (by bit 13)? Around them are prefetches, broadcasts
/// (LD1R*), LDNT1* and LD1Q, and the unpredicated loads.
fn is_gather(word: u32) -> bool {
    let (size, form, vector) = (word >> 23 & 3, word >> 21 & 3, word >> 15 & 1 == 1);
    match (word >> 25, vector) {
        (0x42, false) => size != 3 && (size, form & 1) != (0, 1),
        (0x42, true) => size != 3 && form == 1,
        (0x62, false) => (size, form & 1) != (0, 1),
        (0x62, true) => form != 0 && (size, form) != (0, 3),
        _ => false,
    }
}

/// SME, and the multi-vector loads and stores that share its space.
fn streaming(word: u32) -> Option<Memory> {
    let store = if word >> 21 & 1 == 1 { Memory::VectorStore } else { Memory::VectorLoad };
    match word >> 25 {
        0b111_0000 => Some(store),
        // Bit 23 set is the arithmetic of outer products.
        0b101_0000 if word >> 23 & 1 == 0 => Some(store),
        _ => None,
    }
}

/// SYS: cache and TLB maintenance, address translation.
fn system(word: u32) -> Option<Memory> {
    let (op1, crn, crm, op2) = (word >> 16 & 7, word >> 12 & 0xf, word >> 8 & 0xf, word >> 5 & 7);
    match (crn, crm) {
        (7, 4) if op1 == 3 => match op2 {
            1 => Some(Memory::ZeroBlock),
            3 => Some(Memory::TagStore),
            4 => Some(Memory::TagDataStore),
            _ => None,
        },
        (7, 8 | 9) => Some(Memory::Maintenance { tags: false }),
        (7, 5) if op1 == 3 && op2 == 1 => Some(Memory::Maintenance { tags: true }),
        // By set and way: DC ISW, CSW, CISW and their tag forms.
        (7, 6 | 10 | 14) if op1 == 0 && op2 % 2 == 0 => Some(Memory::OtherMaintenance),
        (7, 6) if op1 == 0 => Some(Memory::Maintenance { tags: true }),
        (7, 10..=14) if op1 == 3 => Some(Memory::Maintenance { tags: true }),
        (7, 14) if op1 == 6 => Some(Memory::OtherMaintenance),
        (8 | 9, 4) if op1 == 4 => Some(Memory::OtherMaintenance),
        (8 | 9, 0) if op1 == 4 && op2 != 0 => Some(Memory::OtherMaintenance),
        (8 | 9, 4) if op1 == 6 => Some(Memory::OtherMaintenance),
        (8 | 9, 1 | 3 | 7) if op2 % 2 == 1 => Some(Memory::TlbMaintenance),
        (8 | 9, 2 | 5 | 6) if op2 % 2 == 1 => Some(Memory::TlbRange),
        _ => None,
    }
}

/// Is this in the encoding space of SME?
pub(crate) fn is_sme(word: u32) -> bool {
    word >> 31 == 1 && word >> 25 & 0xf == 0
}

/// Must the record of this instruction have an index into ZA (ASTF 4.5)? Slices of tiles, vectors and vector
/// groups of the array, of SME and SME2; not outer products, and not what is done to whole tiles or to ZT0.
pub fn sme_index(word: u32) -> bool {
    match word >> 24 {
        // Moves between slices, or the array, and vectors; ZERO of vector groups.
        0xc0 => word >> 19 & 7 == 0 || word & 0xfffc_0000 == 0xc00c_0000,
        // Arithmetic: bit 15 tells results in vectors from results in the array, where there is no element
        // index (bit 21).
        0xc1 => word >> 21 & 1 == 0 || word >> 15 & 1 == 0,
        // Loads and stores, but LDR and STR of ZT0.
        0xe0 | 0xe1 => word & 0xffdf_fc00 != 0xe11f_8000,
        _ => false,
    }
}

/// A field of the Context record that an instruction sets to a value in its encoding (ASTF 4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tracked {
    /// PSTATE.SM: SMSTART and SMSTOP.
    Streaming(bool),
    /// PSTATE.DIT.
    Dit(bool),
    /// PSTATE.SSBS.
    Ssbs(bool),
    /// PSTATE.SP.
    StackPointer(bool),
    /// A register whose value the trace does not tell: SCTLR, ZCR, SMCR, SVCR, or PSTATE from a register.
    Register,
}

/// The tracked state that an instruction writes, if any.
pub fn tracked(word: u32) -> Option<Tracked> {
    // MSR immediate: op1, CRm, op2.
    if word & 0xfff8_f01f == 0xd500_401f {
        let (op1, crm, op2) = (word >> 16 & 7, word >> 8 & 0xf, word >> 5 & 7);
        let set = crm & 1 == 1;
        return match (op1, op2) {
            (0, 5) => Some(Tracked::StackPointer(set)),
            (3, 1) => Some(Tracked::Ssbs(set)),
            (3, 2) => Some(Tracked::Dit(set)),
            // SVCR: CRm bits 3:1 name SM, ZA or both.
            (3, 3) if crm >> 1 & 1 == 1 => Some(Tracked::Streaming(set)),
            _ => None,
        };
    }
    // MSR register: op0 (bit 19), op1, CRn, CRm, op2.
    if word & 0xfff0_0000 == 0xd510_0000 {
        return match word >> 5 & 0x7fff {
            // SPSel; SSBS, DIT, SVCR; SCTLR, ZCR and SMCR of every level.
            0x4210 | 0x5a16 | 0x5a15 | 0x5a12 => Some(Tracked::Register),
            register => matches!(register & 0x47ff, 0x4080 | 0x4090 | 0x4096).then_some(Tracked::Register),
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_example() {
        assert_eq!(memory(0xa941_53f3), Some(Memory::Load), "LDP x19,x20,[sp,#0x10]");
        assert_eq!(memory(0x2949_b0cb), Some(Memory::Load), "LDP w11,w12,[x6,#0x4c]");
        assert_eq!(memory(0xa881_30eb), Some(Memory::Store), "STP x11,x12,[x7],#0x10");
        for set in [0x1dc0_0693, 0x1dc0_4693, 0x1dc0_8693] {
            assert_eq!(memory(set), Some(Memory::Set { tags: true }));
        }
        assert_eq!(memory(0xe100_0004), Some(Memory::VectorLoad), "LDR ZA[w12,4],[x0,#4,MUL VL]");
        assert!(sme_index(0xe100_0004));
        assert_eq!(tracked(0xd503_437f), Some(Tracked::Streaming(true)), "SMSTART SM");
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
            assert!(sme_index(word), "{text}");
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
            assert!(!sme_index(word), "{text}");
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
        assert_eq!(tracked(0xd503_415f), Some(Tracked::Dit(true)), "msr dit,#1");
        assert_eq!(tracked(0xd503_403f), Some(Tracked::Ssbs(false)), "msr ssbs,#0");
        assert_eq!(tracked(0xd500_41bf), Some(Tracked::StackPointer(true)), "msr spsel,#1");
        assert_eq!(tracked(0xd503_427f), Some(Tracked::Streaming(false)), "smstop sm");
        assert_eq!(tracked(0xd503_447f), None, "smstop za");
        assert_eq!(tracked(0xd518_1000), Some(Tracked::Register), "msr sctlr_el1,x0");
        assert_eq!(tracked(0xd51c_1200), Some(Tracked::Register), "msr zcr_el2,x0");
        assert_eq!(tracked(0xd51b_4240), Some(Tracked::Register), "msr svcr,x0");
        assert_eq!(tracked(0xd518_4020), None, "msr elr_el1,x0");
    }
}
