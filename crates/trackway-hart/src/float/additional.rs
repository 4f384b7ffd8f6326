//! Zfa: constants, IEEE 754-2019 minimum and maximum, quiet comparison, rounding to integers.

use super::compare::{le, lt, max, min};
use super::convert::{convert, to_i32};
use super::format::{F64, Format, Number, Parts, is_nan, is_signalling, unpack, zero};
use super::round::{cut, round};
use super::rounding::{Flags, NV, NX, Rounding};

/// The constants of FLI but for 1 (the smallest normal number), 30 (infinity) and 31 (NaN).
#[rustfmt::skip]
const CONSTANTS: [f64; 30] = [
    -1.0, 0.0, 1.0 / 65536.0, 1.0 / 32768.0, 0.00390625, 0.0078125, 0.0625, 0.125, 0.25, 0.3125, 0.375, 0.4375, 0.5,
    0.625, 0.75, 0.875, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 8.0, 16.0, 128.0, 256.0, 32768.0, 65536.0,
];

/// The constant with this number.
pub fn constant<F: Format>(number: u8) -> (u64, Flags) {
    let value = match number {
        1 => F::FRACTION_MASK + 1,
        30 => F::INFINITY,
        31.. => F::NAN,
        // 2^16 is infinite in half precision.
        n => convert::<F64, F>(CONSTANTS[usize::from(n)].to_bits(), Rounding::NearestEven).0,
    };
    (value, 0)
}

/// The smaller, or the canonical NaN where an operand is a NaN.
pub fn minimum<F: Format>(a: u64, b: u64) -> (u64, Flags) {
    propagate::<F>(a, b, min::<F>(a, b))
}

/// The greater, by the same rules.
pub fn maximum<F: Format>(a: u64, b: u64) -> (u64, Flags) {
    propagate::<F>(a, b, max::<F>(a, b))
}

fn propagate<F: Format>(a: u64, b: u64, (value, flags): (u64, Flags)) -> (u64, Flags) {
    (if is_nan::<F>(a) || is_nan::<F>(b) { F::NAN } else { value }, flags)
}

/// a < b, quiet.
pub fn lt_quiet<F: Format>(a: u64, b: u64) -> (bool, Flags) {
    (lt::<F>(a, b).0, signalled::<F>(a, b))
}

/// a ≤ b, quiet.
pub fn le_quiet<F: Format>(a: u64, b: u64) -> (bool, Flags) {
    (le::<F>(a, b).0, signalled::<F>(a, b))
}

fn signalled<F: Format>(a: u64, b: u64) -> Flags {
    if is_signalling::<F>(a) || is_signalling::<F>(b) { NV } else { 0 }
}

/// Rounds to an integer in the same format; inexact where it differs.
pub fn round_to_integer<F: Format>(a: u64, rm: Rounding) -> (u64, Flags) {
    let x = match unpack::<F>(a) {
        Parts::Nan => return (F::NAN, if is_signalling::<F>(a) { NV } else { 0 }),
        Parts::Infinite { .. } | Parts::Zero { .. } => return (a, 0),
        Parts::Finite(x) if x.exponent >= 0 => return (a, 0),
        Parts::Finite(x) => x,
    };
    let (kept, up, inexact) = cut(x.significand, x.exponent.unsigned_abs(), false, x.sign, rm);
    let value = match kept + u128::from(up) {
        0 => zero::<F>(x.sign),
        significand => round::<F>(Number { exponent: 0, significand, ..x }, rm).0,
    };
    (value, if inexact { NX } else { 0 })
}

/// The low 32 bits of the integer, rounded towards zero; flags as of [`to_i32`].
pub fn to_i32_modular<F: Format>(a: u64) -> (i32, Flags) {
    let (_, flags) = to_i32::<F>(a, Rounding::Zero);
    let value = match unpack::<F>(a) {
        Parts::Finite(x) => {
            let magnitude = match x.exponent {
                32.. => 0,
                up @ 0.. => x.significand << up,
                down => x.significand.checked_shr(down.unsigned_abs()).unwrap_or(0),
            } as i32;
            if x.sign { magnitude.wrapping_neg() } else { magnitude }
        }
        _ => 0,
    };
    (value, flags)
}

#[cfg(test)]
mod tests {
    use super::super::{F16, F32};
    use super::*;

    #[test]
    fn constants() {
        assert_eq!(constant::<F32>(0).0, 0xbf80_0000);
        assert_eq!(constant::<F64>(1).0, f64::MIN_POSITIVE.to_bits());
        assert_eq!(constant::<F64>(2).0, 2f64.powi(-16).to_bits());
        assert_eq!((constant::<F16>(2).0, constant::<F16>(28).0), (0x0100, 0x7800));
        assert_eq!((constant::<F16>(29).0, constant::<F16>(30).0), (0x7c00, 0x7c00));
        assert_eq!(constant::<F32>(31).0, 0x7fc0_0000);
    }

    /// Rust's own rounding, value by value.
    #[test]
    fn rounding() {
        for value in
            [0.0, -0.0, 0.3, 0.5, -0.5, 1.5, 2.5, -2.5, 1e15 + 0.5, -7.9, 4503599627370497.5, f64::INFINITY]
        {
            for (mode, expected) in [
                (Rounding::NearestEven, value.round_ties_even()),
                (Rounding::NearestAway, value.round()),
                (Rounding::Zero, value.trunc()),
                (Rounding::Down, value.floor()),
                (Rounding::Up, value.ceil()),
            ] {
                let (found, flags) = round_to_integer::<F64>(value.to_bits(), mode);
                assert_eq!(found, expected.to_bits(), "{value} {mode:?}");
                assert_eq!(flags, if expected == value { 0 } else { NX }, "{value} {mode:?}");
            }
        }
        assert_eq!(round_to_integer::<F64>(F64::NAN - 1, Rounding::Zero), (F64::NAN, NV));
    }

    #[test]
    fn modular() {
        for (value, expected, flags) in [
            (4294967297.0, 1, NV),
            (-4294967297.5, -1, NV),
            (2147483648.0, i32::MIN, NV),
            (-1.5, -1, NX),
            (1e30, 0, NV),
            (2f64.powi(52) + 3.0, 3, NV),
            (f64::NAN, 0, NV),
            (f64::NEG_INFINITY, 0, NV),
        ] {
            assert_eq!(to_i32_modular::<F64>(f64::to_bits(value)), (expected, flags), "{value}");
        }
    }

    #[test]
    fn numbers_and_nans() {
        let (one, quiet, signalling) = (1f64.to_bits(), F64::NAN, F64::NAN - 1);
        assert_eq!(minimum::<F64>(one, quiet), (F64::NAN, 0));
        assert_eq!(maximum::<F64>(signalling, one), (F64::NAN, NV));
        assert_eq!(lt_quiet::<F64>(one, quiet), (false, 0));
        assert_eq!(le_quiet::<F64>(one, signalling), (false, NV));
        assert_eq!(le_quiet::<F64>(one, one), (true, 0));
    }
}
