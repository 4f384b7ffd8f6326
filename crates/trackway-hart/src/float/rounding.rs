//! Rounding modes and accrued exceptions.

/// How a result is rounded (unprivileged specification, table of rounding modes).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Rounding {
    /// To nearest, ties to even.
    NearestEven = 0,
    /// Towards zero.
    Zero = 1,
    /// Towards negative infinity.
    Down = 2,
    /// Towards positive infinity.
    Up = 3,
    /// To nearest, ties away from zero.
    NearestAway = 4,
}

impl Rounding {
    /// The mode with this number in `frm`; the others are reserved.
    pub const fn from_bits(bits: u8) -> Option<Self> {
        Some(match bits {
            0 => Self::NearestEven,
            1 => Self::Zero,
            2 => Self::Down,
            3 => Self::Up,
            4 => Self::NearestAway,
            _ => return None,
        })
    }
}

/// Accrued exceptions, as in `fflags`.
pub type Flags = u8;

/// Inexact.
pub const NX: Flags = 1;
/// Underflow.
pub const UF: Flags = 2;
/// Overflow.
pub const OF: Flags = 4;
/// Division by zero.
pub const DZ: Flags = 8;
/// Invalid operation.
pub const NV: Flags = 16;
