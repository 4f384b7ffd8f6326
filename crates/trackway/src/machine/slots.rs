//! Places of the registers that have one in tables.

use trackway_core::{Reg, RegClass};

/// Registers `x`, `f` and `v` have a slot each; the mask of slots fits in a `u128`.
pub(super) const FILE: usize = 32;

/// The slot of a register, if it has one.
pub(super) fn slot(reg: Reg) -> Option<usize> {
    let file = match reg.class {
        RegClass::Int => 0,
        RegClass::Float => 1,
        RegClass::Vector => 2,
        RegClass::Csr | RegClass::Pc | RegClass::Other => return None,
    };
    (usize::from(reg.number) < FILE).then(|| file * FILE + usize::from(reg.number))
}
