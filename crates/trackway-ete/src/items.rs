//! The packets of all sources, one after the other, without following the program: for `dump --raw` and
//! `check`, which must work on broken traces too.

use std::collections::VecDeque;
use std::sync::Arc;

use trackway_core::{Error, ErrorKind, Input, Result};

use crate::config::Config;
use crate::decode::decoder::{SYNC_LEN, find_sync};
use crate::decode::source::endless_zeros;
use crate::lift::{Options, Trace};
use crate::transport::input::{Pending, Supply};
use crate::wire::packet::Packet;
use crate::wire::read::{MIN_ZEROS, Reader};

/// What [`Packets::next`] gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// The next source begins.
    Source(String),
    /// Bytes in which no packet can be told.
    Skipped,
    /// A packet.
    Packet(Packet),
}

/// A piece of a source and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// What it is.
    pub piece: Piece,
    /// Offset of its first byte in the buffer.
    pub offset: u64,
    /// Its bytes; none where they are skipped or a source begins.
    pub bytes: Vec<u8>,
    /// How many bytes.
    pub len: u64,
}

/// Gives packets.
pub struct Packets {
    sources: VecDeque<Pending>,
    options: Options,
    current: Option<One>,
}

impl std::fmt::Debug for Packets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Packets({} sources left)", self.sources.len())
    }
}

/// The source that is being read.
struct One {
    supply: Supply,
    reader: Reader,
    config: Arc<Config>,
    at: usize,
    /// Behind the next synchronisation.
    sync: Option<usize>,
    /// Packets can be told: a synchronisation was met.
    synchronised: bool,
    begun: bool,
}

impl Packets {
    /// The packets of `traces`.
    pub fn new(traces: Vec<Trace>, options: Options) -> Self {
        let sources = traces.into_iter().map(Pending::from).collect();
        Packets { sources, options, current: None }
    }

    /// The packets of one raw stream, as it comes.
    pub fn from_input(config: Config, input: Input, options: Options) -> Self {
        let sources = [Pending::raw(config, input, Arc::default())].into();
        Packets { sources, options, current: None }
    }

    /// The registers of the source that is being read.
    pub fn config(&self) -> Option<&Arc<Config>> {
        self.current.as_ref().map(|one| &one.config)
    }

    /// The next piece; after an error, call [`resync`](Packets::resync) to go on.
    #[allow(clippy::should_implement_trait)] // It fails and goes on, which an iterator does not.
    pub fn next(&mut self) -> Result<Option<Placed>> {
        if let Some(one) = &mut self.current {
            if let Some(placed) = one.next()? {
                return Ok(Some(placed));
            }
            self.current = None;
        }
        let Some(mut source) = self.sources.pop_front() else { return Ok(None) };
        let Some(supply) = source.supply(&self.options)? else { return Ok(None) };
        let config = source.config;
        let placed = Placed {
            piece: Piece::Source(config.name.clone()),
            offset: supply.offset(0),
            bytes: Vec::new(),
            len: 0,
        };
        let reader = Reader::new(&config.dialect);
        self.current =
            Some(One { supply, reader, config, at: 0, sync: None, synchronised: false, begun: false });
        Ok(Some(placed))
    }

    /// After an error: goes on behind the next synchronisation; gives the bytes skipped.
    pub fn resync(&mut self) -> Result<Option<u64>> {
        let Some(one) = &mut self.current else { return Ok(Some(0)) };
        one.synchronised = false;
        let skipped = one.seek()?;
        let more = one.synchronised || !self.sources.is_empty();
        Ok(more.then_some(skipped))
    }
}

impl One {
    fn more(&mut self) -> Result<bool> {
        self.supply.consume(self.at);
        (self.at, self.sync) = (0, None);
        self.supply.more()
    }

