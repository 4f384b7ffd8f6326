//! State, accesses and page walks of the model as parts of a batch.

use trackway_core::*;

use crate::csr;
use crate::effects::{Access, AccessKind, Walk};
use crate::hart::Hart;
use crate::linux::Process;
use crate::state::Level;

pub(super) const fn privilege(level: Level) -> Privilege {
    match level {
        Level::U => Privilege::U,
        Level::S => Privilege::S,
        Level::M => Privilege::M,
    }
}

#[inline]
pub(super) fn register(class: RegClass, number: u16, role: RegRole, value: Value) -> RegAccess {
    RegAccess { reg: Reg { class, number }, role, update: RegUpdate::Set, value, known: None }
}

/// The content of the integer registers, and of the floating-point ones where they are on.
pub(super) fn all_registers(hart: &Hart, batch: &mut Batch) {
    let state = hart.state();
    for number in 1..32 {
        let value = Value::Word(state.x[number]);
        batch.regs.push(register(RegClass::Int, number as u16, RegRole::State, value));
    }
    if state.csr.mstatus & csr::status::FS != 0 {
        for number in 0..32 {
            let value = Value::Word(state.f[number]);
            batch.regs.push(register(RegClass::Float, number as u16, RegRole::State, value));
        }
    }
}

/// Accesses pushed since `begun`, as state; none if there are none.
pub(super) fn push_contents(batch: &mut Batch, begun: Accesses) {
    if let Some(accesses) = batch.end_accesses(begun)
        && (accesses.regs_len > 0 || accesses.mem_len > 0)
    {
        let offset = batch.events.last().map_or(0, |event| event.offset);
        batch.push_state(offset, State::Contents(accesses));
    }
}

/// At most this much of one kernel write is kept in one state.
const LARGEST: u64 = 1 << 18;

/// Memory that the kernel wrote, in aligned pieces of at most 8 bytes.
pub(super) fn push_kernel_write(batch: &mut Batch, process: &mut Process, address: u64, length: u64) {
    let end = address + length.min(LARGEST);
    let mut at = address;
    while at < end {
        let mut size = 8;
        while !at.is_multiple_of(size) || at + size > end {
            size /= 2;
        }
        let mut bytes = [0; 8];
        process.memory.read_bytes(at, &mut bytes[..size as usize]);
        batch.mem.push(MemAccess::write(at, size, Value::Word(u64::from_le_bytes(bytes))));
        at += size;
    }
}

#[inline]
pub(super) fn push_access(batch: &mut Batch, access: &Access) {
    let kind = match access.kind {
        AccessKind::Load => MemKind::Read,
        AccessKind::Store => MemKind::Write,
        AccessKind::Amo => MemKind::ReadWrite,
    };
    let mut event = MemAccess::new(kind, access.address, access.size.into(), Value::Word(access.data));
    let physical = (access.physical != access.address).then_some(access.physical);
    let atomic = access.kind == AccessKind::Amo;
    if physical.is_some() || atomic {
        let stored = if atomic { Value::Word(access.stored) } else { Value::Unknown };
        event.extra = batch.add_mem_extra(MemExtra { physical, stored, operation: None });
    }
    batch.mem.push(event);
}

#[cold]
pub(super) fn push_walk(batch: &mut Batch, walk: &Walk, number: u64) {
    if walk.physical.is_none() {
        return;
    }
    let entries = batch.add_words(walk.entries.iter().flat_map(|(at, entry)| [at, entry]));
    let walk =
        PageWalk { virtual_address: walk.address, first_use: number, page_size: walk.page_size, entries };
    batch.push_state(8 * number, State::PageWalk(walk));
}
