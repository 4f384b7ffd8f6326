//! Registers that an A64 instruction reads and writes, by our own masks.
//!
//! The order is that of the A64 encoding index of the Arm ARM (C4.1). Floating-point status and control are left out:
//! every arithmetic instruction would touch them. `tests/arm_registers.rs` holds it against capstone.

use trackway_core::{RegClass, RegRole};

use super::list::{List, SP, flag, ra, rd, rm, rn};
use super::mask::bits;
use super::simd;
use crate::registers::Registers;

/// The registers of an A64 instruction; `None` where the encoding is not known.
pub fn registers(word: u32) -> Option<Registers> {
    let mut list = List::default();
    let known = match word >> 25 & 0xf {
        0b1000 | 0b1001 => immediate(word, &mut list),
        0b1010 | 0b1011 => control(word, &mut list),
        0b0100 | 0b0110 | 0b1100 | 0b1110 => load_store(word, &mut list),
        0b0101 | 0b1101 => register(word, &mut list),
        0b0111 | 0b1111 => simd::registers(word, &mut list),
        _ if word >> 16 == 0 => Some(()), // udf
        _ => None,
    };
    known.map(|()| list.0)
}

/// Data processing, immediate: C4.1.92.
fn immediate(word: u32, list: &mut List) -> Option<()> {
    match bits(word, 23, 3) {
        // ADR, ADRP.
        0b000 | 0b001 => list.writes(rd(word)),
        // ADD, SUB.
        0b010 => {
            list.reads_sp(rn(word));
            if flag(word, 29) {
                list.writes(rd(word));
                list.writes_flags();
            } else {
                list.writes_sp(rd(word));
            }
        }
        // SMAX and its kin.
        0b011 if flag(word, 22) => {
            list.reads(rn(word));
            list.writes(rd(word));
        }
        // ADDG, SUBG.
        0b011 => {
            list.reads_sp(rn(word));
            list.writes_sp(rd(word));
        }
        // AND, ORR, EOR, ANDS.
        0b100 => {
            list.reads(rn(word));
            if bits(word, 29, 2) == 3 {
                list.writes(rd(word));
                list.writes_flags();
            } else {
                list.writes_sp(rd(word));
            }
        }
        // MOVN, MOVZ, MOVK.
        0b101 => {
            if bits(word, 29, 2) == 3 {
                list.reads(rd(word));
            }
            list.writes(rd(word));
        }
        // SBFM, BFM, UBFM.
        0b110 => {
            list.reads(rn(word));
            if bits(word, 29, 2) == 1 {
                list.reads(rd(word));
            }
            list.writes(rd(word));
        }
        // EXTR.
        _ if bits(word, 29, 2) == 0 => {
            list.reads(rn(word));
            list.reads(rm(word));
            list.writes(rd(word));
        }
        _ => return None,
    }
    Some(())
}

/// Branches, exceptions and system instructions: C4.1.93.
fn control(word: u32, list: &mut List) -> Option<()> {
    match word >> 24 {
        // B.cond, BC.cond.
        0x54 => list.reads_flags(),
        // SVC, HVC, SMC, BRK, HLT.
        0xd4 => {}
        0xd5 => return system(word, list),
        0xd6 | 0xd7 => return branch_register(word, list),
        // CBZ, CBNZ, TBZ, TBNZ.
        0x34..=0x37 | 0xb4..=0xb7 => list.reads(rd(word)),
        _ => match word >> 26 {
            0b000101 => {}
            0b100101 => list.writes(30),
            _ => return None,
        },
    }
    Some(())
}

fn branch_register(word: u32, list: &mut List) -> Option<()> {
    let signed = flag(word, 11);
    match bits(word, 21, 4) {
        // BR, BLR, RET and their signed forms.
        op @ 0..=2 => {
            // RETAA has no operand: it signs x30 with sp.
            list.reads(if op == 2 && signed { 30 } else { rn(word) });
            if op == 2 && signed {
                list.reads_sp(SP);
            }
            if op == 1 {
                list.writes(30);
            }
        }
        // ERET, DRPS.
        4 | 5 => {}
        // BRAA, BLRAA with a modifier.
        op @ (8 | 9) => {
            list.reads(rn(word));
            list.reads_sp(rd(word));
            if op == 9 {
                list.writes(30);
            }
        }
        _ => return None,
    }
    Some(())
}

