//! Effects of an A64 instruction on memory, and the number of bytes that it accesses.
//!
//! Masks follow the A64 encoding index of the Arm ARM (C4.1). The streaming and scalable groups are divided as far
//! as the kinds below need it.

mod size;
mod vector;

pub use size::{Bytes, access_bytes, element_bytes, literal};
pub use vector::{Count, Elements, elements};

/// Effect of an instruction on memory.
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
    /// IC, DC by address, AT.
    Maintenance {
        /// IC and DC may be Tag Checked, AT is not.
        tags: bool,
    },
    /// TLBI by address.
    TlbMaintenance,
    /// TLBI by range.
    TlbRange,
    /// Maintenance by set and way, or by intermediate physical address.
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
    /// FEAT_MOPS set.
    Set {
        /// SETG*: it also writes tags.
        tags: bool,
    },
    /// SVE or SME load; elements may be inactive or their faults suppressed.
    VectorLoad,
    /// SVE or SME store.
    VectorStore,
}

/// Memory behaviour of an instruction; `None` if it does not access memory.
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

/// SVE: C4.1.37 and the sections after it.
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

/// True in the groups of gathers that have a first-faulting form (bit 13). The same space holds prefetches, broadcasts
/// (LD1R*), LDNT1*, LD1Q and the unpredicated loads.
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
