//! Pseudo-instructions: special cases of an instruction that have a name of their own.

use trackway_core::Isa;

use super::{Encoding, Inst, Op, Operand};

/// A name and the operands that it leaves.
type Written = (&'static str, &'static [Operand]);

/// The condition of a special case on the fields.
#[derive(Clone, Copy)]
enum If {
    Rd(u8),
    Rs1(u8),
    Rs2(u8),
    Imm(i32),
    /// Both sources are the same register.
    Same,
    /// All three are.
    AllSame,
    /// The width is 32 bits.
    Rv32,
}

impl If {
    fn holds(self, isa: Isa, inst: &Inst) -> bool {
        match self {
            Self::Rd(n) => inst.rd == n,
            Self::Rs1(n) => inst.rs1 == n,
            Self::Rs2(n) => inst.rs2 == n,
            Self::Imm(n) => inst.imm == n,
            Self::Same => inst.rs1 == inst.rs2,
            Self::AllSame => inst.rs1 == inst.rs2 && inst.rd == inst.rs1,
            Self::Rv32 => isa == Isa::Rv32,
        }
    }
}

macro_rules! aliases {
    ($($op:ident $name:literal [$($operand:ident)*] $($test:ident $(($n:expr))?)*;)*) => {
        const ALIASES: &[(Op, Written, &[If])] =
            &[$((Op::$op, ($name, &[$(Operand::$operand),*]), &[$(If::$test $(($n))?),*]),)*];
    };
}

// The first that fits is taken.
aliases! {
    Addi    "nop"        []               Rd(0) Rs1(0) Imm(0);
    Addi    "li"         [Rd Imm12]       Rs1(0);
    Addi    "mv"         [Rd Rs1]         Imm(0);
    Andi    "zext.b"     [Rd Rs1]         Imm(255);
    Xori    "not"        [Rd Rs1]         Imm(-1);
    Addiw   "sext.w"     [Rd Rs1]         Imm(0);
    Sltiu   "seqz"       [Rd Rs1]         Imm(1);
    Sub     "neg"        [Rd Rs2]         Rs1(0);
    Subw    "negw"       [Rd Rs2]         Rs1(0);
    Sltu    "snez"       [Rd Rs2]         Rs1(0);
    Slt     "sltz"       [Rd Rs1]         Rs2(0);
    Slt     "sgtz"       [Rd Rs2]         Rs1(0);
    AddUw   "zext.w"     [Rd Rs1]         Rs2(0);
    Add     "ntl.p1"     []               Rd(0) Rs1(0) Rs2(2);
    Add     "ntl.pall"   []               Rd(0) Rs1(0) Rs2(3);
    Add     "ntl.s1"     []               Rd(0) Rs1(0) Rs2(4);
    Add     "ntl.all"    []               Rd(0) Rs1(0) Rs2(5);
    Beq     "beqz"       [Rs1 TargetB]    Rs2(0);
    Bne     "bnez"       [Rs1 TargetB]    Rs2(0);
    Blt     "bltz"       [Rs1 TargetB]    Rs2(0);
    Blt     "bgtz"       [Rs2 TargetB]    Rs1(0);
    Bge     "blez"       [Rs2 TargetB]    Rs1(0);
    Bge     "bgez"       [Rs1 TargetB]    Rs2(0);
    Jal     "j"          [TargetJ]        Rd(0);
    Jal     "jal"        [TargetJ]        Rd(1);
    Jalr    "ret"        []               Rd(0) Rs1(1) Imm(0);
    Jalr    "jr"         [Rs1]            Rd(0) Imm(0);
    Jalr    "jr"         [MemI]           Rd(0);
    Jalr    "jalr"       [Rs1]            Rd(1) Imm(0);
    Jalr    "jalr"       [MemI]           Rd(1);
    Jalr    "jalr"       [Rd Rs1]         Imm(0);
    Fence   "fence"      []               Imm(0xff);
    SfenceVma "sfence.vma" []             Rs1(0) Rs2(0);
    SfenceVma "sfence.vma" [Rs1]          Rs2(0);
    HfenceVvma "hfence.vvma" []           Rs1(0) Rs2(0);
    HfenceVvma "hfence.vvma" [Rs1]        Rs2(0);
    HfenceGvma "hfence.gvma" []           Rs1(0) Rs2(0);
    HfenceGvma "hfence.gvma" [Rs1]        Rs2(0);
    Csrrs   "frflags"    [Rd]             Imm(0x001) Rs1(0);
    Csrrw   "fsflags"    [Rs1]            Imm(0x001) Rd(0);
    Csrrw   "fsflags"    [Rd Rs1]         Imm(0x001);
    Csrrwi  "fsflagsi"   [Rd UImm5]       Imm(0x001);
    Csrrs   "frrm"       [Rd]             Imm(0x002) Rs1(0);
    Csrrw   "fsrm"       [Rs1]            Imm(0x002) Rd(0);
    Csrrw   "fsrm"       [Rd Rs1]         Imm(0x002);
    Csrrwi  "fsrmi"      [UImm5]          Imm(0x002) Rd(0);
    Csrrwi  "fsrmi"      [Rd UImm5]       Imm(0x002);
    Csrrs   "frcsr"      [Rd]             Imm(0x003) Rs1(0);
    Csrrw   "fscsr"      [Rs1]            Imm(0x003) Rd(0);
    Csrrw   "fscsr"      [Rd Rs1]         Imm(0x003);
    Csrrs   "rdcycle"    [Rd]             Imm(0xc00) Rs1(0);
    Csrrs   "rdtime"     [Rd]             Imm(0xc01) Rs1(0);
    Csrrs   "rdinstret"  [Rd]             Imm(0xc02) Rs1(0);
    Csrrs   "rdcycleh"   [Rd]             Imm(0xc80) Rs1(0) Rv32;
    Csrrs   "rdtimeh"    [Rd]             Imm(0xc81) Rs1(0) Rv32;
    Csrrs   "rdinstreth" [Rd]             Imm(0xc82) Rs1(0) Rv32;
    Csrrs   "csrr"       [Rd Csr]         Rs1(0);
    Csrrw   "csrw"       [Csr Rs1]        Rd(0);
    Csrrs   "csrs"       [Csr Rs1]        Rd(0);
    Csrrc   "csrc"       [Csr Rs1]        Rd(0);
    Csrrwi  "csrwi"      [Csr UImm5]      Rd(0);
    Csrrsi  "csrsi"      [Csr UImm5]      Rd(0);
    Csrrci  "csrci"      [Csr UImm5]      Rd(0);
    FsgnjS  "fmv.s"      [FRd FRs1]       Same;
    FsgnjnS "fneg.s"     [FRd FRs1]       Same;
    FsgnjxS "fabs.s"     [FRd FRs1]       Same;
    FsgnjD  "fmv.d"      [FRd FRs1]       Same;
    FsgnjnD "fneg.d"     [FRd FRs1]       Same;
    FsgnjxD "fabs.d"     [FRd FRs1]       Same;
    FsgnjH  "fmv.h"      [FRd FRs1]       Same;
    FsgnjnH "fneg.h"     [FRd FRs1]       Same;
    FsgnjxH "fabs.h"     [FRd FRs1]       Same;
    Vl1re8V "vl1r.v"     [Vd Base]        ;
    Vl2re8V "vl2r.v"     [Vd Base]        ;
    Vl4re8V "vl4r.v"     [Vd Base]        ;
    Vl8re8V "vl8r.v"     [Vd Base]        ;
    VrsubVx "vneg.v"     [Vd Vs2 Vm]      Rs1(0);
    VwadduVx "vwcvtu.x.x.v" [Vd Vs2 Vm]   Rs1(0);
    VwaddVx "vwcvt.x.x.v" [Vd Vs2 Vm]     Rs1(0);
    VnsrlWx "vncvt.x.x.w" [Vd Vs2 Vm]     Rs1(0);
    VxorVi  "vnot.v"     [Vd Vs2 Vm]      Imm(-1);
    VfsgnjnVv "vfneg.v"  [Vd Vs2 Vm]      Same;
    VfsgnjxVv "vfabs.v"  [Vd Vs2 Vm]      Same;
    VmandMm "vmmv.m"     [Vd Vs2]         Same;
    VmxorMm "vmclr.m"    [Vd]             AllSame;
    VmxnorMm "vmset.m"   [Vd]             AllSame;
    VmnandMm "vmnot.m"   [Vd Vs2]         Same;
}

