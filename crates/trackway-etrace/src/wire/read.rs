//! Bytes to frames and packets.

use std::sync::Arc;

use trackway_core::{Error, ErrorKind, Feed, Input, Result};

use super::data;
use super::instruction::{Layout, Packet};
use super::received::Received;
use crate::config::Config;
use crate::modes::Options;
use crate::transport::{Frame, Kind, find_zero_run};

/// A frame with the packet in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Byte offset of the frame.
    pub offset: u64,
    /// Everything in the frame but the payload.
    pub frame: Frame,
    /// The payload.
    pub content: Content,
}

/// The payload of a frame.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// An instruction trace packet.
    Instruction(Received<Packet>),
    /// A data trace packet, where the settings have a data trace.
    Data(Received<data::Packet>),
    /// The bytes of anything else; none for null packets.
    Other(Vec<u8>),
}

impl Item {
    /// The instruction trace packet, if it is one.
    pub fn packet(&self) -> Option<&Packet> {
        match &self.content {
            Content::Instruction(received) => Some(&received.packet),
            _ => None,
        }
    }

    /// The data trace packet, if it is one.
    pub fn data(&self) -> Option<&data::Packet> {
        match &self.content {
            Content::Data(received) => Some(&received.packet),
            _ => None,
        }
    }
}

/// Reads frame by frame.
///
/// ```
/// use trackway_core::Input;
/// use trackway_etrace::{Config, Reader, wire::instruction::Packet};
/// let mut reader = Reader::new(Input::from_vec(vec![0x41, 0x0a]), &Config::default());
/// let item = reader.read()?.unwrap();
/// let Some(Packet::Address(reported)) = item.packet() else { unreachable!() };
/// assert_eq!(reported.address, 2);
/// assert!(reader.read()?.is_none());
/// # Ok::<(), trackway_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Reader {
    feed: Feed,
    config: Arc<Config>,
    layout: Layout,
    options: Options,
    data_layout: data::Layout,
    sizes: data::Sizes,
    /// Number of the next frame.
    index: u64,
    /// Read only the packets of this source.
    only: Option<u32>,
    /// See [`Framing::lone_header`](crate::transport::Framing).
    pub(crate) header: Option<u8>,
}

impl Reader {
    /// A reader at the start of `input`.
    pub fn new(input: Input, config: &Config) -> Self {
        Reader::shared(input, &Arc::new(config.clone()))
    }

    /// As [`new`](Reader::new), for many readers.
    pub(crate) fn shared(input: Input, config: &Arc<Config>) -> Self {
        Reader {
            feed: Feed::new(input),
            config: Arc::clone(config),
            layout: Layout::new(config, config.options),
            options: config.options,
            data_layout: data::Layout::new(config, config.options),
            sizes: data::Sizes::default(),
            index: 0,
            only: None,
            header: config.framing.lone_header(0),
        }
    }

    /// Reads only the packets of this source.
    pub(crate) fn of_source(self, only: Option<u32>) -> Self {
        Reader { only, ..self }
    }

    /// Jumps to the `index`th frame, at `offset`, where these modes are on. The input must be whole.
    pub(crate) fn jump(&mut self, offset: u64, index: u64, options: Options) {
        self.feed.consume((offset - self.feed.offset()) as usize);
        self.index = index;
        self.follow(options);
    }

    /// Offset and number of the next frame, if the input is in memory.
    pub(crate) fn place(&self) -> Option<(u64, u64)> {
        self.feed.is_whole().then(|| (self.offset(), self.index))
    }

    /// Is this place ahead, in an input that is in memory?
    pub(crate) fn has_place(&self, (offset, index): (u64, u64)) -> bool {
        let len = self.feed.bytes().len() as u64;
        let is_ahead = offset.checked_sub(self.offset()).is_some_and(|ahead| ahead <= len);
        // A frame has at least one byte, except for bare payloads.
        self.feed.is_whole() && is_ahead && index <= u64::MAX / 2
    }

    /// Offset of the next frame.
    #[inline]
    pub fn offset(&self) -> u64 {
        self.feed.offset()
    }

    /// The layout in use.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The layout of data packets in use.
    pub fn data_layout(&self) -> &data::Layout {
        &self.data_layout
    }

    /// The header of the next frame, which is not consumed; `None` at the end.
    #[inline]
    pub(crate) fn next_frame(&mut self) -> Result<Option<(u64, Frame)>> {
        loop {
            let bytes = self.feed.bytes();
            let read = read_frame(&self.config, bytes, self.index);
            match read {
                Ok(frame) => return Ok(Some((self.feed.offset(), frame))),
                Err(ErrorKind::Truncated) => {
                    let is_empty = bytes.is_empty();
                    if !self.feed.more()? {
                        if is_empty {
                            return Ok(None);
                        }
                        return Err(ErrorKind::Truncated.at(self.offset(), "frame", "payload", "E-Trace 6"));
                    }
                }
                Err(kind) => return Err(kind.at(self.offset(), "frame", "length", "E-Trace 6")),
            }
        }
    }

    /// The payload of the frame that `next_frame` returned.
    #[inline]
    pub(crate) fn payload<'a>(&'a self, frame: &Frame, scratch: &'a mut [u8; 64]) -> &'a [u8] {
        frame.payload(self.feed.bytes(), scratch)
    }

