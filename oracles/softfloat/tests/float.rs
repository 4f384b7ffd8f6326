//! Our floating point against Berkeley SoftFloat: value and flags, every operation, format and rounding mode.
//!
//! A short run always; `TRACKWAY_FLOAT_CASES=N` sets how many random cases each combination of operation,
//! format and rounding mode gets (ten million take some minutes with `--release`).

use std::cell::Cell;
use std::sync::Mutex;

use soft::{ExceptionFlags, Float, RoundingMode};
use softfloat_wrapper as soft;
use trackway_hart::float::{self, F16, F32, F64, Flags, Format, NV, Rounding};
use trackway_oracle_softfloat::class;

const MODES: [(Rounding, RoundingMode); 5] = [
    (Rounding::NearestEven, RoundingMode::TiesToEven),
    (Rounding::Zero, RoundingMode::TowardZero),
    (Rounding::Down, RoundingMode::TowardNegative),
    (Rounding::Up, RoundingMode::TowardPositive),
    (Rounding::NearestAway, RoundingMode::TiesToAway),
];

/// SoftFloat keeps mode and flags in variables of the process.
static SOFTFLOAT: Mutex<()> = Mutex::new(());

/// Runs an operation of SoftFloat and takes its flags.
fn flagged<T>(operation: impl FnOnce() -> T) -> (T, Flags) {
    ExceptionFlags::from_bits(0).set();
    let value = operation();
    let mut flags = ExceptionFlags::default();
    flags.get();
    (value, flags.to_bits())
}

/// Our format and SoftFloat's type of it.
trait Both: Format {
    type Soft: Float;
    fn soft(bits: u64) -> Self::Soft;
    fn bits(soft: Self::Soft) -> u64;
}

macro_rules! both {
    ($ours:ident $bits:ident) => {
        impl Both for $ours {
            type Soft = soft::$ours;
            fn soft(bits: u64) -> Self::Soft {
                soft::$ours::from_bits(bits as $bits)
            }
            fn bits(soft: Self::Soft) -> u64 {
                u64::from(soft.to_bits())
            }
        }
    };
}
both!(F16 u16);
both!(F32 u32);
both!(F64 u64);

/// Values, some of them hard.
struct Values {
    random: Cell<u64>,
}

