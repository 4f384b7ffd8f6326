//! Text of instructions, in the syntax of GNU objdump.

use std::borrow::Cow;
use std::fmt::Write;

use trackway_core::Isa;

use super::alias;
use super::{Encoding, Inst, Operand, csr_name, length, lookup};
use crate::style::Style;

const X_ABI: [&str; 32] = [
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4", "a5", "a6",
    "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6",
];

const F_ABI: [&str; 32] = [
    "ft0", "ft1", "ft2", "ft3", "ft4", "ft5", "ft6", "ft7", "fs0", "fs1", "fa0", "fa1", "fa2", "fa3", "fa4",
    "fa5", "fa6", "fa7", "fs2", "fs3", "fs4", "fs5", "fs6", "fs7", "fs8", "fs9", "fs10", "fs11", "ft8",
    "ft9", "ft10", "ft11",
];

const ROUNDING: [&str; 8] = ["rne", "rtz", "rdn", "rup", "rmm", "unknown", "unknown", "dyn"];

/// ABI name of an integer register, modulo 32.
pub fn register_name(number: u8) -> &'static str {
    X_ABI[usize::from(number & 31)]
}

/// Number of the integer register with this ABI name; `fp` is another name of `s0`.
pub(crate) fn int_number(name: &str) -> Option<u16> {
    let name = if name == "fp" { "s0" } else { name };
    X_ABI.iter().position(|known| *known == name).map(|number| number as u16)
}

/// Number of the floating-point register with this ABI name.
pub(crate) fn float_number(name: &str) -> Option<u16> {
    F_ABI.iter().position(|known| *known == name).map(|number| number as u16)
}

/// The text of one instruction, as [`write_text`] writes it.
pub fn text(isa: Isa, pc: u64, encoding: u32, style: Style) -> String {
    let mut out = String::with_capacity(24);
    write_text(&mut out, isa, pc, encoding, style);
    out
}

/// Appends the text of one instruction: name, a blank, operands with commas. An undecodable encoding is
/// written as data.
pub fn write_text(out: &mut String, isa: Isa, pc: u64, encoding: u32, style: Style) {
    match lookup(isa, encoding) {
        Some((declared, inst)) => Writer { out, isa, pc, style, inst: &inst }.instruction(declared),
        // Writing to a String cannot fail, here and below.
        None => drop(match length(encoding as u16) {
            2 if encoding as u16 == 0 => write!(out, "{}", if style.aliases { "unimp" } else { "c.unimp" }),
            2 => write!(out, ".2byte 0x{:x}", encoding as u16),
            _ => write!(out, ".4byte 0x{encoding:x}"),
        }),
    }
}

/// The name of one instruction, as [`write_text`] writes it.
pub fn mnemonic(isa: Isa, encoding: u32, style: Style) -> Cow<'static, str> {
    match lookup(isa, encoding) {
        Some((declared, inst)) => written(isa, style, declared, &inst).0,
        None => match length(encoding as u16) {
            2 if encoding as u16 == 0 => if style.aliases { "unimp" } else { "c.unimp" }.into(),
            2 => ".2byte".into(),
            _ => ".4byte".into(),
        },
    }
}

/// The name of an instruction, and the operands that are written after it.
fn written(
    isa: Isa,
    style: Style,
    declared: &'static Encoding,
    inst: &Inst,
) -> (Cow<'static, str>, &'static [Operand]) {
    if declared.name.ends_with(".N") {
        return (full_name(declared, inst), declared.operands);
    }
    let special = if style.aliases { alias::find(isa, declared, inst) } else { None };
    if let Some((name, operands)) = special.or_else(|| alias::plain(declared, inst)) {
        return (name.into(), operands);
    }
    // With aliases, a compressed instruction is written as the one that it expands to.
    let declared = if style.aliases { inst.op.encoding() } else { declared };
    (full_name(declared, inst), declared.operands)
}

