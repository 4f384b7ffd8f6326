//! Berkeley SoftFloat as the judge of the golden model's floating point.
//!
//! It is built by cmake, which a machine with only Rust and a C compiler lacks, so it stands outside the default
//! members: `cargo test -p trackway-oracle-softfloat`, with `TRACKWAY_FLOAT_CASES=N` for a longer run.
#![forbid(unsafe_code)]

use softfloat_wrapper::{ExceptionFlags, Float};

/// The flag of an invalid operation.
const INVALID: u8 = 16;

/// Minimum or maximum: SoftFloat has neither, so this is the specification's rule in terms of its comparisons.
/// Sets the flags.
pub fn choose<F: Float>(x: F, y: F, smaller: bool) -> F {
    let signalling = x.is_signaling_nan() || y.is_signaling_nan();
    let first = match (x.is_nan(), y.is_nan()) {
        (true, true) => None,
        (x_is_nan, y_is_nan) if x_is_nan || y_is_nan => Some(y_is_nan),
        // −0 and +0, or twice the same.
        _ if x.eq(&y) => Some(x.is_negative() == smaller),
        _ => Some(x.lt(&y) == smaller),
    };
    ExceptionFlags::from_bits(if signalling { INVALID } else { 0 }).set();
    match first {
        None => F::quiet_nan(),
        Some(true) => x,
        Some(false) => y,
    }
}

/// Result of FCLASS: one bit of ten.
pub fn class<F: Float>(x: &F) -> u64 {
    let kinds = [
        x.is_negative_infinity(),
        x.is_negative_normal(),
        x.is_negative_subnormal(),
        x.is_negative_zero(),
        x.is_positive_zero(),
        x.is_positive_subnormal(),
        x.is_positive_normal(),
        x.is_positive_infinity(),
        x.is_signaling_nan(),
        x.is_nan() && !x.is_signaling_nan(),
    ];
    kinds.iter().enumerate().map(|(i, &is)| u64::from(is) << i).sum()
}
