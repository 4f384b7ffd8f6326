//! Framings by which bytes can be walked to their end.

use trackway_format::Excerpt;

use super::change::{Change, number};
use crate::transport::{Framing, Kind};

/// Frames that are looked at.
const FRAMES: usize = 512;
/// Framings that are worth a trial.
const FRAMINGS: usize = 6;

/// A framing with the evidence against it.
pub(super) struct Framed {
    pub(super) framing: Framing,
    /// Payloads of instruction packets, each with its length in bits.
    pub(super) payloads: Vec<(Vec<u8>, u32)>,
    /// Time stamps of frames.
    stamps: Vec<u64>,
    /// Frames that contradict it, of a thousand.
    against: u64,
}

impl Framed {
    fn is_like(&self, other: &Framed) -> bool {
        self.payloads == other.payloads && self.stamps == other.stamps
    }
}

/// Its name with its widths, for people.
pub(super) fn name(framing: &Framing) -> String {
    match framing {
        Framing::Encap { srcid_width, type_width, timestamp_bytes } => format!(
            "framing encap (srcid_width {srcid_width}, type_width {type_width}, timestamp_bytes {timestamp_bytes})"
        ),
        Framing::Ultrasoc { index_width } => format!("framing ultrasoc (srcid_width {index_width})"),
        Framing::Atb { align } => format!("framing atb (align {align})"),
        other => format!("framing {}", other.as_str()),
    }
}

/// The keys that name it; those of other framings are removed.
pub(super) fn framing_keys(framing: &Framing) -> Change {
    let mut keys: Change = vec![("framing", Some(framing.as_str().into()))];
    let (mut srcid, mut kind, mut stamp, mut aligned) = (None, None, None, None);
    match *framing {
        Framing::Encap { srcid_width, type_width, timestamp_bytes } => {
            (srcid, kind, stamp) = (number(srcid_width), number(type_width), number(timestamp_bytes));
        }
        Framing::Ultrasoc { index_width } => srcid = number(index_width),
        Framing::Atb { align } => aligned = number(align),
        _ => {}
    }
    keys.extend([
        ("srcid_width", srcid),
        ("type_width", kind),
        ("timestamp_bytes", stamp),
        ("align", aligned),
    ]);
    keys
}

/// The framings by which the excerpt can be walked to its end, the likeliest first.
pub(super) fn framings(excerpt: &Excerpt<'_>) -> Vec<Framed> {
    let mut all = vec![Framing::Smi];
    for timestamp_bytes in 0..=8 {
        for srcid_width in (0..=12).chain([16, 24, 32]) {
            for type_width in [0, 2] {
                all.push(Framing::Encap { srcid_width, type_width, timestamp_bytes });
            }
        }
    }
    all.extend((0..=12).chain([16]).map(|index_width| Framing::Ultrasoc { index_width }));
    all.extend([1, 2, 4, 8, 16, 32, 64].map(|align| Framing::Atb { align }));
    let mut framed: Vec<Framed> = all.into_iter().filter_map(|framing| walk(framing, excerpt)).collect();
    // The order above decides between those that nothing distinguishes.
    framed.sort_by_key(|framed| framed.against);
    let mut distinct: Vec<Framed> = Vec::new();
    for framed in framed {
        if distinct.len() < FRAMINGS && !distinct.iter().any(|other| other.is_like(&framed)) {
            distinct.push(framed);
        }
    }
    distinct
}

/// Walks the frames; none where they do not lead to the end.
fn walk(framing: Framing, excerpt: &Excerpt<'_>) -> Option<Framed> {
    let (mut at, mut frames, mut against) = (0, 0u64, 0u64);
    let mut payloads: Vec<(Vec<u8>, u32)> = Vec::new();
    let (mut sources, mut flows) = (Vec::new(), [0u64; 8]);
    let (mut scratch, mut stamps) = ([0; 64], Vec::new());
    let align = framing.align() as usize;
    while at < excerpt.bytes.len() && payloads.len() < FRAMES && frames < 8 * FRAMES as u64 {
        let rest = &excerpt.bytes[at..];
        let frame = match framing.read(rest, frames) {
            Ok(frame) => frame,
            // The excerpt may end anywhere.
            Err(error) if error == trackway_core::ErrorKind::Truncated && !excerpt.whole => break,
            Err(_) => return None,
        };
        frames += 1;
        at += (frame.len as usize).next_multiple_of(align);
        match frame.kind {
            Kind::Null => {
                against += u64::from(frame.header & 0x7f != 0);
                continue;
            }
            Kind::Other(_) => against += 4,
            Kind::Data | Kind::Instruction => {}
        }
        flows[usize::from(frame.header >> 5)] += 1;
        if let Some(time) = frame.time {
            against += u64::from(stamps.last().is_some_and(|before| time < *before));
            stamps.push(time);
        }
        if !sources.contains(&frame.source) {
            sources.push(frame.source);
        }
        let payload = frame.payload(rest, &mut scratch);
        // Packets are as short as their sign allows, in whole bytes.
        if let [.., before, last] = payload
            && frame.payload_at.is_multiple_of(8)
        {
            against += u64::from(*last == if before >> 7 == 1 { 0xff } else { 0 });
        }
        if frame.kind == Kind::Instruction {
            payloads.push((payload.to_vec(), frame.payload_bits));
        }
    }
    let starts = payloads.first().is_some_and(|(payload, _)| payload[0] & 3 == 3);
    let syncs = payloads.iter().filter(|(payload, _)| payload[0] & 15 == 3).count();
    if payloads.is_empty() || syncs == 0 {
        return None;
    }
    against += payloads.iter().filter(|(payload, _)| payload[0] & 3 == 0).count() as u64;
    against += if starts { 0 } else { 4 };
    against += 4 * (sources.len() as u64 - 1);
    against += flows.iter().sum::<u64>() - flows.iter().max().copied().unwrap_or(0);
    let against = against * 1000 / frames;
    Some(Framed { framing, payloads, stamps, against })
}
