//! The operands of RISC-V instructions: where their bits are and which field they fill.

use trackway_core::{Isa, sign_extend};

use super::Inst;
use super::flow::{offset_b, offset_cb, offset_cj, offset_j};

/// An operand of the assembly text, or a hidden one that an encoding implies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// `x` register, bits 11:7, written.
    Rd,
    /// `x` register, bits 19:15, read.
    Rs1,
    /// `x` register, bits 24:20, read.
    Rs2,
    /// `f` register, bits 11:7, written.
    FRd,
    /// `f` register, bits 19:15, read.
    FRs1,
    /// `f` register, bits 24:20, read.
    FRs2,
    /// `f` register, bits 31:27, read.
    FRs3,
    /// `v` register, bits 11:7, written.
    Vd,
    /// `v` register, bits 11:7, read and written.
    VdAcc,
    /// `v` register, bits 19:15, read.
    Vs1,
    /// `v` register, bits 24:20, read.
    Vs2,
    /// `v` register, bits 11:7, read.
    Vs3,
    /// Mask `v0.t` where bit 25 is clear.
    Vm,
    /// `v0`, read as a mask or carry.
    V0,
    /// Number of fields less 1, bits 31:29; part of the name.
    Nf,
    /// Signed, bits 31:20.
    Imm12,
    /// Upper immediate, bits 31:12.
    UImm20,
    /// Branch target, B format.
    TargetB,
    /// Jump target, J format.
    TargetJ,
    /// `imm(rs1)`, immediate as in loads.
    MemI,
    /// `imm(rs1)`, immediate as in stores.
    MemS,
    /// `(rs1)`.
    Base,
    /// Shift amount: bits 25:20 on RV64, 24:20 on RV32, where bit 25 must be clear.
    Shamt,
    /// Shift amount, bits 24:20.
    ShamtW,
    /// Byte of a word, bits 31:30.
    Bs,
    /// Round of AES, bits 23:20.
    Rnum,
    /// Control and status register, bits 31:20.
    Csr,
    /// Unsigned, bits 19:15.
    UImm5,
    /// Signed, bits 19:15.
    SImm5,
    /// Rounding mode, bits 14:12.
    Rm,
    /// Rounding mode of a conversion that is always exact; text leaves 0 out.
    RmExact,
    /// Accesses that a fence orders before it, bits 27:24.
    Pred,
    /// Accesses that a fence orders after it, bits 23:20.
    Succ,
    /// Acquire and release, bits 26 and 25; part of the name.
    AqRl,
    /// `x` register, bits 11:7, compared and written; where the access is wider than registers the first of two, and even.
    RdCas,
    /// `x` register, bits 24:20, read; a pair as for `RdCas`.
    Rs2Cas,
    /// Floating-point constant, bits 19:15.
    Fli,
    /// Number of a may-be-operation with one source, bits 30, 27:26 and 21:20; part of the name.
    MopR,
    /// Number of a may-be-operation with two sources, bits 30 and 27:26; part of the name.
    MopRr,
    /// Offset and base of a prefetch: `imm(rs1)` without the low five bits.
    Prefetched,
    /// Vector type, bits 29:20.
    VType10,
    /// Vector type, bits 30:20.
    VType11,

    /// `x8` to `x15`, bits 4:2, written.
    RdP,
    /// `x8` to `x15`, bits 9:7, read.
    Rs1P,
    /// `x8` to `x15`, bits 4:2, read.
    Rs2P,
    /// `x8` to `x15`, bits 9:7, read and written.
    RdRs1P,
    /// `f8` to `f15`, bits 4:2, written.
    FRdP,
    /// `f8` to `f15`, bits 4:2, read.
    FRs2P,
    /// `x` register, bits 11:7, read and written.
    RdRs1,
    /// The same, not `x0`.
    RdRs1N0,
    /// `x` register, bits 11:7, written, not `x0`.
    RdN0,
    /// `x` register, bits 11:7, written, not `x2`.
    RdN2,
    /// `x` register, bits 11:7, read, not `x0`.
    CRs1N0,
    /// `x` register, bits 6:2, read.
    CRs2,
    /// The same, not `x0`.
    CRs2N0,
    /// `f` register, bits 6:2, read.
    CFRs2,
    /// `sp`, read.
    SpSource,
    /// `sp`, read and written.
    SpBoth,
    /// `ra`, written; not in the text.
    LinkRa,
    /// Signed, bits 12 and 6:2.
    Imm6,
    /// The same where it only makes a hint; not in the text.
    HintImm6,
    /// Upper immediate, bits 12 and 6:2, not 0.
    UImm6Lui,
    /// Shift amount, bits 12 and 6:2; bit 12 must be clear on RV32.
    CShamt,
    /// Unsigned, scaled by 4, not 0 (C.ADDI4SPN).
    Imm4Spn,
    /// Signed, scaled by 16, not 0 (C.ADDI16SP).
    Imm16Sp,
    /// Branch target, CB format.
    TargetCb,
    /// Jump target, CJ format.
    TargetCj,
    /// `imm(rs1)`, scaled by 4, CL and CS format.
    MemCw,
    /// `imm(rs1)`, scaled by 8, CL and CS format.
    MemCd,
    /// `imm(rs1)`, bytes, bits 5 and 6 (Zcb).
    MemCb,
    /// `imm(rs1)`, scaled by 2, bit 5 (Zcb).
    MemCh,
    /// 255; not in the text.
    LowByte,
    /// −1; not in the text.
    AllOnes,
    /// Number of a compressed may-be-operation, bits 10:7; part of the name.
    MopC,
    /// `imm(sp)`, scaled by 4, CI format.
    MemSpW,
    /// `imm(sp)`, scaled by 8, CI format.
    MemSpD,
    /// `imm(sp)`, scaled by 4, CSS format.
    MemSpStoreW,
    /// `imm(sp)`, scaled by 8, CSS format.
    MemSpStoreD,
}

