//! Registers of A64's scalar floating-point and Advanced SIMD instructions (Arm ARM C4.1.96).

use super::list::{List, flag, rd, rm, rn};
use super::mask::bits;

pub(super) fn registers(word: u32, list: &mut List) -> Option<()> {
    match word >> 24 & 0x5f {
        0x1e => scalar(word, list),
        0x1f => {
            for number in [rn(word), rm(word), bits(word, 10, 5)] {
                list.reads_vector(number);
            }
            list.writes_vector(rd(word));
            Some(())
        }
        0x4e if word >> 24 == 0xce => cryptography(word, list),
        _ if word >> 31 == 0 => vector(word, list),
        _ => None,
    }
}

/// Scalar floating point.
fn scalar(word: u32, list: &mut List) -> Option<()> {
    let three = |list: &mut List| {
        list.reads_vector(rn(word));
        list.reads_vector(rm(word));
        list.writes_vector(rd(word));
    };
    if flag(word, 29) {
        return None;
    }
    match (flag(word, 21), bits(word, 10, 2)) {
        // Conversions from and to fixed point.
        (false, _) => convert(word, list),
        (true, 1) => {
            list.reads_vector(rn(word));
            list.reads_vector(rm(word));
            list.reads_flags();
            list.writes_flags();
        }
        (true, 2) => three(list),
        (true, 3) => {
            three(list);
            list.reads_flags();
        }
        (true, _) => match bits(word, 12, 4) {
            op if op & 1 == 1 => list.writes_vector(rd(word)), // FMOV of a constant
            // FCMP, with a register or with zero.
            op if op & 3 == 2 => {
                list.reads_vector(rn(word));
                if !flag(word, 3) {
                    list.reads_vector(rm(word));
                }
                list.writes_flags();
            }
            op if op & 7 == 4 => {
                list.reads_vector(rn(word));
                list.writes_vector(rd(word));
            }
            0 => convert(word, list),
            _ => return None,
        },
    }
    Some(())
}

/// Conversions and moves between the register files.
fn convert(word: u32, list: &mut List) {
    let (mode, op) = (bits(word, 19, 2), bits(word, 16, 3));
    let to_vector = matches!(op, 2 | 3) || op == 7;
    if to_vector {
        list.reads(rn(word));
        // FMOV to the upper half keeps the lower one.
        if op == 7 && mode == 1 {
            list.reads_vector(rd(word));
        }
        list.writes_vector(rd(word));
    } else {
        list.reads_vector(rn(word));
        list.writes(rd(word));
        // FJCVTZS.
        if op == 6 && mode == 3 {
            list.writes_flags();
        }
    }
}

/// Advanced SIMD, vectors and scalars.
fn vector(word: u32, list: &mut List) -> Option<()> {
    let (q, u) = (flag(word, 30), flag(word, 29));
    let scalar = flag(word, 28);
    let indexed = flag(word, 24);
    let size = bits(word, 22, 2);
    let mut reads_m = true;
    let reads_d;
    if indexed {
        if flag(word, 10) {
            reads_m = false;
            if bits(word, 19, 4) == 0 && !scalar {
                return constant(word, list);
            }
            // Shifts by a constant; those that accumulate or insert, and narrowing to the upper half.
            let op = bits(word, 11, 5);
            reads_d =
                matches!(op, 2 | 6) || u && matches!(op, 8 | 10) || q && !scalar && (16..20).contains(&op);
        } else {
            return by_element(word, list);
        }
    } else if flag(word, 21) {
        match (flag(word, 11), flag(word, 10)) {
            // Three of the same.
            (_, true) => {
                let op = bits(word, 11, 5);
                reads_d = !scalar
                    && match op {
                        3 => u && size != 0,       // BSL, BIT, BIF; EOR reads none
                        15 | 18 => true,           // SABA, UABA; MLA, MLS
                        25 => !u || size & 1 == 0, // FMLA, FMLS; FMLAL2, FMLSL2
                        29 => !u && size & 1 == 0, // FMLAL, FMLSL
                        _ => false,
                    };
            }
            // Three of different widths.
            (false, false) => {
                let op = bits(word, 12, 4);
                reads_d = matches!(op, 5 | 8 | 9 | 10 | 11) || q && !scalar && matches!(op, 4 | 6);
            }
            // Two registers; across lanes; cryptography.
            (true, false) => {
                reads_m = false;
                let op = bits(word, 12, 5);
                reads_d = match bits(word, 17, 5) {
                    // AESE and AESD; SHA1SU1, SHA256SU0.
                    0b10100 if !scalar => op == 4 || op == 5,
                    0b10100 => op == 1 || op == 2,
                    _ => op == 3 || !scalar && (op == 6 || q && narrows(op)),
                };
            }
        }
    } else {
        return others(word, list);
    }
    list.reads_vector(rn(word));
    if reads_m {
        list.reads_vector(rm(word));
    }
    if reads_d {
        list.reads_vector(rd(word));
    }
    list.writes_vector(rd(word));
    Some(())
}

