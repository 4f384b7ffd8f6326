//! Parts of the architecture that a trace needs and the model does not have: it is refused, not half verified.

use std::fmt;

use trackway_isa::riscv::{Class, Extension, Inst, Op};

use super::lacks::Place;

/// A part of the architecture that the model does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Vectors.
    Vector,
    /// The hypervisor.
    Hypervisor,
    /// More than one hart.
    Harts,
}

/// Major opcode of vector arithmetic, also of that which no table has.
const OP_V: u32 = 0x57;

impl Need {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Need::Vector => "the vector extension (V)",
            Need::Hypervisor => "the hypervisor extension (H)",
            Need::Harts => "several harts",
        }
    }

    /// The letter of `misa` that shows it.
    pub(super) const fn letter(self) -> Option<u8> {
        match self {
            Need::Vector => Some(b'V' - b'A'),
            Need::Hypervisor => Some(b'H' - b'A'),
            Need::Harts => None,
        }
    }

    /// The part that a core needs to retire this instruction.
    pub(super) fn of(inst: Option<&Inst>, encoding: u32) -> Option<Self> {
        let Some(inst) = inst else { return (encoding & 0x7f == OP_V).then_some(Need::Vector) };
        match (inst.op, inst.op.extension(), inst.op.class()) {
            (_, Extension::V, _) => Some(Need::Vector),
            (_, Extension::H, _) | (Op::HinvalVvma | Op::HinvalGvma, ..) => Some(Need::Hypervisor),
            (_, _, Class::Csr) => match inst.imm as u16 & 0xfff {
                0x008..=0x00a | 0x00f | 0xc20..=0xc22 => Some(Need::Vector),
                0x200..=0x2ff | 0x600..=0x6ff | 0x34a | 0x34b | 0xe12 => Some(Need::Hypervisor),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Where a trace showed what it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needed {
    /// The part of the architecture.
    pub need: Need,
    /// The place.
    pub place: Place,
    /// The instruction or level that shows it.
    pub text: String,
}

impl fmt::Display for Needed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Needed { need, place, text }, separator) = (self, if self.text.is_empty() { "" } else { ": " });
        let Place { offset, instruction } = place;
        let need = need.as_str();
        write!(f, "it needs {need}, which the model does not have{separator}{text}, ")?;
        write!(f, "at offset {offset:#x}, instruction {instruction}")
    }
}