impl Values {
    fn next(&self) -> u64 {
        let mut x = self.random.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.random.set(x);
        x.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Any bits, or exponents near one another, or subnormal, or near infinity, or with few bits set.
    fn value<F: Format>(&self) -> u64 {
        let (r, s) = (self.next(), self.next());
        let fraction = u64::from(F::FRACTION);
        let field = |e: u64| e << F::FRACTION & F::INFINITY;
        let bits = match r % 8 {
            0..3 => s,
            3 => s & (F::SIGN | F::FRACTION_MASK) | field(F::BIAS as u64 - 4 + (r >> 8) % 8),
            4 => s & (F::SIGN | F::FRACTION_MASK) | field((r >> 8) % 4),
            5 => s & F::SIGN | (F::INFINITY - (r >> 8) % 5).wrapping_add(s % 9),
            6 => s & (F::SIGN | F::INFINITY) | 1 << ((r >> 8) % fraction) | (r >> 20 & 1),
            _ => s & (F::SIGN | F::INFINITY) | F::FRACTION_MASK << ((r >> 8) % fraction) & F::FRACTION_MASK,
        };
        bits & F::MASK
    }
}

/// Every boundary of a format, of both signs.
fn corners<F: Format>() -> Vec<u64> {
    let one = (F::BIAS as u64) << F::FRACTION;
    let least = 1 << F::FRACTION;
    let half = 1 << (F::FRACTION - 1);
    let mut corners =
        vec![0, 1, 2, least - 1, least, least + 1, one - 1, one, one + 1, one + half, one + least];
    let infinity = F::INFINITY;
    corners.extend([
        infinity - 1,
        infinity - 2,
        infinity,
        infinity + 1,
        F::NAN,
        F::NAN + 1,
        F::MASK & !F::SIGN,
    ]);
    // Powers of two and their neighbours around the limits of the integers and of the other formats.
    for e in [-150, -149, -127, -126, -25, -24, -15, -14, -1, 8, 11, 15, 16, 24, 31, 32, 53, 63, 64, 127, 128]
    {
        let field = F::BIAS + e;
        if field > 0 && field <= 2 * F::BIAS {
            let power = (field as u64) << F::FRACTION;
            corners.extend([power - 1, power, power + 1, power + half]);
        }
    }
    let negative: Vec<u64> = corners.iter().map(|c| c | F::SIGN).collect();
    corners.extend(negative);
    corners
}

fn cases() -> u64 {
    std::env::var("TRACKWAY_FLOAT_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(20_000)
}

/// Compares one operation over all modes, corners and random values.
fn compare<F: Both, T: PartialEq + std::fmt::LowerHex>(
    name: &str,
    arity: usize,
    ours: impl Fn([u64; 3], Rounding) -> (T, Flags),
    theirs: impl Fn([u64; 3], RoundingMode) -> T,
) {
    let values = Values { random: Cell::new(0x9e37_79b9_7f4a_7c15) };
    let corners = corners::<F>();
    let check = |x: [u64; 3], (mode, soft): (Rounding, RoundingMode)| {
        let (value, flags) = ours(x, mode);
        let (expected, raised) = flagged(|| theirs(x, soft));
        assert!(
            value == expected && flags == raised,
            "{name}, {} bits, {x:x?}, {mode:?}: ours {value:x} {flags:05b}, SoftFloat {expected:x} {raised:05b}",
            F::BITS,
        );
    };
    for mode in MODES {
        match arity {
            1 if F::BITS == 16 => (0..0x1_0000).for_each(|a| check([a, 0, 0], mode)),
            1 => corners.iter().for_each(|&a| check([a, 0, 0], mode)),
            2 => corners.iter().for_each(|&a| corners.iter().for_each(|&b| check([a, b, 0], mode))),
            _ => {
                let few: Vec<u64> = corners.iter().copied().step_by(3).collect();
                for &a in &few {
                    for &b in &few {
                        few.iter().for_each(|&c| check([a, b, c], mode));
                    }
                }
            }
        }
        for _ in 0..cases() {
            let mut x = [values.value::<F>(), values.value::<F>(), values.value::<F>()];
            // Sums that nearly cancel.
            match values.next() % 8 {
                0 if arity == 2 => x[1] = (x[0] ^ F::SIGN).wrapping_add(values.next() % 3) & F::MASK,
                0 if arity == 3 => {
                    let product = float::mul::<F>(x[0], x[1], Rounding::NearestEven).0;
                    x[2] = (product ^ F::SIGN).wrapping_add(values.next() % 3) & F::MASK;
                }
                _ => {}
            }
            check(x, mode);
        }
    }
}

fn arithmetic<F: Both>() {
    let f = F::soft;
    compare::<F, u64>(
        "add",
        2,
        |[a, b, _], m| float::add::<F>(a, b, m),
        |[a, b, _], m| F::bits(f(a).add(f(b), m)),
    );
    compare::<F, u64>(
        "sub",
        2,
        |[a, b, _], m| float::sub::<F>(a, b, m),
        |[a, b, _], m| F::bits(f(a).sub(f(b), m)),
    );
    compare::<F, u64>(
        "mul",
        2,
        |[a, b, _], m| float::mul::<F>(a, b, m),
        |[a, b, _], m| F::bits(f(a).mul(f(b), m)),
    );
    compare::<F, u64>(
        "div",
        2,
        |[a, b, _], m| float::div::<F>(a, b, m),
        |[a, b, _], m| F::bits(f(a).div(f(b), m)),
    );
    compare::<F, u64>("sqrt", 1, |[a, ..], m| float::sqrt::<F>(a, m), |[a, ..], m| F::bits(f(a).sqrt(m)));
    compare::<F, u64>(
        "fma",
        3,
        |[a, b, c], m| float::fma::<F>(a, b, c, m),
        |[a, b, c], m| F::bits(f(a).fused_mul_add(f(b), f(c), m)),
    );
}

#[test]
fn arithmetic_is_softfloats() {
    let _only = SOFTFLOAT.lock();
    arithmetic::<F16>();
    arithmetic::<F32>();
    arithmetic::<F64>();
}

fn conversions<F: Both>() {
    let f = F::soft;
    compare::<F, i32>("to_i32", 1, |[a, ..], m| float::to_i32::<F>(a, m), |[a, ..], m| f(a).to_i32(m, true));
    compare::<F, u32>("to_u32", 1, |[a, ..], m| float::to_u32::<F>(a, m), |[a, ..], m| f(a).to_u32(m, true));
    compare::<F, i64>("to_i64", 1, |[a, ..], m| float::to_i64::<F>(a, m), |[a, ..], m| f(a).to_i64(m, true));
    compare::<F, u64>("to_u64", 1, |[a, ..], m| float::to_u64::<F>(a, m), |[a, ..], m| f(a).to_u64(m, true));
    to_format::<F, F16>();
    to_format::<F, F32>();
    to_format::<F, F64>();
}

fn to_format<F: Both, G: Both>() {
    // There is no conversion from a format to itself.
    if F::BITS != G::BITS {
        let theirs = |a, m| match G::BITS {
            16 => F16::bits(F::soft(a).to_f16(m)),
            32 => F32::bits(F::soft(a).to_f32(m)),
            _ => F64::bits(F::soft(a).to_f64(m)),
        };
        compare::<F, u64>(
            "to_format",
            1,
            |[a, ..], m| float::convert::<F, G>(a, m),
            |[a, ..], m| theirs(a, m),
        );
    }
}

#[test]
fn conversions_are_softfloats() {
    let _only = SOFTFLOAT.lock();
    conversions::<F16>();
    conversions::<F32>();
    conversions::<F64>();
}

/// Integers are the bits of doubles, shifted to all lengths.
fn integers<F: Both>() {
    let signed = |a: u64| a as i64 >> (a % 64);
    let unsigned = |a: u64| a >> (a % 64);
    compare::<F64, u64>(
        "from_u64",
        1,
        |[a, ..], m| float::from_u64::<F>(unsigned(a), m),
        |[a, ..], m| F::bits(F::Soft::from_u64(unsigned(a), m)),
    );
    compare::<F64, u64>(
        "from_i64",
        1,
        |[a, ..], m| float::from_i64::<F>(signed(a), m),
        |[a, ..], m| F::bits(F::Soft::from_i64(signed(a), m)),
    );
    compare::<F64, u64>(
        "from_u32",
        1,
        |[a, ..], m| float::from_u64::<F>(unsigned(a) & 0xffff_ffff, m),
        |[a, ..], m| F::bits(F::Soft::from_u32(unsigned(a) as u32, m)),
    );
    compare::<F64, u64>(
        "from_i32",
        1,
        |[a, ..], m| float::from_i64::<F>(i64::from(signed(a) as i32), m),
        |[a, ..], m| F::bits(F::Soft::from_i32(signed(a) as i32, m)),
    );
}

#[test]
fn integers_are_softfloats() {
    let _only = SOFTFLOAT.lock();
    integers::<F16>();
    integers::<F32>();
    integers::<F64>();
}

fn comparisons<F: Both>() {
    let f = F::soft;
    let bit = |(b, flags): (bool, Flags)| (u8::from(b), flags);
    compare::<F, u8>(
        "eq",
        2,
        |[a, b, _], _| bit(float::eq::<F>(a, b)),
        |[a, b, _], _| u8::from(f(a).eq(f(b))),
    );
    compare::<F, u8>(
        "lt",
        2,
        |[a, b, _], _| bit(float::lt::<F>(a, b)),
        |[a, b, _], _| u8::from(f(a).lt(f(b))),
    );
    compare::<F, u8>(
        "le",
        2,
        |[a, b, _], _| bit(float::le::<F>(a, b)),
        |[a, b, _], _| u8::from(f(a).le(f(b))),
    );
    let choose = |a, b, smaller| F::bits(trackway_oracle_softfloat::choose(f(a), f(b), smaller));
    compare::<F, u64>("min", 2, |[a, b, _], _| float::min::<F>(a, b), |[a, b, _], _| choose(a, b, true));
    compare::<F, u64>("max", 2, |[a, b, _], _| float::max::<F>(a, b), |[a, b, _], _| choose(a, b, false));
    compare::<F, u64>("class", 1, |[a, ..], _| (float::class::<F>(a), 0), |[a, ..], _| class(&f(a)));
}

#[test]
fn comparisons_are_softfloats() {
    let _only = SOFTFLOAT.lock();
    comparisons::<F16>();
    comparisons::<F32>();
    comparisons::<F64>();
}

/// Unprivileged, table of the results of conversions to integers out of range.
#[test]
fn conversion_limits() {
    let m = Rounding::NearestEven;
    let bits = f64::to_bits;
    assert_eq!(float::to_i32::<F64>(bits(-3e9), m), (i32::MIN, NV));
    assert_eq!(float::to_u32::<F64>(bits(-3.0), m), (0, NV));
    assert_eq!(float::to_i64::<F64>(bits(f64::INFINITY), m), (i64::MAX, NV));
    assert_eq!(float::to_u64::<F64>(bits(1e30), m), (u64::MAX, NV));
    assert_eq!(float::to_i32::<F64>(bits(f64::NAN), m), (i32::MAX, NV));
    assert_eq!(float::to_u32::<F64>(bits(f64::NEG_INFINITY), m), (0, NV));
    assert_eq!(float::to_u32::<F64>(bits(-0.25), Rounding::Zero), (0, float::NX));
}
