//! Coverage: what a verified trace exercised.

use std::collections::BTreeMap;

use serde::Serialize;
use trackway_core::{RegClass, RegRole};
use trackway_hart::{Effects, Hart, Level, Purpose, Taken, Walk};
use trackway_isa::riscv::csr_name;

/// Counts by what was exercised.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Coverage {
    /// Instructions by name, then by the class of their source operands.
    pub instructions: BTreeMap<&'static str, BTreeMap<String, u64>>,
    /// Control registers by name: read and written.
    pub csrs: BTreeMap<String, [u64; 2]>,
    /// Traps: cause, from level, to level.
    pub traps: BTreeMap<String, u64>,
    /// Page walks: purpose, level, outcome.
    pub walks: BTreeMap<String, u64>,
}

/// The class of an operand's value.
fn operand(value: u64, rv32: bool) -> &'static str {
    let (all, top) = if rv32 { (0xffff_ffff, 1u64 << 31) } else { (u64::MAX, 1 << 63) };
    match value {
        0 => "0",
        1 => "1",
        v if v == all => "-1",
        v if v == top => "min",
        v if v == top - 1 => "max",
        v if v & top != 0 => "neg",
        _ => "pos",
    }
}

const fn level(level: Level) -> &'static str {
    match level {
        Level::U => "U",
        Level::S => "S",
        Level::M => "M",
    }
}

impl Coverage {
    /// One step; `before` is the state before it.
    pub fn observe(&mut self, effects: &Effects, taken: Option<&Taken>, before: &Hart, from: Level) {
        let rv32 = before.config().is_rv32();
        if let Some(inst) = &effects.inst {
            let mut operands: Vec<String> = Vec::new();
            for (reg, role) in inst.registers() {
                match (reg.class, role) {
                    (RegClass::Int, RegRole::Source) => {
                        operands
                            .push(operand(before.state().x[usize::from(reg.number & 31)], rv32).to_string());
                    }
                    (RegClass::Float, RegRole::Source) => {
                        let value = before.state().f[usize::from(reg.number & 31)];
                        operands.push(float(value).to_string());
                    }
                    (RegClass::Csr, role) => {
                        let name = csr_name(reg.number).map_or_else(|| reg.to_string(), str::to_string);
                        self.csrs.entry(name).or_default()[usize::from(role != RegRole::Source)] += 1;
                    }
                    _ => {}
                }
            }
            let operands = if operands.is_empty() { "-".to_string() } else { operands.join(",") };
            *self.instructions.entry(inst.op.name()).or_default().entry(operands).or_default() += 1;
        }
        if let Some(taken) = taken {
            let kind = if taken.interrupt { "interrupt" } else { "exception" };
            let key = format!("{kind} {} {}>{}", taken.cause, level(taken.from_level), level(taken.to_level));
            *self.traps.entry(key).or_default() += 1;
        }
        for walk in effects.walks.iter() {
            let purpose = match walk.purpose {
                Purpose::Fetch => "fetch",
                Purpose::Load => "load",
                Purpose::Store => "store",
            };
            let outcome = match walk.physical {
                Some(_) => format!("page of {} KiB", walk.page_size >> 10),
                None => format!("fault after {} entries: {}", walk.entries.len(), fault(&walk, from)),
            };
            *self.walks.entry(format!("{purpose} {} {outcome}", level(from))).or_default() += 1;
        }
    }

    /// As a table, for people.
    pub fn text(&self) -> String {
        use std::fmt::Write;
        let mut out = String::new();
        // Writing to a String cannot fail.
        let _ = writeln!(out, "instructions: {} different", self.instructions.len());
        for (name, classes) in &self.instructions {
            let total: u64 = classes.values().sum();
            let list: Vec<String> = classes.iter().map(|(class, n)| format!("{class} {n}")).collect();
            let _ = writeln!(out, "  {name:<12} {total:>10}  {}", list.join("  "));
        }
        let _ = writeln!(out, "control registers: {}", self.csrs.len());
        for (name, [read, written]) in &self.csrs {
            let _ = writeln!(out, "  {name:<12} read {read:>8}  written {written:>8}");
        }
        for (title, counts) in [("traps", &self.traps), ("page walks", &self.walks)] {
            let _ = writeln!(out, "{title}: {}", counts.len());
            for (name, n) in counts {
                let _ = writeln!(out, "  {name:<32} {n:>8}");
            }
        }
        out
    }
}

/// Why a walk failed, by the entry that it ended at (privileged, Sv32: virtual address translation).
fn fault(walk: &Walk, from: Level) -> &'static str {
    const READ: u64 = 1 << 1;
    const WRITE: u64 = 1 << 2;
    const EXECUTE: u64 = 1 << 3;
    const USER: u64 = 1 << 4;
    let Some((_, entry)) = walk.entries.iter().last() else { return "address out of range" };
    let wanted = match walk.purpose {
        Purpose::Fetch => EXECUTE,
        Purpose::Load => READ,
        Purpose::Store => WRITE,
    };
    match () {
        () if entry & 1 == 0 => "not valid",
        () if entry & (READ | WRITE) == WRITE => "reserved encoding",
        () if entry & (READ | WRITE | EXECUTE) == 0 => "no leaf",
        () if entry & wanted == 0 => "no permission",
        () if entry & USER == 0 && from == Level::U => "not a user page",
        () if entry & USER != 0 && from != Level::U => "a user page",
        () => "misaligned page, or accessed and dirty bits",
    }
}

/// The class of a double, or of a boxed single.
fn float(value: u64) -> &'static str {
    let (zero, infinite, nan, subnormal) = if value >> 32 == 0xffff_ffff {
        let bits = value as u32;
        let (exponent, fraction) = (bits >> 23 & 0xff, bits & 0x7f_ffff);
        (bits << 1 == 0, exponent == 0xff && fraction == 0, exponent == 0xff, exponent == 0)
    } else {
        let (exponent, fraction) = (value >> 52 & 0x7ff, value & ((1 << 52) - 1));
        (value << 1 == 0, exponent == 0x7ff && fraction == 0, exponent == 0x7ff, exponent == 0)
    };
    match () {
        () if zero => "zero",
        () if infinite => "inf",
        () if nan => "nan",
        () if subnormal => "sub",
        () => "norm",
    }
}
