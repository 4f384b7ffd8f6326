//! Arm A64, A32 and T32: control transfer from our own masks, text from capstone.
//!
//! The mask tables list what ETE calls P0 instructions, and those that always trap. They are checked for
//! overlap while compiling, against objdump on real programs, and against capstone over the whole
//! encoding space; `docs/isa.md` lists where we differ from capstone and why.

pub mod a32;
pub mod a64;
mod cause;
mod class;
mod exception;
pub(crate) mod kind;
mod list;
mod mask;
pub mod memory;
mod registers;
mod simd;
mod state;
mod system;
pub mod t32;
mod text;

pub use cause::{ExceptionType, can_take};
pub use class::{Class, classify, has_za_index, is_sme};
pub use exception::exception_class;
pub use registers::registers;
pub use state::{StateWrite, state_write};
pub use system::{system_register, system_register_number};
pub use text::Text;

use crate::Flow;
use trackway_core::Isa;

/// How long an Arm instruction is and where control can go after it; other sets are not known here.
pub fn flow(isa: Isa, pc: u64, encoding: u32) -> Flow {
    match isa {
        Isa::A64 => a64::flow(pc, encoding),
        Isa::A32 => a32::flow(pc, encoding),
        Isa::T32 => t32::flow(pc, encoding),
        Isa::Rv32 | Isa::Rv64 | Isa::Other => Flow::sequential(0),
    }
}
