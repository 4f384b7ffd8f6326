//! Every 16-bit instruction, declared once, in the order of the published opcode lists.
//!
//! A row names the operation that the instruction expands to. Reserved encodings are kept out by the
//! operands (`N0` registers, `Nz` immediates); encodings that the specification calls hints decode as the
//! operation whose hint they are.

use super::class::{Extension, Width};
use super::operand::Operand;
use super::table::{Encoding, Op};

macro_rules! compressed {
    ($($name:literal $op:ident [$($operand:ident)*] $width:ident $mask:literal $value:literal;)*) => {
        /// The 16-bit encodings.
        pub const COMPRESSED: &[Encoding] = &[
            $(Encoding {
                name: $name,
                op: Op::$op,
                operands: &[$(Operand::$operand),*],
                extension: Extension::C,
                width: Width::$width,
                mask: $mask,
                value: $value,
            },)*
        ];
    };
}

// name        operation  operands            width mask value
compressed! {
    // rv_c, quadrant 0
    "c.addi4spn"  Addi   [RdP SpSource Imm4Spn] Any  0xe003 0x0000;
    "c.lw"        Lw     [RdP MemCw]            Any  0xe003 0x4000;
    "c.sw"        Sw     [Rs2P MemCw]           Any  0xe003 0xc000;
    // quadrant 1
    "c.nop"       Addi   [HintImm6]             Any  0xef83 0x0001;
    "c.addi"      Addi   [RdRs1N0 Imm6]         Any  0xe003 0x0001;
    "c.li"        Addi   [Rd Imm6]              Any  0xe003 0x4001;
    "c.addi16sp"  Addi   [SpBoth Imm16Sp]       Any  0xef83 0x6101;
    "c.lui"       Lui    [RdN2 UImm6Lui]        Any  0xe003 0x6001;
    "c.andi"      Andi   [RdRs1P Imm6]          Any  0xec03 0x8801;
    "c.sub"       Sub    [RdRs1P Rs2P]          Any  0xfc63 0x8c01;
    "c.xor"       Xor    [RdRs1P Rs2P]          Any  0xfc63 0x8c21;
    "c.or"        Or     [RdRs1P Rs2P]          Any  0xfc63 0x8c41;
    "c.and"       And    [RdRs1P Rs2P]          Any  0xfc63 0x8c61;
    "c.j"         Jal    [TargetCj]             Any  0xe003 0xa001;
    "c.beqz"      Beq    [Rs1P TargetCb]        Any  0xe003 0xc001;
    "c.bnez"      Bne    [Rs1P TargetCb]        Any  0xe003 0xe001;
    // quadrant 2
    "c.lwsp"      Lw     [RdN0 MemSpW]          Any  0xe003 0x4002;
    "c.jr"        Jalr   [CRs1N0]               Any  0xf07f 0x8002;
    "c.mv"        Add    [Rd CRs2N0]            Any  0xf003 0x8002;
    "c.ebreak"    Ebreak []                     Any  0xffff 0x9002;
    "c.jalr"      Jalr   [LinkRa CRs1N0]        Any  0xf07f 0x9002;
    "c.add"       Add    [RdRs1 CRs2N0]         Any  0xf003 0x9002;
    "c.swsp"      Sw     [CRs2 MemSpStoreW]     Any  0xe003 0xc002;
    // rv_c_d
    "c.fld"       Fld    [FRdP MemCd]           Any  0xe003 0x2000;
    "c.fsd"       Fsd    [FRs2P MemCd]          Any  0xe003 0xa000;
    "c.fldsp"     Fld    [FRd MemSpD]           Any  0xe003 0x2002;
    "c.fsdsp"     Fsd    [CFRs2 MemSpStoreD]    Any  0xe003 0xa002;
    // rv32_c
    "c.jal"       Jal    [LinkRa TargetCj]      Rv32 0xe003 0x2001;
    // rv32_c_f
    "c.flw"       Flw    [FRdP MemCw]           Rv32 0xe003 0x6000;
    "c.fsw"       Fsw    [FRs2P MemCw]          Rv32 0xe003 0xe000;
    "c.flwsp"     Flw    [FRd MemSpW]           Rv32 0xe003 0x6002;
    "c.fswsp"     Fsw    [CFRs2 MemSpStoreW]    Rv32 0xe003 0xe002;
    // rv64_c
    "c.ld"        Ld     [RdP MemCd]            Rv64 0xe003 0x6000;
    "c.sd"        Sd     [Rs2P MemCd]           Rv64 0xe003 0xe000;
    "c.addiw"     Addiw  [RdRs1N0 Imm6]         Rv64 0xe003 0x2001;
    "c.srli"      Srli   [RdRs1P CShamt]        Any  0xec03 0x8001;
    "c.srai"      Srai   [RdRs1P CShamt]        Any  0xec03 0x8401;
    "c.subw"      Subw   [RdRs1P Rs2P]          Rv64 0xfc63 0x9c01;
    "c.addw"      Addw   [RdRs1P Rs2P]          Rv64 0xfc63 0x9c21;
    "c.slli"      Slli   [RdRs1 CShamt]         Any  0xe003 0x0002;
    "c.ldsp"      Ld     [RdN0 MemSpD]          Rv64 0xe003 0x6002;
    "c.sdsp"      Sd     [CRs2 MemSpStoreD]     Rv64 0xe003 0xe002;
}
