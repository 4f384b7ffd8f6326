//! Addition, multiplication, division, square root, fused multiply-add.

use super::format::{Format, Number, Parts, infinity, is_signalling, unpack, zero};
use super::round::round;
use super::rounding::{DZ, Flags, NV, Rounding};

/// The result of an operation with a NaN operand.
fn nan<F: Format>(operands: &[u64]) -> (u64, Flags) {
    (F::NAN, if operands.iter().any(|&a| is_signalling::<F>(a)) { NV } else { 0 })
}

/// Sign of an exact zero sum of numbers that are not both zero.
fn cancelled<F: Format>(rm: Rounding) -> (u64, Flags) {
    (zero::<F>(rm == Rounding::Down), 0)
}

/// a + b.
pub fn add<F: Format>(a: u64, b: u64, rm: Rounding) -> (u64, Flags) {
    match (unpack::<F>(a), unpack::<F>(b)) {
        (Parts::Nan, _) | (_, Parts::Nan) => nan::<F>(&[a, b]),
        (Parts::Infinite { sign: x }, Parts::Infinite { sign: y }) if x != y => (F::NAN, NV),
        (Parts::Infinite { sign }, _) | (_, Parts::Infinite { sign }) => (infinity::<F>(sign), 0),
        (Parts::Zero { sign: x }, Parts::Zero { sign: y }) if x == y => (zero::<F>(x), 0),
        (Parts::Zero { .. }, Parts::Zero { .. }) => cancelled::<F>(rm),
        (Parts::Zero { .. }, Parts::Finite(_)) => (b & F::MASK, 0),
        (Parts::Finite(_), Parts::Zero { .. }) => (a & F::MASK, 0),
        (Parts::Finite(x), Parts::Finite(y)) => sum::<F>(x, y, rm),
    }
}

/// a − b.
pub fn sub<F: Format>(a: u64, b: u64, rm: Rounding) -> (u64, Flags) {
    // Changing the sign of a NaN does not change what `add` makes of it.
    add::<F>(a, b ^ F::SIGN, rm)
}

/// The rounded sum of two exact numbers of up to 106 bits.
fn sum<F: Format>(x: Number, y: Number, rm: Rounding) -> (u64, Flags) {
    // Leading bits to bit 126: one bit is left for a carry.
    let lift = |n: Number| {
        let shift = n.significand.leading_zeros() as i32 - 1;
        Number { significand: n.significand << shift, exponent: n.exponent - shift, ..n }
    };
    let (x, y) = (lift(x), lift(y));
    let (big, small) =
        if (x.exponent, x.significand) >= (y.exponent, y.significand) { (x, y) } else { (y, x) };
    // With a distance of two or more, at most one leading bit cancels, and what is cut off lies far below
    // the rounding position. With less, nothing is cut off: the low 21 bits of both are clear.
    let distance = big.exponent.abs_diff(small.exponent);
    let (low, sticky) = match distance {
        0..128 => (small.significand >> distance, small.significand & ((1 << distance) - 1) != 0),
        _ => (0, true),
    };
    let significand = if big.sign == small.sign {
        big.significand + low
    } else {
        // The bits cut off are subtracted too: one less, and a fraction below 1 more.
        big.significand - low - u128::from(sticky)
    };
    if significand == 0 {
        return cancelled::<F>(rm);
    }
    round::<F>(Number { significand, sticky, ..big }, rm)
}

/// The exact product.
fn product(x: Number, y: Number) -> Number {
    Number {
        sign: x.sign != y.sign,
        exponent: x.exponent + y.exponent,
        significand: x.significand * y.significand,
        sticky: false,
    }
}

/// a × b.
pub fn mul<F: Format>(a: u64, b: u64, rm: Rounding) -> (u64, Flags) {
    let sign = (a ^ b) & F::SIGN != 0;
    match (unpack::<F>(a), unpack::<F>(b)) {
        (Parts::Nan, _) | (_, Parts::Nan) => nan::<F>(&[a, b]),
        (Parts::Infinite { .. }, Parts::Zero { .. }) | (Parts::Zero { .. }, Parts::Infinite { .. }) => {
            (F::NAN, NV)
        }
        (Parts::Infinite { .. }, _) | (_, Parts::Infinite { .. }) => (infinity::<F>(sign), 0),
        (Parts::Zero { .. }, _) | (_, Parts::Zero { .. }) => (zero::<F>(sign), 0),
        (Parts::Finite(x), Parts::Finite(y)) => round::<F>(product(x, y), rm),
    }
}

