//! Memory accesses and bus transactions.

use trackway_core::*;
use trackway_isa::riscv::{Amo, Class, Inst};

use super::access::{bus, response, set};
use super::group::Lifter;
use crate::config::Profile;
use crate::group::Group;
use crate::mem_op::MemOp;
use crate::record::Record;
use crate::register;
use crate::view::View;

impl Lifter {
    /// Emits the bus transactions of an instruction, except those of its own access.
    pub(super) fn bus(&self, group: &Group, view: &View, batch: &mut Batch) {
        for (n, record) in group.records.iter().enumerate() {
            if let Record::MemoryRequest { address, op, size, data } = *record
                && !is_own(record, view)
            {
                let response = response(&group.records, n);
                batch.push_state(group.offset, bus(address, op, size, data, response));
            }
        }
    }

    /// The second operand of an atomic, which the Bluespec encoders send instead of the value stored.
    pub(super) fn operand(&self, inst: Option<Inst>, view: &View) -> Option<RegAccess> {
        let inst = inst.filter(|_| self.profile == Profile::Bluespec)?;
        let (_, operand) = view.store?;
        let Class::Amo(size) = inst.op.class() else { return None };
        let reg = Reg { class: RegClass::Int, number: inst.rs2.into() };
        // Only the bits of the access are sent.
        let known = (size < self.xlen).then_some(mask(u64::MAX, 8 * u32::from(size)));
        Some(RegAccess { known, ..set(reg, RegRole::Source, operand) })
    }

    /// Emits the memory access of the instruction.
    pub(super) fn memory(&self, group: &Group, view: &View, inst: Option<Inst>, batch: &mut Batch) {
        let Some(address) = view.effective.or(view.physical) else {
            if view.bus {
                self.bus_accesses(group, view, batch);
            }
            return;
        };
        let class = inst.map(|inst| inst.op.class());
        let trapped = view.trap.is_some();
        let written = |records: &[Record]| {
            let inst = inst?;
            records.iter().find_map(|record| match *record {
                Record::FullRegister { .. } | Record::AddRegister { .. } | Record::OrRegister { .. } => {
                    let (address, value) = self.registers.resolve(record)?;
                    let number = (address & 0x1f) as u8;
                    (address >= register::GPR && number == inst.rd).then_some(value)?
                }
                _ => None,
            })
        };
        let own = || group.records.iter().position(|record| is_own(record, view));
        let own = if view.bus { own() } else { None };
        let answer = own.and_then(|n| response(&group.records, n)).and_then(|(_, data)| data);
        let size = |n: u8| u64::from(n);
        let cut = |value: u64, n: u8| mask(value, 8 * u32::from(n));
        let word = |value: Option<u64>, n: u8| value.map_or(Value::Unknown, |v| Value::Word(cut(v, n)));
        let store = view.store.map(|(_, data)| data);
        let mut extra =
            MemExtra { physical: view.physical.filter(|_| view.effective.is_some()), ..MemExtra::default() };
        let mut access = match class {
            _ if trapped => {
                let n = class.and_then(Class::memory).and_then(|memory| memory.size).unwrap_or(0);
                MemAccess::new(MemKind::Faulting, address, size(n), Value::Unknown)
            }
            Some(Class::Load(n) | Class::LoadReserved(n)) => {
                let value = written(&group.records).or(answer);
                MemAccess::read(address, size(n), word(value, n))
            }
            Some(Class::StoreConditional(n)) => {
                // rd is 0 on success.
                let failed = written(&group.records).is_some_and(|rd| rd != 0);
                let kind = if failed { MemKind::Suppressed } else { MemKind::Write };
                MemAccess::new(kind, address, size(n), word(store, n))
            }
            Some(Class::Amo(n)) => {
                // A pair of registers has the value in halves.
                let old = if n > self.xlen { answer } else { written(&group.records).or(answer) };
                let stored = match (self.profile, store, old, inst) {
                    (Profile::Spec, store, ..) => store,
                    (Profile::Bluespec, Some(operand), Some(old), Some(inst)) => {
                        Amo::of(inst.word).map(|amo| amo.stored(old, operand, n))
                    }
                    _ => None,
                };
                extra.stored = word(stored, n);
                extra.operation =
                    inst.and_then(|inst| Amo::of(inst.word)).map(|amo| MemOp::from(amo).0.into());
                MemAccess::new(MemKind::ReadWrite, address, size(n), word(old, n))
            }
            _ => match view.store {
                Some((log, data)) => MemAccess::write(address, 1 << log, Value::Word(data)),
                None => {
                    let n = class.and_then(Class::memory).and_then(|memory| memory.size).unwrap_or(0);
                    let kind = class.and_then(Class::memory).map_or(MemKind::Unknown, |memory| memory.kind);
                    MemAccess::new(kind, address, size(n), Value::Unknown)
                }
            },
        };
        // Store data has its size; that of other accesses is inferred from the encoding.
        access.inferred = view.store.is_none();
        if extra != MemExtra::default() {
            access.extra = batch.add_mem_extra(extra);
        }
        batch.mem.push(access);
    }

    /// Emits the bus transactions as accesses, since the group has no address.
    fn bus_accesses(&self, group: &Group, view: &View, batch: &mut Batch) {
        for (n, record) in group.records.iter().enumerate() {
            if let Record::MemoryRequest { address, op, size, data } = *record
                && is_own(record, view)
            {
                let back = response(&group.records, n).and_then(|(_, data)| data);
                let kind = op.kind();
                let read = if op.sends() && kind == MemKind::Write { Some(data) } else { back };
                let read = read.map_or(Value::Unknown, Value::Word);
                let swapped = if op == MemOp::AMOSWAP { Value::Word(data) } else { Value::Unknown };
                let extra = MemExtra { physical: Some(address), stored: swapped, operation: None };
                let extra = batch.add_mem_extra(extra);
                let access = MemAccess::new(kind, address, 1 << size, read);
                batch.mem.push(MemAccess { extra, inferred: true, ..access });
            }
        }
    }
}

/// Is a request the instruction's own access: at its address, or in a group without an address?
fn is_own(record: &Record, view: &View) -> bool {
    match *record {
        Record::MemoryRequest { address, op, .. } => {
            let own = view.physical.or(view.effective);
            op != MemOp::FETCH && own.is_none_or(|own| own == address)
        }
        _ => false,
    }
}
