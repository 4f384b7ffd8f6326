//! Encapsulation: how payloads are wrapped for transport (chapter 6, figure 6.1, and the ratified packet
//! encapsulation).
//!
//! All framings but one have a header byte with the payload's length in its low five bits. The rest is packed
//! least significant bit first: source id, time stamp, packet type, payload.

use trackway_core::{BitReader, BitWriter, ErrorKind};

/// How packets are wrapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Framing {
    /// The reference model's raw file, and SMI: length, type in bits 6:5 (2 instruction, 3 data), bit 7: a
    /// 16-bit time tag follows.
    Smi,
    /// The ratified packet encapsulation: length, flow in bits 6:5, bit 7: a time stamp follows.
    Encap {
        /// Bits of the source id.
        srcid_width: u32,
        /// Bits of the packet type (2 instruction, 3 data).
        type_width: u32,
        /// Bytes of the time stamp.
        timestamp_bytes: u32,
    },
    /// The draft's first example (figure 6.1): length, flow in bits 6:5, bit 7: a 16-bit time stamp follows.
    Ultrasoc {
        /// Bits of the index, which is the source id.
        index_width: u32,
    },
    /// The draft's second example, for the Arm trace bus: length, bit 5: a 16-bit time stamp follows.
    Atb {
        /// Packets start at multiples of this many bytes.
        align: u32,
    },
    /// Payloads alone; their lengths come from elsewhere.
    Bare {
        /// Length of each payload in bytes.
        lengths: Vec<u32>,
    },
}

/// The kind of trace in a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Instruction trace.
    Instruction,
    /// Data trace.
    Data,
    /// Something else, by its type code.
    Other(u8),
    /// None: an idle or alignment byte.
    Null,
}

/// A frame without its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The header byte; 0 for bare payloads.
    pub header: u8,
    /// Kind of trace in the payload.
    pub kind: Kind,
    /// Source id.
    pub source: u32,
    /// Time stamp, where the frame has one.
    pub time: Option<u64>,
    /// Type code of the packet.
    pub code: u8,
    /// First bit of the payload, from the start of the frame.
    pub payload_at: u32,
    /// Length of the payload in bits.
    pub payload_bits: u32,
    /// Length of the frame in bytes.
    pub len: u32,
}

/// Longest payload that a header can announce.
const MAX_PAYLOAD: u32 = 31;
/// A run of this many zero bytes cannot lie inside a packet (chapter 6).
const ALIGN_ZEROS: usize = 32;

/// Layout of a frame with a header; widths in bits unless named otherwise.
#[derive(Clone, Copy)]
struct HeaderLayout {
    /// Bit of the header that announces a time stamp.
    stamp_bit: u32,
    stamp_bytes: u32,
    srcid: u32,
    /// Bits of the type after the time stamp.
    kind: u32,
    /// The type is in bits 6:5 of the header.
    kind_in_header: bool,
}

