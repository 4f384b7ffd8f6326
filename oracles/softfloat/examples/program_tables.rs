//! Writes the tables of operands and expected results that the test programs in `programs/riscv` include.
//!
//! Nothing here comes from the model: integers are computed with Rust's own arithmetic, floating point with
//! Berkeley SoftFloat. `programs/riscv/build.sh` runs it: `cargo run -p trackway-oracle-softfloat --example program_tables -- DIR`.

use std::fmt::Write;

use softfloat_wrapper::{ExceptionFlags, F16, F32, F64, Float, RoundingMode};
use trackway_oracle_softfloat::{choose, class};

fn main() -> std::io::Result<()> {
    let dir = std::path::PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".into()));
    for xlen in [32, 64] {
        std::fs::write(dir.join(format!("integer-{xlen}.inc")), integers(xlen))?;
        std::fs::write(dir.join(format!("float-{xlen}.inc")), floats(xlen))?;
    }
    Ok(())
}

/// An operation of two operands on values of a width.
type Binary = fn(u64, u64, u32) -> u64;

fn mask(xlen: u32) -> u64 {
    u64::MAX >> (64 - xlen)
}

/// The value as a signed number.
fn signed(a: u64, xlen: u32) -> i64 {
    (a << (64 - xlen)) as i64 >> (64 - xlen)
}

/// Sign-extends the low word.
fn word(a: u64) -> u64 {
    a as i32 as i64 as u64
}

/// The carry-less product.
fn clmul(a: u64, b: u64) -> u128 {
    (0..64).filter(|i| b >> i & 1 != 0).fold(0, |sum, i| sum ^ u128::from(a) << i)
}

fn divide(a: i64, b: i64) -> i64 {
    if b == 0 { -1 } else { a.wrapping_div(b) }
}

fn remainder(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { a.wrapping_rem(b) }
}

fn rotate(a: u64, n: u32, xlen: u32) -> u64 {
    if xlen == 32 { u64::from((a as u32).rotate_left(n)) } else { a.rotate_left(n) }
}

const BINARY: &[(&str, Binary)] = &[
    ("add", |a, b, _| a.wrapping_add(b)),
    ("sub", |a, b, _| a.wrapping_sub(b)),
    ("sll", |a, b, x| a << (b & u64::from(x - 1))),
    ("slt", |a, b, x| u64::from(signed(a, x) < signed(b, x))),
    ("sltu", |a, b, _| u64::from(a < b)),
    ("xor", |a, b, _| a ^ b),
    ("srl", |a, b, x| a >> (b & u64::from(x - 1))),
    ("sra", |a, b, x| (signed(a, x) >> (b & u64::from(x - 1))) as u64),
    ("or", |a, b, _| a | b),
    ("and", |a, b, _| a & b),
    ("mul", |a, b, _| a.wrapping_mul(b)),
    ("mulh", |a, b, x| ((i128::from(signed(a, x)) * i128::from(signed(b, x))) >> x) as u64),
    ("mulhsu", |a, b, x| ((i128::from(signed(a, x)) * i128::from(b)) >> x) as u64),
    ("mulhu", |a, b, x| ((u128::from(a) * u128::from(b)) >> x) as u64),
    ("div", |a, b, x| divide(signed(a, x), signed(b, x)) as u64),
    ("divu", |a, b, _| a.checked_div(b).unwrap_or(u64::MAX)),
    ("rem", |a, b, x| remainder(signed(a, x), signed(b, x)) as u64),
    ("remu", |a, b, _| a.checked_rem(b).unwrap_or(a)),
    ("sh1add", |a, b, _| (a << 1).wrapping_add(b)),
    ("sh2add", |a, b, _| (a << 2).wrapping_add(b)),
    ("sh3add", |a, b, _| (a << 3).wrapping_add(b)),
    ("andn", |a, b, _| a & !b),
    ("orn", |a, b, _| a | !b),
    ("xnor", |a, b, _| !(a ^ b)),
    ("max", |a, b, x| signed(a, x).max(signed(b, x)) as u64),
    ("maxu", |a, b, _| a.max(b)),
    ("min", |a, b, x| signed(a, x).min(signed(b, x)) as u64),
    ("minu", |a, b, _| a.min(b)),
    ("rol", |a, b, x| rotate(a, b as u32 & (x - 1), x)),
    ("ror", |a, b, x| rotate(a, (x - (b as u32 & (x - 1))) & (x - 1), x)),
    ("clmul", |a, b, _| clmul(a, b) as u64),
    ("clmulh", |a, b, x| (clmul(a, b) >> x) as u64),
    ("clmulr", |a, b, x| (clmul(a, b) >> (x - 1)) as u64),
    ("bclr", |a, b, x| a & !(1 << (b & u64::from(x - 1)))),
    ("bext", |a, b, x| a >> (b & u64::from(x - 1)) & 1),
    ("binv", |a, b, x| a ^ 1 << (b & u64::from(x - 1))),
    ("bset", |a, b, x| a | 1 << (b & u64::from(x - 1))),
];