/// The name, with what some operands put into it.
fn full_name(declared: &'static Encoding, inst: &Inst) -> Cow<'static, str> {
    let name = declared.name;
    if let Some(stem) = name.strip_suffix('N') {
        return format!("{stem}{}", may_be_number(declared, inst.word)).into();
    }
    if declared.operands.contains(&Operand::Nf) && inst.fields() > 1 {
        // vle8.v with three fields is vlseg3e8.v; vluxei8.v is vluxseg3ei8.v.
        let digit = name.find(|c: char| c.is_ascii_digit()).unwrap_or(name.len());
        let split = name[..digit].rfind('e').unwrap_or(digit);
        return format!("{}seg{}{}", &name[..split], inst.fields(), &name[split..]).into();
    }
    let order = match (inst.aq(), inst.rl()) {
        _ if !declared.operands.contains(&Operand::AqRl) => return name.into(),
        (false, false) => return name.into(),
        (true, false) => ".aq",
        (false, true) => ".rl",
        (true, true) => ".aqrl",
    };
    format!("{name}{order}").into()
}

/// The number in the name of a may-be-operation (Zimop, Zcmop).
fn may_be_number(declared: &'static Encoding, word: u32) -> u32 {
    let upper = word >> 30 & 1;
    let middle = word >> 26 & 3;
    match declared.operands.last() {
        Some(Operand::MopR) => upper << 4 | middle << 2 | word >> 20 & 3,
        Some(Operand::MopRr) => upper << 2 | middle,
        _ => word >> 7 & 15,
    }
}

/// The constants of FLI (Zfa, table of immediates), as LLVM writes them.
const FLI: [&str; 32] = [
    "-1.0",
    "min",
    "1.52587890625e-05",
    "3.0517578125e-05",
    "0.00390625",
    "0.0078125",
    "0.0625",
    "0.125",
    "0.25",
    "0.3125",
    "0.375",
    "0.4375",
    "0.5",
    "0.625",
    "0.75",
    "0.875",
    "1.0",
    "1.25",
    "1.5",
    "1.75",
    "2.0",
    "2.5",
    "3.0",
    "4.0",
    "8.0",
    "16.0",
    "128.0",
    "256.0",
    "32768.0",
    "65536.0",
    "inf",
    "nan",
];

/// Writes one instruction.
struct Writer<'a> {
    out: &'a mut String,
    isa: Isa,
    pc: u64,
    style: Style,
    inst: &'a Inst,
}

