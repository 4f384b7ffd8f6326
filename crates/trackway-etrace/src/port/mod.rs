//! The port between core and encoder (chapter 4): blocks of instructions that retire, and data accesses.

mod data;
pub(crate) mod expected;
mod instruction;

pub use data::{Access, DataPort, Dtype, Lresp, Transfer};
pub use instruction::*;