impl Framing {
    /// Its name in settings files.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Framing::Smi => "smi",
            Framing::Encap { .. } => "encap",
            Framing::Ultrasoc { .. } => "ultrasoc",
            Framing::Atb { .. } => "atb",
            Framing::Bare { .. } => "bare",
        }
    }

    /// Bits of the source id.
    pub(crate) const fn source_bits(&self) -> u32 {
        match self {
            Framing::Encap { srcid_width, .. } => *srcid_width,
            Framing::Ultrasoc { index_width } => *index_width,
            _ => 0,
        }
    }

    /// Bits of the time stamp that a frame can have.
    pub(crate) const fn stamp_bits(&self) -> u32 {
        match self.header_layout() {
            Some(layout) => layout.stamp_bytes * 8,
            None => 0,
        }
    }

    /// Does a frame say whether it holds instruction or data trace?
    pub(crate) const fn marks_data(&self) -> bool {
        match self {
            Framing::Smi => true,
            Framing::Encap { type_width, .. } => *type_width >= 2,
            Framing::Ultrasoc { .. } | Framing::Atb { .. } | Framing::Bare { .. } => false,
        }
    }

    /// Rejects widths out of range: the key and the reason.
    pub(crate) fn check(&self) -> Result<(), (&'static str, &'static str)> {
        match self {
            Framing::Encap { srcid_width, .. } if *srcid_width > 32 => Err(("srcid_width", "at most 32")),
            Framing::Encap { type_width, .. } if *type_width > 8 => Err(("type_width", "at most 8")),
            Framing::Encap { timestamp_bytes, .. } if *timestamp_bytes > 8 => {
                Err(("timestamp_bytes", "at most 8"))
            }
            Framing::Ultrasoc { index_width } if *index_width > 32 => Err(("srcid_width", "at most 32")),
            Framing::Atb { align } if !(1..=4096).contains(align) => {
                Err(("align", "has to be between 1 and 4096"))
            }
            _ => Ok(()),
        }
    }

    const fn header_layout(&self) -> Option<HeaderLayout> {
        Some(match self {
            Framing::Smi => {
                HeaderLayout { stamp_bit: 7, stamp_bytes: 2, srcid: 0, kind: 0, kind_in_header: true }
            }
            Framing::Encap { srcid_width, type_width, timestamp_bytes } => HeaderLayout {
                stamp_bit: 7,
                stamp_bytes: *timestamp_bytes,
                srcid: *srcid_width,
                kind: *type_width,
                kind_in_header: false,
            },
            Framing::Ultrasoc { index_width } => HeaderLayout {
                stamp_bit: 7,
                stamp_bytes: 2,
                srcid: *index_width,
                kind: 0,
                kind_in_header: false,
            },
            Framing::Atb { .. } => {
                HeaderLayout { stamp_bit: 5, stamp_bytes: 2, srcid: 0, kind: 0, kind_in_header: false }
            }
            Framing::Bare { .. } => return None,
        })
    }

    /// Reads the frame at the start of `bytes`; `index` is the number of the packet, for bare payloads.
    #[inline]
    pub fn read(&self, bytes: &[u8], index: u64) -> Result<Frame, ErrorKind> {
        let Some(layout) = self.header_layout() else { return self.read_bare(bytes, index) };
        let header = *bytes.first().ok_or(ErrorKind::Truncated)?;
        let length = u32::from(header & 31);
        let mut frame = Frame {
            header,
            kind: Kind::Null,
            source: 0,
            time: None,
            code: header >> 5 & 3,
            payload_at: 8,
            payload_bits: 0,
            len: 1,
        };
        if length == 0 {
            return Ok(frame);
        }
        let stamped = header >> layout.stamp_bit & 1 == 1 && layout.stamp_bytes > 0;
        let stamp = if stamped { layout.stamp_bytes } else { 0 };
        // Whole bytes of the source id are not counted in the length.
        frame.len = 1 + layout.srcid / 8 + stamp + length;
        if bytes.len() < frame.len as usize {
            return Err(ErrorKind::Truncated);
        }
        let head = layout.srcid + stamp * 8 + layout.kind;
        if head > 0 {
            let mut bits = BitReader::new(&bytes[1..]);
            frame.source = bits.take(layout.srcid)? as u32;
            if stamped {
                frame.time = Some(bits.take(stamp * 8)?);
            }
            if layout.kind > 0 {
                frame.code = bits.take(layout.kind)? as u8;
            }
        }
        frame.payload_at = 8 + head;
        frame.payload_bits = (frame.len * 8)
            .checked_sub(frame.payload_at)
            .filter(|bits| *bits > 0)
            .ok_or(ErrorKind::Illegal { found: u64::from(length) })?;
        frame.kind = match frame.code {
            _ if !layout.kind_in_header && layout.kind == 0 => Kind::Instruction,
            2 => Kind::Instruction,
            // A known producer leaves the type bits of its encapsulation 0.
            0 if !layout.kind_in_header => Kind::Instruction,
            3 => Kind::Data,
            code => Kind::Other(code),
        };
        Ok(frame)
    }

    fn read_bare(&self, bytes: &[u8], index: u64) -> Result<Frame, ErrorKind> {
        let Framing::Bare { lengths } = self else { return Err(ErrorKind::Missing) };
        let Some(&len) = usize::try_from(index).ok().and_then(|index| lengths.get(index)) else {
            return Err(if bytes.is_empty() {
                ErrorKind::Truncated
            } else {
                ErrorKind::Trailing { count: bytes.len() as u64 }
            });
        };
        if bytes.len() < len as usize {
            return Err(ErrorKind::Truncated);
        }
        let kind = if len == 0 { Kind::Null } else { Kind::Instruction };
        let payload_bits = len.saturating_mul(8);
        Ok(Frame { header: 0, kind, source: 0, time: None, code: 0, payload_at: 0, payload_bits, len })
    }

    /// Writes a frame around a payload of `bits` bits; header bits other than length and stamp come from `frame`.
    pub fn write(
        &self,
        frame: &Frame,
        payload: &[u8],
        bits: u32,
        out: &mut Vec<u8>,
    ) -> Result<(), ErrorKind> {
        let Some(layout) = self.header_layout() else {
            out.extend_from_slice(payload);
            return Ok(());
        };
        if frame.kind == Kind::Null {
            out.push(frame.header);
            return Ok(());
        }
        let stamp = frame.time.map_or(0, |_| layout.stamp_bytes);
        let total = (layout.srcid + stamp * 8 + layout.kind + bits).div_ceil(8);
        let length = total - layout.srcid / 8 - stamp;
        if length > MAX_PAYLOAD || length == 0 {
            return Err(ErrorKind::Illegal { found: u64::from(length) });
        }
        let mut header = frame.header & !31 | length as u8;
        // Without time stamps the bit has no meaning and is kept.
        if layout.stamp_bytes > 0 {
            header = header & !(1 << layout.stamp_bit) | u8::from(stamp > 0) << layout.stamp_bit;
        }
        if layout.kind_in_header {
            header = header & !0x60 | (frame.code & 3) << 5;
        }
        out.push(header);
        let head = layout.srcid + stamp * 8 + layout.kind;
        if head == 0 && bits.is_multiple_of(8) {
            out.extend_from_slice(payload);
            return Ok(());
        }
        let mut writer = BitWriter::default();
        writer.put(u64::from(frame.source), layout.srcid);
        writer.put(frame.time.unwrap_or(0), stamp * 8);
        writer.put(u64::from(frame.code), layout.kind);
        let mut reader = BitReader::new(payload);
        let mut left = bits;
        while left > 0 {
            let width = left.min(32);
            writer.put(reader.take(width)?, width);
            left -= width;
        }
        out.extend(writer.into_bytes_extended());
        Ok(())
    }

    /// A frame for a new packet.
    pub fn frame(&self, kind: Kind, source: u32, time: Option<u64>) -> Frame {
        let layout = self.header_layout();
        let code = match kind {
            Kind::Instruction | Kind::Null => 2,
            Kind::Data => 3,
            Kind::Other(code) => code,
        };
        let time = time.filter(|_| layout.is_some_and(|layout| layout.stamp_bytes > 0));
        Frame { header: 0, kind, source, time, code, payload_at: 0, payload_bits: 0, len: 0 }
    }

    /// The header of an instruction packet less its length, if the frame is that byte and the payload.
    pub(crate) fn lone_header(&self, source: u32) -> Option<u8> {
        let frame = self.frame(Kind::Instruction, source, None);
        let mut bytes = Vec::new();
        self.write(&frame, &[0], 8, &mut bytes).ok()?;
        (bytes.len() == 2 && bytes[0] & 31 == 1).then_some(bytes[0] & !31)
    }

    /// Packets start at multiples of this many bytes.
    pub fn align(&self) -> u32 {
        if let Framing::Atb { align } = self { *align } else { 1 }
    }
}

