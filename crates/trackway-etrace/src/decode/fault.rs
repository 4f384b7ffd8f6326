//! Reasons why a packet cannot be followed.

use trackway_core::ErrorKind;

/// The reason why a packet could not be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The program has no code at an address.
    NoCode {
        /// The address.
        pc: u64,
    },
    /// A branch for which no packet has an outcome.
    NoOutcome {
        /// Address of the branch.
        pc: u64,
    },
    /// The address was reached with outcomes of branches left over.
    BranchesLeft {
        /// Address of the jump that led there.
        pc: u64,
        /// Number of outcomes left.
        left: u64,
    },
    /// A jump that needs an address, and the packet has none.
    NoTarget {
        /// Address of the jump.
        pc: u64,
    },
    /// The jump target cache has an empty entry at that index.
    EmptyCacheEntry {
        /// Index in the cache.
        index: u32,
        /// Position of the walk.
        pc: u64,
    },
    /// Jumps form a loop without a branch that does not contain the address.
    Endless {
        /// Position of the walk.
        pc: u64,
        /// The address reported.
        target: u64,
    },
    /// More predicted branches than a packet is expected to report, and not those of a loop that repeats itself.
    TooMany {
        /// Position of the walk.
        pc: u64,
    },
    /// A packet that needs a synchronisation before it.
    NotSynchronised,
    /// The packet omits the handler's address, and no trap vector provides it.
    NoHandler {
        /// Cause of the trap.
        cause: u64,
    },
}

impl Fault {
    /// Position of the walk.
    pub(crate) const fn pc(&self) -> Option<u64> {
        match *self {
            Fault::NoCode { pc }
            | Fault::NoOutcome { pc }
            | Fault::BranchesLeft { pc, .. }
            | Fault::NoTarget { pc }
            | Fault::EmptyCacheEntry { pc, .. }
            | Fault::Endless { pc, .. }
            | Fault::TooMany { pc } => Some(pc),
            Fault::NotSynchronised | Fault::NoHandler { .. } => None,
        }
    }

    /// The field that cannot be followed.
    pub(crate) const fn field(&self) -> &'static str {
        match self {
            Fault::NoCode { .. } | Fault::NoTarget { .. } | Fault::Endless { .. } => "address",
            Fault::NoOutcome { .. } | Fault::BranchesLeft { .. } => "branch_map",
            Fault::EmptyCacheEntry { .. } => "index",
            Fault::TooMany { .. } => "branch_count",
            Fault::NotSynchronised => "format",
            Fault::NoHandler { .. } => "ecause",
        }
    }

    /// The reason in the error.
    pub(crate) const fn kind(&self) -> ErrorKind {
        let (text, value) = match *self {
            Fault::NoCode { pc } => ("no code at {:#x}", pc),
            Fault::NoOutcome { pc } => ("no branch bit left for the branch at {:#x}", pc),
            Fault::BranchesLeft { pc, .. } => ("branch bits left over at the jump at {:#x}", pc),
            Fault::NoTarget { pc } => ("no address for the jump at {:#x}", pc),
            Fault::EmptyCacheEntry { index, .. } => {
                ("entry {} of the jump target cache is empty", index as u64)
            }
            Fault::Endless { pc, .. } => ("a loop without a branch at {:#x} never reaches the address", pc),
            Fault::TooMany { pc } => ("more branches than are plausible, at {:#x}", pc),
            Fault::NotSynchronised => ("no synchronisation before it", 0),
            Fault::NoHandler { cause } => ("no trap vector for cause {}", cause),
        };
        ErrorKind::Reason { text, value }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Fault::NoCode { pc } => write!(f, "no code at {pc:#x}"),
            Fault::NoOutcome { pc } => {
                write!(f, "no branch bit left for the branch at {pc:#x}")
            }
            Fault::BranchesLeft { pc, left } => {
                write!(f, "the jump at {pc:#x} takes the address with {left} branch bits left over")
            }
            Fault::NoTarget { pc } => {
                write!(f, "the jump at {pc:#x} needs an address, and the packet has none")
            }
            Fault::EmptyCacheEntry { index, pc } => {
                write!(f, "entry {index} of the jump target cache is empty (at {pc:#x})")
            }
            Fault::Endless { pc, target } => {
                write!(f, "endless loop at {pc:#x} without a branch that never reaches {target:#x}")
            }
            Fault::TooMany { pc } => {
                write!(f, "more predicted branches than encoder.branch_count_max allows (at {pc:#x})")
            }
            Fault::NotSynchronised => f.write_str("no synchronisation before it"),
            Fault::NoHandler { cause } => {
                write!(f, "no trap vector for cause {cause}, and the packet omits the handler")
            }
        }
    }
}
