//! How many bytes an instruction accesses, where its word alone tells (ASTF 4.5.2).
//!
//! The groups are those of [`word`](crate::word), in the same order.

use crate::word::{Memory, memory};

/// Bytes of all accesses of a completed instruction together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bytes {
    /// As many.
    Fixed(u64),
    /// A power of two within these, as the implementation chose (DC ZVA).
    Block(u64, u64),
    /// Of the vector length in bytes, this part: 1, or 8 for a predicate.
    Vector(u64),
    /// A vector of ZA: the streaming vector length, in streaming mode or not.
    Array,
}

/// Bytes that the accesses of `word` have together if it completes; `None` where registers decide, or where
/// the access has no size.
pub fn access_bytes(word: u32) -> Option<Bytes> {
    match memory(word)? {
        Memory::ZeroBlock => Some(Bytes::Block(4, 2048)),
        Memory::VectorLoad | Memory::VectorStore => vector(word),
        Memory::Load
        | Memory::Store
        | Memory::ReadWrite
        | Memory::CompareSwap
        | Memory::ConditionalStore
        | Memory::TagLoad
        | Memory::TagStore
        | Memory::TagDataStore => match word >> 25 & 0xf {
            // DC GVA and DC GZVA: the block of DC ZVA, in whole granules.
            0b1010 => Some(Bytes::Block(16, 2048)),
            _ => load_store(word).map(Bytes::Fixed),
        },
        _ => None,
    }
}

fn load_store(word: u32) -> Option<u64> {
    let (size, vector) = (word >> 30, word >> 26 & 1 == 1);
    match word >> 24 & 0x3b {
        0b00_1000 if vector => structures(word),
        0b00_1001 if vector => single_structure(word),
        0b00_1000 => exclusive(word),
        0b01_1001 => miscellaneous(word),
        0b01_1000 if vector => (size < 3).then(|| 4 << size),
        0b01_1000 => Some(if size == 1 { 8 } else { 4 }),
        0b10_1000 | 0b10_1001 => match (size, vector) {
            (0..3, true) => Some(8 << size),
            (0, false) => Some(8),
            // LDPSW; STGP.
            (1, false) => Some(if word >> 22 & 1 == 1 { 8 } else { 16 }),
            (2, false) => Some(16),
            _ => None,
        },
        0b11_1000 | 0b11_1001 => single(word),
        _ => None,
    }
}

/// LD1 to LD4 and ST1 to ST4 of whole registers.
fn structures(word: u32) -> Option<u64> {
    let registers = match word >> 12 & 0xf {
        0b0000 | 0b0010 => 4,
        0b0100 | 0b0110 => 3,
        0b1000 | 0b1010 => 2,
        0b0111 => 1,
        _ => return None,
    };
    Some(registers * (8 << (word >> 30 & 1)))
}

/// LD1 to LD4 and ST1 to ST4 of one element each, and LD1R to LD4R.
fn single_structure(word: u32) -> Option<u64> {
    let (opcode, size) = (word >> 13 & 7, word >> 10 & 3);
    let count = u64::from((opcode & 1) << 1 | word >> 21 & 1) + 1;
    let element = match opcode >> 1 {
        0 => 1,
        1 => 2,
        2 => 4 << (size & 1),
        _ => 1 << size,
    };
    Some(count * element)
}

fn exclusive(word: u32) -> Option<u64> {
    let (ordered, pair) = (word >> 23 & 1 == 1, word >> 21 & 1 == 1);
    Some(match (ordered, pair) {
        // CASP, LDXP, STXP.
        (false, true) => 8 << (word >> 30 & 1),
        _ => 1 << (word >> 30),
    })
}

fn miscellaneous(word: u32) -> Option<u64> {
    let (size, vector) = (word >> 30, word >> 26 & 1 == 1);
    match (word >> 21 & 1, word >> 10 & 3) {
        // LDGM, STGM and STZGM: as many granules as the implementation has in a block.
        (1, 0) if size == 3 && !vector => (word >> 22 & 3 == 1).then_some(16),
        (1, _) if size == 3 && !vector => Some(if word >> 23 & 1 == 1 { 32 } else { 16 }),
        (0, 0) if !vector => Some(1 << size),
        _ => None,
    }
}

fn single(word: u32) -> Option<u64> {
    let (size, vector, opc) = (word >> 30, word >> 26 & 1 == 1, word >> 22 & 3);
    let atomic = word >> 24 & 1 == 0 && word >> 21 & 1 == 1;
    match word >> 10 & 3 {
        0 if atomic && vector => None,
        0 if atomic => match (word >> 15 & 1, word >> 12 & 7) {
            (0, _) | (1, 0 | 4) => Some(1 << size),
            // LD64B, ST64B, ST64BV, ST64BV0.
            (1, 1 | 2 | 3 | 5) if size == 3 => Some(64),
            _ => None,
        },
        // LDRAA, LDRAB.
        1 | 3 if atomic => Some(8),
        _ if vector && opc >> 1 == 1 => (size == 0).then_some(16),
        _ => Some(1 << size),
    }
}

/// Vector accesses that no predicate governs: LDR and STR of Z and P, of ZA and of ZT0.
fn vector(word: u32) -> Option<Bytes> {
    const KINDS: [(u32, u32, Bytes); 6] = [
        (0xffc0_e000, 0x8580_4000, Bytes::Vector(1)),
        (0xffc0_e000, 0xe580_4000, Bytes::Vector(1)),
        (0xffc0_e010, 0x8580_0000, Bytes::Vector(8)),
        (0xffc0_e010, 0xe580_0000, Bytes::Vector(8)),
        (0xffdf_9c10, 0xe100_0000, Bytes::Array),
        (0xffdf_fc1f, 0xe11f_8000, Bytes::Fixed(64)),
    ];
    KINDS.iter().find(|(mask, value, _)| word & mask == *value).map(|kind| kind.2)
}

/// Bytes of one element in memory, of the loads that suppress faults (LDFF1*, LDNF1*).
pub fn element_bytes(word: u32) -> u64 {
    if word >> 25 != 0x52 {
        return 1 << (word >> 23 & 3);
    }
    // Contiguous: the type says both sizes.
    match word >> 21 & 0xf {
        0..=3 | 12..=14 => 1,
        5..=9 => 2,
        4 | 10 | 11 => 4,
        _ => 8,
    }
}

/// Where the literal of a load or prefetch is.
pub fn literal(pc: u64, word: u32) -> Option<u64> {
    let offset = i64::from((word << 8) as i32 >> 13) << 2;
    (word & 0x3b00_0000 == 0x1800_0000).then(|| pc.wrapping_add_signed(offset))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Bytes::*;

    #[test]
    fn sizes_of_every_group() {
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
        use trackway_core::Isa;
        let mut disassembler = trackway_isa::Disassembler::default();
        let mut seen = [0; 4];
        // Contiguous, non-faulting, gathers of 32 and 64 bits: every type.
        for form in 0..16u32 {
            for base in [0xa400_6020, 0xa410_a020, 0x8400_6020, 0xc400_6020, 0xc440_a020, 0xc460_e020] {
                let word = base | if base >> 25 == 0x52 { form << 21 } else { (form & 3) << 23 };
                let text = disassembler.text(Isa::A64, 0, word).to_string();
                let Some((_, rest)) = text.split_once("ldff1").or(text.split_once("ldnf1")) else { continue };
                let letter = rest.trim_start_matches('s').chars().next();
                let log = "bhwd".find(letter.expect("a size")).expect("a size");
                assert!(crate::word::suppresses_faults(word), "{text}");
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
}
