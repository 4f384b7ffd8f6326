//! The packets of all sources, one after the other, without the program: for `dump --raw` and `check`, which must work
//! on broken traces too.

use std::collections::VecDeque;
use std::fmt::Write;
use std::sync::Arc;

use trackway_core::{Error, Input, Item, Items, Result};

use crate::config::{Config, Options};
use crate::transport::input::{Session, SourceBytes, SourceInput, TraceSource};
use crate::wire::packet::{Packet, Previous};
use crate::wire::read::Reader;
use crate::wire::scan::{
    SYNC_LEN, Stop, Visit, Walk, Window, bytes_before_sync, endless_zeros, find_sync, leading_zeros,
};

/// An item of [`Packets`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PacketItem {
    /// The next source begins.
    Source(String),
    /// Bytes outside packets: before the first Alignment Sync, or cut off.
    Skipped,
    /// A packet.
    Packet(Packet),
}

/// An item and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The item.
    pub item: PacketItem,
    /// Offset of its first byte in the buffer.
    pub offset: u64,
    /// The bytes of a packet.
    pub bytes: Vec<u8>,
    /// Number of bytes of a packet, or skipped.
    pub len: u64,
}

/// Reads the packets of all sources.
pub struct Packets {
    sources: VecDeque<SourceInput>,
    options: Options,
    current: Option<SourcePackets>,
}

impl std::fmt::Debug for Packets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Packets({} sources left)", self.sources.len())
    }
}

impl Packets {
    /// The packets of `sources`.
    pub fn new(sources: Vec<TraceSource>, options: Options) -> Self {
        let known_ids =
            sources.iter().fold(options.known_ids, |ids, source| ids | 1 << source.config.trace_id);
        let sources = sources.into_iter().map(SourceInput::from).collect();
        Packets { sources, options: Options { known_ids, ..options }, current: None }
    }

    /// The packets of `sessions`.
    pub fn of_sessions(sessions: Vec<Session>, options: Options) -> Self {
        Packets { sources: sessions.into_iter().map(SourceInput::from).collect(), options, current: None }
    }

    /// The packets of one raw stream.
    pub fn from_input(config: Config, input: Input, options: Options) -> Self {
        let sources = [SourceInput::raw(config, input, Arc::default())].into();
        Packets { sources, options, current: None }
    }

    /// The configuration of the current source.
    pub fn config(&self) -> Option<&Arc<Config>> {
        self.current.as_ref().map(|source| &source.config)
    }

    /// The next item; after an error, call [`resync`](Packets::resync) to continue.
    #[allow(clippy::should_implement_trait)] // It can fail and continue, which an iterator cannot.
    pub fn next(&mut self) -> Result<Option<Placed>> {
        if let Some(source) = &mut self.current {
            if let Some(placed) = source.next()? {
                return Ok(Some(placed));
            }
            self.current = None;
        }
        let Some(mut source) = self.sources.pop_front() else { return Ok(None) };
        let input = source.open(&self.options)?;
        let config = source.config;
        let item = PacketItem::Source(config.name.clone());
        let placed = Placed { item, offset: input.offset(0), bytes: Vec::new(), len: 0 };
        let walk = Walk::new(Reader::new(&config.dialect));
        self.current = Some(SourcePackets { input, walk, config, at: 0, synchronised: false, begun: false });
        Ok(Some(placed))
    }

    /// After an error: continues at the next Alignment Sync and returns the number of bytes skipped.
    pub fn resync(&mut self) -> Result<Option<u64>> {
        let Some(source) = &mut self.current else { return Ok(Some(0)) };
        source.synchronised = false;
        let skipped = source.seek()?;
        let more = source.synchronised || !self.sources.is_empty();
        Ok(more.then_some(skipped))
    }
}

/// The current source.
struct SourcePackets {
    input: SourceBytes,
    walk: Walk,
    config: Arc<Config>,
    /// Place in the window.
    at: usize,
    /// An Alignment Sync was seen, so packet boundaries are known.
    synchronised: bool,
    begun: bool,
}

/// Stops a [`Walk`] after one packet.
struct OnePacket(Option<(Packet, usize)>);

impl Visit for OnePacket {
    fn usual<W: Window>(&mut self, _: &W, _: &[u8], at: usize, _: &mut usize) -> usize {
        at
    }

    fn packet(&mut self, packet: &Packet, _: u8, length: usize, _: u64) -> std::result::Result<(), Error> {
        self.0 = Some((*packet, length));
        Ok(())
    }

    fn stops_before(&self, _: usize) -> bool {
        false
    }

    fn stops_after(&self) -> bool {
        self.0.is_some()
    }
}

impl SourcePackets {
    fn more(&mut self) -> Result<bool> {
        self.input.consume(self.at);
        self.at = 0;
        self.walk.reset();
        self.input.more()
    }

