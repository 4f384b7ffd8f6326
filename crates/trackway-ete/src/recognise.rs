//! Guesses at the form of bytes, before anything is known about them: raw streams, frames, wrapped buffers, trace ids.

use trackway_core::SharedBytes;

use crate::config::{Config, Framing};
use crate::items::{PacketItem, Packets};
use crate::transport::frames::read::{releasing, split};
use crate::wire::header::{Kind, header};
use crate::wire::packet::Packet;
use crate::wire::scan::{SYNC_LEN, find_sync, leading_zeros};

/// Bytes of a trace id that are looked at.
const HEAD: usize = 1 << 16;

/// A whole Alignment Sync, then a Trace Info or an event.
pub(crate) fn starts_like_a_stream(head: &[u8]) -> bool {
    let sync = leading_zeros(head).map(|zeros| zeros + 1).filter(|&length| length >= SYNC_LEN);
    sync.is_some_and(|length| begins(head, length))
}

/// A packet at `place` that may follow the first Alignment Sync.
fn begins(bytes: &[u8], place: usize) -> bool {
    let row = bytes.get(place).and_then(|&byte| header(byte));
    row.is_some_and(|row| matches!(row.kind, Kind::TraceInfo | Kind::Event))
}

/// An Alignment Sync with a Trace Info or an event after it is somewhere.
pub(crate) fn holds_a_stream(bytes: &[u8]) -> bool {
    let mut at = 0;
    while let Some(end) = find_sync(bytes, at) {
        if begins(bytes, end) {
            return true;
        }
        at = end;
    }
    false
}

/// The trace ids whose bytes in frames are ETE or ETMv4.
pub(crate) fn traced_ids(framing: Framing, buffer: &[u8]) -> Vec<u8> {
    // One pass for all ids: every file that is tried for recognition comes through here.
    with_streams(&split(framing, buffer, HEAD, &mut |_| ()))
}

/// As [`traced_ids`], of a buffer that may be larger than memory.
pub(crate) fn traced_ids_of(framing: Framing, data: &SharedBytes) -> Vec<u8> {
    with_streams(&split(framing, (**data).as_ref(), HEAD, &mut releasing(data)))
}

fn with_streams(split: &[Vec<u8>; 128]) -> Vec<u8> {
    (1..0x70).filter(|id| holds_a_stream(&split[usize::from(*id)])).collect()
}

/// How the bytes are stored, by their content; raw where nothing speaks for frames.
pub(crate) fn framing_of(head: &[u8]) -> Framing {
    if !starts_like_a_stream(head) {
        for framing in [Framing::Coresight, Framing::Dstream] {
            if !traced_ids(framing, head).is_empty() {
                return framing;
            }
        }
    }
    Framing::Raw
}

/// Trace ids with the number of their bytes: `0x10 (24 KiB), 0x41 (12 bytes)`.
pub(crate) fn show_ids(ids: &[(u8, u64)]) -> String {
    let size = |bytes: u64| match bytes {
        0..1024 => format!("{bytes} bytes"),
        _ => format!("{} KiB", bytes / 1024),
    };
    ids.iter().map(|&(id, bytes)| format!("{id:#x} ({})", size(bytes))).collect::<Vec<_>>().join(", ")
}

/// Packets at the start that contradict the registers, in words.
pub(crate) fn contradictions(config: &Config, packets: &mut Packets) -> Vec<String> {
    let mut found = Vec::new();
    let mut note = |text: &str| {
        if !found.iter().any(|other| other == text) {
            found.push(text.to_string());
        }
    };
    while let Ok(Some(placed)) = packets.next() {
        let PacketItem::Packet(packet) = placed.item else { continue };
        match packet {
            _ if placed.offset > HEAD as u64 => break,
            Packet::Timestamp { .. } if !config.timestamps => {
                note("there are timestamps: is TRCCONFIGR.TS set?")
            }
            Packet::Commit(_) | Packet::Cancel1 { .. } | Packet::Cancel2(_) | Packet::Cancel3(_)
                if config.max_spec == 0 =>
            {
                note("there is speculation: is TRCIDR8.MAXSPEC above 0?");
            }
            _ => {}
        }
    }
    found
}
