//! Framings by which bytes can be walked to their end.

use trackway_core::mask;
use trackway_format::Excerpt;

use super::change::{Change, number};
use crate::transport::{Framing, Kind};

/// Frames that are looked at.
const FRAMES: usize = 512;
/// Framings that are returned.
const FRAMINGS: usize = 24;

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

/// The keys that name it; those of other framings have no effect and stay.
pub(super) fn framing_keys(framing: &Framing) -> Change {
    let mut keys: Change = vec![("framing", Some(framing.as_str().into()))];
    match *framing {
        Framing::Encap { srcid_width, type_width, timestamp_bytes } => keys.extend([
            ("srcid_width", number(srcid_width)),
            ("type_width", number(type_width)),
            ("timestamp_bytes", number(timestamp_bytes)),
        ]),
        Framing::Ultrasoc { index_width } => keys.push(("srcid_width", number(index_width))),
        Framing::Atb { align } => keys.push(("align", number(align))),
        _ => {}
    }
    keys
}

/// The framings by their names alone, with the widths that the settings have.
pub(super) fn framing_names() -> impl Iterator<Item = (String, Change)> {
    ["smi", "encap", "ultrasoc", "atb"]
        .into_iter()
        .map(|name| (format!("framing {name}"), vec![("framing", Some(name.into()))]))
}

/// The framings by which the excerpt can be walked to its end, the likeliest first; of those that nothing
/// distinguishes, the `given` one.
pub(super) fn framings(excerpt: &Excerpt<'_>, given: Option<&Framing>) -> Vec<Framed> {
    let mut all: Vec<Framing> = given.filter(|given| given.as_str() != "bare").cloned().into_iter().collect();
    all.push(Framing::Smi);
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
            against += u64::from(stamps.last().is_some_and(|before| is_earlier(time, *before, &framing)));
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
    // Format 0 needs a mode that few encoders have.
    against += payloads.iter().filter(|(payload, _)| payload[0] & 3 == 0).count() as u64 / 8;
    against += if starts { 0 } else { 4 };
    // A byte of the time that never changes is a source id.
    against +=
        if stamps.len() > 3 && stamps.iter().all(|time| time & 0xff == stamps[0] & 0xff) { 4 } else { 0 };
    against += 4 * (sources.len() as u64 - 1);
    against += flows.iter().sum::<u64>() - flows.iter().max().copied().unwrap_or(0);
    let against = against * 1000 / frames;
    Some(Framed { framing, payloads, stamps, against })
}

/// Is a time stamp before another? They begin again at 0 when they are full.
fn is_earlier(time: u64, before: u64, framing: &Framing) -> bool {
    let bits = match framing {
        Framing::Encap { timestamp_bytes, .. } => 8 * timestamp_bytes,
        _ => 16,
    };
    mask(time.wrapping_sub(before), bits) >> (bits - 1) == 1
}
