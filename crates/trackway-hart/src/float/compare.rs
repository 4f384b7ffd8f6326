//! Comparison, minimum, maximum, classification.

use super::format::{Format, is_nan, is_signalling};
use super::rounding::{Flags, NV};

/// A number that orders as the value does, NaNs apart; both zeros are 0.
fn order<F: Format>(a: u64) -> i64 {
    let magnitude = (a & F::MASK & !F::SIGN) as i64;
    if a & F::SIGN != 0 { -magnitude } else { magnitude }
}

fn any_nan<F: Format>(a: u64, b: u64) -> bool {
    is_nan::<F>(a) || is_nan::<F>(b)
}

/// Invalid where an operand is a signalling NaN.
fn signalled<F: Format>(a: u64, b: u64) -> Flags {
    if is_signalling::<F>(a) || is_signalling::<F>(b) { NV } else { 0 }
}

/// a = b, quiet.
pub fn eq<F: Format>(a: u64, b: u64) -> (bool, Flags) {
    (!any_nan::<F>(a, b) && order::<F>(a) == order::<F>(b), signalled::<F>(a, b))
}

/// a < b, signalling.
pub fn lt<F: Format>(a: u64, b: u64) -> (bool, Flags) {
    if any_nan::<F>(a, b) { (false, NV) } else { (order::<F>(a) < order::<F>(b), 0) }
}

/// a ≤ b, signalling.
pub fn le<F: Format>(a: u64, b: u64) -> (bool, Flags) {
    if any_nan::<F>(a, b) { (false, NV) } else { (order::<F>(a) <= order::<F>(b), 0) }
}

/// The smaller; −0 is smaller than +0, a number is preferred to a NaN (unprivileged 12.6).
pub fn min<F: Format>(a: u64, b: u64) -> (u64, Flags) {
    choose::<F>(a, b, true)
}

/// The greater, by the same rules.
pub fn max<F: Format>(a: u64, b: u64) -> (u64, Flags) {
    choose::<F>(a, b, false)
}

fn choose<F: Format>(a: u64, b: u64, smaller: bool) -> (u64, Flags) {
    let flags = signalled::<F>(a, b);
    let value = match (is_nan::<F>(a), is_nan::<F>(b)) {
        (true, true) => F::NAN,
        (true, false) => b,
        (false, true) => a,
        (false, false) => {
            // Equal values differ in the sign of zero only.
            let less = (order::<F>(a), a & F::SIGN == 0) < (order::<F>(b), b & F::SIGN == 0);
            if less == smaller { a } else { b }
        }
    };
    (value & F::MASK, flags)
}

/// The mask of FCLASS (unprivileged 12.9, table of bits).
pub fn class<F: Format>(a: u64) -> u64 {
    let sign = a & F::SIGN != 0;
    let magnitude = a & F::MASK & !F::SIGN;
    let bit = match magnitude {
        m if m > F::INFINITY => return if is_signalling::<F>(a) { 1 << 8 } else { 1 << 9 },
        m if m == F::INFINITY => 7,
        m if m > F::FRACTION_MASK => 6,
        0 => 4,
        _ => 5,
    };
    // The negative ones mirror the positive ones: 0 to 3 for 7 to 4.
    1 << if sign { 7 - bit } else { bit }
}
