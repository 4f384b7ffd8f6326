//! Kinds of T32 instructions, in the order of the encoding index (Arm ARM F3.1). The first row that fits decides.

use super::{BASE, Kind};
use crate::arm::mask::Row;
use crate::class::Class::*;

/// 16-bit encodings: F3.1.2.
pub(super) const NARROW: &[Row<Kind>] = &[
    Row::new(0xffc0, 0x4340, (Multiply, BASE), "mul"),
    Row::new(0xf800, 0x4800, (Load, BASE), "ldr (literal)"),
    Row::new(0xfc00, 0x5000, (Store, BASE), "str, strh (register)"),
    Row::new(0xfe00, 0x5400, (Store, BASE), "strb (register)"),
    Row::new(0xf000, 0x5000, (Load, BASE), "ldr, ldrh, ldrb, ldrsb, ldrsh (register)"),
    Row::new(0xe800, 0x6000, (Store, BASE), "str, strb (immediate)"),
    Row::new(0xe800, 0x6800, (Load, BASE), "ldr, ldrb (immediate)"),
    Row::new(0xe800, 0x8000, (Store, BASE), "strh (immediate), str (stack)"),
    Row::new(0xe800, 0x8800, (Load, BASE), "ldrh (immediate), ldr (stack)"),
    Row::new(0xffe0, 0xb600, (Csr, "FEAT_PAN"), "setpan"),
    Row::new(0xffc0, 0xb640, (Csr, BASE), "setend, cps"),
    Row::new(0xfe00, 0xb400, (Store, BASE), "push"),
    Row::new(0xfe00, 0xbc00, (Load, BASE), "pop"),
    Row::new(0xff00, 0xbf00, (Hint, BASE), "nop, yield, sev; it"),
    Row::new(0xf800, 0xc000, (Store, BASE), "stm"),
    Row::new(0xf800, 0xc800, (Load, BASE), "ldm"),
    Row::new(0xf000, 0xb000, (Integer, BASE), "add and sub (stack), extension, reversal"),
    Row::new(0xf000, 0xa000, (Integer, BASE), "adr, add (stack)"),
    Row::new(0x8000, 0x0000, (Integer, BASE), "data processing"),
];

/// 32-bit encodings without floating point, Advanced SIMD and coprocessors, first halfword in the high half: F3.1.3.
pub(super) const WIDE: &[Row<Kind>] = &[
    Row::new(0xfe10_0000, 0xe810_0000, (Load, BASE), "ldm, pop, ldrd, lda, ldaex, ldrex"),
    Row::new(0xfe10_0000, 0xe800_0000, (Store, BASE), "stm, push, strd, stl, stlex, strex, srs"),
    Row::new(0xfe00_0000, 0xea00_0000, (Integer, BASE), "data processing (shifted register)"),
    Row::new(0xf800_8000, 0xf000_0000, (Integer, BASE), "data processing (immediate)"),
    Row::new(0xffff_ffff, 0xf3af_8010, (Fence, "FEAT_RAS"), "esb"),
    Row::new(0xffff_ffff, 0xf3af_8012, (Fence, "FEAT_TRF"), "tsb csync"),
    Row::new(0xffff_ffff, 0xf3af_8014, (Fence, BASE), "csdb"),
    Row::new(0xffff_ffff, 0xf3af_8016, (Hint, "FEAT_CLRBHB"), "clrbhb"),
    Row::new(0xfff0_d700, 0xf3a0_8000, (Hint, BASE), "nop, yield, sev, dbg"),
    Row::new(0xfff0_d0f0, 0xf3b0_8070, (Fence, "FEAT_SB"), "sb"),
    Row::new(0xfff0_d000, 0xf3b0_8000, (Fence, BASE), "clrex, dsb, dmb, isb"),
    Row::new(0xff80_d000, 0xf380_8000, (Csr, BASE), "msr, mrs, cps"),
    Row::new(0xfff0_f000, 0xf780_8000, (System, BASE), "dcps1, dcps2, dcps3"),
    Row::new(0xfe70_f000, 0xf810_f000, (Prefetch, BASE), "pld, pli"),
    Row::new(0xff70_f000, 0xf830_f000, (Prefetch, BASE), "pldw"),
    Row::new(0xff70_f000, 0xf930_f000, (Hint, BASE), "unallocated memory hints"),
    Row::new(0xff10_0000, 0xf800_0000, (Store, BASE), "str, strb, strh"),
    Row::new(0xfe10_0000, 0xf810_0000, (Load, BASE), "ldr, ldrb, ldrh, ldrsb, ldrsh"),
    Row::new(0xffe0_f0c0, 0xfac0_f080, (Integer, "FEAT_CRC32"), "crc32, crc32c"),
    Row::new(0xff00_0000, 0xfa00_0000, (Integer, BASE), "data processing (register)"),
    Row::new(0xfff0_00f0, 0xfb70_0000, (Integer, BASE), "usad8, usada8"),
    Row::new(0xffd0_00f0, 0xfb90_00f0, (Divide, BASE), "sdiv, udiv"),
    Row::new(0xff00_0000, 0xfb00_0000, (Multiply, BASE), "mul, mla, smull and their kin"),
];
