//! The state of execution.

use trackway_core::Isa;

use crate::wire::address::{Entry, SubIsa};
use crate::wire::context::ContextState;

/// Depth of the return stack (K10.5.5.3).
const RETURNS: usize = 15;

/// The state of execution, as far as it is known (K10.5.5.2, K10.5.6.2.2).
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Flow {
    /// The context is known.
    pub(super) has_context: bool,
    /// The address is known.
    pub(super) has_address: bool,
    /// Address of the next instruction.
    pub(super) pc: u64,
    /// Instruction set state at `pc`.
    pub(super) sub_isa: SubIsa,
    pub(super) context: ContextState,
    /// The last context emitted; `None` if none since the last Trace Info.
    pub(super) reported: Option<ContextState>,
    /// The last instruction set emitted.
    pub(super) reported_isa: Option<Isa>,
    /// The return stack, oldest first.
    pub(super) returns: Vec<Entry>,
    /// The last branch goes where the return stack says, unless an address follows.
    pub(super) pop: bool,
    /// Calls are not pushed until the next address: the stack was cleared.
    pub(super) no_push: bool,
    /// The last atom or source address, which a mispredict can reverse.
    pub(super) last: Option<Last>,
    /// A gap for this unknown stretch was already emitted.
    pub(super) lost: bool,
    /// Code was followed since the last Trace On or loss.
    pub(super) followed: bool,
    /// The core is in Debug state.
    pub(super) halted: bool,
}

/// The last P0 instruction.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) struct Last {
    /// Start of the block that ends with it.
    pub(super) start: u64,
    pub(super) sub_isa: SubIsa,
    pub(super) taken: bool,
}

impl Flow {
    /// Is the return stack as deep as it can be at most?
    pub(crate) fn is_possible(&self) -> bool {
        self.returns.len() <= RETURNS
    }

    /// Nothing is known but what was reported of Debug state and instruction set.
    pub(super) fn fresh(&self) -> Self {
        Flow { halted: self.halted, reported_isa: self.reported_isa, ..Flow::default() }
    }

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

    /// K10.5.5.18.2: a return without an address goes to the top of the return stack.
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

    /// Forgets the address; the return stack does not supply it either.
    pub(super) fn lose_address(&mut self) {
        self.has_address = false;
        self.pop = false;
    }
}
