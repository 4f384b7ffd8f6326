//! Conversion between formats, and from and to integers.

use super::format::{Format, Number, Parts, infinity, is_signalling, unpack, zero};
use super::round::{cut, round};
use super::rounding::{Flags, NV, NX, Rounding};

/// From one format to another.
pub fn convert<F: Format, G: Format>(a: u64, rm: Rounding) -> (u64, Flags) {
    match unpack::<F>(a) {
        Parts::Nan => (G::NAN, if is_signalling::<F>(a) { NV } else { 0 }),
        Parts::Infinite { sign } => (infinity::<G>(sign), 0),
        Parts::Zero { sign } => (zero::<G>(sign), 0),
        Parts::Finite(x) => round::<G>(x, rm),
    }
}

/// From a signed integer.
pub fn from_i64<F: Format>(v: i64, rm: Rounding) -> (u64, Flags) {
    from_magnitude::<F>(v < 0, v.unsigned_abs(), rm)
}

/// From an unsigned integer.
pub fn from_u64<F: Format>(v: u64, rm: Rounding) -> (u64, Flags) {
    from_magnitude::<F>(false, v, rm)
}

fn from_magnitude<F: Format>(sign: bool, v: u64, rm: Rounding) -> (u64, Flags) {
    match v {
        0 => (0, 0),
        v => round::<F>(Number { sign, exponent: 0, significand: u128::from(v), sticky: false }, rm),
    }
}

/// To a 32-bit signed integer; values out of range saturate, and a NaN becomes the greatest.
pub fn to_i32<F: Format>(a: u64, rm: Rounding) -> (i32, Flags) {
    let (v, flags) = to_integer::<F>(a, rm, i32::MIN.into(), i32::MAX.into());
    (v as i32, flags)
}

/// To a 32-bit unsigned integer.
pub fn to_u32<F: Format>(a: u64, rm: Rounding) -> (u32, Flags) {
    let (v, flags) = to_integer::<F>(a, rm, 0, u32::MAX.into());
    (v as u32, flags)
}

/// To a 64-bit signed integer.
pub fn to_i64<F: Format>(a: u64, rm: Rounding) -> (i64, Flags) {
    let (v, flags) = to_integer::<F>(a, rm, i64::MIN.into(), i64::MAX.into());
    (v as i64, flags)
}

/// To a 64-bit unsigned integer.
pub fn to_u64<F: Format>(a: u64, rm: Rounding) -> (u64, Flags) {
    let (v, flags) = to_integer::<F>(a, rm, 0, u64::MAX.into());
    (v as u64, flags)
}

/// Rounds to an integer in `least..=greatest` (unprivileged 12.7, table of limits).
fn to_integer<F: Format>(a: u64, rm: Rounding, least: i128, greatest: i128) -> (i128, Flags) {
    let x = match unpack::<F>(a) {
        Parts::Nan => return (greatest, NV),
        Parts::Infinite { sign } => return (if sign { least } else { greatest }, NV),
        Parts::Zero { .. } => return (0, 0),
        Parts::Finite(x) => x,
    };
    let (magnitude, inexact) = if x.exponent > 64 {
        (1 << 126, false) // fits nowhere
    } else if x.exponent >= 0 {
        ((x.significand << x.exponent) as i128, false)
    } else {
        let (kept, up, inexact) = cut(x.significand, x.exponent.unsigned_abs(), false, x.sign, rm);
        (kept as i128 + i128::from(up), inexact)
    };
    let value = if x.sign { -magnitude } else { magnitude };
    if value < least {
        (least, NV)
    } else if value > greatest {
        (greatest, NV)
    } else {
        (value, if inexact { NX } else { 0 })
    }
}