const BINARY_64: &[(&str, Binary)] = &[
    ("addw", |a, b, _| word(a.wrapping_add(b))),
    ("subw", |a, b, _| word(a.wrapping_sub(b))),
    ("sllw", |a, b, _| word(u64::from((a as u32) << (b & 31)))),
    ("srlw", |a, b, _| word(u64::from(a as u32 >> (b & 31)))),
    ("sraw", |a, b, _| word((a as i32 >> (b & 31)) as u64)),
    ("mulw", |a, b, _| word(a.wrapping_mul(b))),
    ("divw", |a, b, _| word(divide(signed(a, 32), signed(b, 32)) as u64)),
    ("divuw", |a, b, _| word(u64::from((a as u32).checked_div(b as u32).unwrap_or(u32::MAX)))),
    ("remw", |a, b, _| word(remainder(signed(a, 32), signed(b, 32)) as u64)),
    ("remuw", |a, b, _| word(u64::from((a as u32).checked_rem(b as u32).unwrap_or(a as u32)))),
    ("add.uw", |a, b, _| (a & 0xffff_ffff).wrapping_add(b)),
    ("sh1add.uw", |a, b, _| ((a & 0xffff_ffff) << 1).wrapping_add(b)),
    ("sh2add.uw", |a, b, _| ((a & 0xffff_ffff) << 2).wrapping_add(b)),
    ("sh3add.uw", |a, b, _| ((a & 0xffff_ffff) << 3).wrapping_add(b)),
    ("rolw", |a, b, _| word(u64::from((a as u32).rotate_left(b as u32 & 31)))),
    ("rorw", |a, b, _| word(u64::from((a as u32).rotate_right(b as u32 & 31)))),
];

const CONDITIONAL: &[(&str, Binary)] = &[
    ("czero.eqz", |a, b, _| if b == 0 { 0 } else { a }),
    ("czero.nez", |a, b, _| if b != 0 { 0 } else { a }),
];

/// One operand; the second is ignored.
const UNARY: &[(&str, Binary)] = &[
    ("clz", |a, _, x| u64::from(a.leading_zeros() - (64 - x))),
    ("ctz", |a, _, x| u64::from(a.trailing_zeros().min(x))),
    ("cpop", |a, _, _| u64::from(a.count_ones())),
    ("sext.b", |a, _, _| a as i8 as i64 as u64),
    ("sext.h", |a, _, _| a as i16 as i64 as u64),
    ("zext.h", |a, _, _| a & 0xffff),
    ("orc.b", |a, _, _| u64::from_le_bytes(a.to_le_bytes().map(|b| if b == 0 { 0 } else { 0xff }))),
    ("rev8", |a, _, x| a.swap_bytes() >> (64 - x)),
];

const UNARY_64: &[(&str, Binary)] = &[
    ("clzw", |a, _, _| u64::from((a as u32).leading_zeros())),
    ("cpopw", |a, _, _| u64::from((a as u32).count_ones())),
];

