//! Why packets cannot be followed, and the words for it.

/// Why a packet could not be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No code is known there.
    NoCode {
        /// The address.
        pc: u64,
    },
    /// A branch whose outcome no packet told.
    NoOutcome {
        /// The branch.
        pc: u64,
    },
    /// The address was reached, and outcomes of branches were left over.
    BranchesLeft {
        /// The jump that led there.
        pc: u64,
        /// How many.
        left: u64,
    },
    /// A jump that needs an address, where the packet has none.
    NoTarget {
        /// The jump.
        pc: u64,
    },
    /// The jump target cache has nothing at that index.
    EmptyCacheEntry {
        /// The index.
        index: u32,
        /// Where the walk was.
        pc: u64,
    },
    /// Jumps lead round and round without a branch, and never to the address.
    Endless {
        /// Where the walk was.
        pc: u64,
        /// The address wanted.
        target: u64,
    },
    /// A packet that needs a synchronisation before it.
    NotSynchronised,
    /// The handler's address is left out, and no vector tells it.
    NoHandler {
        /// The cause.
        cause: u64,
    },
}

impl Fault {
    /// Where the walk was.
    pub const fn pc(&self) -> Option<u64> {
        match *self {
            Fault::NoCode { pc }
            | Fault::NoOutcome { pc }
            | Fault::BranchesLeft { pc, .. }
            | Fault::NoTarget { pc }
            | Fault::EmptyCacheEntry { pc, .. }
            | Fault::Endless { pc, .. } => Some(pc),
            Fault::NotSynchronised | Fault::NoHandler { .. } => None,
        }
    }

    /// The field that is to blame.
    pub(crate) const fn field(&self) -> &'static str {
        match self {
            Fault::NoCode { .. } | Fault::NoTarget { .. } | Fault::Endless { .. } => "address",
            Fault::NoOutcome { .. } | Fault::BranchesLeft { .. } => "branch_map",
            Fault::EmptyCacheEntry { .. } => "index",
            Fault::NotSynchronised => "format",
            Fault::NoHandler { .. } => "ecause",
        }
    }

    /// What the error value shows.
    pub(crate) const fn found(&self) -> u64 {
        match self {
            Fault::NoHandler { cause } => *cause,
            _ => match self.pc() {
                Some(pc) => pc,
                None => 0,
            },
        }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Fault::NoCode { pc } => write!(f, "no code is known at {pc:#x}"),
            Fault::NoOutcome { pc } => {
                write!(f, "the branch at {pc:#x} needs an outcome, and the packets told no more")
            }
            Fault::BranchesLeft { pc, left } => {
                write!(
                    f,
                    "the jump at {pc:#x} takes the address, and {left} outcomes of branches are left over"
                )
            }
            Fault::NoTarget { pc } => {
                write!(f, "the jump at {pc:#x} needs an address, and the packet has none")
            }
            Fault::EmptyCacheEntry { index, pc } => {
                write!(f, "entry {index} of the jump target cache is empty; the walk was at {pc:#x}")
            }
            Fault::Endless { pc, target } => {
                write!(f, "jumps lead round at {pc:#x} without a branch and never to {target:#x}")
            }
            Fault::NotSynchronised => f.write_str("there was no synchronisation before it"),
            Fault::NoHandler { cause } => {
                write!(f, "the handler of cause {cause} is left out, and no trap vector tells it")
            }
        }
    }
}