impl Writer<'_> {
    fn instruction(&mut self, declared: &'static Encoding) {
        let (name, operands) = written(self.isa, self.style, declared, self.inst);
        self.out.push_str(&name);
        self.operands(operands);
    }

    fn operands(&mut self, operands: &[Operand]) {
        let mut separator = ' ';
        for &operand in operands {
            let before = self.out.len();
            self.out.push(separator);
            if self.operand(operand) {
                separator = ',';
            } else {
                self.out.truncate(before);
            }
        }
    }

    fn x(&mut self, number: u8) {
        if self.style.abi_names {
            self.out.push_str(register_name(number));
        } else {
            let _ = write!(self.out, "x{number}");
        }
    }

    fn f(&mut self, number: u8) {
        if self.style.abi_names {
            self.out.push_str(F_ABI[usize::from(number & 31)]);
        } else {
            let _ = write!(self.out, "f{number}");
        }
    }

    /// Writes one operand; false where it has no text.
    fn operand(&mut self, operand: Operand) -> bool {
        let inst = *self.inst;
        match operand {
            Operand::Rd
            | Operand::RdP
            | Operand::RdN0
            | Operand::RdN2
            | Operand::RdRs1
            | Operand::RdRs1N0
            | Operand::RdRs1P
            | Operand::RdCas
            | Operand::SpBoth => self.x(inst.rd),
            Operand::Rs1 | Operand::Rs1P | Operand::CRs1N0 | Operand::SpSource => self.x(inst.rs1),
            Operand::Rs2 | Operand::Rs2Cas | Operand::Rs2P | Operand::CRs2 | Operand::CRs2N0 => {
                self.x(inst.rs2)
            }
            Operand::FRd | Operand::FRdP => self.f(inst.rd),
            Operand::FRs1 => self.f(inst.rs1),
            Operand::FRs2 | Operand::FRs2P | Operand::CFRs2 => self.f(inst.rs2),
            Operand::FRs3 => self.f(inst.rs3),
            Operand::Vd | Operand::VdAcc | Operand::Vs3 => drop(write!(self.out, "v{}", inst.rd)),
            Operand::Vs1 => drop(write!(self.out, "v{}", inst.rs1)),
            Operand::Vs2 => drop(write!(self.out, "v{}", inst.rs2)),
            Operand::Vm if inst.masked() => self.out.push_str("v0.t"),
            Operand::V0 => self.out.push_str("v0"),
            Operand::Imm12 | Operand::Imm6 | Operand::Imm4Spn | Operand::Imm16Sp | Operand::SImm5 => {
                let _ = write!(self.out, "{}", inst.imm);
            }
            Operand::UImm5 => drop(write!(self.out, "{}", inst.rs1)),
            Operand::UImm20 | Operand::UImm6Lui => {
                let _ = write!(self.out, "0x{:x}", inst.imm as u32 >> 12);
            }
            Operand::Shamt | Operand::ShamtW | Operand::CShamt | Operand::Bs | Operand::Rnum => {
                let _ = write!(self.out, "0x{:x}", inst.imm);
            }
            Operand::TargetB | Operand::TargetJ | Operand::TargetCb | Operand::TargetCj => {
                let target = self.pc.wrapping_add_signed(i64::from(inst.imm));
                let target = if self.isa == Isa::Rv32 { target & 0xffff_ffff } else { target };
                let _ = write!(self.out, "0x{target:x}");
            }
            Operand::MemI
            | Operand::MemS
            | Operand::MemCw
            | Operand::MemCd
            | Operand::MemCb
            | Operand::MemCh
            | Operand::MemSpW
            | Operand::MemSpD
            | Operand::MemSpStoreW
            | Operand::MemSpStoreD => {
                let _ = write!(self.out, "{}(", inst.imm);
                self.x(inst.rs1);
                self.out.push(')');
            }
            Operand::Prefetched => {
                let _ = write!(self.out, "{}(", inst.imm & !31);
                self.x(inst.rs1);
                self.out.push(')');
            }
            Operand::Fli => self.out.push_str(FLI[usize::from(inst.rs1 & 31)]),
            Operand::Base => {
                self.out.push('(');
                self.x(inst.rs1);
                self.out.push(')');
            }
            Operand::Csr => match csr_name(inst.imm as u16) {
                Some(name) => self.out.push_str(name),
                None => drop(write!(self.out, "0x{:x}", inst.imm)),
            },
            Operand::Rm | Operand::RmExact => match inst.rm {
                7 if operand == Operand::Rm => return false,
                0 if operand == Operand::RmExact => return false,
                rm => self.out.push_str(ROUNDING[usize::from(rm & 7)]),
            },
            Operand::Pred => self.fence_set(inst.imm >> 4),
            Operand::Succ => self.fence_set(inst.imm),
            Operand::VType10 | Operand::VType11 => self.vector_type(inst.imm as u32),
            Operand::Vm | Operand::Nf | Operand::AqRl | Operand::LinkRa | Operand::HintImm6 => return false,
            Operand::MopR | Operand::MopRr | Operand::MopC | Operand::LowByte | Operand::AllOnes => {
                return false;
            }
        }
        true
    }

    /// The accesses that a fence orders: input, output, reads, writes.
    fn fence_set(&mut self, set: i32) {
        if set & 15 == 0 {
            self.out.push_str("unknown");
        }
        for (bit, letter) in [(8, 'i'), (4, 'o'), (2, 'r'), (1, 'w')] {
            if set & bit != 0 {
                self.out.push(letter);
            }
        }
    }

    /// Vector 1.0, 3.4: element width, group, tail and mask policy; a number where reserved bits are set.
    fn vector_type(&mut self, vtype: u32) {
        const GROUPS: [Option<&str>; 8] =
            [Some("m1"), Some("m2"), Some("m4"), Some("m8"), None, Some("mf8"), Some("mf4"), Some("mf2")];
        let width = vtype >> 3 & 7;
        match GROUPS[(vtype & 7) as usize] {
            Some(group) if width < 4 && vtype >> 8 == 0 => {
                let tail = if vtype & 0x40 != 0 { "ta" } else { "tu" };
                let mask = if vtype & 0x80 != 0 { "ma" } else { "mu" };
                let _ = write!(self.out, "e{},{group},{tail},{mask}", 8 << width);
            }
            _ => drop(write!(self.out, "{vtype}")),
        }
    }
}