    /// Up to the next synchronisation: gives the bytes passed over.
    fn seek(&mut self) -> Result<u64> {
        let mut skipped = 0;
        loop {
            let bytes = self.supply.bytes();
            if let Some(end) = find_sync(bytes, self.at) {
                let start = end - SYNC_LEN;
                skipped += start.saturating_sub(self.at) as u64;
                // The synchronisation itself is a packet.
                self.at = start.max(self.at);
                self.sync = Some(end);
                self.synchronised = true;
                return Ok(skipped);
            }
            let zeros = bytes[self.at..].iter().rev().take_while(|&&byte| byte == 0).count();
            let zeros = zeros.min(MIN_ZEROS as usize);
            skipped += (bytes.len() - zeros - self.at) as u64;
            self.at = bytes.len() - zeros;
            if !self.more()? {
                skipped += (self.supply.bytes().len() - self.at) as u64;
                self.at = self.supply.bytes().len();
                return Ok(skipped);
            }
        }
    }

    fn next(&mut self) -> Result<Option<Placed>> {
        if !self.begun {
            self.begun = true;
            while self.supply.bytes().iter().all(|&byte| byte == 0) && self.supply.more()? {
                self.supply.consume(endless_zeros(self.supply.bytes()));
            }
            let bytes = self.supply.bytes();
            let zeros = bytes.iter().position(|&byte| byte != 0).unwrap_or(bytes.len());
            if zeros > 0 && bytes.get(zeros) == Some(&0x80) {
                return Ok(Some(self.take(Packet::AlignmentSync { zeros: zeros as u32 }, zeros + 1)));
            }
        }
        if !self.synchronised {
            let offset = self.supply.offset(self.at);
            let skipped = self.seek()?;
            if skipped > 0 {
                return Ok(Some(Placed { piece: Piece::Skipped, offset, bytes: Vec::new(), len: skipped }));
            }
        }
        loop {
            if self.at == self.supply.bytes().len() {
                if self.more()? {
                    continue;
                }
                return Ok(None);
            }
            let bytes = self.supply.bytes();
            let sync = match self.sync {
                Some(sync) if sync > self.at => sync,
                _ => find_sync(bytes, self.at).unwrap_or(usize::MAX),
            };
            self.sync = Some(sync);
            let offset = self.supply.offset(self.at);
            let limit = if sync == usize::MAX { bytes.len() } else { sync - SYNC_LEN };
            let rest = bytes.get(self.at..limit).unwrap_or_default();
            let zero = rest.iter().all(|&byte| byte == 0);
            let read = match self.reader.read(rest, offset) {
                Err(error) if error.is_truncated() && zero && sync != usize::MAX => {
                    self.reader.read(&bytes[self.at..sync], offset)
                }
                Err(error) if error.is_truncated() && sync != usize::MAX => {
                    Err(Error { kind: ErrorKind::Missing, ..error })
                }
                read => read,
            };
            match read {
                Ok((packet, length)) => return Ok(Some(self.take(packet, length))),
                Err(error) if error.is_truncated() && !self.supply.ended() => {
                    let zeros = endless_zeros(&bytes[self.at..]);
                    if zeros > 0 {
                        self.at += zeros;
                        let len = zeros as u64;
                        return Ok(Some(Placed { piece: Piece::Skipped, offset, bytes: Vec::new(), len }));
                    }
                    self.more()?;
                }
                Err(error) if error.is_truncated() && self.supply.is_framed() => {
                    let len = (bytes.len() - self.at) as u64;
                    self.at = bytes.len();
                    return Ok(Some(Placed { piece: Piece::Skipped, offset, bytes: Vec::new(), len }));
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn take(&mut self, packet: Packet, length: usize) -> Placed {
        self.synchronised = true;
        let offset = self.supply.offset(self.at);
        let bytes = self.supply.bytes()[self.at..self.at + length].to_vec();
        self.at += length;
        Placed { piece: Piece::Packet(packet), offset, bytes, len: length as u64 }
    }
}
