//! What an instruction is and where control goes, for RISC-V and Arm.
//!
//! Three questions, from the cheapest to the dearest:
//!
//! - [`flow`]: how long is it, and where can control go after it? A few compares and no allocation; block
//!   tables and flow decoders ask this for every instruction of a program.
//! - [`riscv::decode`]: which RISC-V instruction is it, with its fields? The same table drives the text,
//!   the memory behaviour and the golden model.
//! - [`Disassembler`]: its text, for people; kept per address.
//!
//! An *encoding* is the instruction's bytes as a little-endian number, zero-extended, in every
//! instruction set. A 32-bit T32 instruction thus has its first halfword in the low half.
//!
//! ```
//! use trackway_core::Isa;
//! use trackway_isa::{Control, Disassembler, flow};
//!
//! let beq = flow(Isa::Rv64, 0x1000, 0x00b5_0463);
//! assert_eq!((beq.length, beq.control, beq.target), (4, Control::Branch, Some(0x1008)));
//!
//! let ret = flow(Isa::Rv64, 0x1000, 0x8082);
//! assert_eq!((ret.length, ret.control, ret.target), (2, Control::Return, None));
//! ```
#![forbid(unsafe_code)]

pub mod arm;
mod control;
mod disasm;
mod recent;
pub mod riscv;

pub use control::{Control, Flow, Switch};
pub use disasm::{Disassembler, Style};
pub use recent::{Key, Recent};

use trackway_core::Isa;

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