/// Zihintntl: additions to `x0` of `x2` to `x5`.
const NON_TEMPORAL: [&str; 4] = ["c.ntl.p1", "c.ntl.pall", "c.ntl.s1", "c.ntl.all"];

/// Zihintpause: a fence that orders writes before nothing.
const PAUSE: u32 = 0x0100_000f;

/// Writes a read-only register, and thus traps: the assembler's 32-bit illegal instruction.
const UNIMP: u32 = 0xc000_1073;

/// The pseudo-instruction that an instruction is, or the compressed name of a hint.
pub(super) fn find(isa: Isa, declared: &Encoding, inst: &Inst) -> Option<Written> {
    match (declared.name, inst.rd, inst.imm) {
        _ if inst.word == UNIMP => return Some(("unimp", &[])),
        ("c.mv", 1.., _) => return Some(("mv", &[Operand::Rd, Operand::Rs2])),
        ("c.nop", _, imm) if imm != 0 => return Some(("c.nop", &[Operand::Imm6])),
        ("c.addi", _, 0) => return Some(("addi", &[Operand::Rd, Operand::Rs1, Operand::Imm12])),
        ("c.slli", 0, 0) => return None,
        ("c.add", 0, _) if (2..6).contains(&inst.rs2) => {
            return Some((NON_TEMPORAL[usize::from(inst.rs2 - 2)], &[]));
        }
        ("ori", 0, imm) if matches!(imm & 31, 0 | 1 | 3) => {
            let name = ["prefetch.i", "prefetch.r", "", "prefetch.w"][imm as usize & 3];
            return Some((name, &[Operand::Prefetched]));
        }
        ("c.mv" | "c.li" | "c.lui" | "c.add" | "c.slli", 0, _) => {
            return Some((declared.name, declared.operands));
        }
        _ => {}
    }
    let fits = |tests: &[If]| tests.iter().all(|t| t.holds(isa, inst));
    ALIASES.iter().find(|(op, _, tests)| *op == inst.op && fits(tests)).map(|a| a.1)
}

/// Special cases that have a name of their own even without aliases, and compressed hints that objdump
/// writes in its own way.
pub(super) fn plain(declared: &Encoding, inst: &Inst) -> Option<Written> {
    Some(match (declared.name, inst.imm) {
        ("fence", 0x833) => ("fence.tso", &[]),
        ("fence", _) if inst.word == PAUSE => ("pause", &[]),
        ("csrrw", _) if inst.word == UNIMP => ("unimp", &[]),
        ("c.nop", _) => ("c.addi", &[Operand::Rd, Operand::Imm6]),
        ("c.slli", 0) => ("c.slli64", &[Operand::Rd]),
        ("c.srli", 0) => ("c.srli64", &[Operand::Rd]),
        ("c.srai", 0) => ("c.srai64", &[Operand::Rd]),
        _ => return None,
    })
}
