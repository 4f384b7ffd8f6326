//! Operations of memory requests.

use trackway_core::MemKind;
use trackway_isa::riscv::Amo;

/// Operation of a memory request (chapter 2, "Memory Request Opcode").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemOp(pub u8);

/// Declares the operations: `number NAME "text"`.
macro_rules! operations {
    ($($number:literal $name:ident $text:literal)*) => {
        #[allow(missing_docs)] // The names are the specification's.
        impl MemOp {
            $(pub const $name: MemOp = MemOp($number);)*
        }

        impl MemOp {
            /// The greatest number of an operation.
            pub(crate) const LAST: u8 = [$($number),*].len() as u8 - 1;

            /// The name of the operation.
            pub const fn name(self) -> &'static str {
                match self {
                    $(MemOp::$name => $text,)*
                    _ => "reserved",
                }
            }
        }
    };
}

operations! {
    0 LOAD "load"
    1 STORE "store"
    2 LR "lr"
    3 SC "sc"
    4 AMOSWAP "amoswap"
    5 AMOADD "amoadd"
    6 AMOXOR "amoxor"
    7 AMOAND "amoand"
    8 AMOOR "amoor"
    9 AMOMIN "amomin"
    10 AMOMAX "amomax"
    11 AMOMINU "amominu"
    12 AMOMAXU "amomaxu"
    13 FETCH "ifetch"
}

impl MemOp {
    /// Does the request carry data? Stores, sc and AMOs do (`docs/spec-readings/tandem.md`).
    #[inline]
    pub const fn sends(self) -> bool {
        !matches!(self, MemOp::LOAD | MemOp::LR | MemOp::FETCH) && self.0 <= Self::LAST
    }

    /// The kind of memory access.
    pub(crate) const fn kind(self) -> MemKind {
        match (self.sends(), self.returns()) {
            (false, _) => MemKind::Read,
            (true, false) => MemKind::Write,
            (true, true) => MemKind::ReadWrite,
        }
    }

    /// Does the response carry data? All do except those to stores and sc.
    #[inline]
    pub const fn returns(self) -> bool {
        !matches!(self, MemOp::STORE | MemOp::SC)
    }
}

impl From<Amo> for MemOp {
    fn from(amo: Amo) -> Self {
        match amo {
            Amo::Swap => MemOp::AMOSWAP,
            Amo::Add => MemOp::AMOADD,
            Amo::Xor => MemOp::AMOXOR,
            Amo::And => MemOp::AMOAND,
            Amo::Or => MemOp::AMOOR,
            Amo::Min => MemOp::AMOMIN,
            Amo::Max => MemOp::AMOMAX,
            Amo::Minu => MemOp::AMOMINU,
            Amo::Maxu => MemOp::AMOMAXU,
        }
    }
}
