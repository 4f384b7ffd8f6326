//! Facts of instruction sets: what an instruction is and where control goes, for RISC-V and Arm.
//!
//! One question, one function, for both architectures; each takes the instruction set and the encoding:
//!
//! | question | function |
//! |---|---|
//! | how long is it, and where can control go after it? | [`flow`] |
//! | can it retire at all? | [`never_retires`] |
//! | what kind of work does it do? | [`class`] |
//! | which extension or feature has it? | [`extension`] |
//! | what does it do to memory? | [`memory`] |
//! | which registers does it read and write? | [`registers`] |
//! | how is it written? | [`text`]; [`Disassembler`] for many; [`mnemonic`] for the name alone |
//!
//! [`flow`] is a few compares: block tables and flow decoders ask it for every instruction of a program. The
//! details of an architecture are in its module: [`riscv::decode`] returns an instruction with its fields, from
//! the table that also drives the text, the memory behaviour and the golden model.
//!
//! An *encoding* is the instruction's bytes as a little-endian number, zero-extended, in every
//! instruction set. A 32-bit T32 instruction thus has its first halfword in the low half.
//!
//! ```
//! use trackway_core::{Isa, MemKind};
//! use trackway_isa::{Class, Control, class, flow, memory, never_retires, text};
//!
//! // The same questions for c.ldsp a0,8(sp) and ldr x0, [sp, #8].
//! for (isa, encoding, written) in [(Isa::Rv64, 0x6522, "ld a0,8(sp)"), (Isa::A64, 0xf940_07e0, "ldr x0, [sp, #8]")] {
//!     assert_eq!(flow(isa, 0x1000, encoding).control, Control::Sequential);
//!     assert_eq!(class(isa, encoding), Class::Load);
//!     let memory = memory(isa, encoding).unwrap();
//!     assert_eq!((memory.kind, memory.bytes), (MemKind::Read, Some(8)));
//!     assert_eq!(text(isa, 0x1000, encoding), written);
//! }
//! let beq = flow(Isa::Rv64, 0x1000, 0x00b5_0463);
//! assert_eq!((beq.length, beq.control, beq.target), (4, Control::Branch, Some(0x1008)));
//! assert!(never_retires(Isa::Rv64, 0x73)); // ecall
//! assert!(never_retires(Isa::A64, 0xd400_0001)); // svc #0
//! ```
#![forbid(unsafe_code)]

pub mod arm;
mod class;
mod control;
mod disasm;
mod kind;
mod memory;
mod recent;
mod registers;
pub mod riscv;
mod style;

pub use class::Class;
pub use control::{Control, Flow, Switch};
pub use disasm::{Disassembler, mnemonic, text};
pub use kind::{class, extension};
pub use memory::{Memory, memory};
pub use recent::{Key, Recent};
pub use registers::Registers;
pub use style::Style;

use std::borrow::Cow;

use trackway_core::{Isa, Reg, RegClass};

/// How long an instruction is and where control can go after it.
///
/// `encoding` is little-endian and zero-extended; bits beyond the instruction's length are ignored. For
/// [`Isa::Other`] nothing is known: the length is 0.
pub fn flow(isa: Isa, pc: u64, encoding: u32) -> Flow {
    match isa {
        Isa::Rv32 | Isa::Rv64 => riscv::flow(isa, pc, encoding),
        Isa::A64 | Isa::A32 | Isa::T32 => arm::flow(isa, pc, encoding),
        Isa::Other => Flow::sequential(0),
    }
}

/// True for a branch that is taken or not. Cheap for RISC-V.
#[inline(always)]
pub fn is_conditional(isa: Isa, encoding: u32) -> bool {
    match isa {
        Isa::Rv32 | Isa::Rv64 => riscv::is_branch(encoding),
        _ => {
            let flow = flow(isa, 0, encoding);
            flow.conditional && flow.control.is_transfer()
        }
    }
}

/// The name of a register in listings: control, status and system registers have names, others numbers.
///
/// ```
/// use trackway_core::{Isa, Reg, RegClass};
/// let reg = |class, number| Reg { class, number };
/// assert_eq!(trackway_isa::reg_name(Isa::Rv64, reg(RegClass::Csr, 0x300)), "mstatus");
/// assert_eq!(trackway_isa::reg_name(Isa::Rv64, reg(RegClass::Csr, 0x7ff)), "csr0x7ff");
/// assert_eq!(trackway_isa::reg_name(Isa::Rv64, reg(RegClass::Int, 10)), "x10");
/// assert_eq!(trackway_isa::reg_name(Isa::A64, reg(RegClass::Int, 31)), "sp");
/// ```
pub fn reg_name(isa: Isa, reg: Reg) -> Cow<'static, str> {
    let name = match (isa, reg.class) {
        (Isa::Rv32 | Isa::Rv64, RegClass::Csr) => riscv::csr_name(reg.number),
        (Isa::A64, RegClass::Int) if reg.number == 31 => Some("sp"),
        (Isa::A64, RegClass::Csr) => arm::system_register(reg.number),
        _ => None,
    };
    name.map_or_else(|| reg.to_string().into(), Cow::Borrowed)
}

