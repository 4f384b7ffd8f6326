//! Register accesses, state and bus events from items.

use trackway_core::*;

use crate::group::Group;
use crate::mem_op::MemOp;
use crate::record::Record;

/// An access that sets a register.
pub(super) fn set(reg: Reg, role: RegRole, value: u64) -> RegAccess {
    RegAccess { reg, role, update: RegUpdate::Set, value: Value::Word(value), known: None }
}

/// Emits the accesses since `begun` as a state event, if there are any.
pub(super) fn flush(group: &Group, begun: Accesses, batch: &mut Batch) {
    if let Some(accesses) = batch.end_accesses(begun)
        && (accesses.mem_len > 0 || accesses.regs_len > 0)
    {
        batch.push_state(group.offset, State::Contents(accesses));
    }
}

/// The response that follows a request, if any.
pub(super) fn response(records: &[Record], request: usize) -> Option<(u8, Option<u64>)> {
    match records.get(request + 1) {
        Some(Record::MemoryResponse { result, data, .. }) => Some((*result, *data)),
        _ => None,
    }
}

/// A memory request as an event, with the operation in the attributes.
pub(super) fn bus(
    address: u64,
    op: MemOp,
    size: u8,
    data: u64,
    response: Option<(u8, Option<u64>)>,
) -> State {
    State::Bus(Bus {
        kind: op.kind(),
        address,
        size: 1 << size,
        initiator: 0,
        index: 0,
        attributes: op.0.into(),
        data: if op.sends() { Value::Word(data) } else { Value::Unknown },
        returned: response.and_then(|(_, data)| data).map_or(Value::Unknown, Value::Word),
        result: response.map(|(result, _)| result),
    })
}
