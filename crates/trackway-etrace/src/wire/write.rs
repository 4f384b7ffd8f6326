//! Packets to bytes: payload, frame, alignment.

use trackway_core::{ErrorKind, Result};

use super::bits::{Payload, ShortPayload};
use super::data;
use super::instruction::{Layout, Packet};
use super::read::{Content, Item};
use crate::config::Config;
use crate::modes::Options;
use crate::transport::{Frame, Framing, Kind};

/// Writes packets.
///
/// ```
/// use trackway_etrace::{Config, Writer, wire::instruction::{Packet, Reported}};
/// let mut writer = Writer::new(&Config::default());
/// writer.write(&Packet::Address(Reported { address: 2, ..Reported::default() }), None)?;
/// assert_eq!(writer.bytes, [0x41, 0x0a]);
/// # Ok::<(), trackway_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Writer {
    /// Bytes written and not yet taken.
    pub bytes: Vec<u8>,
    /// Lengths of the payloads, for bare ones.
    pub lengths: Vec<u32>,
    /// Instruction trace packets written.
    pub packets: u64,
    /// Bytes of their payload.
    pub payload_bytes: u64,
    /// Bits that compression saved.
    pub saved_bits: u64,
    /// Data trace packets written.
    pub data_packets: u64,
    /// Bytes of their payload.
    pub data_bytes: u64,
    layout: Layout,
    data_layout: data::Layout,
    config: Config,
    /// Bytes taken before `bytes`.
    offset: u64,
    /// The header byte less the length, where a frame is that byte and the payload, and packets are adjacent.
    header: Option<u8>,
}

impl Writer {
    /// A writer for these parameters.
    pub fn new(config: &Config) -> Self {
        let is_dense = config.block_size == 0 && config.framing.align() == 1;
        let header = config.framing.lone_header(config.encoder.source).filter(|_| is_dense);
        Writer {
            bytes: Vec::new(),
            lengths: Vec::new(),
            packets: 0,
            payload_bytes: 0,
            saved_bits: 0,
            data_packets: 0,
            data_bytes: 0,
            layout: Layout::new(config, config.options),
            data_layout: data::Layout::new(config, config.options),
            config: config.clone(),
            offset: 0,
            header,
        }
    }

    /// The layout in use.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Switches to these modes.
    pub fn set_options(&mut self, options: Options) {
        self.layout = Layout::new(&self.config, options);
        self.data_layout = data::Layout::new(&self.config, options);
    }

    /// Follows the modes of a support packet.
    fn note(&mut self, packet: &Packet) {
        if let Packet::Support(support) = packet {
            self.config.options =
                self.config.options_after(support.ioptions, support.doptions, self.config.options);
            self.set_options(self.config.options);
        }
    }

    /// Bytes written so far.
    pub fn position(&self) -> u64 {
        self.offset + self.bytes.len() as u64
    }

    /// Takes the bytes written so far.
    pub fn take(&mut self) -> Vec<u8> {
        self.offset += self.bytes.len() as u64;
        std::mem::take(&mut self.bytes)
    }

    /// Drops the bytes, which the caller has used.
    pub fn clear(&mut self) {
        self.offset += self.bytes.len() as u64;
        self.bytes.clear();
    }

    /// Writes a packet, with a time stamp where the framing has one.
    #[inline(always)]
    pub fn write(&mut self, packet: &Packet, time: Option<u64>) -> Result<()> {
        let compress = self.config.encoder.compress;
        if time.is_none()
            && let Some(payload) = packet.write_short(&self.layout, compress)
            && self.write_short(&payload)
        {
            return Ok(());
        }
        self.write_framed(packet, time)
    }

