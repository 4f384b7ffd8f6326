//! The formats and their parts.

/// A binary floating-point format of IEEE 754, by its widths.
pub trait Format: Copy {
    /// Bits in all.
    const BITS: u32;
    /// Bits of the fraction field.
    const FRACTION: u32;

    /// Bits of the significand, the hidden one included.
    const PRECISION: u32 = Self::FRACTION + 1;
    /// Added to an exponent; also the greatest exponent.
    const BIAS: i32 = (1 << (Self::BITS - Self::FRACTION - 2)) - 1;
    /// Exponent of the smallest normal number.
    const MIN_EXPONENT: i32 = 1 - Self::BIAS;
    /// All bits of a value.
    const MASK: u64 = u64::MAX >> (64 - Self::BITS);
    /// The sign bit.
    const SIGN: u64 = 1 << (Self::BITS - 1);
    /// The fraction field.
    const FRACTION_MASK: u64 = (1 << Self::FRACTION) - 1;
    /// Positive infinity; also the exponent field.
    const INFINITY: u64 = Self::MASK & !Self::SIGN & !Self::FRACTION_MASK;
    /// The bit that makes a NaN quiet.
    const QUIET: u64 = 1 << (Self::FRACTION - 1);
    /// The NaN that operations return (unprivileged 12.3).
    const NAN: u64 = Self::INFINITY | Self::QUIET;
}

/// Half precision.
#[derive(Clone, Copy, Debug)]
pub enum F16 {}
/// Single precision.
#[derive(Clone, Copy, Debug)]
pub enum F32 {}
/// Double precision.
#[derive(Clone, Copy, Debug)]
pub enum F64 {}

impl Format for F16 {
    const BITS: u32 = 16;
    const FRACTION: u32 = 10;
}

impl Format for F32 {
    const BITS: u32 = 32;
    const FRACTION: u32 = 23;
}

impl Format for F64 {
    const BITS: u32 = 64;
    const FRACTION: u32 = 52;
}

/// Is it a NaN of either kind?
pub(super) const fn is_nan<F: Format>(a: u64) -> bool {
    a & !F::SIGN & F::MASK > F::INFINITY
}

/// Is it a signalling NaN?
pub(super) const fn is_signalling<F: Format>(a: u64) -> bool {
    is_nan::<F>(a) && a & F::QUIET == 0
}

/// A value taken apart.
#[derive(Clone, Copy)]
pub(super) enum Parts {
    Nan,
    Infinite { sign: bool },
    Zero { sign: bool },
    Finite(Number),
}

/// The number ± (`significand` and a little more, if `sticky`) × 2^`exponent`; not zero.
#[derive(Clone, Copy)]
pub(super) struct Number {
    pub sign: bool,
    pub exponent: i32,
    pub significand: u128,
    /// Something between 0 and 1 must be added to the significand.
    pub sticky: bool,
}

/// Takes a value apart.
pub(super) fn unpack<F: Format>(a: u64) -> Parts {
    let sign = a & F::SIGN != 0;
    let field = ((a & F::INFINITY) >> F::FRACTION) as i32;
    let fraction = a & F::FRACTION_MASK;
    if a & F::INFINITY == F::INFINITY {
        return if fraction != 0 { Parts::Nan } else { Parts::Infinite { sign } };
    }
    let (significand, field) = match (field, fraction) {
        (0, 0) => return Parts::Zero { sign },
        (0, fraction) => (fraction, 1),
        (field, fraction) => (fraction | 1 << F::FRACTION, field),
    };
    let exponent = field - F::BIAS - F::FRACTION as i32;
    Parts::Finite(Number { sign, exponent, significand: u128::from(significand), sticky: false })
}

/// A zero with this sign.
pub(super) const fn zero<F: Format>(sign: bool) -> u64 {
    if sign { F::SIGN } else { 0 }
}

/// An infinity with this sign.
pub(super) const fn infinity<F: Format>(sign: bool) -> u64 {
    F::INFINITY | zero::<F>(sign)
}
