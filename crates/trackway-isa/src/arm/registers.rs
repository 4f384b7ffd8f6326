//! Registers that an A64 instruction reads and writes, by our own masks (Arm ARM C4.1).

use crate::Registers;

/// The registers of an A64 instruction; `None` where the encoding is not known.
pub fn registers(_word: u32) -> Option<Registers> {
    None
}