/// The register of that name: `x5`, `f0`, `v1`, `csr0x300`; of RISC-V also `t0`, `fa0`, `mstatus`, of A64 `sp`, `lr`,
/// `w0`, `q1`, `nzcv`.
///
/// ```
/// use trackway_core::{Isa, Reg, RegClass};
/// let reg = |class, number| Some(Reg { class, number });
/// assert_eq!(trackway_isa::reg_named(Isa::Rv64, "t0"), reg(RegClass::Int, 5));
/// assert_eq!(trackway_isa::reg_named(Isa::Rv64, "fcsr"), reg(RegClass::Csr, 3));
/// assert_eq!(trackway_isa::reg_named(Isa::A64, "lr"), reg(RegClass::Int, 30));
/// assert_eq!(trackway_isa::reg_named(Isa::Rv64, "x32"), None);
/// ```
pub fn reg_named(isa: Isa, name: &str) -> Option<Reg> {
    let name = name.to_ascii_lowercase();
    let numbered = |prefix: &str, class, most: u16| {
        let number: u16 = name.strip_prefix(prefix)?.parse().ok()?;
        (number <= most).then_some(Reg { class, number })
    };
    let csr = || {
        let digits = name.strip_prefix("csr")?;
        let number = match digits.strip_prefix("0x") {
            Some(hex) => u16::from_str_radix(hex, 16).ok()?,
            None => digits.parse().ok()?,
        };
        Some(Reg { class: RegClass::Csr, number })
    };
    let of = |class, number: Option<u16>| number.map(|number| Reg { class, number });
    let common =
        || numbered("f", RegClass::Float, 31).or_else(|| numbered("v", RegClass::Vector, 31)).or_else(csr);
    match isa {
        Isa::Rv32 | Isa::Rv64 => numbered("x", RegClass::Int, 31)
            .or_else(|| of(RegClass::Int, riscv::int_number(&name)))
            .or_else(|| of(RegClass::Float, riscv::float_number(&name)))
            .or_else(|| of(RegClass::Csr, riscv::csr_number(&name)))
            .or_else(common),
        Isa::A64 => match name.as_str() {
            "sp" => of(RegClass::Int, Some(31)),
            "lr" => of(RegClass::Int, Some(30)),
            "fp" => of(RegClass::Int, Some(29)),
            _ => ["x", "w"]
                .iter()
                .find_map(|prefix| numbered(prefix, RegClass::Int, 30))
                .or_else(|| {
                    ["q", "d", "s", "h", "b"].iter().find_map(|prefix| numbered(prefix, RegClass::Vector, 31))
                })
                .or_else(|| of(RegClass::Csr, arm::system_register_number(&name)))
                .or_else(common),
        },
        Isa::A32 | Isa::T32 | Isa::Other => {
            numbered("x", RegClass::Int, 31).or_else(|| numbered("r", RegClass::Int, 31)).or_else(common)
        }
    }
}

/// The registers that an instruction reads and writes when it completes; `None` where the encoding is not known.
///
/// Of A64 the general registers are `x0` to `x30`, the stack pointer is number 31 beside them; `v0` to `v31` are
/// any width of the floating-point and vector registers; SVE and SME are not known, nor are A32 and T32.
///
/// ```
/// use trackway_core::{Isa, Reg, RegClass};
/// use trackway_isa::registers;
///
/// let x = |number| Reg { class: RegClass::Int, number };
/// let add = registers(Isa::Rv64, 0x00c5_8533).unwrap(); // add a0,a1,a2
/// assert!(add.sources().eq([x(11), x(12)]) && add.destinations().eq([x(10)]));
/// let pop = registers(Isa::A64, 0xa8c1_7bfd).unwrap(); // ldp x29, x30, [sp], #16
/// assert!(pop.sources().eq([x(31)]) && pop.destinations().eq([x(31), x(29), x(30)]));
/// ```
pub fn registers(isa: Isa, encoding: u32) -> Option<Registers> {
    match isa {
        Isa::Rv32 | Isa::Rv64 => Some(riscv::decode(isa, encoding)?.all_registers()),
        Isa::A64 => arm::registers(encoding),
        Isa::A32 | Isa::T32 | Isa::Other => None,
    }
}

/// True if the instruction always traps and so never retires: system calls, breakpoints, permanently undefined ones.
///
/// In every trace they are attempted only; where a format is silent about it, this decides.
#[inline]
pub fn never_retires(isa: Isa, encoding: u32) -> bool {
    // Nearly all encodings are told apart without being decoded.
    let maybe = match isa {
        // C.EBREAK, the halfword of zeros.
        Isa::Rv32 | Isa::Rv64 if encoding & 0b11 != 0b11 => encoding & 0xffff & !0x9002 == 0,
        // ECALL, EBREAK, all ones.
        Isa::Rv32 | Isa::Rv64 => (encoding & !(1 << 20) == 0x73) | (encoding == u32::MAX),
        // Exception generation, UDF.
        Isa::A64 => (encoding >> 24 == 0xd4) | (encoding >> 16 == 0),
        Isa::A32 | Isa::T32 | Isa::Other => true,
    };
    maybe && !flow(isa, 0, encoding).retires()
}