    /// The bytes available from the next frame on.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        self.feed.bytes()
    }

    /// Skips `frames` frames of `bytes` bytes in all.
    #[inline]
    pub(crate) fn skip(&mut self, bytes: usize, frames: u64) {
        self.feed.consume(bytes);
        self.index += frames;
    }

    /// Skips frames that are a header byte and a packet of format 0, 1 or 2; returns how many.
    pub(crate) fn skip_flow(&mut self) -> u64 {
        let Some(header) = self.header else { return 0 };
        let (bytes, mut at, mut frames) = (self.feed.bytes(), 0, 0);
        while let Some([first, second]) = bytes.get(at..).and_then(<[u8]>::first_chunk)
            && let len = usize::from(first & 31)
            && len > 0
            && first & !31 == header
            && second & 3 != 3
            && at + len < bytes.len()
        {
            at += 1 + len;
            frames += 1;
        }
        self.skip(at, frames);
        frames
    }

    /// Consumes the frame.
    #[inline]
    pub(crate) fn advance(&mut self, frame: &Frame) {
        self.feed.consume(frame.len as usize);
        self.index += 1;
    }

    /// Follows the modes of a support packet.
    #[inline]
    pub(crate) fn note(&mut self, packet: &Packet) {
        if let Packet::Support(support) = packet {
            self.follow(self.config.options_after(support.ioptions, support.doptions, self.options));
        }
    }

    fn follow(&mut self, options: Options) {
        if options != self.options {
            self.options = options;
            self.layout = Layout::new(&self.config, options);
            self.data_layout = data::Layout::new(&self.config, options);
        }
    }

    /// The next frame with its packet; `None` at the end.
    pub fn read(&mut self) -> Result<Option<Item>> {
        let (offset, frame) = loop {
            match self.next_frame()? {
                None => return Ok(None),
                Some((_, frame)) if self.only.is_some_and(|only| only != frame.source) => {
                    self.advance(&frame)
                }
                Some(next) => break next,
            }
        };
        let mut scratch = [0; 64];
        let payload = frame.payload(self.feed.bytes(), &mut scratch);
        let content = match frame.kind {
            Kind::Instruction => Received::<Packet>::read(payload, frame.payload_bits, &self.layout)
                .map(Content::Instruction)
                .map_err(|kind| bad_packet(kind, offset)),
            Kind::Data if self.config.data.enable => {
                let (bits, layout) = (frame.payload_bits, &self.data_layout);
                Received::<data::Packet>::read(payload, bits, layout, &self.sizes)
                    .map(Content::Data)
                    .map_err(|kind| kind.at(offset, "data packet", "format", "E-Trace 7"))
            }
            Kind::Null | Kind::Data | Kind::Other(_) => Ok(Content::Other(payload.to_vec())),
        };
        self.advance(&frame);
        let content = content?;
        match &content {
            Content::Instruction(received) => self.note(&received.packet),
            Content::Data(received) => self.sizes.note(&received.packet),
            Content::Other(_) => {}
        }
        Ok(Some(Item { offset, frame, content }))
    }

    /// After an error: continues at the next place where a packet must start (chapter 6). Returns the bytes
    /// skipped, `None` at the end.
    pub fn resync(&mut self) -> Result<Option<u64>> {
        // An invalid packet in a valid frame: the next frame follows it.
        if self.next_frame().is_ok_and(|frame| frame.is_some()) {
            return Ok(Some(0));
        }
        let start = self.offset();
        let block = u64::from(self.config.block_size);
        if block > 0 {
            let skip = block - start % block;
            let mut left = skip;
            while left > 0 {
                let here = left.min(self.feed.bytes().len() as u64);
                self.feed.consume(here as usize);
                left -= here;
                if left > 0 && !self.feed.more()? {
                    return Ok(None);
                }
            }
            return Ok(Some(self.offset() - start));
        }
        loop {
            match find_zero_run(self.feed.bytes()) {
                Some(at) => {
                    self.feed.consume(at);
                    return Ok(Some(self.offset() - start));
                }
                None if !self.feed.more()? => {
                    self.feed.consume(self.feed.bytes().len());
                    return Ok(None);
                }
                None => {}
            }
        }
    }
}

/// Reads the frame at the start of `bytes`. Data packets may have a source id of their own.
#[inline]
fn read_frame(config: &Config, bytes: &[u8], index: u64) -> Result<Frame, ErrorKind> {
    let mut frame = config.framing.read(bytes, index)?;
    if config.data.source == Some(frame.source) && frame.kind == Kind::Instruction {
        (frame.kind, frame.source) = (Kind::Data, config.encoder.source);
    }
    Ok(frame)
}

/// The error of a packet that cannot be read.
pub(crate) fn bad_packet(kind: ErrorKind, offset: u64) -> Error {
    let field = match kind {
        ErrorKind::Illegal { .. } => "branch_fmt",
        ErrorKind::Unknown { .. } | ErrorKind::Impossible { .. } => "subformat",
        _ => "payload",
    };
    kind.at(offset, "packet", field, "E-Trace 6.8")
}
