//! Differences between the versions of the specification, in one place.
//!
//! A new dialect is a new value here and an arm in each of these functions; nothing else in the crate asks
//! for the version.

use serde::{Deserialize, Serialize};

/// A version of the E-Trace specification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, Serialize)]
pub enum Dialect {
    /// Draft 1.1.1 of September 2020.
    #[serde(rename = "draft-1.1.1", alias = "draft")]
    Draft,
    /// The ratified version 2.
    #[default]
    #[serde(rename = "v2")]
    V2,
}

impl Dialect {
    /// All of them, oldest first.
    pub const ALL: [Dialect; 2] = [Dialect::Draft, Dialect::V2];

    /// Its name in settings files.
    pub const fn as_str(self) -> &'static str {
        match self {
            Dialect::Draft => "draft-1.1.1",
            Dialect::V2 => "v2",
        }
    }

    /// Do format 3 packets have a `time` field?
    pub const fn has_time(self) -> bool {
        matches!(self, Dialect::V2)
    }

    /// Do trap packets say with `thaddr` whether the address is the handler's?
    pub(crate) const fn has_thaddr(self) -> bool {
        matches!(self, Dialect::V2)
    }

    /// Does the last field of a trap packet hold the address of an illegal instruction, and is it there for
    /// interrupts too (`tvalepc`)? Otherwise it is the trap value, of exceptions only (`tval`).
    pub(crate) const fn has_tvalepc(self) -> bool {
        matches!(self, Dialect::Draft)
    }

    /// Does the support packet continue with `denable`, `dloss` and `doptions`?
    pub(crate) const fn has_data_status(self) -> bool {
        matches!(self, Dialect::V2)
    }

    /// Does `nocontext` = 1 remove the context from the context packet too?
    pub(crate) const fn nocontext_everywhere(self) -> bool {
        matches!(self, Dialect::V2)
    }

    /// While walking to a 3/0 packet of another privilege, does only the target of a trap return count?
    pub(crate) const fn privilege_gates_sync(self) -> bool {
        matches!(self, Dialect::V2)
    }

    /// Does a trap packet report a discontinuous context change (ctype 3)?
    pub(crate) const fn discontinuity_is_trap(self) -> bool {
        matches!(self, Dialect::Draft)
    }

    /// May the call depth be left out only if a branch since the last return is still unreported?
    pub(crate) const fn depth_wants_unreported(self) -> bool {
        matches!(self, Dialect::Draft)
    }

    /// Are addresses in data packets as wide as instruction addresses, as the draft's tables say?
    pub(crate) const fn data_address_is_iaddress(self) -> bool {
        matches!(self, Dialect::Draft)
    }

    /// The name of the id of split loads.
    pub const fn split_id(self) -> &'static str {
        match self {
            Dialect::Draft => "index",
            Dialect::V2 => "lrid",
        }
    }

    /// Is the size field of data packets just wide enough for the logarithms of the sizes, and the same for atomics?
    pub(crate) const fn data_size_is_logarithm(self) -> bool {
        matches!(self, Dialect::V2)
    }
}