/// A vector with an element of another, whose register has four bits where the element is a half.
fn by_element(word: u32, list: &mut List) -> Option<()> {
    let (u, size, op) = (flag(word, 29), bits(word, 22, 2), bits(word, 12, 4));
    let half = match op {
        14 => false,
        15 => size == if u { 1 } else { 3 }, // SQRDMLSH; BFMLAL
        1 | 3 | 5 | 7 if u => false,         // FCMLA
        0 | 4 if !u => size == 2,            // FMLAL, FMLSL
        8 | 12 if u => size == 2,            // FMLAL2, FMLSL2
        _ => size < 2,
    };
    list.reads_vector(rn(word));
    list.reads_vector(if half { bits(word, 16, 4) } else { rm(word) });
    // All accumulate but the plain multiplications.
    if if u { !(9..12).contains(&op) } else { matches!(op, 0..=7 | 14 | 15) } {
        list.reads_vector(rd(word));
    }
    list.writes_vector(rd(word));
    Some(())
}

/// SHA3, SHA512, SM3, SM4.
fn cryptography(word: u32, list: &mut List) -> Option<()> {
    list.reads_vector(rn(word));
    let op = bits(word, 10, 6);
    let reads_d = match (bits(word, 21, 3), flag(word, 15)) {
        // EOR3, BCAX, SM3SS1: a third source.
        (0..=2, false) => {
            list.reads_vector(rm(word));
            list.reads_vector(bits(word, 10, 5));
            false
        }
        // SM3TT1A and its kin.
        (2, true) => {
            list.reads_vector(rm(word));
            true
        }
        // SHA512H and its kin; RAX1 and SM4EKEY only write.
        (3, true) => {
            list.reads_vector(rm(word));
            !matches!(op, 0b10_0011 | 0b11_0010)
        }
        // XAR.
        (4, _) => {
            list.reads_vector(rm(word));
            false
        }
        // SHA512SU0, SM4E.
        (6, true) => true,
        _ => return None,
    };
    if reads_d {
        list.reads_vector(rd(word));
    }
    list.writes_vector(rd(word));
    Some(())
}

/// XTN2, SQXTN2, SQXTUN2, FCVTN2, FCVTXN2, BFCVTN2.
fn narrows(op: u32) -> bool {
    matches!(op, 18 | 20 | 22)
}

/// MOVI and its kin: ORR and BIC keep the other bits.
fn constant(word: u32, list: &mut List) -> Option<()> {
    let mode = bits(word, 12, 4);
    if mode & 1 == 1 && mode < 12 {
        list.reads_vector(rd(word));
    }
    list.writes_vector(rd(word));
    Some(())
}

/// Copies, permutations, tables, extraction, dot products, three registers with bit 21 clear.
fn others(word: u32, list: &mut List) -> Option<()> {
    let (scalar, u) = (flag(word, 28), flag(word, 29));
    if flag(word, 10) && !flag(word, 15) && bits(word, 21, 3) == 0 {
        return copy(word, list, scalar, u);
    }
    if scalar {
        // SHA1C and its kin, SHA256H; three of the same with halves.
        let crypto = !u && !flag(word, 10) && bits(word, 22, 2) == 0;
        list.reads_vector(rn(word));
        list.reads_vector(rm(word));
        if crypto || flag(word, 10) && flag(word, 15) {
            list.reads_vector(rd(word));
        }
        list.writes_vector(rd(word));
        return Some(());
    }
    match (u, flag(word, 15), flag(word, 10)) {
        // TBL, TBX.
        (false, false, false) if !flag(word, 11) && bits(word, 22, 2) == 0 => {
            (0..=bits(word, 13, 2)).for_each(|n| list.reads_vector(rn(word) + n));
            list.reads_vector(rm(word));
            if flag(word, 12) {
                list.reads_vector(rd(word));
            }
        }
        // Dot products, SQRDMLAH, FCMLA, USMMLA and their kin; FCADD only adds.
        (_, true, true) => {
            list.reads_vector(rn(word));
            list.reads_vector(rm(word));
            let adds = u && bits(word, 11, 5) & 0b11101 == 0b11100;
            if !adds {
                list.reads_vector(rd(word));
            }
        }
        // Halves: FMLA and FMLS.
        (_, false, true) => {
            list.reads_vector(rn(word));
            list.reads_vector(rm(word));
            if !u && bits(word, 11, 3) == 1 {
                list.reads_vector(rd(word));
            }
        }
        // ZIP, UZP, TRN; EXT.
        _ => {
            list.reads_vector(rn(word));
            list.reads_vector(rm(word));
        }
    }
    list.writes_vector(rd(word));
    Some(())
}

fn copy(word: u32, list: &mut List, scalar: bool, u: bool) -> Option<()> {
    if scalar || u {
        // DUP of an element; INS of an element keeps the others.
        list.reads_vector(rn(word));
        if !scalar {
            list.reads_vector(rd(word));
        }
        list.writes_vector(rd(word));
        return Some(());
    }
    match bits(word, 11, 4) {
        0 => {
            list.reads_vector(rn(word));
            list.writes_vector(rd(word));
        }
        1 => {
            list.reads(rn(word));
            list.writes_vector(rd(word));
        }
        3 => {
            list.reads(rn(word));
            list.reads_vector(rd(word));
            list.writes_vector(rd(word));
        }
        // SMOV, UMOV.
        5 | 7 => {
            list.reads_vector(rn(word));
            list.writes(rd(word));
        }
        _ => return None,
    }
    Some(())
}