/// Bits `lo..lo + n` of a word.
const fn bits(word: u32, lo: u32, n: u32) -> u32 {
    (word >> lo) & ((1 << n) - 1)
}

/// Sign-extends the low `width` bits.
const fn signed(value: u32, width: u32) -> i32 {
    sign_extend(value as u64, width) as i32
}

impl Operand {
    /// Fills the fields of the operand. False where the encoding is reserved.
    pub(super) fn read(self, isa: Isa, word: u32, inst: &mut Inst) -> bool {
        let field = |lo| bits(word, lo, 5) as u8;
        let prime = |lo| 8 + bits(word, lo, 3) as u8;
        let imm6 = bits(word, 12, 1) << 5 | bits(word, 2, 5);
        match self {
            Self::Rd | Self::FRd | Self::Vd | Self::VdAcc | Self::Vs3 => inst.rd = field(7),
            Self::Rs1 | Self::FRs1 | Self::Vs1 | Self::Base => inst.rs1 = field(15),
            Self::Rs2 | Self::FRs2 | Self::Vs2 => inst.rs2 = field(20),
            Self::FRs3 => inst.rs3 = field(27),
            Self::Vm | Self::V0 | Self::Nf | Self::AqRl => {}
            Self::RdCas | Self::Rs2Cas => {
                // 1 marks pairs: of quadwords, and of doublewords on RV32 (Zacas).
                inst.imm = (bits(word, 12, 3) > if isa == Isa::Rv32 { 2 } else { 3 }).into();
                let number = if self == Self::RdCas { &mut inst.rd } else { &mut inst.rs2 };
                *number = field(if self == Self::RdCas { 7 } else { 20 });
                return inst.imm == 0 || *number & 1 == 0;
            }
            Self::Fli => inst.rs1 = field(15),
            Self::MopR | Self::MopRr | Self::MopC => {}
            Self::Prefetched => inst.rs1 = field(15),
            Self::Imm12 => inst.imm = signed(word >> 20, 12),
            Self::UImm20 => inst.imm = (word & 0xffff_f000) as i32,
            Self::TargetB => inst.imm = offset_b(word) as i32,
            Self::TargetJ => inst.imm = offset_j(word) as i32,
            Self::MemI => {
                inst.rs1 = field(15);
                inst.imm = signed(word >> 20, 12);
            }
            Self::MemS => {
                inst.rs1 = field(15);
                inst.imm = signed(bits(word, 25, 7) << 5 | bits(word, 7, 5), 12);
            }
            Self::Shamt => {
                inst.imm = bits(word, 20, 6) as i32;
                return isa != Isa::Rv32 || inst.imm < 32;
            }
            Self::ShamtW => inst.imm = bits(word, 20, 5) as i32,
            Self::Bs => inst.imm = (word >> 30) as i32,
            Self::Rnum => inst.imm = bits(word, 20, 4) as i32,
            Self::Csr => inst.imm = (word >> 20) as i32,
            Self::UImm5 => inst.rs1 = field(15),
            Self::SImm5 => inst.imm = signed(bits(word, 15, 5), 5),
            Self::Rm | Self::RmExact => inst.rm = bits(word, 12, 3) as u8,
            Self::Pred | Self::Succ => inst.imm = (word >> 20) as i32,
            Self::VType10 => inst.imm = bits(word, 20, 10) as i32,
            Self::VType11 => inst.imm = bits(word, 20, 11) as i32,

            Self::RdP | Self::FRdP => inst.rd = prime(2),
            Self::Rs1P => inst.rs1 = prime(7),
            Self::Rs2P | Self::FRs2P => inst.rs2 = prime(2),
            Self::RdRs1P => (inst.rd, inst.rs1) = (prime(7), prime(7)),
            Self::RdRs1 => (inst.rd, inst.rs1) = (field(7), field(7)),
            Self::RdRs1N0 => {
                (inst.rd, inst.rs1) = (field(7), field(7));
                return inst.rd != 0;
            }
            Self::RdN0 => {
                inst.rd = field(7);
                return inst.rd != 0;
            }
            Self::RdN2 => {
                inst.rd = field(7);
                return inst.rd != 2;
            }
            Self::CRs1N0 => {
                inst.rs1 = field(7);
                return inst.rs1 != 0;
            }
            Self::CRs2 | Self::CFRs2 => inst.rs2 = field(2),
            Self::CRs2N0 => {
                inst.rs2 = field(2);
                return inst.rs2 != 0;
            }
            Self::SpSource => inst.rs1 = 2,
            Self::SpBoth => (inst.rd, inst.rs1) = (2, 2),
            Self::LinkRa => inst.rd = 1,
            Self::Imm6 | Self::HintImm6 => inst.imm = signed(imm6, 6),
            Self::UImm6Lui => {
                inst.imm = signed(imm6, 6) << 12;
                return inst.imm != 0;
            }
            Self::CShamt => {
                inst.imm = imm6 as i32;
                return isa != Isa::Rv32 || imm6 < 32;
            }
            Self::Imm4Spn => {
                // [5:4|9:6|2|3]
                inst.imm = (bits(word, 11, 2) << 4
                    | bits(word, 7, 4) << 6
                    | bits(word, 6, 1) << 2
                    | bits(word, 5, 1) << 3) as i32;
                return inst.imm != 0;
            }
            Self::Imm16Sp => {
                // [9] [4|6|8:7|5]
                let imm = bits(word, 12, 1) << 9
                    | bits(word, 6, 1) << 4
                    | bits(word, 5, 1) << 6
                    | bits(word, 3, 2) << 7
                    | bits(word, 2, 1) << 5;
                inst.imm = signed(imm, 10);
                return imm != 0;
            }
            Self::TargetCb => inst.imm = offset_cb(word as u16) as i32,
            Self::TargetCj => inst.imm = offset_cj(word as u16) as i32,
            Self::MemCw => {
                // [5:3] [2|6]
                inst.rs1 = prime(7);
                inst.imm = (bits(word, 10, 3) << 3 | bits(word, 6, 1) << 2 | bits(word, 5, 1) << 6) as i32;
            }
            Self::MemCd => {
                // [5:3] [7:6]
                inst.rs1 = prime(7);
                inst.imm = (bits(word, 10, 3) << 3 | bits(word, 5, 2) << 6) as i32;
            }
            Self::MemCb => {
                // [0|1]
                inst.rs1 = prime(7);
                inst.imm = (bits(word, 6, 1) | bits(word, 5, 1) << 1) as i32;
            }
            Self::MemCh => {
                inst.rs1 = prime(7);
                inst.imm = (bits(word, 5, 1) << 1) as i32;
            }
            Self::LowByte => inst.imm = 255,
            Self::AllOnes => inst.imm = -1,
            Self::MemSpW => {
                // [5] [4:2|7:6]
                inst.rs1 = 2;
                inst.imm = (bits(word, 12, 1) << 5 | bits(word, 4, 3) << 2 | bits(word, 2, 2) << 6) as i32;
            }
            Self::MemSpD => {
                // [5] [4:3|8:6]
                inst.rs1 = 2;
                inst.imm = (bits(word, 12, 1) << 5 | bits(word, 5, 2) << 3 | bits(word, 2, 3) << 6) as i32;
            }
            Self::MemSpStoreW => {
                // [5:2|7:6]
                inst.rs1 = 2;
                inst.imm = (bits(word, 9, 4) << 2 | bits(word, 7, 2) << 6) as i32;
            }
            Self::MemSpStoreD => {
                // [5:3|8:6]
                inst.rs1 = 2;
                inst.imm = (bits(word, 10, 3) << 3 | bits(word, 7, 3) << 6) as i32;
            }
        }
        true
    }
}