    /// Moves to the next Alignment Sync and returns the number of bytes skipped.
    fn seek(&mut self) -> Result<u64> {
        let mut skipped = 0;
        loop {
            let bytes = self.input.bytes();
            if let Some(end) = find_sync(bytes, self.at) {
                let start = (end - SYNC_LEN).max(self.at);
                skipped += (start - self.at) as u64;
                // The Alignment Sync itself is a packet.
                self.at = start;
                self.walk.reset();
                self.synchronised = true;
                return Ok(skipped);
            }
            let skip = bytes_before_sync(&bytes[self.at..]);
            skipped += skip as u64;
            self.at += skip;
            if !self.more()? {
                skipped += (self.input.bytes().len() - self.at) as u64;
                self.at = self.input.bytes().len();
                return Ok(skipped);
            }
        }
    }

    fn next(&mut self) -> Result<Option<Placed>> {
        if !self.begun {
            self.begun = true;
            while self.input.bytes().iter().all(|&byte| byte == 0) && self.input.more()? {
                self.input.consume(endless_zeros(self.input.bytes()));
            }
            if let Some(zeros) = leading_zeros(self.input.bytes()) {
                let sync = Packet::AlignmentSync { zeros: zeros as u32 };
                self.at = zeros + 1;
                return Ok(Some(self.packet(sync, zeros + 1)));
            }
        }
        if !self.synchronised {
            let offset = self.input.offset(self.at);
            let len = self.seek()?;
            if len > 0 {
                return Ok(Some(skipped(offset, len)));
            }
        }
        loop {
            let offset = self.input.offset(self.at);
            let stretch = (self.input.bytes().len(), self.input.ended());
            let mut visit = OnePacket(None);
            match self.walk.run(&self.input.view(), stretch, &mut self.at, &mut visit) {
                Stop::Visitor => {
                    let Some((packet, length)) = visit.0 else { continue };
                    return Ok(Some(self.packet(packet, length)));
                }
                Stop::End => {
                    if !self.more()? {
                        return Ok(None);
                    }
                }
                Stop::Incomplete => {
                    let zeros = endless_zeros(&self.input.bytes()[self.at..]);
                    if zeros > 0 {
                        self.at += zeros;
                        return Ok(Some(skipped(offset, zeros as u64)));
                    }
                    self.more()?;
                }
                Stop::Bad(error) if error.is_truncated() && self.input.is_cut() => {
                    let len = self.input.bytes().len() - self.at;
                    self.at += len;
                    return Ok(Some(skipped(offset, len as u64)));
                }
                Stop::Bad(error) => return Err(error),
            }
        }
    }

    /// The packet of `length` bytes before the current place.
    fn packet(&mut self, packet: Packet, length: usize) -> Placed {
        self.synchronised = true;
        let start = self.at - length;
        let bytes = self.input.bytes()[start..self.at].to_vec();
        let offset = self.input.offset(start);
        Placed { item: PacketItem::Packet(packet), offset, bytes, len: length as u64 }
    }
}

fn skipped(offset: u64, len: u64) -> Placed {
    Placed { item: PacketItem::Skipped, offset, bytes: Vec::new(), len }
}

/// The packets of all sources as text: their bytes in brackets, then their fields. Addresses and timestamps are shown
/// in full where earlier packets complete them.
#[derive(Debug)]
pub struct Text {
    packets: Packets,
    previous: Previous,
    /// Show where each source begins.
    name_sources: bool,
}

impl Text {
    /// The text of `packets`, which come from `sources` sources.
    pub fn new(packets: Packets, sources: usize) -> Self {
        Text { packets, previous: Previous::default(), name_sources: sources > 1 }
    }
}

impl Items for Text {
    fn next(&mut self, item: &mut Item) -> Result<bool> {
        loop {
            let Some(placed) = self.packets.next()? else { return Ok(false) };
            item.offset = placed.offset;
            item.len = placed.len;
            item.text.clear();
            match placed.item {
                PacketItem::Source(name) => {
                    self.previous = Previous::default();
                    if !self.name_sources {
                        continue;
                    }
                    item.name = "source";
                    item.text.push_str(&name);
                }
                PacketItem::Skipped => {
                    item.name = "not synchronised";
                    let _ = write!(item.text, "{} bytes", placed.len);
                }
                PacketItem::Packet(packet) => {
                    item.name = packet.name();
                    item.text.push('[');
                    for (index, byte) in placed.bytes.iter().enumerate() {
                        let space = if index == 0 { "" } else { " " };
                        let _ = write!(item.text, "{space}{byte:02x}");
                    }
                    item.text.push(']');
                    if let Some(config) = self.packets.config() {
                        packet.show(config, &mut self.previous, &mut item.text);
                    }
                }
            }
            return Ok(true);
        }
    }

    fn resync(&mut self) -> Result<Option<u64>> {
        self.packets.resync()
    }
}