/// The operation with an immediate is the operation with its value.
const IMMEDIATE: &[(&str, &str)] =
    &[("addi", "add"), ("slti", "slt"), ("sltiu", "sltu"), ("xori", "xor"), ("ori", "or"), ("andi", "and")];
const IMMEDIATE_64: &[(&str, &str)] = &[("addiw", "addw")];
const SHIFT: &[(&str, &str)] = &[
    ("slli", "sll"),
    ("srli", "srl"),
    ("srai", "sra"),
    ("rori", "ror"),
    ("bclri", "bclr"),
    ("bexti", "bext"),
    ("binvi", "binv"),
    ("bseti", "bset"),
];
const SHIFT_W: &[(&str, &str)] =
    &[("slliw", "sllw"), ("srliw", "srlw"), ("sraiw", "sraw"), ("roriw", "rorw")];

fn values(xlen: u32) -> Vec<u64> {
    let all = [
        0,
        1,
        u64::MAX,
        1 << (xlen - 1),
        mask(xlen) >> 1,
        0x0123_4567_89ab_cdef,
        if xlen == 64 { 0xffff_ffff_8000_0000 } else { 0xdead_beef },
        0x0000_00ff_ff00_0021,
    ];
    all.iter().map(|v| v & mask(xlen)).collect()
}

/// Emits an array of values.
fn array(out: &mut String, label: &str, values: &[u64], xlen: u32) {
    let _ = write!(out, "    .section .rodata\n    .align 3\n{label}:");
    for value in values {
        let _ =
            write!(out, "\n    {} {:#x}", if xlen == 64 { ".dword" } else { ".word" }, value & mask(xlen));
    }
    out.push_str("\n    .text\n");
}

fn find(name: &str) -> Binary {
    let all = BINARY.iter().chain(BINARY_64);
    all.clone().find(|o| o.0 == name).map(|o| o.1).expect("an operation of the tables")
}

fn integers(xlen: u32) -> String {
    let mut out = String::from("// Written by oracles/softfloat/examples/program_tables.rs.\n");
    let values = values(xlen);
    let pairs: Vec<(u64, u64)> = values.iter().flat_map(|&a| values.iter().map(move |&b| (a, b))).collect();
    let flat: Vec<u64> = pairs.iter().flat_map(|p| [p.0, p.1]).collect();
    array(&mut out, "pairs", &flat, xlen);
    array(&mut out, "values", &values, xlen);
    let _ = writeln!(out, "    .equ PAIRS, {}\n    .equ VALUES, {}", pairs.len(), values.len());

    let mut tests = Tests { out, number: 0, xlen, values };
    let wide = |list: &'static [(&'static str, Binary)]| if xlen == 64 { list } else { &[] };
    for (name, op) in BINARY.iter().chain(wide(BINARY_64)) {
        tests.add("binary", name, pairs.iter().map(|&(a, b)| op(a, b, xlen)).collect());
    }
    for (name, op) in UNARY.iter().chain(wide(UNARY_64)) {
        tests.unary(name, *op);
    }
    let immediates = [0, 1, -1, 2047, -2048, 0x555];
    tests.immediates(IMMEDIATE, &immediates);
    tests.immediates(SHIFT, if xlen == 64 { &[0, 1, 31, 32, 63] } else { &[0, 1, 15, 31] });
    if xlen == 64 {
        tests.immediates(IMMEDIATE_64, &immediates);
        tests.immediates(SHIFT_W, &[0, 1, 15, 31]);
        for shift in [0u32, 1, 31, 32, 63] {
            let results = tests.values.iter().map(|&a| (a & 0xffff_ffff) << shift).collect();
            tests.add("immediate", &format!("slli.uw, {shift}"), results);
        }
    }
    // Instructions that QEMU 7.2 does not have, or gets wrong (ctzw looks at the upper word).
    tests.out.push_str("#ifdef EXTRA\n");
    if xlen == 64 {
        tests.unary("ctzw", |a, _, _| u64::from((a as u32).trailing_zeros()));
    }
    for (name, op) in CONDITIONAL {
        tests.add("binary", name, pairs.iter().map(|&(a, b)| op(a, b, xlen)).collect());
    }
    tests.out.push_str("#endif\n");
    tests.out
}

