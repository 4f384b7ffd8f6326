//! What is known of where execution is.

use trackway_core::Isa;

use crate::decode::element::ContextState;
use crate::wire::packet::{Entry, SubIsa};

/// Entries that the return stack keeps (K10.5.5.3).
const RETURNS: usize = 15;

/// Where execution is, as far as it is known (K10.5.5.2, K10.5.6.2.2).
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Flow {
    /// The context is known.
    pub(super) has_context: bool,
    /// The address is known.
    pub(super) has_address: bool,
    /// The address.
    pub(super) pc: u64,
    /// Instruction set state at the address.
    pub(super) sub_isa: SubIsa,
    pub(super) context: ContextState,
    /// The context that was told last; none since the last Trace Info.
    pub(super) told: Option<ContextState>,
    /// The instruction set that was told last.
    pub(super) told_isa: Option<Isa>,
    /// The return stack, oldest first.
    pub(super) returns: Vec<Entry>,
    /// The last branch went where the return stack says, unless an address comes.
    pub(super) pop: bool,
    /// Calls are not kept until the next address: the stack was emptied.
    pub(super) no_push: bool,
    /// The last atom or source address, which a mispredict can turn around.
    pub(super) last: Option<Last>,
    /// That execution is not known here has been told.
    pub(super) lost: bool,
    /// Code was followed since the last Trace On or loss.
    pub(super) followed: bool,
}

/// The last P0 instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Last {
    /// Start of the block that it ends.
    pub(super) start: u64,
    pub(super) sub_isa: SubIsa,
    pub(super) taken: bool,
}

impl Flow {
    pub(super) fn isa(&self) -> Isa {
        match (self.context.sixty_four_bit, self.sub_isa) {
            (true, _) => Isa::A64,
            (false, SubIsa::Is0) => Isa::A32,
            (false, SubIsa::Is1) => Isa::T32,
        }
    }

    /// Addresses have 32 bits in AArch32.
    #[inline]
    pub(super) fn wrap(&self, address: u64) -> u64 {
        if self.context.sixty_four_bit { address } else { address & 0xffff_ffff }
    }

    #[inline]
    pub(super) fn is_synchronised(&self) -> bool {
        self.has_address && self.has_context
    }

    /// K10.5.5.18.2: a return that no address followed goes where the stack says.
    pub(super) fn pop_return(&mut self) {
        if self.pop && !self.has_address {
            self.pop = false;
            if let Some(entry) = self.returns.pop() {
                (self.pc, self.sub_isa, self.has_address) = (entry.address, entry.sub_isa, true);
            }
        }
    }

    pub(super) fn push_return(&mut self, address: u64) {
        if self.returns.len() == RETURNS {
            self.returns.remove(0);
        }
        self.returns.push(Entry { address, sub_isa: self.sub_isa });
    }

    /// The address is not known any more, and the return stack cannot tell it.
    pub(super) fn lose_address(&mut self) {
        self.has_address = false;
        self.pop = false;
    }
}
