//! The one place where results are rounded.

use super::format::{Format, Number, infinity, zero};
use super::rounding::{Flags, NX, OF, Rounding, UF};

/// Splits a 128-bit value `shift` bits above its end and says whether the upper part must be incremented,
/// and whether anything was cut off.
pub(super) fn cut(value: u128, shift: u32, sticky: bool, sign: bool, rm: Rounding) -> (u128, bool, bool) {
    let (kept, rest, half) = match shift {
        0 => (value, 0, 0),
        1..128 => (value >> shift, value & ((1 << shift) - 1), 1 << (shift - 1)),
        128 => (0, value, 1 << 127),
        // Less than half, whatever it is.
        _ => (0, u128::from(value != 0), 2),
    };
    let inexact = rest != 0 || sticky;
    let up = match rm {
        Rounding::NearestEven => half != 0 && (rest > half || rest == half && (sticky || kept & 1 == 1)),
        Rounding::NearestAway => half != 0 && rest >= half,
        Rounding::Zero => false,
        Rounding::Down => sign && inexact,
        Rounding::Up => !sign && inexact,
    };
    (kept, up, inexact)
}

/// Rounds a number to a format. Tininess is detected after rounding (unprivileged 12.4).
pub(super) fn round<F: Format>(number: Number, rm: Rounding) -> (u64, Flags) {
    let Number { sign, exponent, significand, sticky } = number;
    debug_assert!(significand != 0);
    // The leading bit to bit 127, so that at least 75 bits are cut off and `sticky` lies below all of them.
    let lead = significand.leading_zeros();
    let significand = significand << lead;
    let exponent = exponent - lead as i32;
    let scale = exponent + 127;

    let normal = 128 - F::PRECISION;
    let below = F::MIN_EXPONENT.saturating_sub(scale).max(0) as u32;
    let (kept, up, inexact) = cut(significand, normal.saturating_add(below), sticky, sign, rm);
    let kept = kept as u64 + u64::from(up);

    if below > 0 {
        // Tiny, unless it rounds up to the smallest normal number with the full precision too.
        let (full, up, _) = cut(significand, normal, sticky, sign, rm);
        let tiny = below > 1 || full as u64 + u64::from(up) < 1 << F::PRECISION;
        let flags = if inexact { NX | if tiny { UF } else { 0 } } else { 0 };
        return (zero::<F>(sign) | kept, flags);
    }
    // A carry out of the significand makes it a power of two; adding the fields does the right thing.
    let field = (scale + F::BIAS - 1) as u64;
    let magnitude = (field << F::FRACTION) + kept;
    if scale > F::BIAS || magnitude >= F::INFINITY {
        let away = match rm {
            Rounding::NearestEven | Rounding::NearestAway => true,
            Rounding::Zero => false,
            Rounding::Down => sign,
            Rounding::Up => !sign,
        };
        return (infinity::<F>(sign) - u64::from(!away), OF | NX);
    }
    (zero::<F>(sign) | magnitude, if inexact { NX } else { 0 })
}
