//! RISC-V: RV32 and RV64 with M, A, F, D, C, V, H, Zicsr, Zifencei, Zabha, Zacas, Zfh, Zfa, Zba, Zbb, Zbc, Zbs, Zicbom,
//! Zicbop, Zicboz, Zicond, Zawrs, Zimop, Zcb, Zcmop, scalar cryptography (Zbkb, Zbkc, Zbkx, Zkn, Zks), hints (Zihintpause,
//! Zihintntl), Svinval and the privileged instructions.
//!
//! Every instruction is declared once (`table.rs`, `compressed.rs`); [`decode`] returns its operation and
//! fields, and [`text`] writes it as GNU objdump does. A compressed instruction decodes to the operation
//! that it expands to.
//!
//! ```
//! use trackway_core::Isa;
//! use trackway_isa::riscv::{Op, decode};
//!
//! // c.ldsp ra,24(sp)
//! let inst = decode(Isa::Rv64, 0x60e2).unwrap();
//! assert_eq!((inst.op, inst.length), (Op::Ld, 2));
//! assert_eq!((inst.rd, inst.rs1, inst.imm), (1, 2, 24));
//! assert_eq!(inst.op.class().memory().unwrap().size, Some(8));
//! ```

mod alias;
mod atomic;
mod class;
mod compressed;
mod csr;
mod flow;
mod index;
mod operand;
mod registers;
mod table;
mod text;

pub use atomic::Amo;
pub use class::{Class, Count, Extension, Memory, Width};
pub use compressed::COMPRESSED;
pub use csr::{CSRS, csr_name, csr_number};
pub use flow::{flow, is_branch, is_plain, length};
pub use operand::Operand;
pub use table::{Encoding, INSTRUCTIONS, Op, RV32_FORMS};
pub(crate) use text::{float_number, int_number};
pub use text::{mnemonic, register_name, text, write_text};

use trackway_core::Isa;

/// A decoded instruction. Fields that it does not have are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Inst {
    /// The operation; for a compressed instruction, the one that it expands to.
    pub op: Op,
    /// Length in bytes.
    pub length: u8,
    /// Destination register; for a vector store, the register stored.
    pub rd: u8,
    /// First source register, base of an address, or an unsigned 5-bit immediate.
    pub rs1: u8,
    /// Second source register.
    pub rs2: u8,
    /// Third source register.
    pub rs3: u8,
    /// Rounding mode, as in the instruction; 7 is dynamic.
    pub rm: u8,
    /// Immediate, sign-extended as the operation wants it: the offset of a branch, the upper immediate in
    /// place, the shift amount, the number of a CSR, bits 31:20 of a fence, the vector type, 1 for pairs of registers.
    pub imm: i32,
    /// The encoding as it was.
    pub word: u32,
}

impl Inst {
    /// Acquire bit of an atomic.
    pub const fn aq(&self) -> bool {
        self.word >> 26 & 1 != 0
    }

    /// Release bit of an atomic.
    pub const fn rl(&self) -> bool {
        self.word >> 25 & 1 != 0
    }

    /// Is it a compare-and-swap (Zacas)?
    pub const fn is_compare_swap(&self) -> bool {
        matches!(self.op, Op::AmocasB | Op::AmocasH | Op::AmocasW | Op::AmocasD | Op::AmocasQ)
    }

    /// Does a compare-and-swap take pairs of registers, those that it names and the next ones?
    pub const fn has_pairs(&self) -> bool {
        self.imm == 1 && self.is_compare_swap()
    }

    /// Is a vector instruction masked by `v0`?
    pub const fn masked(&self) -> bool {
        self.word >> 25 & 1 == 0
    }

    /// Fields per segment of a vector load or store.
    pub const fn fields(&self) -> u8 {
        (self.word >> 29) as u8 + 1
    }
}

/// The declaration that an instruction word matches, and its fields. `None` for reserved encodings, those
/// of extensions that the table does not have, and instructions longer than 4 bytes.
///
/// Hints decode. `encoding` is zero-extended; the upper half is ignored for compressed instructions.
pub fn decode(isa: Isa, encoding: u32) -> Option<Inst> {
    lookup(isa, encoding).map(|(_, inst)| inst)
}

/// As [`decode`], with the declaration of the encoding itself: `c.ldsp`, not `ld`.
pub fn lookup(isa: Isa, encoding: u32) -> Option<(&'static Encoding, Inst)> {
    let (word, length) = if encoding & 3 == 3 { (encoding, 4) } else { (encoding & 0xffff, 2) };
    index::find(isa, word).find_map(|declared| {
        let mut inst = Inst { op: declared.op, length, rd: 0, rs1: 0, rs2: 0, rs3: 0, rm: 0, imm: 0, word };
        declared.operands.iter().all(|o| o.read(isa, word, &mut inst)).then_some((declared, inst))
    })
}
