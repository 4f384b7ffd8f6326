//! An instruction that a core executes, and the facts that its source has.

use trackway_core::Isa;
use trackway_isa::{Control, Flow};

use crate::wire::address::{Entry, SubIsa};

/// An instruction that was executed.
#[derive(Clone, Copy, Debug)]
pub struct Instruction {
    /// Address of the instruction.
    pub address: u64,
    /// Instruction set.
    pub isa: Isa,
    /// Control flow of the encoding.
    pub flow: Flow,
    /// A branch was taken; any other conditional instruction was executed.
    pub taken: bool,
    /// Facts that its source has of it, for the account.
    pub known: Known,
}

impl Instruction {
    /// By its encoding.
    pub fn new(isa: Isa, address: u64, encoding: u32, taken: bool) -> Self {
        let flow = trackway_isa::flow(isa, address, encoding);
        Instruction { address, isa, flow, taken, known: Known::default() }
    }

    /// Address of the next instruction in memory.
    pub fn end(&self) -> u64 {
        let end = self.address.wrapping_add(self.flow.length.into());
        if self.isa == Isa::A64 { end } else { end & 0xffff_ffff }
    }

    /// A branch that is always taken and was not: a decoder loses the address there.
    pub(crate) fn is_contradiction(&self) -> bool {
        let flow = &self.flow;
        let certain = flow.control.is_transfer() && !flow.conditional && self.isa != Isa::T32;
        !self.taken && certain && flow.target != Some(self.end())
    }

    pub(super) fn entry(&self) -> Entry {
        entry(self.address, self.isa)
    }

    pub(super) fn branch(&self) -> Branch {
        let Instruction { isa, taken, flow, .. } = *self;
        Branch { control: flow.control, taken, end: self.end(), isa }
    }
}

/// A branch that was executed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Branch {
    pub(crate) control: Control,
    pub(crate) taken: bool,
    /// Address of the next instruction in memory.
    pub(crate) end: u64,
    pub(crate) isa: Isa,
}

/// Instructions that follow each other up to a branch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    pub(crate) start: u64,
    /// Its instructions.
    pub(crate) count: u32,
    pub(crate) branch: Branch,
    /// Its source has encodings and outcomes, and the target of a branch that is taken.
    pub(crate) known: Option<Option<u64>>,
}

/// An address as packets have it.
pub(crate) fn entry(address: u64, isa: Isa) -> Entry {
    let sub_isa = if isa == Isa::T32 { SubIsa::Is1 } else { SubIsa::Is0 };
    Entry { address: if isa == Isa::A64 { address } else { address & 0xffff_ffff }, sub_isa }
}

/// The properties of an instruction that its source had; others are found all the same, and count as made up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Its encoding.
    pub encoding: bool,
    /// Whether it was taken.
    pub outcome: bool,
    /// That it was only attempted.
    pub attempted: bool,
    /// Where it went, if it is a branch that was taken.
    pub target: Option<u64>,
    /// The trap that returns by it.
    pub trap: Option<KnownTrap>,
}

/// The properties of a trap that its source had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KnownTrap {
    /// The kind is that of the exception type.
    pub kind: bool,
    /// The cause is an exception type.
    pub cause: bool,
    /// The instruction that trapped.
    pub place: Option<u64>,
    /// Where it went.
    pub to: Option<u64>,
    /// The preferred return address.
    pub return_address: Option<u64>,
    /// The instruction of a system call.
    pub syscall: bool,
    /// The number of a system call.
    pub syscall_index: bool,
}