/// a ÷ b.
pub fn div<F: Format>(a: u64, b: u64, rm: Rounding) -> (u64, Flags) {
    let sign = (a ^ b) & F::SIGN != 0;
    match (unpack::<F>(a), unpack::<F>(b)) {
        (Parts::Nan, _) | (_, Parts::Nan) => nan::<F>(&[a, b]),
        (Parts::Infinite { .. }, Parts::Infinite { .. }) | (Parts::Zero { .. }, Parts::Zero { .. }) => {
            (F::NAN, NV)
        }
        (Parts::Infinite { .. }, _) => (infinity::<F>(sign), 0),
        (Parts::Zero { .. }, _) | (_, Parts::Infinite { .. }) => (zero::<F>(sign), 0),
        (Parts::Finite(_), Parts::Zero { .. }) => (infinity::<F>(sign), DZ),
        (Parts::Finite(x), Parts::Finite(y)) => {
            // At least 127 bits over at most 53: a quotient of 74 bits or more.
            let shift = x.significand.leading_zeros() - 1;
            let dividend = x.significand << shift;
            let significand = dividend / y.significand;
            let sticky = significand * y.significand != dividend;
            round::<F>(
                Number { sign, exponent: x.exponent - shift as i32 - y.exponent, significand, sticky },
                rm,
            )
        }
    }
}

/// The square root of a.
pub fn sqrt<F: Format>(a: u64, rm: Rounding) -> (u64, Flags) {
    match unpack::<F>(a) {
        Parts::Nan => nan::<F>(&[a]),
        Parts::Zero { sign } => (zero::<F>(sign), 0),
        Parts::Infinite { sign: true } | Parts::Finite(Number { sign: true, .. }) => (F::NAN, NV),
        Parts::Infinite { sign: false } => (F::INFINITY, 0),
        Parts::Finite(x) => {
            // 127 or 128 bits and an even exponent: a root of 64 bits.
            let lead = x.significand.leading_zeros() as i32;
            let shift = lead - ((x.exponent - lead) & 1);
            let radicand = x.significand << shift;
            let significand = radicand.isqrt();
            let sticky = significand * significand != radicand;
            round::<F>(Number { sign: false, exponent: (x.exponent - shift) / 2, significand, sticky }, rm)
        }
    }
}

/// a × b + c with one rounding.
pub fn fma<F: Format>(a: u64, b: u64, c: u64, rm: Rounding) -> (u64, Flags) {
    let sign = (a ^ b) & F::SIGN != 0;
    let (x, y, z) = (unpack::<F>(a), unpack::<F>(b), unpack::<F>(c));
    match (x, y, z) {
        // Infinity times zero is invalid even where c is a quiet NaN (unprivileged 12.6).
        (Parts::Infinite { .. }, Parts::Zero { .. }, _) | (Parts::Zero { .. }, Parts::Infinite { .. }, _) => {
            (F::NAN, NV)
        }
        (Parts::Nan, _, _) | (_, Parts::Nan, _) | (_, _, Parts::Nan) => nan::<F>(&[a, b, c]),
        (Parts::Infinite { .. }, _, Parts::Infinite { sign: other })
        | (_, Parts::Infinite { .. }, Parts::Infinite { sign: other })
            if other != sign =>
        {
            (F::NAN, NV)
        }
        (Parts::Infinite { .. }, _, _) | (_, Parts::Infinite { .. }, _) => (infinity::<F>(sign), 0),
        (_, _, Parts::Infinite { sign }) => (infinity::<F>(sign), 0),
        (Parts::Zero { .. }, _, Parts::Zero { sign: other })
        | (_, Parts::Zero { .. }, Parts::Zero { sign: other }) => {
            if sign == other {
                (zero::<F>(sign), 0)
            } else {
                cancelled::<F>(rm)
            }
        }
        (Parts::Zero { .. }, _, Parts::Finite(_)) | (_, Parts::Zero { .. }, Parts::Finite(_)) => {
            (c & F::MASK, 0)
        }
        (Parts::Finite(x), Parts::Finite(y), Parts::Zero { .. }) => round::<F>(product(x, y), rm),
        (Parts::Finite(x), Parts::Finite(y), Parts::Finite(z)) => sum::<F>(product(x, y), z, rm),
    }
}