impl Frame {
    /// The payload in the frame's bytes; `scratch` holds it where it does not start at a byte.
    #[inline]
    pub fn payload<'a>(&self, bytes: &'a [u8], scratch: &'a mut [u8; 64]) -> &'a [u8] {
        if self.payload_at.is_multiple_of(8) {
            return &bytes[(self.payload_at / 8) as usize..self.len as usize];
        }
        let len = self.payload_bits.div_ceil(8) as usize;
        let (first, shift) = ((self.payload_at / 8) as usize, self.payload_at % 8);
        for (n, out) in scratch[..len].iter_mut().enumerate() {
            let byte = |n: usize| bytes.get(first + n).copied().unwrap_or(0);
            *out = byte(n) >> shift | (u16::from(byte(n + 1)) << (8 - shift)) as u8;
        }
        let used = self.payload_bits % 8;
        if used > 0 {
            // Bits above the payload are copies of its last one.
            let last = &mut scratch[len - 1];
            let fill = 0xffu8 << used;
            *last = if *last >> (used - 1) & 1 == 1 { *last | fill } else { *last & !fill };
        }
        &scratch[..len]
    }
}

/// Start of the first packet after a run of zero bytes (chapter 6), if there is one in `bytes`.
pub fn find_zero_run(bytes: &[u8]) -> Option<usize> {
    let mut zeros = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        if byte == 0 {
            zeros += 1;
        } else if zeros >= ALIGN_ZEROS {
            return Some(at);
        } else {
            zeros = 0;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An extend bit where there are no time stamps is written back as it was.
    #[test]
    fn an_extend_bit_without_time_stamps_is_kept() {
        let framing = Framing::Encap { srcid_width: 3, type_width: 0, timestamp_bytes: 0 };
        let bytes = [0x81, 0x00];
        let frame = framing.read(&bytes, 0).unwrap();
        let (mut scratch, mut out) = ([0; 64], Vec::new());
        let payload = frame.payload(&bytes, &mut scratch);
        framing.write(&frame, payload, frame.payload_bits, &mut out).unwrap();
        assert_eq!(out, bytes);
    }
}