fn system(word: u32, list: &mut List) -> Option<()> {
    let system = word >> 5 & 0xffff;
    match word >> 19 & 0x1fff {
        // MSR and MRS of a register.
        n if n & 0x1ffa == 0x1aa2 => {
            if flag(word, 21) {
                list.0.add(RegClass::Csr, system as u16, RegRole::Source);
                list.writes(rd(word));
            } else {
                list.reads(rd(word));
                list.0.add(RegClass::Csr, system as u16, RegRole::Destination);
            }
        }
        // SYS and SYSL.
        0x1aa1 => list.reads(rd(word)),
        0x1aa5 => list.writes(rd(word)),
        // TSTART, TTEST.
        0x1aa4 if matches!(word & 0xffff_ffe0, 0xd523_3060 | 0xd523_3160) => list.writes(rd(word)),
        0x1aa0 => match (word >> 12 & 0xf, word >> 16 & 7) {
            // CFINV, XAFLAG, AXFLAG; other fields of PSTATE.
            (4, 0) if rd(word) == 31 => {
                if bits(word, 8, 4) == 0 && bits(word, 5, 3) <= 2 {
                    list.reads_flags();
                    list.writes_flags();
                }
            }
            (4, _) if rd(word) == 31 => {}
            // WFET, WFIT.
            (1, 3) => list.reads(rd(word)),
            (2, 3) if rd(word) == 31 => hint(word >> 5 & 0x7f, list),
            (3, 3) if rd(word) == 31 => {}
            _ => return None,
        },
        _ => return None,
    }
    Some(())
}

/// Hints that sign, authenticate or strip addresses.
fn hint(number: u32, list: &mut List) {
    let (target, modifier) = match number {
        7 => (30, None),
        8 | 10 | 12 | 14 => (17, Some(16)),
        24 | 26 | 28 | 30 => (30, None),
        25 | 27 | 29 | 31 => (30, Some(SP)),
        40 => (16, None),
        _ => return,
    };
    list.reads(target);
    if let Some(modifier) = modifier {
        list.reads_sp(modifier);
    }
    list.writes(target);
}

/// Loads and stores: C4.1.94.
fn load_store(word: u32, list: &mut List) -> Option<()> {
    let (vector, size) = (flag(word, 26), word >> 30);
    match (word >> 28 & 3, flag(word, 24)) {
        (0, _) if vector => structures(word, list),
        (0, false) => exclusive(word, list),
        (1, false) => {
            // PRFM has no register.
            if vector || size != 3 {
                list.data(vector, true, rd(word));
            }
        }
        (1, true) => return miscellaneous(word, list),
        (2, _) => return pair(word, list),
        (3, true) => single(word, list, false),
        (3, false) if !flag(word, 21) => single(word, list, flag(word, 10)),
        (3, false) => match bits(word, 10, 2) {
            0 => return atomic(word, list),
            2 => {
                single(word, list, false);
                list.offset(rm(word));
            }
            // LDRAA, LDRAB.
            _ if size == 3 && !vector => {
                list.base(rn(word));
                if flag(word, 11) {
                    list.writeback(rn(word));
                }
                list.writes(rd(word));
            }
            _ => return None,
        },
        _ => return None,
    }
    Some(())
}

/// One register, with the base in Rn.
fn single(word: u32, list: &mut List, writeback: bool) {
    let (vector, opc) = (flag(word, 26), bits(word, 22, 2));
    list.base(rn(word));
    if writeback {
        list.writeback(rn(word));
    }
    let prefetch = !vector && word >> 30 == 3 && opc == 2;
    let load = if vector { opc & 1 == 1 } else { opc != 0 };
    if !prefetch {
        list.data(vector, load, rd(word));
    }
}

