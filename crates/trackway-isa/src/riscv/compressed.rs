//! Every 16-bit instruction, declared once, in the order of the published opcode lists.
//!
//! A row names the operation that the instruction expands to. Reserved encodings are kept out by the
//! operands (`N0` registers, `Nz` immediates); encodings that the specification calls hints decode as the
//! operation whose hint they are.

use super::class::{Extension, Width};
use super::operand::Operand;
use super::table::{Encoding, Op};

macro_rules! compressed {
    ($($name:literal $op:ident [$($operand:ident)*] $extension:ident $width:ident $mask:literal $value:literal;)*) => {
        /// The 16-bit encodings.
        pub const COMPRESSED: &[Encoding] = &[
            $(Encoding {
                name: $name,
                op: Op::$op,
                operands: &[$(Operand::$operand),*],
                extension: Extension::$extension,
                width: Width::$width,
                mask: $mask,
                value: $value,
            },)*
        ];
    };
}

// name        operation  operands             extension width mask value
compressed! {
    // rv_c, quadrant 0
    "c.addi4spn"  Addi   [RdP SpSource Imm4Spn] C     Any  0xe003 0x0000;
    "c.lw"        Lw     [RdP MemCw]            C     Any  0xe003 0x4000;
    "c.sw"        Sw     [Rs2P MemCw]           C     Any  0xe003 0xc000;
    // quadrant 1
    "c.nop"       Addi   [HintImm6]             C     Any  0xef83 0x0001;
    "c.addi"      Addi   [RdRs1N0 Imm6]         C     Any  0xe003 0x0001;
    "c.li"        Addi   [Rd Imm6]              C     Any  0xe003 0x4001;
    "c.addi16sp"  Addi   [SpBoth Imm16Sp]       C     Any  0xef83 0x6101;
    "c.lui"       Lui    [RdN2 UImm6Lui]        C     Any  0xe003 0x6001;
    "c.andi"      Andi   [RdRs1P Imm6]          C     Any  0xec03 0x8801;
    "c.sub"       Sub    [RdRs1P Rs2P]          C     Any  0xfc63 0x8c01;
    "c.xor"       Xor    [RdRs1P Rs2P]          C     Any  0xfc63 0x8c21;
    "c.or"        Or     [RdRs1P Rs2P]          C     Any  0xfc63 0x8c41;
    "c.and"       And    [RdRs1P Rs2P]          C     Any  0xfc63 0x8c61;
    "c.j"         Jal    [TargetCj]             C     Any  0xe003 0xa001;
    "c.beqz"      Beq    [Rs1P TargetCb]        C     Any  0xe003 0xc001;
    "c.bnez"      Bne    [Rs1P TargetCb]        C     Any  0xe003 0xe001;
    // quadrant 2
    "c.lwsp"      Lw     [RdN0 MemSpW]          C     Any  0xe003 0x4002;
    "c.jr"        Jalr   [CRs1N0]               C     Any  0xf07f 0x8002;
    "c.mv"        Add    [Rd CRs2N0]            C     Any  0xf003 0x8002;
    "c.ebreak"    Ebreak []                     C     Any  0xffff 0x9002;
    "c.jalr"      Jalr   [LinkRa CRs1N0]        C     Any  0xf07f 0x9002;
    "c.add"       Add    [RdRs1 CRs2N0]         C     Any  0xf003 0x9002;
    "c.swsp"      Sw     [CRs2 MemSpStoreW]     C     Any  0xe003 0xc002;
    // rv_c_d
    "c.fld"       Fld    [FRdP MemCd]           Zcd   Any  0xe003 0x2000;
    "c.fsd"       Fsd    [FRs2P MemCd]          Zcd   Any  0xe003 0xa000;
    "c.fldsp"     Fld    [FRd MemSpD]           Zcd   Any  0xe003 0x2002;
    "c.fsdsp"     Fsd    [CFRs2 MemSpStoreD]    Zcd   Any  0xe003 0xa002;
    // rv32_c
    "c.jal"       Jal    [LinkRa TargetCj]      C     Rv32 0xe003 0x2001;
    // rv32_c_f
    "c.flw"       Flw    [FRdP MemCw]           Zcf   Rv32 0xe003 0x6000;
    "c.fsw"       Fsw    [FRs2P MemCw]          Zcf   Rv32 0xe003 0xe000;
    "c.flwsp"     Flw    [FRd MemSpW]           Zcf   Rv32 0xe003 0x6002;
    "c.fswsp"     Fsw    [CFRs2 MemSpStoreW]    Zcf   Rv32 0xe003 0xe002;
    // rv64_c
    "c.ld"        Ld     [RdP MemCd]            C     Rv64 0xe003 0x6000;
    "c.sd"        Sd     [Rs2P MemCd]           C     Rv64 0xe003 0xe000;
    "c.addiw"     Addiw  [RdRs1N0 Imm6]         C     Rv64 0xe003 0x2001;
    "c.srli"      Srli   [RdRs1P CShamt]        C     Any  0xec03 0x8001;
    "c.srai"      Srai   [RdRs1P CShamt]        C     Any  0xec03 0x8401;
    "c.subw"      Subw   [RdRs1P Rs2P]          C     Rv64 0xfc63 0x9c01;
    "c.addw"      Addw   [RdRs1P Rs2P]          C     Rv64 0xfc63 0x9c21;
    "c.slli"      Slli   [RdRs1 CShamt]         C     Any  0xe003 0x0002;
    "c.ldsp"      Ld     [RdN0 MemSpD]          C     Rv64 0xe003 0x6002;
    "c.sdsp"      Sd     [CRs2 MemSpStoreD]     C     Rv64 0xe003 0xe002;
    // rv_zcb
    "c.lbu"       Lbu    [RdP MemCb]             Zcb   Any  0xfc03 0x8000;
    "c.lhu"       Lhu    [RdP MemCh]             Zcb   Any  0xfc43 0x8400;
    "c.lh"        Lh     [RdP MemCh]             Zcb   Any  0xfc43 0x8440;
    "c.sb"        Sb     [Rs2P MemCb]            Zcb   Any  0xfc03 0x8800;
    "c.sh"        Sh     [Rs2P MemCh]            Zcb   Any  0xfc43 0x8c00;
    "c.zext.b"    Andi   [RdRs1P LowByte]        Zcb   Any  0xfc7f 0x9c61;
    "c.sext.b"    SextB  [RdRs1P]                Zcb   Any  0xfc7f 0x9c65;
    "c.zext.h"    ZextH  [RdRs1P]                Zcb   Any  0xfc7f 0x9c69;
    "c.sext.h"    SextH  [RdRs1P]                Zcb   Any  0xfc7f 0x9c6d;
    "c.not"       Xori   [RdRs1P AllOnes]        Zcb   Any  0xfc7f 0x9c75;
    "c.mul"       Mul    [RdRs1P Rs2P]           Zcb   Any  0xfc63 0x9c41;
    // rv64_zcb
    "c.zext.w"    AddUw  [RdRs1P]                Zcb   Rv64 0xfc7f 0x9c71;
    // rv_zcmop
    "c.mop.N"     Addi   [MopC]                  Zcmop Any  0xf8ff 0x6081;
}
