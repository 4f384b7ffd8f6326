//! Atomic memory operations: the value that an AMO stores.

use trackway_core::{mask, sign_extend};

/// The operation of an AMO (unprivileged, "Zaamo").
///
/// ```
/// use trackway_isa::riscv::Amo;
///
/// // amomax.w a0,a1,(a2)
/// let max = Amo::of(0xa0b6_252f).unwrap();
/// assert_eq!(max, Amo::Max);
/// assert_eq!(max.stored(0xffff_ffff, 1, 4), 1);
/// assert_eq!(max.stored(0xffff_ffff, 1, 8), 0xffff_ffff);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the names are the mnemonics' own
pub enum Amo {
    Swap,
    Add,
    Xor,
    And,
    Or,
    Min,
    Max,
    Minu,
    Maxu,
}

impl Amo {
    /// The operation of an encoding, of any access size. `None` for LR, SC, compare-and-swap (which has a third operand) and
    /// everything that is not an AMO.
    pub const fn of(encoding: u32) -> Option<Self> {
        if encoding & 0x7f != 0b010_1111 {
            return None;
        }
        Some(match encoding >> 27 {
            0b00001 => Self::Swap,
            0b00000 => Self::Add,
            0b00100 => Self::Xor,
            0b01100 => Self::And,
            0b01000 => Self::Or,
            0b10000 => Self::Min,
            0b10100 => Self::Max,
            0b11000 => Self::Minu,
            0b11100 => Self::Maxu,
            _ => return None,
        })
    }

    /// The value stored to memory by an access of `size` bytes, zero-extended. Upper bits of the inputs are ignored.
    pub fn stored(self, loaded: u64, operand: u64, size: u8) -> u64 {
        let bits = 8 * u32::from(size);
        let (a, b) = (mask(loaded, bits), mask(operand, bits));
        let (sa, sb) = (sign_extend(a, bits) as i64, sign_extend(b, bits) as i64);
        let stored = match self {
            Self::Swap => b,
            Self::Add => a.wrapping_add(b),
            Self::Xor => a ^ b,
            Self::And => a & b,
            Self::Or => a | b,
            Self::Min => sa.min(sb) as u64,
            Self::Max => sa.max(sb) as u64,
            Self::Minu => a.min(b),
            Self::Maxu => a.max(b),
        };
        mask(stored, bits)
    }

    /// An operand with which the operation turns `loaded` into `stored`, where there is one.
    pub fn operand(self, loaded: u64, stored: u64, size: u8) -> u64 {
        let operand = match self {
            Self::Add => stored.wrapping_sub(loaded),
            Self::Xor => stored ^ loaded,
            _ => stored,
        };
        mask(operand, 8 * u32::from(size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::riscv::{Class, INSTRUCTIONS};

    /// The names in the instruction table say the operation: `amominu.w` is `Minu`.
    #[test]
    fn operations_agree_with_the_table() {
        for encoding in INSTRUCTIONS {
            let name = encoding.name.strip_prefix("amo").and_then(|name| name.split('.').next());
            let name = name.filter(|name| *name != "cas");
            let found = Amo::of(encoding.value).map(|amo| format!("{amo:?}").to_lowercase());
            assert_eq!(found.as_deref(), name, "{}", encoding.name);
            let is_amo = matches!(encoding.op.class(), Class::Amo(_)) && !encoding.name.starts_with("amocas");
            assert_eq!(found.is_some(), is_amo, "{}", encoding.name);
        }
    }

    #[test]
    fn width_and_sign_decide() {
        let (minus_one, one) = (u64::MAX, 1);
        for (amo, word, double) in [
            (Amo::Swap, 1, 1),
            (Amo::Add, 0, 0),
            (Amo::Xor, 0xffff_fffe, u64::MAX - 1),
            (Amo::And, 1, 1),
            (Amo::Or, 0xffff_ffff, u64::MAX),
            (Amo::Min, 0xffff_ffff, u64::MAX),
            (Amo::Max, 1, 1),
            (Amo::Minu, 1, 1),
            (Amo::Maxu, 0xffff_ffff, u64::MAX),
        ] {
            assert_eq!(amo.stored(minus_one, one, 4), word, "{amo:?}");
            assert_eq!(amo.stored(minus_one, one, 8), double, "{amo:?}");
            let operand = amo.operand(minus_one, double, 8);
            assert_eq!(amo.stored(minus_one, operand, 8), double, "{amo:?}");
        }
    }
}