/// The text of a program's table, as it grows.
struct Tests {
    out: String,
    number: u32,
    xlen: u32,
    values: Vec<u64>,
}

impl Tests {
    /// Adds a line that runs an operation, and the results that it must give.
    fn add(&mut self, kind: &str, text: &str, results: Vec<u64>) {
        self.number += 1;
        let label = format!("expected_{}", self.number);
        array(&mut self.out, &label, &results, self.xlen);
        let _ = writeln!(self.out, "    {kind} {text}, {}, {label}", self.number);
    }

    fn unary(&mut self, name: &str, op: Binary) {
        let results = self.values.iter().map(|&a| op(a, 0, self.xlen)).collect();
        self.add("unary", name, results);
    }

    fn immediates(&mut self, list: &[(&str, &str)], immediates: &[i64]) {
        for (name, general) in list {
            let op = find(general);
            for imm in immediates {
                let b = *imm as u64 & mask(self.xlen);
                let results = self.values.iter().map(|&a| op(a, b, self.xlen)).collect();
                self.add("immediate", &format!("{name}, {imm}"), results);
            }
        }
    }
}

const MODES: [RoundingMode; 5] = [
    RoundingMode::TiesToEven,
    RoundingMode::TowardZero,
    RoundingMode::TowardNegative,
    RoundingMode::TowardPositive,
    RoundingMode::TiesToAway,
];

/// One row: three operands and a result of 64 bits, rounding mode, flags.
fn row(out: &mut String, operands: [u64; 3], mode: usize, operation: impl FnOnce() -> u64) {
    ExceptionFlags::from_bits(0).set();
    let result = operation();
    let mut flags = ExceptionFlags::default();
    flags.get();
    let [a, b, c] = operands;
    let _ = writeln!(
        out,
        "    .dword {a:#x}, {b:#x}, {c:#x}, {result:#x}\n    .word {mode}, {}",
        flags.to_bits()
    );
}

/// Our names of a format: suffix, bits, how values are boxed.
trait Named: Float {
    const SUFFIX: &'static str;
    const BITS: u32;
    fn of(bits: u64) -> Self;
    fn raw(&self) -> u64;
    /// As it stands in a 64-bit register.
    fn boxed(&self) -> u64 {
        self.raw() | if Self::BITS == 64 { 0 } else { u64::MAX << Self::BITS }
    }
}

macro_rules! named {
    ($float:ident $suffix:literal $bits:literal $int:ident) => {
        impl Named for $float {
            const SUFFIX: &'static str = $suffix;
            const BITS: u32 = $bits;
            fn of(bits: u64) -> Self {
                Self::from_bits(bits as $int)
            }
            fn raw(&self) -> u64 {
                u64::from(self.to_bits())
            }
        }
    };
}
named!(F16 "h" 16 u16);
named!(F32 "s" 32 u32);
named!(F64 "d" 64 u64);

/// Operands that round, overflow, underflow, are subnormal, infinite, NaN.
fn operands<F: Named>() -> Vec<[u64; 3]> {
    let f = |x: f64| F64::from_bits(x.to_bits());
    let n = |x: f64| match F::BITS {
        16 => u64::from(f(x).to_f16(RoundingMode::TiesToEven).to_bits()),
        32 => u64::from(f(x).to_f32(RoundingMode::TiesToEven).to_bits()),
        _ => x.to_bits(),
    };
    let infinity = n(f64::INFINITY);
    let signalling = infinity | 1;
    let (greatest, least) = (infinity - 1, 1);
    vec![
        [n(1.0), n(3.0), n(-0.1)],
        [n(-2.5), n(1.0 / 3.0), n(0.7)],
        [greatest, n(1.5), greatest],
        [least, n(0.5), least],
        [n(-0.0), n(0.0), n(12345.0)],
        [infinity, n(-1.0), infinity],
        [signalling, n(2.0), n(1.0)],
    ]
}

