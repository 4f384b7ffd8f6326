//! Floating-point arithmetic as pure functions on bits: value and flags, for every rounding mode.
//!
//! Bit-exact with Berkeley SoftFloat in its RISC-V specialisation: a NaN result is the canonical NaN.
//! Every function is generic over its [`Format`] and takes and returns the bits of a value of that format,
//! zero-extended; NaN boxing is the register file's business, not the arithmetic's.
//!
//! The functions, all `fn(bits…, Rounding) -> (bits, Flags)`:
//!
//! | function | arguments | result |
//! |---|---|---|
//! | `add::<F>`, `sub`, `mul`, `div` | `a, b, rm` | `(u64, Flags)` |
//! | `sqrt::<F>` | `a, rm` | `(u64, Flags)` |
//! | `fma::<F>` | `a, b, c, rm`: a × b + c | `(u64, Flags)` |
//! | `min::<F>`, `max` | `a, b` | `(u64, Flags)` |
//! | `eq::<F>`, `lt`, `le` | `a, b` (`eq` quiet, others signalling) | `(bool, Flags)` |
//! | `class::<F>` | `a` | `u64`, the mask of `fclass` |
//! | `convert::<F, G>` | `a, rm` | `(u64, Flags)` of format `G` |
//! | `to_i32::<F>`, `to_u32`, `to_i64`, `to_u64` | `a, rm` | `(i32, Flags)` … |
//! | `from_i64::<F>`, `from_u64` | `v, rm` (32-bit ones extend first) | `(u64, Flags)` |
//! | `minimum::<F>`, `maximum`, `lt_quiet`, `le_quiet`, `round_to_integer`, `to_i32_modular`, `constant` | Zfa | |
//!
//! Arithmetic is exact first (sign, exponent, up to 128 bits of significand, and whether more bits follow)
//! and rounded once, in one place (`round.rs`).
//!
//! ```
//! use trackway_hart::float::{self, F32, F64, NX, Rounding};
//!
//! let third = float::div::<F64>(1f64.to_bits(), 3f64.to_bits(), Rounding::Up);
//! assert_eq!(third, ((1f64 / 3f64).to_bits() + 1, NX));
//! assert_eq!(float::convert::<F32, F64>(0x3fc0_0000, Rounding::Zero), (1.5f64.to_bits(), 0));
//! ```

mod additional;
mod arithmetic;
mod compare;
mod convert;
mod format;
mod round;
mod rounding;

pub use additional::{constant, le_quiet, lt_quiet, maximum, minimum, round_to_integer, to_i32_modular};
pub use arithmetic::{add, div, fma, mul, sqrt, sub};
pub use compare::{class, eq, le, lt, max, min};
pub use convert::{convert, from_i64, from_u64, to_i32, to_i64, to_u32, to_u64};
pub use format::{F16, F32, F64, Format};
pub use rounding::{DZ, Flags, NV, NX, OF, Rounding, UF};
