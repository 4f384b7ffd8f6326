//! Every 32-bit instruction, declared once, in the order of the published opcode lists.
//!
//! A row has the operation, its name, its operands in the order of assembly text, its class, extension
//! and width, and the fixed bits (mask, value). Reading fields, text, register roles and memory behaviour
//! all come from it. `tests/riscv_opcodes.rs` holds it against the published lists.

use super::class::{Class, Extension, Width};
use super::operand::Operand;

/// One way to encode an operation.
#[derive(Clone, Copy, Debug)]
pub struct Encoding {
    /// Name as the published lists spell it.
    pub name: &'static str,
    /// The operation.
    pub op: Op,
    /// Operands in the order of assembly text.
    pub operands: &'static [Operand],
    /// Extension that the encoding belongs to.
    pub extension: Extension,
    /// Widths that have it.
    pub width: Width,
    /// Mask of the fixed bits.
    pub mask: u32,
    /// Value of the fixed bits.
    pub value: u32,
}

macro_rules! instructions {
    ($($op:ident $name:literal [$($operand:ident)*] $class:ident $(($size:literal))? $extension:ident $width:ident $mask:literal $value:literal;)*) => {
        /// An operation. Compressed instructions have the operation that they expand to.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum Op {
            $(#[doc = concat!("`", $name, "`")] $op,)*
        }

        /// The 32-bit encodings: one for each [`Op`], in its order.
        pub const INSTRUCTIONS: &[Encoding] = &[
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

        const CLASSES: &[Class] = &[$(Class::$class $(($size))?,)*];
    };
}

impl Op {
    /// Its declaration.
    pub const fn encoding(self) -> &'static Encoding {
        &INSTRUCTIONS[self as usize]
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        self.encoding().name
    }

    /// Kind of work it does.
    pub const fn class(self) -> Class {
        CLASSES[self as usize]
    }

    /// Extension that it belongs to.
    pub const fn extension(self) -> Extension {
        self.encoding().extension
    }
}

/// Encodings that RV32 has for operations whose RV64 encoding differs (Zbb).
pub const RV32_FORMS: &[Encoding] = &[
    Encoding { width: Width::Rv32, mask: 0xfff0_707f, value: 0x0800_4033, ..*Op::ZextH.encoding() },
    Encoding { width: Width::Rv32, mask: 0xfff0_707f, value: 0x6980_5013, ..*Op::Rev8.encoding() },
];

