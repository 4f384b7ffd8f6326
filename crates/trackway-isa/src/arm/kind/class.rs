//! Classes of A64 instructions that control falls through, by the encoding index (Arm ARM C4.1).

use crate::arm::mask::bits;
use crate::arm::memory::{Memory, memory};
use crate::class::Class;

/// The class of an A64 instruction that control falls through.
pub(crate) fn class(word: u32) -> Class {
    // Advanced SIMD structures; loads and stores of one or two registers are no vector accesses.
    let structures = word & 0xbe00_0000 == 0x0c00_0000;
    match memory(word) {
        Some(Memory::Load | Memory::Store) if structures => {
            return if bits(word, 22, 1) == 1 { Class::VectorLoad } else { Class::VectorStore };
        }
        Some(Memory::Load | Memory::TagLoad) => return Class::Load,
        Some(Memory::ReadWrite | Memory::CompareSwap) => return Class::Atomic,
        Some(Memory::VectorLoad) => return Class::VectorLoad,
        Some(Memory::VectorStore) => return Class::VectorStore,
        Some(Memory::Prefetch | Memory::VectorPrefetch) => return Class::Prefetch,
        Some(
            Memory::Store
            | Memory::ConditionalStore
            | Memory::ZeroBlock
            | Memory::TagStore
            | Memory::TagDataStore
            | Memory::Copy
            | Memory::Set { .. },
        ) => return Class::Store,
        _ => {}
    }
    match word >> 25 & 0xf {
        0b1000 | 0b1001 => Class::Integer,
        0b0101 | 0b1101 => match word >> 24 & 0x1f {
            0b11011 => Class::Multiply,
            // UDIV and SDIV.
            0b11010 if word & 0x7fe0_f800 == 0x1ac0_0800 => Class::Divide,
            _ => Class::Integer,
        },
        0b0111 | 0b1111 if word & 0x5e00_0000 == 0x1e00_0000 || is_scalar_float(word) => Class::Float,
        0b0111 | 0b1111 | 0b0010 => Class::Vector,
        0b0000 if word >> 31 == 1 => Class::Vector,
        0b1010 | 0b1011 => system(word),
        _ => Class::Other,
    }
}

/// Floating point on one element in the encodings of Advanced SIMD: conversions, comparisons, estimates.
fn is_scalar_float(word: u32) -> bool {
    let op = bits(word, 12, 5);
    word & 0xde00_0000 == 0x5e00_0000
        && match (bits(word, 24, 1), bits(word, 21, 1), bits(word, 10, 2)) {
            // Shifts by a constant: SCVTF and FCVTZS with fixed point.
            (1, _, 1 | 3) => matches!(bits(word, 11, 5), 28 | 31),
            (0, 1, 1 | 3) => bits(word, 11, 5) >= 24,
            // Three of the same with halves; bit 15 set is SQRDMLAH.
            (0, 0, 1 | 3) => bits(word, 22, 1) == 1 && bits(word, 14, 2) == 0,
            (0, 1, 2) => match bits(word, 17, 4) {
                0b0000 => op >= 12 && !matches!(op, 18 | 20),
                0b1100 => true,
                _ => false,
            },
            _ => false,
        }
}

/// Exceptions, hints, barriers, system instructions and registers: C4.1.93.
fn system(word: u32) -> Class {
    let (op1, crn, crm, op2) = (bits(word, 16, 3), bits(word, 12, 4), bits(word, 8, 4), bits(word, 5, 3));
    match word >> 19 {
        // DCPS, TCANCEL.
        _ if word >> 24 == 0xd4 => Class::System,
        0x1aa0 if word & 0x1f == 0x1f => match (op1, crn) {
            (3, 2) => hint(crm << 3 | op2),
            // CLREX, DSB, DMB, SB; TCOMMIT.
            (3, 3) if (crm, op2) == (0, 3) => Class::System,
            (3, 3) => Class::Fence,
            // CFINV, XAFLAG, AXFLAG change flags, the others PSTATE.
            (0, 4) if op2 < 3 => Class::Integer,
            (_, 4) => Class::Csr,
            _ => Class::Other,
        },
        // SYS and SYSL, and the pairs: TLBI; IC and DC; AT, predictions, branch records, guarded stacks.
        0x1aa1 | 0x1aa5 | 0x1aa9 => match (crn, crm) {
            (8 | 9, _) => Class::Fence,
            (7, 1 | 4..=6 | 10..=15) => Class::Cache,
            _ => Class::System,
        },
        // TTEST.
        0x1aa4 => Class::System,
        // MSR, MRS, MSRR, MRRS.
        0x1aa2 | 0x1aa3 | 0x1aa6 | 0x1aa7 | 0x1aaa | 0x1aab | 0x1aae | 0x1aaf => Class::Csr,
        _ => Class::Other,
    }
}

/// Hints by CRm and op2: pointer authentication computes, some synchronise, the others do nothing that is visible.
fn hint(number: u32) -> Class {
    match number {
        7 | 8 | 10 | 12 | 14 | 24..=31 => Class::Integer,
        // ESB, PSB, TSB, GCSB, CSDB.
        16..=20 => Class::Fence,
        _ => Class::Hint,
    }
}