fn exclusive(word: u32, list: &mut List) {
    let (ordered, load, pair) = (flag(word, 23), flag(word, 22), flag(word, 21));
    list.base(rn(word));
    match (ordered, pair) {
        // CASP, with registers that follow each other.
        (false, true) if !flag(word, 31) => {
            for number in [rm(word), rm(word) + 1] {
                list.reads(number & 31);
                list.writes(number & 31);
            }
            list.reads(rd(word));
            list.reads((rd(word) + 1) & 31);
        }
        // CAS.
        (true, true) => {
            list.reads(rm(word));
            list.writes(rm(word));
            list.reads(rd(word));
        }
        // LDXR, LDXP, LDAR and stores.
        (ordered, pair) => {
            list.data(false, load, rd(word));
            if pair {
                list.data(false, load, ra(word));
            }
            if !ordered && !load {
                list.writes(rm(word));
            }
        }
    }
}

fn pair(word: u32, list: &mut List) -> Option<()> {
    let (vector, load) = (flag(word, 26), flag(word, 22));
    if word >> 30 == 3 {
        return None;
    }
    list.base(rn(word));
    if flag(word, 23) {
        list.writeback(rn(word));
    }
    list.data(vector, load, rd(word));
    list.data(vector, load, ra(word));
    Some(())
}

/// Advanced SIMD structures: one to four registers.
fn structures(word: u32, list: &mut List) {
    let load = flag(word, 22);
    list.base(rn(word));
    if flag(word, 23) {
        list.offset(rm(word));
        list.writeback(rn(word));
    }
    let (count, lane) = if flag(word, 24) {
        let replicate = bits(word, 14, 2) == 3;
        ((bits(word, 13, 1) << 1 | bits(word, 21, 1)) + 1, !replicate)
    } else {
        let count = match bits(word, 12, 4) {
            0 | 2 => 4,
            4 | 6 => 3,
            8 | 10 => 2,
            _ => 1,
        };
        (count, false)
    };
    for n in 0..count {
        // A load of a lane keeps the others.
        if !load || lane {
            list.reads_vector(rd(word) + n);
        }
        if load {
            list.writes_vector(rd(word) + n);
        }
    }
}

/// Atomics, and loads and stores of 64 bytes.
fn atomic(word: u32, list: &mut List) -> Option<()> {
    if flag(word, 26) {
        return None;
    }
    list.base(rn(word));
    let eight = |list: &mut List, load| (0..8).for_each(|n| list.data(false, load, (rd(word) + n) & 31));
    match (flag(word, 15), bits(word, 12, 3), word >> 30) {
        (false, ..) | (true, 0, _) => {
            list.reads(rm(word));
            list.writes(rd(word));
        }
        // LDAPR.
        (true, 4, _) => list.writes(rd(word)),
        (true, 1, 3) => eight(list, false),
        (true, 5, 3) => eight(list, true),
        // ST64BV, ST64BV0.
        (true, 2 | 3, 3) => {
            eight(list, false);
            list.writes(rm(word));
        }
        _ => return None,
    }
    Some(())
}

/// Tags, copies, ordered accesses without a scale.
fn miscellaneous(word: u32, list: &mut List) -> Option<()> {
    let (vector, size, opc) = (flag(word, 26), word >> 30, bits(word, 22, 2));
    match (flag(word, 21), bits(word, 10, 2)) {
        // LDAPUR, STLUR.
        (false, 0) if !vector => single(word, list, false),
        (false, 2) if vector => single(word, list, false),
        // CPY and SET: all three are updated, but for the value to set.
        (false, 1) => {
            let set = opc == 3;
            for number in [rd(word), rn(word)] {
                list.reads(number);
                list.writes(number);
            }
            list.reads(rm(word));
            if !set {
                list.writes(rm(word));
            }
            let first = if set { bits(word, 14, 2) == 0 } else { opc == 0 };
            if first { list.writes_flags() } else { list.reads_flags() }
        }
        (true, form) if size == 3 && !vector => {
            list.base(rn(word));
            if form == 1 || form == 3 {
                list.writeback(rn(word));
            }
            match (opc, form) {
                // LDG keeps the address under the tag.
                (1, 0) => {
                    list.reads(rd(word));
                    list.writes(rd(word));
                }
                (3, 0) => list.writes(rd(word)),
                (0 | 2, 0) => list.reads(rd(word)),
                _ => list.reads_sp(rd(word)),
            }
        }
        _ => return None,
    }
    Some(())
}