fn table(out: &mut String, rows: &str) -> String {
    let label = format!("rows_{}", out.matches("\nrows_").count() + 1);
    let _ = write!(
        out,
        "    .section .rodata\n    .align 3\n{label}:\n{rows}    .dword -1, -1, -1, -1\n    .word -1, -1\n    .text\n"
    );
    label
}

/// Adds a table and the line that runs an operation over it.
fn run(out: &mut String, number: &mut u32, kind: &str, load: &str, op: &str, rows: &str) {
    *number += 1;
    let label = table(out, rows);
    let _ = writeln!(out, "    {kind} {load}, {op}, {number}, {label}");
}

fn floats(xlen: u32) -> String {
    let mut out = String::from("// Written by oracles/softfloat/examples/program_tables.rs.\n");
    let mut number = 0;
    format::<F32>(&mut out, &mut number, xlen);
    format::<F64>(&mut out, &mut number, xlen);
    format::<F16>(&mut out, &mut number, xlen);
    out
}

fn format<F: Named>(out: &mut String, number: &mut u32, xlen: u32) {
    let s = F::SUFFIX;
    let load = match F::BITS {
        16 => "flh",
        32 => "flw",
        _ => "fld",
    };
    let operands = operands::<F>();
    let modes = || MODES.iter().copied().enumerate();
    let all = |f: &dyn Fn([u64; 3], RoundingMode) -> u64| {
        let mut rows = String::new();
        for x in &operands {
            for (number, mode) in modes() {
                row(&mut rows, *x, number, || f(*x, mode));
            }
        }
        rows
    };
    let f = F::of;
    let negate = |bits: u64| F::of(bits ^ 1 << (F::BITS - 1));

    run(out, number, "float2", load, &format!("fadd.{s}"), &all(&|[a, b, _], m| f(a).add(f(b), m).boxed()));
    run(out, number, "float2", load, &format!("fsub.{s}"), &all(&|[a, b, _], m| f(a).sub(f(b), m).boxed()));
    run(out, number, "float2", load, &format!("fmul.{s}"), &all(&|[a, b, _], m| f(a).mul(f(b), m).boxed()));
    run(out, number, "float2", load, &format!("fdiv.{s}"), &all(&|[a, b, _], m| f(a).div(f(b), m).boxed()));
    run(out, number, "float1", load, &format!("fsqrt.{s}"), &all(&|[a, ..], m| f(a).sqrt(m).boxed()));
    let fma = |a: F, b: F, c: F, m| a.fused_mul_add(b, c, m).boxed();
    run(out, number, "float3", load, &format!("fmadd.{s}"), &all(&|[a, b, c], m| fma(f(a), f(b), f(c), m)));
    run(
        out,
        number,
        "float3",
        load,
        &format!("fmsub.{s}"),
        &all(&|[a, b, c], m| fma(f(a), f(b), negate(c), m)),
    );
    run(
        out,
        number,
        "float3",
        load,
        &format!("fnmsub.{s}"),
        &all(&|[a, b, c], m| fma(negate(a), f(b), f(c), m)),
    );
    run(
        out,
        number,
        "float3",
        load,
        &format!("fnmadd.{s}"),
        &all(&|[a, b, c], m| fma(negate(a), f(b), negate(c), m)),
    );

    // Rounded by no mode: one row each.
    let plain = |g: &dyn Fn(u64, u64) -> u64| {
        let mut rows = String::new();
        for [a, b, c] in &operands {
            row(&mut rows, [*a, *b, *c], 0, || g(*a, *b));
            row(&mut rows, [*b, *a, *c], 0, || g(*b, *a));
        }
        rows
    };
    let sign = 1u64 << (F::BITS - 1);
    let inject = |a: u64, bit: u64| F::of(a & !sign | bit).boxed();
    run(out, number, "plain2", load, &format!("fsgnj.{s}"), &plain(&|a, b| inject(a, b & sign)));
    run(out, number, "plain2", load, &format!("fsgnjn.{s}"), &plain(&|a, b| inject(a, !b & sign)));
    run(out, number, "plain2", load, &format!("fsgnjx.{s}"), &plain(&|a, b| inject(a, (a ^ b) & sign)));
    run(out, number, "plain2", load, &format!("fmin.{s}"), &plain(&|a, b| choose(f(a), f(b), true).boxed()));
    run(out, number, "plain2", load, &format!("fmax.{s}"), &plain(&|a, b| choose(f(a), f(b), false).boxed()));
    run(out, number, "compare2", load, &format!("feq.{s}"), &plain(&|a, b| u64::from(f(a).eq(f(b)))));
    run(out, number, "compare2", load, &format!("flt.{s}"), &plain(&|a, b| u64::from(f(a).lt(f(b)))));
    run(out, number, "compare2", load, &format!("fle.{s}"), &plain(&|a, b| u64::from(f(a).le(f(b)))));
    run(out, number, "compare1", load, &format!("fclass.{s}"), &plain(&|a, _| class(&f(a))));

    run(
        out,
        number,
        "to_int",
        load,
        &format!("fcvt.w.{s}"),
        &all(&|[a, ..], m| word(f(a).to_i32(m, true) as u64)),
    );
    run(
        out,
        number,
        "to_int",
        load,
        &format!("fcvt.wu.{s}"),
        &all(&|[a, ..], m| word(u64::from(f(a).to_u32(m, true)))),
    );
    let ints: [u64; 5] = [0, 1, u64::MAX - 6, 0x7fff_ffff_ffff_ffff, 0x0123_4567_89ab_cdef];
    let from = |g: &dyn Fn(u64, RoundingMode) -> F| {
        let mut rows = String::new();
        for v in ints {
            for (number, mode) in modes() {
                row(&mut rows, [v, 0, 0], number, || g(v, mode).boxed());
            }
        }
        rows
    };
    // Conversions from 32 bits to double are exact: they have no rounding mode in assembly text.
    let int32 = if F::BITS == 64 { "from_int_exact" } else { "from_int" };
    run(out, number, int32, load, &format!("fcvt.{s}.w"), &from(&|v, m| F::from_i32(v as i32, m)));
    run(out, number, int32, load, &format!("fcvt.{s}.wu"), &from(&|v, m| F::from_u32(v as u32, m)));
    if xlen == 64 {
        run(
            out,
            number,
            "to_int",
            load,
            &format!("fcvt.l.{s}"),
            &all(&|[a, ..], m| f(a).to_i64(m, true) as u64),
        );
        run(out, number, "to_int", load, &format!("fcvt.lu.{s}"), &all(&|[a, ..], m| f(a).to_u64(m, true)));
        run(out, number, "from_int", load, &format!("fcvt.{s}.l"), &from(&|v, m| F::from_i64(v as i64, m)));
        run(out, number, "from_int", load, &format!("fcvt.{s}.lu"), &from(&|v, m| F::from_u64(v, m)));
    }
    // To the narrower formats rounds, to the wider ones is exact.
    for (other, bits) in [("h", 16), ("s", 32), ("d", 64)] {
        let to = |a: u64, m| match bits {
            16 => f(a).to_f16(m).boxed(),
            32 => f(a).to_f32(m).boxed(),
            _ => f(a).to_f64(m).boxed(),
        };
        let kind = if bits < F::BITS { "float1" } else { "exact1" };
        if bits != F::BITS {
            run(out, number, kind, load, &format!("fcvt.{other}.{s}"), &all(&|[a, ..], m| to(a, m)));
        }
    }
}