    /// Writes an instruction packet without a time stamp; false where a frame is more than a byte and the payload.
    #[inline(always)]
    pub(crate) fn write_short(&mut self, payload: &ShortPayload) -> bool {
        let Some(header) = self.header else { return false };
        self.saved_bits += u64::from(payload.saved());
        // One move of a fixed length, of which the end is cut off.
        let frame =
            u128::from(u64::from_le_bytes(payload.bytes)) << 8 | u128::from(header | payload.len as u8);
        let end = self.bytes.len() + 1 + payload.len;
        self.bytes.extend(frame.to_le_bytes());
        self.bytes.truncate(end);
        self.packets += 1;
        self.payload_bytes += payload.len as u64;
        true
    }

    #[inline(never)]
    fn write_framed(&mut self, packet: &Packet, time: Option<u64>) -> Result<()> {
        let payload = &packet.write(&self.layout, self.config.encoder.compress);
        let frame = self.config.framing.frame(Kind::Instruction, self.config.encoder.source, time);
        self.saved_bits += u64::from(payload.saved());
        self.put_new(&frame, payload.bytes(), packet.section())
    }

    /// Writes the payload of a data packet, with a time stamp where the framing has one.
    pub fn write_data(&mut self, payload: &Payload, time: Option<u64>) -> Result<()> {
        let frame = self.config.framing.frame(Kind::Data, self.config.encoder.source, time);
        self.saved_bits += u64::from(payload.saved());
        self.put_new(&frame, payload.bytes(), "E-Trace 7")
    }

    /// Writes an item as it was read, byte for byte, and follows the modes of a support packet.
    pub fn write_item(&mut self, item: &Item) -> Result<()> {
        let Item { frame, content, .. } = item;
        match content {
            Content::Instruction(received) => {
                let payload = received.write(&self.layout);
                self.put(frame, &payload, received.bits, received.packet.section())?;
                self.note(&received.packet);
                Ok(())
            }
            Content::Data(received) => {
                let section = received.packet.section();
                let payload = received.write(&self.data_layout);
                let payload = payload.map_err(|kind| kind.at(item.offset, "data packet", "size", section))?;
                self.put(frame, &payload, received.bits, section)
            }
            Content::Other(payload) => self.put(frame, payload, frame.payload_bits, "E-Trace 6"),
        }
    }

    /// A packet of its own; the padding around one that was read is items too.
    fn put_new(&mut self, frame: &Frame, payload: &[u8], section: &'static str) -> Result<()> {
        let start = self.bytes.len();
        self.put(frame, payload, payload.len() as u32 * 8, section)?;
        self.pad(start)
    }

    fn put(&mut self, frame: &Frame, payload: &[u8], bits: u32, section: &'static str) -> Result<()> {
        let start = self.bytes.len();
        let source = match frame.kind {
            Kind::Data => self.config.data.source.unwrap_or(frame.source),
            _ => frame.source,
        };
        self.config
            .framing
            .write(&Frame { source, ..*frame }, payload, bits, &mut self.bytes)
            .map_err(|kind| kind.at(self.offset + start as u64, "packet", "length", section))?;
        if frame.kind != Kind::Null {
            let bytes = payload.len() as u64;
            if frame.kind == Kind::Data {
                self.data_packets += 1;
                self.data_bytes += bytes;
            } else {
                self.packets += 1;
                self.payload_bytes += bytes;
            }
        }
        if matches!(self.config.framing, Framing::Bare { .. }) {
            self.lengths.push(payload.len() as u32);
        }
        Ok(())
    }

    /// Moves the packet that starts at `start` past a block boundary that it would cross, and aligns the next one.
    fn pad(&mut self, start: usize) -> Result<()> {
        let len = (self.bytes.len() - start) as u64;
        let block = u64::from(self.config.block_size);
        let at = self.offset + start as u64;
        if block > 0 && at / block != (at + len - 1) / block {
            if len > block {
                return Err(ErrorKind::Illegal { found: len }.at(at, "packet", "length", "E-Trace 6"));
            }
            let zeros = (block - at % block) as usize;
            self.bytes.splice(start..start, std::iter::repeat_n(0, zeros));
        }
        let align = u64::from(self.config.framing.align());
        while align > 1 && !self.position().is_multiple_of(align) {
            self.bytes.push(0);
        }
        Ok(())
    }
}