/// Data processing, register: C4.1.95.
fn register(word: u32, list: &mut List) -> Option<()> {
    let sets = flag(word, 29);
    match (flag(word, 28), bits(word, 21, 4)) {
        // Logical, shifted.
        (false, op) if op < 8 => {
            list.reads(rn(word));
            list.reads(rm(word));
            list.writes(rd(word));
            if bits(word, 29, 2) == 3 {
                list.writes_flags();
            }
        }
        // ADD and SUB, shifted or extended.
        (false, op) => {
            let extended = op & 1 == 1;
            if extended {
                list.reads_sp(rn(word))
            } else {
                list.reads(rn(word))
            }
            list.reads(rm(word));
            if extended && !sets {
                list.writes_sp(rd(word))
            } else {
                list.writes(rd(word))
            }
            if sets {
                list.writes_flags();
            }
        }
        (true, 0) => return carry(word, list),
        // CCMN, CCMP.
        (true, 2) => {
            list.reads(rn(word));
            if !flag(word, 11) {
                list.reads(rm(word));
            }
            list.reads_flags();
            list.writes_flags();
        }
        // CSEL and its kin.
        (true, 4) => {
            list.reads(rn(word));
            list.reads(rm(word));
            list.reads_flags();
            list.writes(rd(word));
        }
        (true, 6) if flag(word, 30) => return one_source(word, list),
        (true, 6) => two_sources(word, list),
        // MADD and its kin; SMULH and UMULH add nothing.
        (true, op) if op >= 8 => {
            list.reads(rn(word));
            list.reads(rm(word));
            if bits(word, 21, 2) != 2 {
                list.reads(ra(word));
            }
            list.writes(rd(word));
        }
        _ => return None,
    }
    Some(())
}

fn carry(word: u32, list: &mut List) -> Option<()> {
    match bits(word, 10, 6) {
        0 => {
            list.reads(rn(word));
            list.reads(rm(word));
            list.reads_flags();
            list.writes(rd(word));
            if flag(word, 29) {
                list.writes_flags();
            }
        }
        // RMIF; SETF8, SETF16.
        op if op & 0x1f == 1 || op & 0xf == 2 => {
            list.reads(rn(word));
            list.reads_flags();
            list.writes_flags();
        }
        _ => return None,
    }
    Some(())
}

fn two_sources(word: u32, list: &mut List) {
    let (n_is_sp, m_is_sp, d_is_sp) = match bits(word, 10, 6) {
        0 => (true, true, false),   // SUBP
        4 => (true, false, true),   // IRG
        5 => (true, false, false),  // GMI
        12 => (false, true, false), // PACGA
        _ => (false, false, false),
    };
    if n_is_sp {
        list.reads_sp(rn(word))
    } else {
        list.reads(rn(word))
    }
    if m_is_sp {
        list.reads_sp(rm(word))
    } else {
        list.reads(rm(word))
    }
    if d_is_sp {
        list.writes_sp(rd(word))
    } else {
        list.writes(rd(word))
    }
    if flag(word, 29) {
        list.writes_flags();
    }
}

fn one_source(word: u32, list: &mut List) -> Option<()> {
    match (rm(word), bits(word, 10, 6)) {
        (0, _) => list.reads(rn(word)),
        // PACIA and its kin, with a modifier and without; XPACI.
        (1, op) if op < 8 => {
            list.reads(rd(word));
            list.reads_sp(rn(word));
        }
        (1, op) if op < 18 => list.reads(rd(word)),
        _ => return None,
    }
    list.writes(rd(word));
    Some(())
}
