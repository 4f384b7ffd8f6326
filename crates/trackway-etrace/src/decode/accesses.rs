//! Decoded accesses as events: of memory, and of registers for CSRs.

use trackway_core::*;

use super::data::DecodedAccess;
use crate::port::Dtype;
use crate::port::expected::{Atomic, Csr, CsrOperand};

/// Emits a memory access.
pub(super) fn emit_memory(access: &DecodedAccess, failed: bool, atomic: Option<&Atomic>, batch: &mut Batch) {
    let DecodedAccess { dtype, dsize, daddr, data, operand, .. } = *access;
    let kind = match dtype {
        _ if failed => MemKind::Faulting,
        Dtype::LOAD => MemKind::Read,
        Dtype::STORE => MemKind::Write,
        _ => MemKind::ReadWrite,
    };
    let mut access = MemAccess::new(kind, daddr.unwrap_or(0), 1 << dsize, Value::Unknown);
    access.unplaced = daddr.is_none();
    access.data = value(data, dsize, batch);
    if dtype.is_atomic() {
        let stored = match (data, operand, atomic) {
            (Some(data), Some(operand), Some(atomic)) => {
                Value::Word(atomic.stored(data as u64, operand as u64))
            }
            _ => Value::Unknown,
        };
        let operation = Some(u32::from(dtype.0));
        access.extra = batch.add_mem_extra(MemExtra { physical: None, stored, operation });
        // The operand is the content of its register; bits above the size of the access are not known.
        if let (Some(operand), Some(Atomic { rs2: rs2 @ 1.., .. })) = (operand, atomic) {
            let known = (dsize < 3).then(|| mask(u64::MAX, 8 << dsize));
            let reg = Reg { class: RegClass::Int, number: (*rs2).into() };
            batch.regs.push(RegAccess { known, ..source(reg, operand as u64) });
        }
    }
    batch.mem.push(access);
}

fn source(reg: Reg, value: u64) -> RegAccess {
    RegAccess { reg, role: RegRole::Source, update: RegUpdate::Set, value: Value::Word(value), known: None }
}

fn value(data: Option<u128>, dsize: u8, batch: &mut Batch) -> Value {
    match data {
        None => Value::Unknown,
        Some(data) if dsize <= 3 => Value::Word(data as u64),
        Some(data) => Value::Bytes(batch.add_bytes(&data.to_le_bytes())),
    }
}

/// Emits a CSR access as register accesses: the value read and the operand. The value written depends on the CSR
/// and is not known.
pub(super) fn emit_csr(access: &DecodedAccess, csr: Option<&Csr>, batch: &mut Batch) {
    let Some(number) = access.daddr else { return };
    let reg = Reg { class: RegClass::Csr, number: number as u16 };
    let (reads, writes) = csr.map_or((true, true), |csr| (csr.reads, csr.writes));
    if let (Some(operand), Some(CsrOperand::Register(rs1))) = (access.operand, csr.map(|csr| csr.operand))
        && rs1 > 0
    {
        batch.regs.push(source(Reg { class: RegClass::Int, number: rs1.into() }, operand as u64));
    }
    if reads {
        let value = access.data.map_or(Value::Unknown, |data| Value::Word(data as u64));
        batch.regs.push(RegAccess { value, ..source(reg, 0) });
    }
    if writes {
        batch.regs.push(RegAccess { role: RegRole::Destination, value: Value::Unknown, ..source(reg, 0) });
    }
}

/// Adds the data of a split access that was emitted before they arrived.
pub(super) fn fill_in(
    batch: &mut Batch,
    n: usize,
    data: Option<Option<u128>>,
    atomic: Option<(Atomic, u64)>,
) {
    let Some(&access) = batch.mem.get(n) else { return };
    let dsize = access.size.max(1).ilog2() as u8;
    let value = value(data.flatten(), dsize, batch);
    if let (Some((atomic, operand)), Some(data)) = (atomic, data.flatten()) {
        let extra = batch.mem_extra_of(&access).copied().unwrap_or_default();
        let stored = Value::Word(atomic.stored(data as u64, operand));
        batch.mem[n].extra = batch.add_mem_extra(MemExtra { stored, ..extra });
    }
    let access = &mut batch.mem[n];
    access.data = value;
    if data.is_none() {
        access.kind = MemKind::Faulting;
    }
}
