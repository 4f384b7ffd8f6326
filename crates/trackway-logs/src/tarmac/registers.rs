//! Registers and their numbers in the model.

use trackway_core::{Batch, Isa, Reg, RegAccess, RegClass, RegRole, RegUpdate, Value};

use super::mode::{Bank, Mode};
use super::names::Name;
use super::parsed::Register;
use crate::scan::digit;

/// The number of NZCV, and DAIF.
const NZCV: u16 = 0xda10;
const DAIF: u16 = 0xda11;

/// The first number of registers that are not those of the current mode, by bank: [`RegClass::Other`].
const BANKED: u16 = 0x100;
/// The first number of predicate registers.
const PREDICATES: u16 = 0x40;

const fn reg(class: RegClass, number: u16) -> Reg {
    Reg { class, number }
}

/// Adds the register to the accesses of `batch`; false if the model has no number for it. `system` says that parts
/// of the CPSR other than the flags may have been written.
#[inline(always)]
pub(super) fn push(
    register: &Register<'_>,
    (mode, isa): (&Mode, Isa),
    role: RegRole,
    system: bool,
    batch: &mut Batch,
) -> bool {
    let aarch64 = isa == Isa::A64;
    let word = register.value as u64;
    let which = match register.name {
        Name::X(number) | Name::W(number) => reg(RegClass::Int, number.into()),
        Name::R(number, bank) if bank == Bank::Current || bank == mode.bank => {
            let number = if aarch64 && number == 14 { 30 } else { number };
            reg(RegClass::Int, number.into())
        }
        Name::R(number, bank) => reg(RegClass::Other, BANKED + bank as u16 * 16 + u16::from(number)),
        Name::Sp(level) => match (level, register.digits) {
            (None, 8) if !aarch64 => reg(RegClass::Int, 13),
            (None, _) => reg(RegClass::Int, 31),
            (Some(level), _) if mode.stack() == Some(level) => reg(RegClass::Int, 31),
            // SP_EL0, SP_EL1 and SP_EL2 have numbers of system registers; SP_EL3 would be the next.
            (Some(level), _) => reg(RegClass::Csr, [0xc208, 0xe208, 0xf208, 0xfa08][usize::from(level & 3)]),
        },
        Name::Cpsr if aarch64 => {
            cpsr(word, role, system, batch);
            return true;
        }
        Name::Cpsr => reg(RegClass::Csr, NZCV),
        Name::Pc => reg(RegClass::Pc, 0),
        Name::System(number) => reg(RegClass::Csr, number),
        Name::Vector(number, 32) if aarch64 => reg(RegClass::Vector, number.into()),
        Name::Vector(number, _) if aarch64 => reg(RegClass::Vector, number.into()),
        Name::Vector(number, digits) => return aarch32_vector(register, number, digits, role, batch),
        Name::Z(number) => reg(RegClass::Vector, number.into()),
        Name::P(number) => reg(RegClass::Other, PREDICATES + u16::from(number)),
        Name::Operation | Name::Unknown => return false,
    };
    let (value, known) = match register {
        Register { part: None, unknown: false, digits: ..=16, .. } => (Value::Word(word), None),
        _ => match wide(register, batch) {
            Some(value) => value,
            None => return false,
        },
    };
    batch.regs.push(RegAccess { reg: which, role, update: RegUpdate::Set, value, known });
    true
}

/// Flags, and the interrupt masks where they may have changed. Level and stack are in the context.
#[inline(always)]
fn cpsr(word: u64, role: RegRole, system: bool, batch: &mut Batch) {
    let access = |number, value| RegAccess {
        reg: reg(RegClass::Csr, number),
        role,
        update: RegUpdate::Set,
        value: Value::Word(value),
        known: None,
    };
    batch.regs.push(access(NZCV, word & 0xf000_0000));
    if system {
        batch.regs.push(access(DAIF, word & 0x3c0));
    }
}

/// A value that is wider than a word, or known in part; `None` where the model cannot hold it.
#[cold]
fn wide(register: &Register<'_>, batch: &mut Batch) -> Option<(Value, Option<u64>)> {
    if let Some((low, bits)) = register.part {
        // The model says which bits of a word are known.
        let end = u32::from(low) + u32::from(bits);
        let fits = end <= 64 && !register.unknown;
        let mask = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
        return fits.then(|| (Value::Word((register.value as u64) << low), Some(mask << low)));
    }
    if register.unknown {
        return (register.digits <= 16).then(|| {
            let (mut value, mut known) = (0, 0);
            for byte in register.source.iter().filter(|byte| !matches!(byte, b'_' | b':' | b' ')) {
                let found = digit(*byte);
                value = value << 4 | u64::from(found.unwrap_or(0));
                known = known << 4 | if found.is_some() { 15 } else { 0 };
            }
            (Value::Word(value), Some(known))
        });
    }
    Some((Value::Bytes(bytes_of(register.source, batch)), None))
}

/// The bytes of printed digits, little-endian.
pub(super) fn bytes_of(source: &[u8], batch: &mut Batch) -> trackway_core::Span {
    let start = batch.bytes.len() as u32;
    let mut low = None;
    for found in source.iter().rev().filter_map(|byte| digit(*byte)) {
        match low.take() {
            None => low = Some(found),
            Some(low) => batch.bytes.push(found << 4 | low),
        }
    }
    batch.bytes.extend(low);
    trackway_core::Span { start, len: batch.bytes.len() as u32 - start }
}

/// The registers of VFP are those of D0 to D31: S registers are halves, Q registers pairs of them.
#[cold]
fn aarch32_vector(register: &Register<'_>, number: u8, digits: u8, role: RegRole, batch: &mut Batch) -> bool {
    if register.part.is_some() || register.unknown {
        return false;
    }
    let mut put = |number: u8, value: u64, known| {
        let reg = reg(RegClass::Float, number.into());
        batch.regs.push(RegAccess { reg, role, update: RegUpdate::Set, value: Value::Word(value), known });
    };
    match digits {
        16 => put(number, register.value as u64, None),
        8 => {
            let shift = u32::from(number % 2) * 32;
            put(number / 2, (register.value as u64) << shift, Some(0xffff_ffff << shift));
        }
        32 if number < 16 => {
            put(2 * number, register.value as u64, None);
            put(2 * number + 1, (register.value >> 64) as u64, None);
        }
        _ => return false,
    }
    true
}
