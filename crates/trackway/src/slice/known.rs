//! Registers that are known at a place, as accesses.

use trackway_core::{Accesses, Batch, Isa, RegAccess, RegRole, RegUpdate, Value};

use crate::machine::{Content, Machine};

/// Adds all registers that are known completely to `batch`, in order; `None` if there are none.
pub(super) fn add_known(machine: &Machine, batch: &mut Batch) -> Option<Accesses> {
    let begun = batch.begin_accesses();
    let mask = if machine.isa == Isa::Rv32 { u64::from(u32::MAX) } else { u64::MAX };
    for (reg, known) in machine.registers.iter() {
        let value = match known.content {
            Some(Content::Word(word, u64::MAX)) => Value::Word(word & mask),
            Some(Content::Bytes(bytes)) => Value::Bytes(batch.add_bytes(bytes)),
            _ => continue,
        };
        let (role, update) = (RegRole::State, RegUpdate::Set);
        batch.regs.push(RegAccess { reg, role, update, value, known: None });
    }
    batch.end_accesses(begun).filter(|accesses| accesses.regs_len > 0)
}

/// Does an access only show what is known?
pub(crate) fn is_known(machine: &Machine, batch: &Batch, access: &RegAccess) -> bool {
    let known = machine.registers.get(access.reg).and_then(|known| known.content);
    match (known, access.value) {
        (Some(Content::Word(known, u64::MAX)), Value::Word(word)) => known == word,
        (Some(Content::Bytes(known)), Value::Bytes(span)) => known == batch.bytes_of(span),
        _ => false,
    }
}