// operation      name                 operands                     class               extension width mask value
instructions! {
    // rv_i
    Lui             "lui"                [Rd UImm20]                  Int                 I        Any  0x0000007f 0x00000037;
    Auipc           "auipc"              [Rd UImm20]                  Int                 I        Any  0x0000007f 0x00000017;
    Jal             "jal"                [Rd TargetJ]                 Jal                 I        Any  0x0000007f 0x0000006f;
    Jalr            "jalr"               [Rd MemI]                    Jalr                I        Any  0x0000707f 0x00000067;
    Beq             "beq"                [Rs1 Rs2 TargetB]            Branch              I        Any  0x0000707f 0x00000063;
    Bne             "bne"                [Rs1 Rs2 TargetB]            Branch              I        Any  0x0000707f 0x00001063;
    Blt             "blt"                [Rs1 Rs2 TargetB]            Branch              I        Any  0x0000707f 0x00004063;
    Bge             "bge"                [Rs1 Rs2 TargetB]            Branch              I        Any  0x0000707f 0x00005063;
    Bltu            "bltu"               [Rs1 Rs2 TargetB]            Branch              I        Any  0x0000707f 0x00006063;
    Bgeu            "bgeu"               [Rs1 Rs2 TargetB]            Branch              I        Any  0x0000707f 0x00007063;
    Lb              "lb"                 [Rd MemI]                    Load(1)             I        Any  0x0000707f 0x00000003;
    Lh              "lh"                 [Rd MemI]                    Load(2)             I        Any  0x0000707f 0x00001003;
    Lw              "lw"                 [Rd MemI]                    Load(4)             I        Any  0x0000707f 0x00002003;
    Lbu             "lbu"                [Rd MemI]                    Load(1)             I        Any  0x0000707f 0x00004003;
    Lhu             "lhu"                [Rd MemI]                    Load(2)             I        Any  0x0000707f 0x00005003;
    Sb              "sb"                 [Rs2 MemS]                   Store(1)            I        Any  0x0000707f 0x00000023;
    Sh              "sh"                 [Rs2 MemS]                   Store(2)            I        Any  0x0000707f 0x00001023;
    Sw              "sw"                 [Rs2 MemS]                   Store(4)            I        Any  0x0000707f 0x00002023;
    Addi            "addi"               [Rd Rs1 Imm12]               Int                 I        Any  0x0000707f 0x00000013;
    Slti            "slti"               [Rd Rs1 Imm12]               Int                 I        Any  0x0000707f 0x00002013;
    Sltiu           "sltiu"              [Rd Rs1 Imm12]               Int                 I        Any  0x0000707f 0x00003013;
    Xori            "xori"               [Rd Rs1 Imm12]               Int                 I        Any  0x0000707f 0x00004013;
    Ori             "ori"                [Rd Rs1 Imm12]               Int                 I        Any  0x0000707f 0x00006013;
    Andi            "andi"               [Rd Rs1 Imm12]               Int                 I        Any  0x0000707f 0x00007013;
    Add             "add"                [Rd Rs1 Rs2]                 Int                 I        Any  0xfe00707f 0x00000033;
    Sub             "sub"                [Rd Rs1 Rs2]                 Int                 I        Any  0xfe00707f 0x40000033;
    Sll             "sll"                [Rd Rs1 Rs2]                 Int                 I        Any  0xfe00707f 0x00001033;
    Slt             "slt"                [Rd Rs1 Rs2]                 Int                 I        Any  0xfe00707f 0x00002033;
    Sltu            "sltu"               [Rd Rs1 Rs2]                 Int                 I        Any  0xfe00707f 0x00003033;
    Xor             "xor"                [Rd Rs1 Rs2]                 Int                 I        Any  0xfe00707f 0x00004033;
    Srl             "srl"                [Rd Rs1 Rs2]                 Int                 I        Any  0xfe00707f 0x00005033;
    Sra             "sra"                [Rd Rs1 Rs2]                 Int                 I        Any  0xfe00707f 0x40005033;
    Or              "or"                 [Rd Rs1 Rs2]                 Int                 I        Any  0xfe00707f 0x00006033;
    And             "and"                [Rd Rs1 Rs2]                 Int                 I        Any  0xfe00707f 0x00007033;
    Fence           "fence"              [Pred Succ]                  Fence               I        Any  0x0000707f 0x0000000f;
    Ecall           "ecall"              []                           System              I        Any  0xffffffff 0x00000073;
    Ebreak          "ebreak"             []                           System              I        Any  0xffffffff 0x00100073;
    // rv64_i
    Lwu             "lwu"                [Rd MemI]                    Load(4)             I        Rv64 0x0000707f 0x00006003;
    Ld              "ld"                 [Rd MemI]                    Load(8)             I        Rv64 0x0000707f 0x00003003;
    Sd              "sd"                 [Rs2 MemS]                   Store(8)            I        Rv64 0x0000707f 0x00003023;
    Slli            "slli"               [Rd Rs1 Shamt]               Int                 I        Any  0xfc00707f 0x00001013;
    Srli            "srli"               [Rd Rs1 Shamt]               Int                 I        Any  0xfc00707f 0x00005013;
    Srai            "srai"               [Rd Rs1 Shamt]               Int                 I        Any  0xfc00707f 0x40005013;
    Addiw           "addiw"              [Rd Rs1 Imm12]               Int                 I        Rv64 0x0000707f 0x0000001b;
    Slliw           "slliw"              [Rd Rs1 ShamtW]              Int                 I        Rv64 0xfe00707f 0x0000101b;
    Srliw           "srliw"              [Rd Rs1 ShamtW]              Int                 I        Rv64 0xfe00707f 0x0000501b;
    Sraiw           "sraiw"              [Rd Rs1 ShamtW]              Int                 I        Rv64 0xfe00707f 0x4000501b;
    Addw            "addw"               [Rd Rs1 Rs2]                 Int                 I        Rv64 0xfe00707f 0x0000003b;
    Subw            "subw"               [Rd Rs1 Rs2]                 Int                 I        Rv64 0xfe00707f 0x4000003b;
    Sllw            "sllw"               [Rd Rs1 Rs2]                 Int                 I        Rv64 0xfe00707f 0x0000103b;
    Srlw            "srlw"               [Rd Rs1 Rs2]                 Int                 I        Rv64 0xfe00707f 0x0000503b;
    Sraw            "sraw"               [Rd Rs1 Rs2]                 Int                 I        Rv64 0xfe00707f 0x4000503b;
    // rv_zifencei
    FenceI          "fence.i"            []                           Fence               Zifencei Any  0x0000707f 0x0000100f;
    // rv_zicsr
    Csrrw           "csrrw"              [Rd Csr Rs1]                 Csr                 Zicsr    Any  0x0000707f 0x00001073;
    Csrrs           "csrrs"              [Rd Csr Rs1]                 Csr                 Zicsr    Any  0x0000707f 0x00002073;
    Csrrc           "csrrc"              [Rd Csr Rs1]                 Csr                 Zicsr    Any  0x0000707f 0x00003073;
    Csrrwi          "csrrwi"             [Rd Csr UImm5]               Csr                 Zicsr    Any  0x0000707f 0x00005073;
    Csrrsi          "csrrsi"             [Rd Csr UImm5]               Csr                 Zicsr    Any  0x0000707f 0x00006073;
    Csrrci          "csrrci"             [Rd Csr UImm5]               Csr                 Zicsr    Any  0x0000707f 0x00007073;
    // rv_m
    Mul             "mul"                [Rd Rs1 Rs2]                 Multiply            M        Any  0xfe00707f 0x02000033;
    Mulh            "mulh"               [Rd Rs1 Rs2]                 Multiply            M        Any  0xfe00707f 0x02001033;
    Mulhsu          "mulhsu"             [Rd Rs1 Rs2]                 Multiply            M        Any  0xfe00707f 0x02002033;
    Mulhu           "mulhu"              [Rd Rs1 Rs2]                 Multiply            M        Any  0xfe00707f 0x02003033;
    Div             "div"                [Rd Rs1 Rs2]                 Divide              M        Any  0xfe00707f 0x02004033;
    Divu            "divu"               [Rd Rs1 Rs2]                 Divide              M        Any  0xfe00707f 0x02005033;
    Rem             "rem"                [Rd Rs1 Rs2]                 Divide              M        Any  0xfe00707f 0x02006033;
    Remu            "remu"               [Rd Rs1 Rs2]                 Divide              M        Any  0xfe00707f 0x02007033;
    // rv64_m
    Mulw            "mulw"               [Rd Rs1 Rs2]                 Multiply            M        Rv64 0xfe00707f 0x0200003b;
    Divw            "divw"               [Rd Rs1 Rs2]                 Divide              M        Rv64 0xfe00707f 0x0200403b;
    Divuw           "divuw"              [Rd Rs1 Rs2]                 Divide              M        Rv64 0xfe00707f 0x0200503b;
    Remw            "remw"               [Rd Rs1 Rs2]                 Divide              M        Rv64 0xfe00707f 0x0200603b;
    Remuw           "remuw"              [Rd Rs1 Rs2]                 Divide              M        Rv64 0xfe00707f 0x0200703b;
    // rv_a
    LrW             "lr.w"               [Rd Base AqRl]               LoadReserved(4)     A        Any  0xf9f0707f 0x1000202f;
    ScW             "sc.w"               [Rd Rs2 Base AqRl]           StoreConditional(4) A        Any  0xf800707f 0x1800202f;
    AmoswapW        "amoswap.w"          [Rd Rs2 Base AqRl]           Amo(4)              A        Any  0xf800707f 0x0800202f;
    AmoaddW         "amoadd.w"           [Rd Rs2 Base AqRl]           Amo(4)              A        Any  0xf800707f 0x0000202f;
    AmoxorW         "amoxor.w"           [Rd Rs2 Base AqRl]           Amo(4)              A        Any  0xf800707f 0x2000202f;
    AmoandW         "amoand.w"           [Rd Rs2 Base AqRl]           Amo(4)              A        Any  0xf800707f 0x6000202f;
    AmoorW          "amoor.w"            [Rd Rs2 Base AqRl]           Amo(4)              A        Any  0xf800707f 0x4000202f;
    AmominW         "amomin.w"           [Rd Rs2 Base AqRl]           Amo(4)              A        Any  0xf800707f 0x8000202f;
    AmomaxW         "amomax.w"           [Rd Rs2 Base AqRl]           Amo(4)              A        Any  0xf800707f 0xa000202f;
    AmominuW        "amominu.w"          [Rd Rs2 Base AqRl]           Amo(4)              A        Any  0xf800707f 0xc000202f;
    AmomaxuW        "amomaxu.w"          [Rd Rs2 Base AqRl]           Amo(4)              A        Any  0xf800707f 0xe000202f;
    // rv64_a
    LrD             "lr.d"               [Rd Base AqRl]               LoadReserved(8)     A        Rv64 0xf9f0707f 0x1000302f;
    ScD             "sc.d"               [Rd Rs2 Base AqRl]           StoreConditional(8) A        Rv64 0xf800707f 0x1800302f;
    AmoswapD        "amoswap.d"          [Rd Rs2 Base AqRl]           Amo(8)              A        Rv64 0xf800707f 0x0800302f;
    AmoaddD         "amoadd.d"           [Rd Rs2 Base AqRl]           Amo(8)              A        Rv64 0xf800707f 0x0000302f;
    AmoxorD         "amoxor.d"           [Rd Rs2 Base AqRl]           Amo(8)              A        Rv64 0xf800707f 0x2000302f;
    AmoandD         "amoand.d"           [Rd Rs2 Base AqRl]           Amo(8)              A        Rv64 0xf800707f 0x6000302f;
    AmoorD          "amoor.d"            [Rd Rs2 Base AqRl]           Amo(8)              A        Rv64 0xf800707f 0x4000302f;
    AmominD         "amomin.d"           [Rd Rs2 Base AqRl]           Amo(8)              A        Rv64 0xf800707f 0x8000302f;
    AmomaxD         "amomax.d"           [Rd Rs2 Base AqRl]           Amo(8)              A        Rv64 0xf800707f 0xa000302f;
    AmominuD        "amominu.d"          [Rd Rs2 Base AqRl]           Amo(8)              A        Rv64 0xf800707f 0xc000302f;
    AmomaxuD        "amomaxu.d"          [Rd Rs2 Base AqRl]           Amo(8)              A        Rv64 0xf800707f 0xe000302f;
    // rv_zabha
    AmoswapB        "amoswap.b"          [Rd Rs2 Base AqRl]           Amo(1)              Zabha    Any  0xf800707f 0x0800002f;
    AmoaddB         "amoadd.b"           [Rd Rs2 Base AqRl]           Amo(1)              Zabha    Any  0xf800707f 0x0000002f;
    AmoxorB         "amoxor.b"           [Rd Rs2 Base AqRl]           Amo(1)              Zabha    Any  0xf800707f 0x2000002f;
    AmoandB         "amoand.b"           [Rd Rs2 Base AqRl]           Amo(1)              Zabha    Any  0xf800707f 0x6000002f;
    AmoorB          "amoor.b"            [Rd Rs2 Base AqRl]           Amo(1)              Zabha    Any  0xf800707f 0x4000002f;
    AmominB         "amomin.b"           [Rd Rs2 Base AqRl]           Amo(1)              Zabha    Any  0xf800707f 0x8000002f;
    AmomaxB         "amomax.b"           [Rd Rs2 Base AqRl]           Amo(1)              Zabha    Any  0xf800707f 0xa000002f;
    AmominuB        "amominu.b"          [Rd Rs2 Base AqRl]           Amo(1)              Zabha    Any  0xf800707f 0xc000002f;
    AmomaxuB        "amomaxu.b"          [Rd Rs2 Base AqRl]           Amo(1)              Zabha    Any  0xf800707f 0xe000002f;
    AmoswapH        "amoswap.h"          [Rd Rs2 Base AqRl]           Amo(2)              Zabha    Any  0xf800707f 0x0800102f;
    AmoaddH         "amoadd.h"           [Rd Rs2 Base AqRl]           Amo(2)              Zabha    Any  0xf800707f 0x0000102f;
    AmoxorH         "amoxor.h"           [Rd Rs2 Base AqRl]           Amo(2)              Zabha    Any  0xf800707f 0x2000102f;
    AmoandH         "amoand.h"           [Rd Rs2 Base AqRl]           Amo(2)              Zabha    Any  0xf800707f 0x6000102f;
    AmoorH          "amoor.h"            [Rd Rs2 Base AqRl]           Amo(2)              Zabha    Any  0xf800707f 0x4000102f;
    AmominH         "amomin.h"           [Rd Rs2 Base AqRl]           Amo(2)              Zabha    Any  0xf800707f 0x8000102f;
    AmomaxH         "amomax.h"           [Rd Rs2 Base AqRl]           Amo(2)              Zabha    Any  0xf800707f 0xa000102f;
    AmominuH        "amominu.h"          [Rd Rs2 Base AqRl]           Amo(2)              Zabha    Any  0xf800707f 0xc000102f;
    AmomaxuH        "amomaxu.h"          [Rd Rs2 Base AqRl]           Amo(2)              Zabha    Any  0xf800707f 0xe000102f;
    // rv_zabha_zacas
    AmocasB         "amocas.b"           [RdCas Rs2Cas Base AqRl]     Amo(1)              Zabha    Any  0xf800707f 0x2800002f;
    AmocasH         "amocas.h"           [RdCas Rs2Cas Base AqRl]     Amo(2)              Zabha    Any  0xf800707f 0x2800102f;
    // rv_zacas
    AmocasW         "amocas.w"           [RdCas Rs2Cas Base AqRl]     Amo(4)              Zacas    Any  0xf800707f 0x2800202f;
    AmocasD         "amocas.d"           [RdCas Rs2Cas Base AqRl]     Amo(8)              Zacas    Any  0xf800707f 0x2800302f;
    // rv64_zacas
    AmocasQ         "amocas.q"           [RdCas Rs2Cas Base AqRl]     Amo(16)             Zacas    Rv64 0xf800707f 0x2800402f;
    // rv_f
    Flw             "flw"                [FRd MemI]                   Load(4)             F        Any  0x0000707f 0x00002007;
    Fsw             "fsw"                [FRs2 MemS]                  Store(4)            F        Any  0x0000707f 0x00002027;
    FmaddS          "fmadd.s"            [FRd FRs1 FRs2 FRs3 Rm]      FloatMultiply       F        Any  0x0600007f 0x00000043;
    FmsubS          "fmsub.s"            [FRd FRs1 FRs2 FRs3 Rm]      FloatMultiply       F        Any  0x0600007f 0x00000047;
    FnmsubS         "fnmsub.s"           [FRd FRs1 FRs2 FRs3 Rm]      FloatMultiply       F        Any  0x0600007f 0x0000004b;
    FnmaddS         "fnmadd.s"           [FRd FRs1 FRs2 FRs3 Rm]      FloatMultiply       F        Any  0x0600007f 0x0000004f;
    FaddS           "fadd.s"             [FRd FRs1 FRs2 Rm]           Float               F        Any  0xfe00007f 0x00000053;
    FsubS           "fsub.s"             [FRd FRs1 FRs2 Rm]           Float               F        Any  0xfe00007f 0x08000053;
    FmulS           "fmul.s"             [FRd FRs1 FRs2 Rm]           FloatMultiply       F        Any  0xfe00007f 0x10000053;
    FdivS           "fdiv.s"             [FRd FRs1 FRs2 Rm]           FloatDivide         F        Any  0xfe00007f 0x18000053;
    FsqrtS          "fsqrt.s"            [FRd FRs1 Rm]                FloatDivide         F        Any  0xfff0007f 0x58000053;
    FsgnjS          "fsgnj.s"            [FRd FRs1 FRs2]              FloatMove           F        Any  0xfe00707f 0x20000053;
    FsgnjnS         "fsgnjn.s"           [FRd FRs1 FRs2]              FloatMove           F        Any  0xfe00707f 0x20001053;
    FsgnjxS         "fsgnjx.s"           [FRd FRs1 FRs2]              FloatMove           F        Any  0xfe00707f 0x20002053;
    FminS           "fmin.s"             [FRd FRs1 FRs2]              Float               F        Any  0xfe00707f 0x28000053;
    FmaxS           "fmax.s"             [FRd FRs1 FRs2]              Float               F        Any  0xfe00707f 0x28001053;
    FcvtWS          "fcvt.w.s"           [Rd FRs1 Rm]                 FloatConvert        F        Any  0xfff0007f 0xc0000053;
    FcvtWuS         "fcvt.wu.s"          [Rd FRs1 Rm]                 FloatConvert        F        Any  0xfff0007f 0xc0100053;
    FmvXW           "fmv.x.w"            [Rd FRs1]                    FloatMove           F        Any  0xfff0707f 0xe0000053;
    FeqS            "feq.s"              [Rd FRs1 FRs2]               FloatCompare        F        Any  0xfe00707f 0xa0002053;
    FltS            "flt.s"              [Rd FRs1 FRs2]               FloatCompare        F        Any  0xfe00707f 0xa0001053;
    FleS            "fle.s"              [Rd FRs1 FRs2]               FloatCompare        F        Any  0xfe00707f 0xa0000053;
    FclassS         "fclass.s"           [Rd FRs1]                    Float               F        Any  0xfff0707f 0xe0001053;
    FcvtSW          "fcvt.s.w"           [FRd Rs1 Rm]                 FloatConvert        F        Any  0xfff0007f 0xd0000053;
    FcvtSWu         "fcvt.s.wu"          [FRd Rs1 Rm]                 FloatConvert        F        Any  0xfff0007f 0xd0100053;
    FmvWX           "fmv.w.x"            [FRd Rs1]                    FloatMove           F        Any  0xfff0707f 0xf0000053;
    // rv64_f
    FcvtLS          "fcvt.l.s"           [Rd FRs1 Rm]                 FloatConvert        F        Rv64 0xfff0007f 0xc0200053;
    FcvtLuS         "fcvt.lu.s"          [Rd FRs1 Rm]                 FloatConvert        F        Rv64 0xfff0007f 0xc0300053;
    FcvtSL          "fcvt.s.l"           [FRd Rs1 Rm]                 FloatConvert        F        Rv64 0xfff0007f 0xd0200053;
    FcvtSLu         "fcvt.s.lu"          [FRd Rs1 Rm]                 FloatConvert        F        Rv64 0xfff0007f 0xd0300053;
    // rv_d
    Fld             "fld"                [FRd MemI]                   Load(8)             D        Any  0x0000707f 0x00003007;
    Fsd             "fsd"                [FRs2 MemS]                  Store(8)            D        Any  0x0000707f 0x00003027;
    FmaddD          "fmadd.d"            [FRd FRs1 FRs2 FRs3 Rm]      FloatMultiply       D        Any  0x0600007f 0x02000043;
    FmsubD          "fmsub.d"            [FRd FRs1 FRs2 FRs3 Rm]      FloatMultiply       D        Any  0x0600007f 0x02000047;
    FnmsubD         "fnmsub.d"           [FRd FRs1 FRs2 FRs3 Rm]      FloatMultiply       D        Any  0x0600007f 0x0200004b;
    FnmaddD         "fnmadd.d"           [FRd FRs1 FRs2 FRs3 Rm]      FloatMultiply       D        Any  0x0600007f 0x0200004f;
    FaddD           "fadd.d"             [FRd FRs1 FRs2 Rm]           Float               D        Any  0xfe00007f 0x02000053;
    FsubD           "fsub.d"             [FRd FRs1 FRs2 Rm]           Float               D        Any  0xfe00007f 0x0a000053;
    FmulD           "fmul.d"             [FRd FRs1 FRs2 Rm]           FloatMultiply       D        Any  0xfe00007f 0x12000053;
    FdivD           "fdiv.d"             [FRd FRs1 FRs2 Rm]           FloatDivide         D        Any  0xfe00007f 0x1a000053;
    FsqrtD          "fsqrt.d"            [FRd FRs1 Rm]                FloatDivide         D        Any  0xfff0007f 0x5a000053;
    FsgnjD          "fsgnj.d"            [FRd FRs1 FRs2]              FloatMove           D        Any  0xfe00707f 0x22000053;
    FsgnjnD         "fsgnjn.d"           [FRd FRs1 FRs2]              FloatMove           D        Any  0xfe00707f 0x22001053;
    FsgnjxD         "fsgnjx.d"           [FRd FRs1 FRs2]              FloatMove           D        Any  0xfe00707f 0x22002053;
    FminD           "fmin.d"             [FRd FRs1 FRs2]              Float               D        Any  0xfe00707f 0x2a000053;
    FmaxD           "fmax.d"             [FRd FRs1 FRs2]              Float               D        Any  0xfe00707f 0x2a001053;
    FcvtSD          "fcvt.s.d"           [FRd FRs1 Rm]                FloatConvert        D        Any  0xfff0007f 0x40100053;
    FcvtDS          "fcvt.d.s"           [FRd FRs1 RmExact]           FloatConvert        D        Any  0xfff0007f 0x42000053;
    FeqD            "feq.d"              [Rd FRs1 FRs2]               FloatCompare        D        Any  0xfe00707f 0xa2002053;
    FltD            "flt.d"              [Rd FRs1 FRs2]               FloatCompare        D        Any  0xfe00707f 0xa2001053;
    FleD            "fle.d"              [Rd FRs1 FRs2]               FloatCompare        D        Any  0xfe00707f 0xa2000053;
    FclassD         "fclass.d"           [Rd FRs1]                    Float               D        Any  0xfff0707f 0xe2001053;
    FcvtWD          "fcvt.w.d"           [Rd FRs1 Rm]                 FloatConvert        D        Any  0xfff0007f 0xc2000053;
    FcvtWuD         "fcvt.wu.d"          [Rd FRs1 Rm]                 FloatConvert        D        Any  0xfff0007f 0xc2100053;
    FcvtDW          "fcvt.d.w"           [FRd Rs1 RmExact]            FloatConvert        D        Any  0xfff0007f 0xd2000053;
    FcvtDWu         "fcvt.d.wu"          [FRd Rs1 RmExact]            FloatConvert        D        Any  0xfff0007f 0xd2100053;
    // rv64_d
    FcvtLD          "fcvt.l.d"           [Rd FRs1 Rm]                 FloatConvert        D        Rv64 0xfff0007f 0xc2200053;
    FcvtLuD         "fcvt.lu.d"          [Rd FRs1 Rm]                 FloatConvert        D        Rv64 0xfff0007f 0xc2300053;
    FmvXD           "fmv.x.d"            [Rd FRs1]                    FloatMove           D        Rv64 0xfff0707f 0xe2000053;
    FcvtDL          "fcvt.d.l"           [FRd Rs1 Rm]                 FloatConvert        D        Rv64 0xfff0007f 0xd2200053;
    FcvtDLu         "fcvt.d.lu"          [FRd Rs1 Rm]                 FloatConvert        D        Rv64 0xfff0007f 0xd2300053;
    FmvDX           "fmv.d.x"            [FRd Rs1]                    FloatMove           D        Rv64 0xfff0707f 0xf2000053;
    // rv_zfhmin
    Flh             "flh"                [FRd MemI]                   Load(2)             Zfhmin   Any  0x0000707f 0x00001007;
    Fsh             "fsh"                [FRs2 MemS]                  Store(2)            Zfhmin   Any  0x0000707f 0x00001027;
    FcvtSH          "fcvt.s.h"           [FRd FRs1 RmExact]           FloatConvert        Zfhmin   Any  0xfff0007f 0x40200053;
    FcvtHS          "fcvt.h.s"           [FRd FRs1 Rm]                FloatConvert        Zfhmin   Any  0xfff0007f 0x44000053;
    FmvXH           "fmv.x.h"            [Rd FRs1]                    FloatMove           Zfhmin   Any  0xfff0707f 0xe4000053;
    FmvHX           "fmv.h.x"            [FRd Rs1]                    FloatMove           Zfhmin   Any  0xfff0707f 0xf4000053;
    // rv_d_zfhmin
    FcvtDH          "fcvt.d.h"           [FRd FRs1 RmExact]           FloatConvert        Zfhmin   Any  0xfff0007f 0x42200053;
    FcvtHD          "fcvt.h.d"           [FRd FRs1 Rm]                FloatConvert        Zfhmin   Any  0xfff0007f 0x44100053;
    // rv_zfh
    FmaddH          "fmadd.h"            [FRd FRs1 FRs2 FRs3 Rm]      FloatMultiply       Zfh      Any  0x0600007f 0x04000043;
    FmsubH          "fmsub.h"            [FRd FRs1 FRs2 FRs3 Rm]      FloatMultiply       Zfh      Any  0x0600007f 0x04000047;
    FnmsubH         "fnmsub.h"           [FRd FRs1 FRs2 FRs3 Rm]      FloatMultiply       Zfh      Any  0x0600007f 0x0400004b;
    FnmaddH         "fnmadd.h"           [FRd FRs1 FRs2 FRs3 Rm]      FloatMultiply       Zfh      Any  0x0600007f 0x0400004f;
    FaddH           "fadd.h"             [FRd FRs1 FRs2 Rm]           Float               Zfh      Any  0xfe00007f 0x04000053;
    FsubH           "fsub.h"             [FRd FRs1 FRs2 Rm]           Float               Zfh      Any  0xfe00007f 0x0c000053;
    FmulH           "fmul.h"             [FRd FRs1 FRs2 Rm]           FloatMultiply       Zfh      Any  0xfe00007f 0x14000053;
    FdivH           "fdiv.h"             [FRd FRs1 FRs2 Rm]           FloatDivide         Zfh      Any  0xfe00007f 0x1c000053;
    FsqrtH          "fsqrt.h"            [FRd FRs1 Rm]                FloatDivide         Zfh      Any  0xfff0007f 0x5c000053;
    FsgnjH          "fsgnj.h"            [FRd FRs1 FRs2]              FloatMove           Zfh      Any  0xfe00707f 0x24000053;
    FsgnjnH         "fsgnjn.h"           [FRd FRs1 FRs2]              FloatMove           Zfh      Any  0xfe00707f 0x24001053;
    FsgnjxH         "fsgnjx.h"           [FRd FRs1 FRs2]              FloatMove           Zfh      Any  0xfe00707f 0x24002053;
    FminH           "fmin.h"             [FRd FRs1 FRs2]              Float               Zfh      Any  0xfe00707f 0x2c000053;
    FmaxH           "fmax.h"             [FRd FRs1 FRs2]              Float               Zfh      Any  0xfe00707f 0x2c001053;
    FeqH            "feq.h"              [Rd FRs1 FRs2]               FloatCompare        Zfh      Any  0xfe00707f 0xa4002053;
    FltH            "flt.h"              [Rd FRs1 FRs2]               FloatCompare        Zfh      Any  0xfe00707f 0xa4001053;
    FleH            "fle.h"              [Rd FRs1 FRs2]               FloatCompare        Zfh      Any  0xfe00707f 0xa4000053;
    FclassH         "fclass.h"           [Rd FRs1]                    Float               Zfh      Any  0xfff0707f 0xe4001053;
    FcvtWH          "fcvt.w.h"           [Rd FRs1 Rm]                 FloatConvert        Zfh      Any  0xfff0007f 0xc4000053;
    FcvtWuH         "fcvt.wu.h"          [Rd FRs1 Rm]                 FloatConvert        Zfh      Any  0xfff0007f 0xc4100053;
    FcvtHW          "fcvt.h.w"           [FRd Rs1 Rm]                 FloatConvert        Zfh      Any  0xfff0007f 0xd4000053;
    FcvtHWu         "fcvt.h.wu"          [FRd Rs1 Rm]                 FloatConvert        Zfh      Any  0xfff0007f 0xd4100053;
    // rv64_zfh
    FcvtLH          "fcvt.l.h"           [Rd FRs1 Rm]                 FloatConvert        Zfh      Rv64 0xfff0007f 0xc4200053;
    FcvtLuH         "fcvt.lu.h"          [Rd FRs1 Rm]                 FloatConvert        Zfh      Rv64 0xfff0007f 0xc4300053;
    FcvtHL          "fcvt.h.l"           [FRd Rs1 Rm]                 FloatConvert        Zfh      Rv64 0xfff0007f 0xd4200053;
    FcvtHLu         "fcvt.h.lu"          [FRd Rs1 Rm]                 FloatConvert        Zfh      Rv64 0xfff0007f 0xd4300053;
    // rv_f_zfa
    FliS            "fli.s"              [FRd Fli]                    FloatMove           Zfa      Any  0xfff0707f 0xf0100053;
    FminmS          "fminm.s"            [FRd FRs1 FRs2]              Float               Zfa      Any  0xfe00707f 0x28002053;
    FmaxmS          "fmaxm.s"            [FRd FRs1 FRs2]              Float               Zfa      Any  0xfe00707f 0x28003053;
    FroundS         "fround.s"           [FRd FRs1 Rm]                FloatConvert        Zfa      Any  0xfff0007f 0x40400053;
    FroundnxS       "froundnx.s"         [FRd FRs1 Rm]                FloatConvert        Zfa      Any  0xfff0007f 0x40500053;
    FleqS           "fleq.s"             [Rd FRs1 FRs2]               FloatCompare        Zfa      Any  0xfe00707f 0xa0004053;
    FltqS           "fltq.s"             [Rd FRs1 FRs2]               FloatCompare        Zfa      Any  0xfe00707f 0xa0005053;
    // rv_d_zfa
    FliD            "fli.d"              [FRd Fli]                    FloatMove           Zfa      Any  0xfff0707f 0xf2100053;
    FminmD          "fminm.d"            [FRd FRs1 FRs2]              Float               Zfa      Any  0xfe00707f 0x2a002053;
    FmaxmD          "fmaxm.d"            [FRd FRs1 FRs2]              Float               Zfa      Any  0xfe00707f 0x2a003053;
    FroundD         "fround.d"           [FRd FRs1 Rm]                FloatConvert        Zfa      Any  0xfff0007f 0x42400053;
    FroundnxD       "froundnx.d"         [FRd FRs1 Rm]                FloatConvert        Zfa      Any  0xfff0007f 0x42500053;
    FcvtmodWD       "fcvtmod.w.d"        [Rd FRs1 Rm]                 FloatConvert        Zfa      Any  0xfff0707f 0xc2801053;
    FleqD           "fleq.d"             [Rd FRs1 FRs2]               FloatCompare        Zfa      Any  0xfe00707f 0xa2004053;
    FltqD           "fltq.d"             [Rd FRs1 FRs2]               FloatCompare        Zfa      Any  0xfe00707f 0xa2005053;
    // rv32_d_zfa
    FmvhXD          "fmvh.x.d"           [Rd FRs1]                    FloatMove           Zfa      Rv32 0xfff0707f 0xe2100053;
    FmvpDX          "fmvp.d.x"           [FRd Rs1 Rs2]                FloatMove           Zfa      Rv32 0xfe00707f 0xb2000053;
    // rv_zfh_zfa
    FliH            "fli.h"              [FRd Fli]                    FloatMove           Zfa      Any  0xfff0707f 0xf4100053;
    FminmH          "fminm.h"            [FRd FRs1 FRs2]              Float               Zfa      Any  0xfe00707f 0x2c002053;
    FmaxmH          "fmaxm.h"            [FRd FRs1 FRs2]              Float               Zfa      Any  0xfe00707f 0x2c003053;
    FroundH         "fround.h"           [FRd FRs1 Rm]                FloatConvert        Zfa      Any  0xfff0007f 0x44400053;
    FroundnxH       "froundnx.h"         [FRd FRs1 Rm]                FloatConvert        Zfa      Any  0xfff0007f 0x44500053;
    FleqH           "fleq.h"             [Rd FRs1 FRs2]               FloatCompare        Zfa      Any  0xfe00707f 0xa4004053;
    FltqH           "fltq.h"             [Rd FRs1 FRs2]               FloatCompare        Zfa      Any  0xfe00707f 0xa4005053;
    // rv_zba
    Sh1add          "sh1add"             [Rd Rs1 Rs2]                 Int                 Zba      Any  0xfe00707f 0x20002033;
    Sh2add          "sh2add"             [Rd Rs1 Rs2]                 Int                 Zba      Any  0xfe00707f 0x20004033;
    Sh3add          "sh3add"             [Rd Rs1 Rs2]                 Int                 Zba      Any  0xfe00707f 0x20006033;
    // rv64_zba
    AddUw           "add.uw"             [Rd Rs1 Rs2]                 Int                 Zba      Rv64 0xfe00707f 0x0800003b;
    Sh1addUw        "sh1add.uw"          [Rd Rs1 Rs2]                 Int                 Zba      Rv64 0xfe00707f 0x2000203b;
    Sh2addUw        "sh2add.uw"          [Rd Rs1 Rs2]                 Int                 Zba      Rv64 0xfe00707f 0x2000403b;
    Sh3addUw        "sh3add.uw"          [Rd Rs1 Rs2]                 Int                 Zba      Rv64 0xfe00707f 0x2000603b;
    SlliUw          "slli.uw"            [Rd Rs1 Shamt]               Int                 Zba      Rv64 0xfc00707f 0x0800101b;
    // rv_zbb
    Andn            "andn"               [Rd Rs1 Rs2]                 Int                 Zbb      Any  0xfe00707f 0x40007033;
    Orn             "orn"                [Rd Rs1 Rs2]                 Int                 Zbb      Any  0xfe00707f 0x40006033;
    Xnor            "xnor"               [Rd Rs1 Rs2]                 Int                 Zbb      Any  0xfe00707f 0x40004033;
    Clz             "clz"                [Rd Rs1]                     Int                 Zbb      Any  0xfff0707f 0x60001013;
    Ctz             "ctz"                [Rd Rs1]                     Int                 Zbb      Any  0xfff0707f 0x60101013;
    Cpop            "cpop"               [Rd Rs1]                     Int                 Zbb      Any  0xfff0707f 0x60201013;
    Max             "max"                [Rd Rs1 Rs2]                 Int                 Zbb      Any  0xfe00707f 0x0a006033;
    Maxu            "maxu"               [Rd Rs1 Rs2]                 Int                 Zbb      Any  0xfe00707f 0x0a007033;
    Min             "min"                [Rd Rs1 Rs2]                 Int                 Zbb      Any  0xfe00707f 0x0a004033;
    Minu            "minu"               [Rd Rs1 Rs2]                 Int                 Zbb      Any  0xfe00707f 0x0a005033;
    SextB           "sext.b"             [Rd Rs1]                     Int                 Zbb      Any  0xfff0707f 0x60401013;
    SextH           "sext.h"             [Rd Rs1]                     Int                 Zbb      Any  0xfff0707f 0x60501013;
    Rol             "rol"                [Rd Rs1 Rs2]                 Int                 Zbb      Any  0xfe00707f 0x60001033;
    Ror             "ror"                [Rd Rs1 Rs2]                 Int                 Zbb      Any  0xfe00707f 0x60005033;
    OrcB            "orc.b"              [Rd Rs1]                     Int                 Zbb      Any  0xfff0707f 0x28705013;
    // rv64_zbb
    Clzw            "clzw"               [Rd Rs1]                     Int                 Zbb      Rv64 0xfff0707f 0x6000101b;
    Ctzw            "ctzw"               [Rd Rs1]                     Int                 Zbb      Rv64 0xfff0707f 0x6010101b;
    Cpopw           "cpopw"              [Rd Rs1]                     Int                 Zbb      Rv64 0xfff0707f 0x6020101b;
    Rolw            "rolw"               [Rd Rs1 Rs2]                 Int                 Zbb      Rv64 0xfe00707f 0x6000103b;
    Rorw            "rorw"               [Rd Rs1 Rs2]                 Int                 Zbb      Rv64 0xfe00707f 0x6000503b;
    Roriw           "roriw"              [Rd Rs1 ShamtW]              Int                 Zbb      Rv64 0xfe00707f 0x6000501b;
    Rori            "rori"               [Rd Rs1 Shamt]               Int                 Zbb      Any  0xfc00707f 0x60005013;
    ZextH           "zext.h"             [Rd Rs1]                     Int                 Zbb      Rv64 0xfff0707f 0x0800403b;
    Rev8            "rev8"               [Rd Rs1]                     Int                 Zbb      Rv64 0xfff0707f 0x6b805013;
    // rv_zbc
    Clmul           "clmul"              [Rd Rs1 Rs2]                 Int                 Zbc      Any  0xfe00707f 0x0a001033;
    Clmulr          "clmulr"             [Rd Rs1 Rs2]                 Int                 Zbc      Any  0xfe00707f 0x0a002033;
    Clmulh          "clmulh"             [Rd Rs1 Rs2]                 Int                 Zbc      Any  0xfe00707f 0x0a003033;
    // rv_zbs
    Bclr            "bclr"               [Rd Rs1 Rs2]                 Int                 Zbs      Any  0xfe00707f 0x48001033;
    Bext            "bext"               [Rd Rs1 Rs2]                 Int                 Zbs      Any  0xfe00707f 0x48005033;
    Binv            "binv"               [Rd Rs1 Rs2]                 Int                 Zbs      Any  0xfe00707f 0x68001033;
    Bset            "bset"               [Rd Rs1 Rs2]                 Int                 Zbs      Any  0xfe00707f 0x28001033;
    // rv64_zbs
    Bclri           "bclri"              [Rd Rs1 Shamt]               Int                 Zbs      Any  0xfc00707f 0x48001013;
    Bexti           "bexti"              [Rd Rs1 Shamt]               Int                 Zbs      Any  0xfc00707f 0x48005013;
    Binvi           "binvi"              [Rd Rs1 Shamt]               Int                 Zbs      Any  0xfc00707f 0x68001013;
    Bseti           "bseti"              [Rd Rs1 Shamt]               Int                 Zbs      Any  0xfc00707f 0x28001013;
    // rv_zicbo
    CboClean        "cbo.clean"          [Base]                       Fence               Zicbom   Any  0xfff07fff 0x0010200f;
    CboFlush        "cbo.flush"          [Base]                       Fence               Zicbom   Any  0xfff07fff 0x0020200f;
    CboInval        "cbo.inval"          [Base]                       Fence               Zicbom   Any  0xfff07fff 0x0000200f;
    CboZero         "cbo.zero"           [Base]                       ZeroBlock           Zicboz   Any  0xfff07fff 0x0040200f;
    // rv_zbkb
    Pack            "pack"               [Rd Rs1 Rs2]                 Int                 Zbkb     Any  0xfe00707f 0x08004033;
    Packh           "packh"              [Rd Rs1 Rs2]                 Int                 Zbkb     Any  0xfe00707f 0x08007033;
    Brev8           "brev8"              [Rd Rs1]                     Int                 Zbkb     Any  0xfff0707f 0x68705013;
    // rv32_zbkb
    Zip             "zip"                [Rd Rs1]                     Int                 Zbkb     Rv32 0xfff0707f 0x08f01013;
    Unzip           "unzip"              [Rd Rs1]                     Int                 Zbkb     Rv32 0xfff0707f 0x08f05013;
    // rv64_zbkb
    Packw           "packw"              [Rd Rs1 Rs2]                 Int                 Zbkb     Rv64 0xfe00707f 0x0800403b;
    // rv_zbkx
    Xperm4          "xperm4"             [Rd Rs1 Rs2]                 Int                 Zbkx     Any  0xfe00707f 0x28002033;
    Xperm8          "xperm8"             [Rd Rs1 Rs2]                 Int                 Zbkx     Any  0xfe00707f 0x28004033;
    // rv32_zknd
    Aes32dsmi       "aes32dsmi"          [Rd Rs1 Rs2 Bs]              Int                 Zknd     Rv32 0x3e00707f 0x2e000033;
    Aes32dsi        "aes32dsi"           [Rd Rs1 Rs2 Bs]              Int                 Zknd     Rv32 0x3e00707f 0x2a000033;
    // rv64_zknd
    Aes64dsm        "aes64dsm"           [Rd Rs1 Rs2]                 Int                 Zknd     Rv64 0xfe00707f 0x3e000033;
    Aes64ds         "aes64ds"            [Rd Rs1 Rs2]                 Int                 Zknd     Rv64 0xfe00707f 0x3a000033;
    Aes64ks1i       "aes64ks1i"          [Rd Rs1 Rnum]                Int                 Zknd     Rv64 0xff00707f 0x31001013;
    Aes64im         "aes64im"            [Rd Rs1]                     Int                 Zknd     Rv64 0xfff0707f 0x30001013;
    Aes64ks2        "aes64ks2"           [Rd Rs1 Rs2]                 Int                 Zknd     Rv64 0xfe00707f 0x7e000033;
    // rv32_zkne
    Aes32esmi       "aes32esmi"          [Rd Rs1 Rs2 Bs]              Int                 Zkne     Rv32 0x3e00707f 0x26000033;
    Aes32esi        "aes32esi"           [Rd Rs1 Rs2 Bs]              Int                 Zkne     Rv32 0x3e00707f 0x22000033;
    // rv64_zkne
    Aes64esm        "aes64esm"           [Rd Rs1 Rs2]                 Int                 Zkne     Rv64 0xfe00707f 0x36000033;
    Aes64es         "aes64es"            [Rd Rs1 Rs2]                 Int                 Zkne     Rv64 0xfe00707f 0x32000033;
    // rv_zknh
    Sha256sum0      "sha256sum0"         [Rd Rs1]                     Int                 Zknh     Any  0xfff0707f 0x10001013;
    Sha256sum1      "sha256sum1"         [Rd Rs1]                     Int                 Zknh     Any  0xfff0707f 0x10101013;
    Sha256sig0      "sha256sig0"         [Rd Rs1]                     Int                 Zknh     Any  0xfff0707f 0x10201013;
    Sha256sig1      "sha256sig1"         [Rd Rs1]                     Int                 Zknh     Any  0xfff0707f 0x10301013;
    // rv32_zknh
    Sha512sum0r     "sha512sum0r"        [Rd Rs1 Rs2]                 Int                 Zknh     Rv32 0xfe00707f 0x50000033;
    Sha512sum1r     "sha512sum1r"        [Rd Rs1 Rs2]                 Int                 Zknh     Rv32 0xfe00707f 0x52000033;
    Sha512sig0l     "sha512sig0l"        [Rd Rs1 Rs2]                 Int                 Zknh     Rv32 0xfe00707f 0x54000033;
    Sha512sig0h     "sha512sig0h"        [Rd Rs1 Rs2]                 Int                 Zknh     Rv32 0xfe00707f 0x5c000033;
    Sha512sig1l     "sha512sig1l"        [Rd Rs1 Rs2]                 Int                 Zknh     Rv32 0xfe00707f 0x56000033;
    Sha512sig1h     "sha512sig1h"        [Rd Rs1 Rs2]                 Int                 Zknh     Rv32 0xfe00707f 0x5e000033;
    // rv64_zknh
    Sha512sum0      "sha512sum0"         [Rd Rs1]                     Int                 Zknh     Rv64 0xfff0707f 0x10401013;
    Sha512sum1      "sha512sum1"         [Rd Rs1]                     Int                 Zknh     Rv64 0xfff0707f 0x10501013;
    Sha512sig0      "sha512sig0"         [Rd Rs1]                     Int                 Zknh     Rv64 0xfff0707f 0x10601013;
    Sha512sig1      "sha512sig1"         [Rd Rs1]                     Int                 Zknh     Rv64 0xfff0707f 0x10701013;
    // rv_zksed
    Sm4ed           "sm4ed"              [Rd Rs1 Rs2 Bs]              Int                 Zksed    Any  0x3e00707f 0x30000033;
    Sm4ks           "sm4ks"              [Rd Rs1 Rs2 Bs]              Int                 Zksed    Any  0x3e00707f 0x34000033;
    // rv_zksh
    Sm3p0           "sm3p0"              [Rd Rs1]                     Int                 Zksh     Any  0xfff0707f 0x10801013;
    Sm3p1           "sm3p1"              [Rd Rs1]                     Int                 Zksh     Any  0xfff0707f 0x10901013;
    // rv_zicond
    CzeroEqz        "czero.eqz"          [Rd Rs1 Rs2]                 Int                 Zicond   Any  0xfe00707f 0x0e005033;
    CzeroNez        "czero.nez"          [Rd Rs1 Rs2]                 Int                 Zicond   Any  0xfe00707f 0x0e007033;
    // rv_zawrs
    WrsNto          "wrs.nto"            []                           System              Zawrs    Any  0xffffffff 0x00d00073;
    WrsSto          "wrs.sto"            []                           System              Zawrs    Any  0xffffffff 0x01d00073;
    // rv_zimop
    MopR            "mop.r.N"            [Rd Rs1 MopR]                Int                 Zimop    Any  0xb3c0707f 0x81c04073;
    MopRr           "mop.rr.N"           [Rd Rs1 Rs2 MopRr]           Int                 Zimop    Any  0xb200707f 0x82004073;
    // rv_system
    Mret            "mret"               []                           System              System   Any  0xffffffff 0x30200073;
    Wfi             "wfi"                []                           System              System   Any  0xffffffff 0x10500073;
    // rv_s
    SfenceVma       "sfence.vma"         [Rs1 Rs2]                    Fence               System   Any  0xfe007fff 0x12000073;
    Sret            "sret"               []                           System              System   Any  0xffffffff 0x10200073;
    // rv_h
    HfenceVvma      "hfence.vvma"        [Rs1 Rs2]                    Fence               H        Any  0xfe007fff 0x22000073;
    HfenceGvma      "hfence.gvma"        [Rs1 Rs2]                    Fence               H        Any  0xfe007fff 0x62000073;
    HlvB            "hlv.b"              [Rd Base]                    Load(1)             H        Any  0xfff0707f 0x60004073;
    HlvBu           "hlv.bu"             [Rd Base]                    Load(1)             H        Any  0xfff0707f 0x60104073;
    HlvH            "hlv.h"              [Rd Base]                    Load(2)             H        Any  0xfff0707f 0x64004073;
    HlvHu           "hlv.hu"             [Rd Base]                    Load(2)             H        Any  0xfff0707f 0x64104073;
    HlvxHu          "hlvx.hu"            [Rd Base]                    Load(2)             H        Any  0xfff0707f 0x64304073;
    HlvW            "hlv.w"              [Rd Base]                    Load(4)             H        Any  0xfff0707f 0x68004073;
    HlvxWu          "hlvx.wu"            [Rd Base]                    Load(4)             H        Any  0xfff0707f 0x68304073;
    HsvB            "hsv.b"              [Rs2 Base]                   Store(1)            H        Any  0xfe007fff 0x62004073;
    HsvH            "hsv.h"              [Rs2 Base]                   Store(2)            H        Any  0xfe007fff 0x66004073;
    HsvW            "hsv.w"              [Rs2 Base]                   Store(4)            H        Any  0xfe007fff 0x6a004073;
    // rv64_h
    HlvWu           "hlv.wu"             [Rd Base]                    Load(4)             H        Rv64 0xfff0707f 0x68104073;
    HlvD            "hlv.d"              [Rd Base]                    Load(8)             H        Rv64 0xfff0707f 0x6c004073;
    HsvD            "hsv.d"              [Rs2 Base]                   Store(8)            H        Rv64 0xfe007fff 0x6e004073;
    // rv_svinval
    SinvalVma       "sinval.vma"         [Rs1 Rs2]                    Fence               Svinval  Any  0xfe007fff 0x16000073;
    SfenceWInval    "sfence.w.inval"     []                           Fence               Svinval  Any  0xffffffff 0x18000073;
    SfenceInvalIr   "sfence.inval.ir"    []                           Fence               Svinval  Any  0xffffffff 0x18100073;
    // rv_svinval_h
    HinvalVvma      "hinval.vvma"        [Rs1 Rs2]                    Fence               Svinval  Any  0xfe007fff 0x26000073;
    HinvalGvma      "hinval.gvma"        [Rs1 Rs2]                    Fence               Svinval  Any  0xfe007fff 0x66000073;
    // rv_sdext
    Dret            "dret"               []                           System              Sdext    Any  0xffffffff 0x7b200073;
    // rv_smrnmi
    Mnret           "mnret"              []                           System              Smrnmi   Any  0xffffffff 0x70200073;
    // N extension, withdrawn; E-Trace still names it
    Uret            "uret"               []                           System              N        Any  0xffffffff 0x00200073;
    // rv_v
    Vsetivli        "vsetivli"           [Rd UImm5 VType10]           VectorConfig        V        Any  0xc000707f 0xc0007057;
    Vsetvli         "vsetvli"            [Rd Rs1 VType11]             VectorConfig        V        Any  0x8000707f 0x00007057;
    Vsetvl          "vsetvl"             [Rd Rs1 Rs2]                 VectorConfig        V        Any  0xfe00707f 0x80007057;
    VlmV            "vlm.v"              [Vd Base]                    VectorLoad(1)       V        Any  0xfff0707f 0x02b00007;
    VsmV            "vsm.v"              [Vs3 Base]                   VectorStore(1)      V        Any  0xfff0707f 0x02b00027;
    Vle8V           "vle8.v"             [Vd Base Vm Nf]              VectorLoad(1)       V        Any  0x1df0707f 0x00000007;
    Vle16V          "vle16.v"            [Vd Base Vm Nf]              VectorLoad(2)       V        Any  0x1df0707f 0x00005007;
    Vle32V          "vle32.v"            [Vd Base Vm Nf]              VectorLoad(4)       V        Any  0x1df0707f 0x00006007;
    Vle64V          "vle64.v"            [Vd Base Vm Nf]              VectorLoad(8)       V        Any  0x1df0707f 0x00007007;
    Vse8V           "vse8.v"             [Vs3 Base Vm Nf]             VectorStore(1)      V        Any  0x1df0707f 0x00000027;
    Vse16V          "vse16.v"            [Vs3 Base Vm Nf]             VectorStore(2)      V        Any  0x1df0707f 0x00005027;
    Vse32V          "vse32.v"            [Vs3 Base Vm Nf]             VectorStore(4)      V        Any  0x1df0707f 0x00006027;
    Vse64V          "vse64.v"            [Vs3 Base Vm Nf]             VectorStore(8)      V        Any  0x1df0707f 0x00007027;
    Vluxei8V        "vluxei8.v"          [Vd Base Vs2 Vm Nf]          VectorLoad(0)       V        Any  0x1c00707f 0x04000007;
    Vluxei16V       "vluxei16.v"         [Vd Base Vs2 Vm Nf]          VectorLoad(0)       V        Any  0x1c00707f 0x04005007;
    Vluxei32V       "vluxei32.v"         [Vd Base Vs2 Vm Nf]          VectorLoad(0)       V        Any  0x1c00707f 0x04006007;
    Vluxei64V       "vluxei64.v"         [Vd Base Vs2 Vm Nf]          VectorLoad(0)       V        Any  0x1c00707f 0x04007007;
    Vsuxei8V        "vsuxei8.v"          [Vs3 Base Vs2 Vm Nf]         VectorStore(0)      V        Any  0x1c00707f 0x04000027;
    Vsuxei16V       "vsuxei16.v"         [Vs3 Base Vs2 Vm Nf]         VectorStore(0)      V        Any  0x1c00707f 0x04005027;
    Vsuxei32V       "vsuxei32.v"         [Vs3 Base Vs2 Vm Nf]         VectorStore(0)      V        Any  0x1c00707f 0x04006027;
    Vsuxei64V       "vsuxei64.v"         [Vs3 Base Vs2 Vm Nf]         VectorStore(0)      V        Any  0x1c00707f 0x04007027;
    Vlse8V          "vlse8.v"            [Vd Base Rs2 Vm Nf]          VectorLoad(1)       V        Any  0x1c00707f 0x08000007;
    Vlse16V         "vlse16.v"           [Vd Base Rs2 Vm Nf]          VectorLoad(2)       V        Any  0x1c00707f 0x08005007;
    Vlse32V         "vlse32.v"           [Vd Base Rs2 Vm Nf]          VectorLoad(4)       V        Any  0x1c00707f 0x08006007;
    Vlse64V         "vlse64.v"           [Vd Base Rs2 Vm Nf]          VectorLoad(8)       V        Any  0x1c00707f 0x08007007;
    Vsse8V          "vsse8.v"            [Vs3 Base Rs2 Vm Nf]         VectorStore(1)      V        Any  0x1c00707f 0x08000027;
    Vsse16V         "vsse16.v"           [Vs3 Base Rs2 Vm Nf]         VectorStore(2)      V        Any  0x1c00707f 0x08005027;
    Vsse32V         "vsse32.v"           [Vs3 Base Rs2 Vm Nf]         VectorStore(4)      V        Any  0x1c00707f 0x08006027;
    Vsse64V         "vsse64.v"           [Vs3 Base Rs2 Vm Nf]         VectorStore(8)      V        Any  0x1c00707f 0x08007027;
    Vloxei8V        "vloxei8.v"          [Vd Base Vs2 Vm Nf]          VectorLoad(0)       V        Any  0x1c00707f 0x0c000007;
    Vloxei16V       "vloxei16.v"         [Vd Base Vs2 Vm Nf]          VectorLoad(0)       V        Any  0x1c00707f 0x0c005007;
    Vloxei32V       "vloxei32.v"         [Vd Base Vs2 Vm Nf]          VectorLoad(0)       V        Any  0x1c00707f 0x0c006007;
    Vloxei64V       "vloxei64.v"         [Vd Base Vs2 Vm Nf]          VectorLoad(0)       V        Any  0x1c00707f 0x0c007007;
    Vsoxei8V        "vsoxei8.v"          [Vs3 Base Vs2 Vm Nf]         VectorStore(0)      V        Any  0x1c00707f 0x0c000027;
    Vsoxei16V       "vsoxei16.v"         [Vs3 Base Vs2 Vm Nf]         VectorStore(0)      V        Any  0x1c00707f 0x0c005027;
    Vsoxei32V       "vsoxei32.v"         [Vs3 Base Vs2 Vm Nf]         VectorStore(0)      V        Any  0x1c00707f 0x0c006027;
    Vsoxei64V       "vsoxei64.v"         [Vs3 Base Vs2 Vm Nf]         VectorStore(0)      V        Any  0x1c00707f 0x0c007027;
    Vle8ffV         "vle8ff.v"           [Vd Base Vm Nf]              VectorLoad(1)       V        Any  0x1df0707f 0x01000007;
    Vle16ffV        "vle16ff.v"          [Vd Base Vm Nf]              VectorLoad(2)       V        Any  0x1df0707f 0x01005007;
    Vle32ffV        "vle32ff.v"          [Vd Base Vm Nf]              VectorLoad(4)       V        Any  0x1df0707f 0x01006007;
    Vle64ffV        "vle64ff.v"          [Vd Base Vm Nf]              VectorLoad(8)       V        Any  0x1df0707f 0x01007007;
    Vl1re8V         "vl1re8.v"           [Vd Base]                    VectorLoad(1)       V        Any  0xfff0707f 0x02800007;
    Vl1re16V        "vl1re16.v"          [Vd Base]                    VectorLoad(2)       V        Any  0xfff0707f 0x02805007;
    Vl1re32V        "vl1re32.v"          [Vd Base]                    VectorLoad(4)       V        Any  0xfff0707f 0x02806007;
    Vl1re64V        "vl1re64.v"          [Vd Base]                    VectorLoad(8)       V        Any  0xfff0707f 0x02807007;
    Vl2re8V         "vl2re8.v"           [Vd Base]                    VectorLoad(1)       V        Any  0xfff0707f 0x22800007;
    Vl2re16V        "vl2re16.v"          [Vd Base]                    VectorLoad(2)       V        Any  0xfff0707f 0x22805007;
    Vl2re32V        "vl2re32.v"          [Vd Base]                    VectorLoad(4)       V        Any  0xfff0707f 0x22806007;
    Vl2re64V        "vl2re64.v"          [Vd Base]                    VectorLoad(8)       V        Any  0xfff0707f 0x22807007;
    Vl4re8V         "vl4re8.v"           [Vd Base]                    VectorLoad(1)       V        Any  0xfff0707f 0x62800007;
    Vl4re16V        "vl4re16.v"          [Vd Base]                    VectorLoad(2)       V        Any  0xfff0707f 0x62805007;
    Vl4re32V        "vl4re32.v"          [Vd Base]                    VectorLoad(4)       V        Any  0xfff0707f 0x62806007;
    Vl4re64V        "vl4re64.v"          [Vd Base]                    VectorLoad(8)       V        Any  0xfff0707f 0x62807007;
    Vl8re8V         "vl8re8.v"           [Vd Base]                    VectorLoad(1)       V        Any  0xfff0707f 0xe2800007;
    Vl8re16V        "vl8re16.v"          [Vd Base]                    VectorLoad(2)       V        Any  0xfff0707f 0xe2805007;
    Vl8re32V        "vl8re32.v"          [Vd Base]                    VectorLoad(4)       V        Any  0xfff0707f 0xe2806007;
    Vl8re64V        "vl8re64.v"          [Vd Base]                    VectorLoad(8)       V        Any  0xfff0707f 0xe2807007;
    Vs1rV           "vs1r.v"             [Vs3 Base]                   VectorStore(1)      V        Any  0xfff0707f 0x02800027;
    Vs2rV           "vs2r.v"             [Vs3 Base]                   VectorStore(1)      V        Any  0xfff0707f 0x22800027;
    Vs4rV           "vs4r.v"             [Vs3 Base]                   VectorStore(1)      V        Any  0xfff0707f 0x62800027;
    Vs8rV           "vs8r.v"             [Vs3 Base]                   VectorStore(1)      V        Any  0xfff0707f 0xe2800027;
    VfaddVf         "vfadd.vf"           [Vd Vs2 FRs1 Vm]             Vector              V        Any  0xfc00707f 0x00005057;
    VfsubVf         "vfsub.vf"           [Vd Vs2 FRs1 Vm]             Vector              V        Any  0xfc00707f 0x08005057;
    VfminVf         "vfmin.vf"           [Vd Vs2 FRs1 Vm]             Vector              V        Any  0xfc00707f 0x10005057;
    VfmaxVf         "vfmax.vf"           [Vd Vs2 FRs1 Vm]             Vector              V        Any  0xfc00707f 0x18005057;
    VfsgnjVf        "vfsgnj.vf"          [Vd Vs2 FRs1 Vm]             Vector              V        Any  0xfc00707f 0x20005057;
    VfsgnjnVf       "vfsgnjn.vf"         [Vd Vs2 FRs1 Vm]             Vector              V        Any  0xfc00707f 0x24005057;
    VfsgnjxVf       "vfsgnjx.vf"         [Vd Vs2 FRs1 Vm]             Vector              V        Any  0xfc00707f 0x28005057;
    Vfslide1upVf    "vfslide1up.vf"      [Vd Vs2 FRs1 Vm]             Vector              V        Any  0xfc00707f 0x38005057;
    Vfslide1downVf  "vfslide1down.vf"    [Vd Vs2 FRs1 Vm]             Vector              V        Any  0xfc00707f 0x3c005057;
    VfmvSF          "vfmv.s.f"           [Vd FRs1]                    Vector              V        Any  0xfff0707f 0x42005057;
    VfmergeVfm      "vfmerge.vfm"        [Vd Vs2 FRs1 V0]             Vector              V        Any  0xfe00707f 0x5c005057;
    VfmvVF          "vfmv.v.f"           [Vd FRs1]                    Vector              V        Any  0xfff0707f 0x5e005057;
    VmfeqVf         "vmfeq.vf"           [Vd Vs2 FRs1 Vm]             Vector              V        Any  0xfc00707f 0x60005057;
    VmfleVf         "vmfle.vf"           [Vd Vs2 FRs1 Vm]             Vector              V        Any  0xfc00707f 0x64005057;
    VmfltVf         "vmflt.vf"           [Vd Vs2 FRs1 Vm]             Vector              V        Any  0xfc00707f 0x6c005057;
    VmfneVf         "vmfne.vf"           [Vd Vs2 FRs1 Vm]             Vector              V        Any  0xfc00707f 0x70005057;
    VmfgtVf         "vmfgt.vf"           [Vd Vs2 FRs1 Vm]             Vector              V        Any  0xfc00707f 0x74005057;
    VmfgeVf         "vmfge.vf"           [Vd Vs2 FRs1 Vm]             Vector              V        Any  0xfc00707f 0x7c005057;
    VfdivVf         "vfdiv.vf"           [Vd Vs2 FRs1 Vm]             Vector              V        Any  0xfc00707f 0x80005057;
    VfrdivVf        "vfrdiv.vf"          [Vd Vs2 FRs1 Vm]             Vector              V        Any  0xfc00707f 0x84005057;
    VfmulVf         "vfmul.vf"           [Vd Vs2 FRs1 Vm]             Vector              V        Any  0xfc00707f 0x90005057;
    VfrsubVf        "vfrsub.vf"          [Vd Vs2 FRs1 Vm]             Vector              V        Any  0xfc00707f 0x9c005057;
    VfmaddVf        "vfmadd.vf"          [VdAcc FRs1 Vs2 Vm]          Vector              V        Any  0xfc00707f 0xa0005057;
    VfnmaddVf       "vfnmadd.vf"         [VdAcc FRs1 Vs2 Vm]          Vector              V        Any  0xfc00707f 0xa4005057;
    VfmsubVf        "vfmsub.vf"          [VdAcc FRs1 Vs2 Vm]          Vector              V        Any  0xfc00707f 0xa8005057;
    VfnmsubVf       "vfnmsub.vf"         [VdAcc FRs1 Vs2 Vm]          Vector              V        Any  0xfc00707f 0xac005057;
    VfmaccVf        "vfmacc.vf"          [VdAcc FRs1 Vs2 Vm]          Vector              V        Any  0xfc00707f 0xb0005057;
    VfnmaccVf       "vfnmacc.vf"         [VdAcc FRs1 Vs2 Vm]          Vector              V        Any  0xfc00707f 0xb4005057;
    VfmsacVf        "vfmsac.vf"          [VdAcc FRs1 Vs2 Vm]          Vector              V        Any  0xfc00707f 0xb8005057;
    VfnmsacVf       "vfnmsac.vf"         [VdAcc FRs1 Vs2 Vm]          Vector              V        Any  0xfc00707f 0xbc005057;
    VfwaddVf        "vfwadd.vf"          [Vd Vs2 FRs1 Vm]             Vector              V        Any  0xfc00707f 0xc0005057;
    VfwsubVf        "vfwsub.vf"          [Vd Vs2 FRs1 Vm]             Vector              V        Any  0xfc00707f 0xc8005057;
    VfwaddWf        "vfwadd.wf"          [Vd Vs2 FRs1 Vm]             Vector              V        Any  0xfc00707f 0xd0005057;
    VfwsubWf        "vfwsub.wf"          [Vd Vs2 FRs1 Vm]             Vector              V        Any  0xfc00707f 0xd8005057;
    VfwmulVf        "vfwmul.vf"          [Vd Vs2 FRs1 Vm]             Vector              V        Any  0xfc00707f 0xe0005057;
    VfwmaccVf       "vfwmacc.vf"         [VdAcc FRs1 Vs2 Vm]          Vector              V        Any  0xfc00707f 0xf0005057;
    VfwnmaccVf      "vfwnmacc.vf"        [VdAcc FRs1 Vs2 Vm]          Vector              V        Any  0xfc00707f 0xf4005057;
    VfwmsacVf       "vfwmsac.vf"         [VdAcc FRs1 Vs2 Vm]          Vector              V        Any  0xfc00707f 0xf8005057;
    VfwnmsacVf      "vfwnmsac.vf"        [VdAcc FRs1 Vs2 Vm]          Vector              V        Any  0xfc00707f 0xfc005057;
    VfaddVv         "vfadd.vv"           [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x00001057;
    VfredusumVs     "vfredusum.vs"       [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x04001057;
    VfsubVv         "vfsub.vv"           [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x08001057;
    VfredosumVs     "vfredosum.vs"       [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x0c001057;
    VfminVv         "vfmin.vv"           [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x10001057;
    VfredminVs      "vfredmin.vs"        [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x14001057;
    VfmaxVv         "vfmax.vv"           [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x18001057;
    VfredmaxVs      "vfredmax.vs"        [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x1c001057;
    VfsgnjVv        "vfsgnj.vv"          [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x20001057;
    VfsgnjnVv       "vfsgnjn.vv"         [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x24001057;
    VfsgnjxVv       "vfsgnjx.vv"         [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x28001057;
    VfmvFS          "vfmv.f.s"           [FRd Vs2]                    Vector              V        Any  0xfe0ff07f 0x42001057;
    VmfeqVv         "vmfeq.vv"           [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x60001057;
    VmfleVv         "vmfle.vv"           [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x64001057;
    VmfltVv         "vmflt.vv"           [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x6c001057;
    VmfneVv         "vmfne.vv"           [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x70001057;
    VfdivVv         "vfdiv.vv"           [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x80001057;
    VfmulVv         "vfmul.vv"           [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x90001057;
    VfmaddVv        "vfmadd.vv"          [VdAcc Vs1 Vs2 Vm]           Vector              V        Any  0xfc00707f 0xa0001057;
    VfnmaddVv       "vfnmadd.vv"         [VdAcc Vs1 Vs2 Vm]           Vector              V        Any  0xfc00707f 0xa4001057;
    VfmsubVv        "vfmsub.vv"          [VdAcc Vs1 Vs2 Vm]           Vector              V        Any  0xfc00707f 0xa8001057;
    VfnmsubVv       "vfnmsub.vv"         [VdAcc Vs1 Vs2 Vm]           Vector              V        Any  0xfc00707f 0xac001057;
    VfmaccVv        "vfmacc.vv"          [VdAcc Vs1 Vs2 Vm]           Vector              V        Any  0xfc00707f 0xb0001057;
    VfnmaccVv       "vfnmacc.vv"         [VdAcc Vs1 Vs2 Vm]           Vector              V        Any  0xfc00707f 0xb4001057;
    VfmsacVv        "vfmsac.vv"          [VdAcc Vs1 Vs2 Vm]           Vector              V        Any  0xfc00707f 0xb8001057;
    VfnmsacVv       "vfnmsac.vv"         [VdAcc Vs1 Vs2 Vm]           Vector              V        Any  0xfc00707f 0xbc001057;
    VfcvtXuFV       "vfcvt.xu.f.v"       [Vd Vs2 Vm]                  Vector              V        Any  0xfc0ff07f 0x48001057;
    VfcvtXFV        "vfcvt.x.f.v"        [Vd Vs2 Vm]                  Vector              V        Any  0xfc0ff07f 0x48009057;
    VfcvtFXuV       "vfcvt.f.xu.v"       [Vd Vs2 Vm]                  Vector              V        Any  0xfc0ff07f 0x48011057;
    VfcvtFXV        "vfcvt.f.x.v"        [Vd Vs2 Vm]                  Vector              V        Any  0xfc0ff07f 0x48019057;
    VfcvtRtzXuFV    "vfcvt.rtz.xu.f.v"   [Vd Vs2 Vm]                  Vector              V        Any  0xfc0ff07f 0x48031057;
    VfcvtRtzXFV     "vfcvt.rtz.x.f.v"    [Vd Vs2 Vm]                  Vector              V        Any  0xfc0ff07f 0x48039057;
    VfwcvtXuFV      "vfwcvt.xu.f.v"      [Vd Vs2 Vm]                  Vector              V        Any  0xfc0ff07f 0x48041057;
    VfwcvtXFV       "vfwcvt.x.f.v"       [Vd Vs2 Vm]                  Vector              V        Any  0xfc0ff07f 0x48049057;
    VfwcvtFXuV      "vfwcvt.f.xu.v"      [Vd Vs2 Vm]                  Vector              V        Any  0xfc0ff07f 0x48051057;
    VfwcvtFXV       "vfwcvt.f.x.v"       [Vd Vs2 Vm]                  Vector              V        Any  0xfc0ff07f 0x48059057;
    VfwcvtFFV       "vfwcvt.f.f.v"       [Vd Vs2 Vm]                  Vector              V        Any  0xfc0ff07f 0x48061057;
    VfwcvtRtzXuFV   "vfwcvt.rtz.xu.f.v"  [Vd Vs2 Vm]                  Vector              V        Any  0xfc0ff07f 0x48071057;
    VfwcvtRtzXFV    "vfwcvt.rtz.x.f.v"   [Vd Vs2 Vm]                  Vector              V        Any  0xfc0ff07f 0x48079057;
    VfncvtXuFW      "vfncvt.xu.f.w"      [Vd Vs2 Vm]                  Vector              V        Any  0xfc0ff07f 0x48081057;
    VfncvtXFW       "vfncvt.x.f.w"       [Vd Vs2 Vm]                  Vector              V        Any  0xfc0ff07f 0x48089057;
    VfncvtFXuW      "vfncvt.f.xu.w"      [Vd Vs2 Vm]                  Vector              V        Any  0xfc0ff07f 0x48091057;
    VfncvtFXW       "vfncvt.f.x.w"       [Vd Vs2 Vm]                  Vector              V        Any  0xfc0ff07f 0x48099057;
    VfncvtFFW       "vfncvt.f.f.w"       [Vd Vs2 Vm]                  Vector              V        Any  0xfc0ff07f 0x480a1057;
    VfncvtRodFFW    "vfncvt.rod.f.f.w"   [Vd Vs2 Vm]                  Vector              V        Any  0xfc0ff07f 0x480a9057;
    VfncvtRtzXuFW   "vfncvt.rtz.xu.f.w"  [Vd Vs2 Vm]                  Vector              V        Any  0xfc0ff07f 0x480b1057;
    VfncvtRtzXFW    "vfncvt.rtz.x.f.w"   [Vd Vs2 Vm]                  Vector              V        Any  0xfc0ff07f 0x480b9057;
    VfsqrtV         "vfsqrt.v"           [Vd Vs2 Vm]                  Vector              V        Any  0xfc0ff07f 0x4c001057;
    Vfrsqrt7V       "vfrsqrt7.v"         [Vd Vs2 Vm]                  Vector              V        Any  0xfc0ff07f 0x4c021057;
    Vfrec7V         "vfrec7.v"           [Vd Vs2 Vm]                  Vector              V        Any  0xfc0ff07f 0x4c029057;
    VfclassV        "vfclass.v"          [Vd Vs2 Vm]                  Vector              V        Any  0xfc0ff07f 0x4c081057;
    VfwaddVv        "vfwadd.vv"          [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0xc0001057;
    VfwredusumVs    "vfwredusum.vs"      [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0xc4001057;
    VfwsubVv        "vfwsub.vv"          [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0xc8001057;
    VfwredosumVs    "vfwredosum.vs"      [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0xcc001057;
    VfwaddWv        "vfwadd.wv"          [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0xd0001057;
    VfwsubWv        "vfwsub.wv"          [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0xd8001057;
    VfwmulVv        "vfwmul.vv"          [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0xe0001057;
    VfwmaccVv       "vfwmacc.vv"         [VdAcc Vs1 Vs2 Vm]           Vector              V        Any  0xfc00707f 0xf0001057;
    VfwnmaccVv      "vfwnmacc.vv"        [VdAcc Vs1 Vs2 Vm]           Vector              V        Any  0xfc00707f 0xf4001057;
    VfwmsacVv       "vfwmsac.vv"         [VdAcc Vs1 Vs2 Vm]           Vector              V        Any  0xfc00707f 0xf8001057;
    VfwnmsacVv      "vfwnmsac.vv"        [VdAcc Vs1 Vs2 Vm]           Vector              V        Any  0xfc00707f 0xfc001057;
    VaddVx          "vadd.vx"            [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0x00004057;
    VsubVx          "vsub.vx"            [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0x08004057;
    VrsubVx         "vrsub.vx"           [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0x0c004057;
    VminuVx         "vminu.vx"           [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0x10004057;
    VminVx          "vmin.vx"            [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0x14004057;
    VmaxuVx         "vmaxu.vx"           [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0x18004057;
    VmaxVx          "vmax.vx"            [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0x1c004057;
    VandVx          "vand.vx"            [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0x24004057;
    VorVx           "vor.vx"             [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0x28004057;
    VxorVx          "vxor.vx"            [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0x2c004057;
    VrgatherVx      "vrgather.vx"        [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0x30004057;
    VslideupVx      "vslideup.vx"        [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0x38004057;
    VslidedownVx    "vslidedown.vx"      [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0x3c004057;
    VadcVxm         "vadc.vxm"           [Vd Vs2 Rs1 V0]              Vector              V        Any  0xfe00707f 0x40004057;
    VmadcVxm        "vmadc.vxm"          [Vd Vs2 Rs1 V0]              Vector              V        Any  0xfe00707f 0x44004057;
    VmadcVx         "vmadc.vx"           [Vd Vs2 Rs1]                 Vector              V        Any  0xfe00707f 0x46004057;
    VsbcVxm         "vsbc.vxm"           [Vd Vs2 Rs1 V0]              Vector              V        Any  0xfe00707f 0x48004057;
    VmsbcVxm        "vmsbc.vxm"          [Vd Vs2 Rs1 V0]              Vector              V        Any  0xfe00707f 0x4c004057;
    VmsbcVx         "vmsbc.vx"           [Vd Vs2 Rs1]                 Vector              V        Any  0xfe00707f 0x4e004057;
    VmergeVxm       "vmerge.vxm"         [Vd Vs2 Rs1 V0]              Vector              V        Any  0xfe00707f 0x5c004057;
    VmvVX           "vmv.v.x"            [Vd Rs1]                     Vector              V        Any  0xfff0707f 0x5e004057;
    VmseqVx         "vmseq.vx"           [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0x60004057;
    VmsneVx         "vmsne.vx"           [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0x64004057;
    VmsltuVx        "vmsltu.vx"          [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0x68004057;
    VmsltVx         "vmslt.vx"           [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0x6c004057;
    VmsleuVx        "vmsleu.vx"          [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0x70004057;
    VmsleVx         "vmsle.vx"           [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0x74004057;
    VmsgtuVx        "vmsgtu.vx"          [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0x78004057;
    VmsgtVx         "vmsgt.vx"           [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0x7c004057;
    VsadduVx        "vsaddu.vx"          [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0x80004057;
    VsaddVx         "vsadd.vx"           [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0x84004057;
    VssubuVx        "vssubu.vx"          [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0x88004057;
    VssubVx         "vssub.vx"           [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0x8c004057;
    VsllVx          "vsll.vx"            [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0x94004057;
    VsmulVx         "vsmul.vx"           [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0x9c004057;
    VsrlVx          "vsrl.vx"            [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0xa0004057;
    VsraVx          "vsra.vx"            [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0xa4004057;
    VssrlVx         "vssrl.vx"           [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0xa8004057;
    VssraVx         "vssra.vx"           [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0xac004057;
    VnsrlWx         "vnsrl.wx"           [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0xb0004057;
    VnsraWx         "vnsra.wx"           [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0xb4004057;
    VnclipuWx       "vnclipu.wx"         [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0xb8004057;
    VnclipWx        "vnclip.wx"          [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0xbc004057;
    VaddVv          "vadd.vv"            [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x00000057;
    VsubVv          "vsub.vv"            [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x08000057;
    VminuVv         "vminu.vv"           [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x10000057;
    VminVv          "vmin.vv"            [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x14000057;
    VmaxuVv         "vmaxu.vv"           [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x18000057;
    VmaxVv          "vmax.vv"            [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x1c000057;
    VandVv          "vand.vv"            [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x24000057;
    VorVv           "vor.vv"             [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x28000057;
    VxorVv          "vxor.vv"            [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x2c000057;
    VrgatherVv      "vrgather.vv"        [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x30000057;
    Vrgatherei16Vv  "vrgatherei16.vv"    [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x38000057;
    VadcVvm         "vadc.vvm"           [Vd Vs2 Vs1 V0]              Vector              V        Any  0xfe00707f 0x40000057;
    VmadcVvm        "vmadc.vvm"          [Vd Vs2 Vs1 V0]              Vector              V        Any  0xfe00707f 0x44000057;
    VmadcVv         "vmadc.vv"           [Vd Vs2 Vs1]                 Vector              V        Any  0xfe00707f 0x46000057;
    VsbcVvm         "vsbc.vvm"           [Vd Vs2 Vs1 V0]              Vector              V        Any  0xfe00707f 0x48000057;
    VmsbcVvm        "vmsbc.vvm"          [Vd Vs2 Vs1 V0]              Vector              V        Any  0xfe00707f 0x4c000057;
    VmsbcVv         "vmsbc.vv"           [Vd Vs2 Vs1]                 Vector              V        Any  0xfe00707f 0x4e000057;
    VmergeVvm       "vmerge.vvm"         [Vd Vs2 Vs1 V0]              Vector              V        Any  0xfe00707f 0x5c000057;
    VmvVV           "vmv.v.v"            [Vd Vs1]                     Vector              V        Any  0xfff0707f 0x5e000057;
    VmseqVv         "vmseq.vv"           [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x60000057;
    VmsneVv         "vmsne.vv"           [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x64000057;
    VmsltuVv        "vmsltu.vv"          [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x68000057;
    VmsltVv         "vmslt.vv"           [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x6c000057;
    VmsleuVv        "vmsleu.vv"          [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x70000057;
    VmsleVv         "vmsle.vv"           [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x74000057;
    VsadduVv        "vsaddu.vv"          [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x80000057;
    VsaddVv         "vsadd.vv"           [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x84000057;
    VssubuVv        "vssubu.vv"          [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x88000057;
    VssubVv         "vssub.vv"           [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x8c000057;
    VsllVv          "vsll.vv"            [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x94000057;
    VsmulVv         "vsmul.vv"           [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x9c000057;
    VsrlVv          "vsrl.vv"            [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0xa0000057;
    VsraVv          "vsra.vv"            [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0xa4000057;
    VssrlVv         "vssrl.vv"           [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0xa8000057;
    VssraVv         "vssra.vv"           [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0xac000057;
    VnsrlWv         "vnsrl.wv"           [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0xb0000057;
    VnsraWv         "vnsra.wv"           [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0xb4000057;
    VnclipuWv       "vnclipu.wv"         [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0xb8000057;
    VnclipWv        "vnclip.wv"          [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0xbc000057;
    VwredsumuVs     "vwredsumu.vs"       [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0xc0000057;
    VwredsumVs      "vwredsum.vs"        [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0xc4000057;
    VaddVi          "vadd.vi"            [Vd Vs2 SImm5 Vm]            Vector              V        Any  0xfc00707f 0x00003057;
    VrsubVi         "vrsub.vi"           [Vd Vs2 SImm5 Vm]            Vector              V        Any  0xfc00707f 0x0c003057;
    VandVi          "vand.vi"            [Vd Vs2 SImm5 Vm]            Vector              V        Any  0xfc00707f 0x24003057;
    VorVi           "vor.vi"             [Vd Vs2 SImm5 Vm]            Vector              V        Any  0xfc00707f 0x28003057;
    VxorVi          "vxor.vi"            [Vd Vs2 SImm5 Vm]            Vector              V        Any  0xfc00707f 0x2c003057;
    VrgatherVi      "vrgather.vi"        [Vd Vs2 UImm5 Vm]            Vector              V        Any  0xfc00707f 0x30003057;
    VslideupVi      "vslideup.vi"        [Vd Vs2 UImm5 Vm]            Vector              V        Any  0xfc00707f 0x38003057;
    VslidedownVi    "vslidedown.vi"      [Vd Vs2 UImm5 Vm]            Vector              V        Any  0xfc00707f 0x3c003057;
    VadcVim         "vadc.vim"           [Vd Vs2 SImm5 V0]            Vector              V        Any  0xfe00707f 0x40003057;
    VmadcVim        "vmadc.vim"          [Vd Vs2 SImm5 V0]            Vector              V        Any  0xfe00707f 0x44003057;
    VmadcVi         "vmadc.vi"           [Vd Vs2 SImm5]               Vector              V        Any  0xfe00707f 0x46003057;
    VmergeVim       "vmerge.vim"         [Vd Vs2 SImm5 V0]            Vector              V        Any  0xfe00707f 0x5c003057;
    VmvVI           "vmv.v.i"            [Vd SImm5]                   Vector              V        Any  0xfff0707f 0x5e003057;
    VmseqVi         "vmseq.vi"           [Vd Vs2 SImm5 Vm]            Vector              V        Any  0xfc00707f 0x60003057;
    VmsneVi         "vmsne.vi"           [Vd Vs2 SImm5 Vm]            Vector              V        Any  0xfc00707f 0x64003057;
    VmsleuVi        "vmsleu.vi"          [Vd Vs2 SImm5 Vm]            Vector              V        Any  0xfc00707f 0x70003057;
    VmsleVi         "vmsle.vi"           [Vd Vs2 SImm5 Vm]            Vector              V        Any  0xfc00707f 0x74003057;
    VmsgtuVi        "vmsgtu.vi"          [Vd Vs2 SImm5 Vm]            Vector              V        Any  0xfc00707f 0x78003057;
    VmsgtVi         "vmsgt.vi"           [Vd Vs2 SImm5 Vm]            Vector              V        Any  0xfc00707f 0x7c003057;
    VsadduVi        "vsaddu.vi"          [Vd Vs2 SImm5 Vm]            Vector              V        Any  0xfc00707f 0x80003057;
    VsaddVi         "vsadd.vi"           [Vd Vs2 SImm5 Vm]            Vector              V        Any  0xfc00707f 0x84003057;
    VsllVi          "vsll.vi"            [Vd Vs2 UImm5 Vm]            Vector              V        Any  0xfc00707f 0x94003057;
    Vmv1rV          "vmv1r.v"            [Vd Vs2]                     Vector              V        Any  0xfe0ff07f 0x9e003057;
    Vmv2rV          "vmv2r.v"            [Vd Vs2]                     Vector              V        Any  0xfe0ff07f 0x9e00b057;
    Vmv4rV          "vmv4r.v"            [Vd Vs2]                     Vector              V        Any  0xfe0ff07f 0x9e01b057;
    Vmv8rV          "vmv8r.v"            [Vd Vs2]                     Vector              V        Any  0xfe0ff07f 0x9e03b057;
    VsrlVi          "vsrl.vi"            [Vd Vs2 UImm5 Vm]            Vector              V        Any  0xfc00707f 0xa0003057;
    VsraVi          "vsra.vi"            [Vd Vs2 UImm5 Vm]            Vector              V        Any  0xfc00707f 0xa4003057;
    VssrlVi         "vssrl.vi"           [Vd Vs2 UImm5 Vm]            Vector              V        Any  0xfc00707f 0xa8003057;
    VssraVi         "vssra.vi"           [Vd Vs2 UImm5 Vm]            Vector              V        Any  0xfc00707f 0xac003057;
    VnsrlWi         "vnsrl.wi"           [Vd Vs2 UImm5 Vm]            Vector              V        Any  0xfc00707f 0xb0003057;
    VnsraWi         "vnsra.wi"           [Vd Vs2 UImm5 Vm]            Vector              V        Any  0xfc00707f 0xb4003057;
    VnclipuWi       "vnclipu.wi"         [Vd Vs2 UImm5 Vm]            Vector              V        Any  0xfc00707f 0xb8003057;
    VnclipWi        "vnclip.wi"          [Vd Vs2 UImm5 Vm]            Vector              V        Any  0xfc00707f 0xbc003057;
    VredsumVs       "vredsum.vs"         [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x00002057;
    VredandVs       "vredand.vs"         [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x04002057;
    VredorVs        "vredor.vs"          [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x08002057;
    VredxorVs       "vredxor.vs"         [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x0c002057;
    VredminuVs      "vredminu.vs"        [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x10002057;
    VredminVs       "vredmin.vs"         [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x14002057;
    VredmaxuVs      "vredmaxu.vs"        [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x18002057;
    VredmaxVs       "vredmax.vs"         [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x1c002057;
    VaadduVv        "vaaddu.vv"          [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x20002057;
    VaaddVv         "vaadd.vv"           [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x24002057;
    VasubuVv        "vasubu.vv"          [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x28002057;
    VasubVv         "vasub.vv"           [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x2c002057;
    VmvXS           "vmv.x.s"            [Rd Vs2]                     Vector              V        Any  0xfe0ff07f 0x42002057;
    VzextVf8        "vzext.vf8"          [Vd Vs2 Vm]                  Vector              V        Any  0xfc0ff07f 0x48012057;
    VsextVf8        "vsext.vf8"          [Vd Vs2 Vm]                  Vector              V        Any  0xfc0ff07f 0x4801a057;
    VzextVf4        "vzext.vf4"          [Vd Vs2 Vm]                  Vector              V        Any  0xfc0ff07f 0x48022057;
    VsextVf4        "vsext.vf4"          [Vd Vs2 Vm]                  Vector              V        Any  0xfc0ff07f 0x4802a057;
    VzextVf2        "vzext.vf2"          [Vd Vs2 Vm]                  Vector              V        Any  0xfc0ff07f 0x48032057;
    VsextVf2        "vsext.vf2"          [Vd Vs2 Vm]                  Vector              V        Any  0xfc0ff07f 0x4803a057;
    VcompressVm     "vcompress.vm"       [Vd Vs2 Vs1]                 Vector              V        Any  0xfe00707f 0x5e002057;
    VmandnMm        "vmandn.mm"          [Vd Vs2 Vs1]                 Vector              V        Any  0xfe00707f 0x62002057;
    VmandMm         "vmand.mm"           [Vd Vs2 Vs1]                 Vector              V        Any  0xfe00707f 0x66002057;
    VmorMm          "vmor.mm"            [Vd Vs2 Vs1]                 Vector              V        Any  0xfe00707f 0x6a002057;
    VmxorMm         "vmxor.mm"           [Vd Vs2 Vs1]                 Vector              V        Any  0xfe00707f 0x6e002057;
    VmornMm         "vmorn.mm"           [Vd Vs2 Vs1]                 Vector              V        Any  0xfe00707f 0x72002057;
    VmnandMm        "vmnand.mm"          [Vd Vs2 Vs1]                 Vector              V        Any  0xfe00707f 0x76002057;
    VmnorMm         "vmnor.mm"           [Vd Vs2 Vs1]                 Vector              V        Any  0xfe00707f 0x7a002057;
    VmxnorMm        "vmxnor.mm"          [Vd Vs2 Vs1]                 Vector              V        Any  0xfe00707f 0x7e002057;
    VmsbfM          "vmsbf.m"            [Vd Vs2 Vm]                  Vector              V        Any  0xfc0ff07f 0x5000a057;
    VmsofM          "vmsof.m"            [Vd Vs2 Vm]                  Vector              V        Any  0xfc0ff07f 0x50012057;
    VmsifM          "vmsif.m"            [Vd Vs2 Vm]                  Vector              V        Any  0xfc0ff07f 0x5001a057;
    ViotaM          "viota.m"            [Vd Vs2 Vm]                  Vector              V        Any  0xfc0ff07f 0x50082057;
    VidV            "vid.v"              [Vd Vm]                      Vector              V        Any  0xfdfff07f 0x5008a057;
    VcpopM          "vcpop.m"            [Rd Vs2 Vm]                  Vector              V        Any  0xfc0ff07f 0x40082057;
    VfirstM         "vfirst.m"           [Rd Vs2 Vm]                  Vector              V        Any  0xfc0ff07f 0x4008a057;
    VdivuVv         "vdivu.vv"           [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x80002057;
    VdivVv          "vdiv.vv"            [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x84002057;
    VremuVv         "vremu.vv"           [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x88002057;
    VremVv          "vrem.vv"            [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x8c002057;
    VmulhuVv        "vmulhu.vv"          [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x90002057;
    VmulVv          "vmul.vv"            [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x94002057;
    VmulhsuVv       "vmulhsu.vv"         [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x98002057;
    VmulhVv         "vmulh.vv"           [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0x9c002057;
    VmaddVv         "vmadd.vv"           [VdAcc Vs1 Vs2 Vm]           Vector              V        Any  0xfc00707f 0xa4002057;
    VnmsubVv        "vnmsub.vv"          [VdAcc Vs1 Vs2 Vm]           Vector              V        Any  0xfc00707f 0xac002057;
    VmaccVv         "vmacc.vv"           [VdAcc Vs1 Vs2 Vm]           Vector              V        Any  0xfc00707f 0xb4002057;
    VnmsacVv        "vnmsac.vv"          [VdAcc Vs1 Vs2 Vm]           Vector              V        Any  0xfc00707f 0xbc002057;
    VwadduVv        "vwaddu.vv"          [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0xc0002057;
    VwaddVv         "vwadd.vv"           [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0xc4002057;
    VwsubuVv        "vwsubu.vv"          [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0xc8002057;
    VwsubVv         "vwsub.vv"           [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0xcc002057;
    VwadduWv        "vwaddu.wv"          [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0xd0002057;
    VwaddWv         "vwadd.wv"           [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0xd4002057;
    VwsubuWv        "vwsubu.wv"          [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0xd8002057;
    VwsubWv         "vwsub.wv"           [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0xdc002057;
    VwmuluVv        "vwmulu.vv"          [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0xe0002057;
    VwmulsuVv       "vwmulsu.vv"         [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0xe8002057;
    VwmulVv         "vwmul.vv"           [Vd Vs2 Vs1 Vm]              Vector              V        Any  0xfc00707f 0xec002057;
    VwmaccuVv       "vwmaccu.vv"         [VdAcc Vs1 Vs2 Vm]           Vector              V        Any  0xfc00707f 0xf0002057;
    VwmaccVv        "vwmacc.vv"          [VdAcc Vs1 Vs2 Vm]           Vector              V        Any  0xfc00707f 0xf4002057;
    VwmaccsuVv      "vwmaccsu.vv"        [VdAcc Vs1 Vs2 Vm]           Vector              V        Any  0xfc00707f 0xfc002057;
    VaadduVx        "vaaddu.vx"          [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0x20006057;
    VaaddVx         "vaadd.vx"           [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0x24006057;
    VasubuVx        "vasubu.vx"          [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0x28006057;
    VasubVx         "vasub.vx"           [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0x2c006057;
    VmvSX           "vmv.s.x"            [Vd Rs1]                     Vector              V        Any  0xfff0707f 0x42006057;
    Vslide1upVx     "vslide1up.vx"       [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0x38006057;
    Vslide1downVx   "vslide1down.vx"     [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0x3c006057;
    VdivuVx         "vdivu.vx"           [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0x80006057;
    VdivVx          "vdiv.vx"            [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0x84006057;
    VremuVx         "vremu.vx"           [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0x88006057;
    VremVx          "vrem.vx"            [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0x8c006057;
    VmulhuVx        "vmulhu.vx"          [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0x90006057;
    VmulVx          "vmul.vx"            [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0x94006057;
    VmulhsuVx       "vmulhsu.vx"         [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0x98006057;
    VmulhVx         "vmulh.vx"           [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0x9c006057;
    VmaddVx         "vmadd.vx"           [VdAcc Rs1 Vs2 Vm]           Vector              V        Any  0xfc00707f 0xa4006057;
    VnmsubVx        "vnmsub.vx"          [VdAcc Rs1 Vs2 Vm]           Vector              V        Any  0xfc00707f 0xac006057;
    VmaccVx         "vmacc.vx"           [VdAcc Rs1 Vs2 Vm]           Vector              V        Any  0xfc00707f 0xb4006057;
    VnmsacVx        "vnmsac.vx"          [VdAcc Rs1 Vs2 Vm]           Vector              V        Any  0xfc00707f 0xbc006057;
    VwadduVx        "vwaddu.vx"          [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0xc0006057;
    VwaddVx         "vwadd.vx"           [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0xc4006057;
    VwsubuVx        "vwsubu.vx"          [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0xc8006057;
    VwsubVx         "vwsub.vx"           [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0xcc006057;
    VwadduWx        "vwaddu.wx"          [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0xd0006057;
    VwaddWx         "vwadd.wx"           [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0xd4006057;
    VwsubuWx        "vwsubu.wx"          [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0xd8006057;
    VwsubWx         "vwsub.wx"           [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0xdc006057;
    VwmuluVx        "vwmulu.vx"          [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0xe0006057;
    VwmulsuVx       "vwmulsu.vx"         [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0xe8006057;
    VwmulVx         "vwmul.vx"           [Vd Vs2 Rs1 Vm]              Vector              V        Any  0xfc00707f 0xec006057;
    VwmaccuVx       "vwmaccu.vx"         [VdAcc Rs1 Vs2 Vm]           Vector              V        Any  0xfc00707f 0xf0006057;
    VwmaccVx        "vwmacc.vx"          [VdAcc Rs1 Vs2 Vm]           Vector              V        Any  0xfc00707f 0xf4006057;
    VwmaccusVx      "vwmaccus.vx"        [VdAcc Rs1 Vs2 Vm]           Vector              V        Any  0xfc00707f 0xf8006057;
    VwmaccsuVx      "vwmaccsu.vx"        [VdAcc Rs1 Vs2 Vm]           Vector              V        Any  0xfc00707f 0xfc006057;
}
