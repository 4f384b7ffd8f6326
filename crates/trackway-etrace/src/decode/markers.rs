//! Markers in the stream of events for the stage that attaches data packets, which removes them.

use trackway_core::{Batch, EventKind, Foreign};

/// Marker in the stream of events: execution begins at a synchronisation packet.
pub(crate) const BEGIN: u32 = 0x100;
/// Marker: the modes change; two bits, no address and no data.
pub(crate) const MODES: u32 = 0x101;
/// Marker: a data packet.
pub(crate) const PACKET: u32 = 0x102;

/// Emits a marker for the stage that attaches data packets, which removes it.
pub(super) fn emit_marker(offset: u64, code: u32, bytes: &[u8], out: &mut Batch) {
    let data = out.add_bytes(bytes);
    out.push(offset, EventKind::Foreign(Foreign { format: crate::ID, code, data }));
}
