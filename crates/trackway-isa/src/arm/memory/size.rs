//! How many bytes an instruction accesses, where the encoding alone decides.
//!
//! The groups are those of [`memory`], in the same order.

use super::{Memory, memory};

/// Bytes of all accesses of a completed instruction together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bytes {
    /// Exactly this many.
    Fixed(u64),
    /// A power of two between these two, chosen by the implementation (DC ZVA).
    Block(u64, u64),
    /// The vector length in bytes, divided by this: 1, or 8 for a predicate.
    Vector(u64),
    /// A vector of ZA: the streaming vector length, even outside streaming mode.
    Array,
}

/// Bytes that all accesses of `word` cover if it completes; `None` where registers decide, or where the access has no
/// size.
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
        // LDGM, STGM and STZGM: the implementation chooses the number of granules.
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

/// Bytes in memory of one element of the loads that suppress faults (LDFF1*, LDNF1*).
pub fn element_bytes(word: u32) -> u64 {
    if word >> 25 != 0x52 {
        return 1 << (word >> 23 & 3);
    }
    // Contiguous: `dtype` encodes the sizes in memory and in the register.
    match word >> 21 & 0xf {
        0..=3 | 12..=14 => 1,
        5..=9 => 2,
        4 | 10 | 11 => 4,
        _ => 8,
    }
}

/// Address of the literal of a load or prefetch.
pub fn literal(pc: u64, word: u32) -> Option<u64> {
    let offset = i64::from((word << 8) as i32 >> 13) << 2;
    (word & 0x3b00_0000 == 0x1800_0000).then(|| pc.wrapping_add_signed(offset))
}
