//! The one walk over packets: where Alignment Syncs are, which zeros belong to them, and what an incomplete packet
//! means at the end of the bytes or before an Alignment Sync.

use trackway_core::{Error, ErrorKind};

use super::header::{error_at, extension};
use super::packet::Packet;
use super::read::Reader;

/// Minimum number of bytes of an Alignment Sync.
pub(crate) const SYNC_LEN: usize = MIN_ZEROS + 1;

const MIN_ZEROS: usize = extension::MIN_ZEROS as usize;

/// More bytes than any packet takes other than an Alignment Sync.
pub(crate) const LONGEST: usize = 80;

/// Finds the first Alignment Sync that ends in `bytes[from..]` (its zeros may begin before) and returns its end.
///
/// Decoding can start there whatever comes before; a packet that would run into it is damaged.
pub(crate) fn find_sync(bytes: &[u8], from: usize) -> Option<usize> {
    // Eleven zeros cover every eleventh byte, so only those are looked at.
    let mut at = from + MIN_ZEROS - 1;
    while at < bytes.len() {
        if bytes[at] != 0 {
            at += MIN_ZEROS;
            continue;
        }
        let mut start = at;
        while start > from && bytes[start - 1] == 0 {
            start -= 1;
        }
        let end = at + bytes[at..].iter().position(|&byte| byte != 0).unwrap_or(bytes.len() - at);
        if end - start >= MIN_ZEROS && bytes.get(end) == Some(&extension::SYNC_END) {
            return Some(end + 1);
        }
        at = end + MIN_ZEROS;
    }
    None
}

/// The number of bytes of `bytes`, in which there is no Alignment Sync, that cannot belong to one that follows.
pub(crate) fn bytes_before_sync(bytes: &[u8]) -> usize {
    let zeros = bytes.iter().rev().take_while(|&&byte| byte == 0).count();
    bytes.len() - zeros.min(MIN_ZEROS)
}

/// The number of zeros of an Alignment Sync that `bytes` start with. At the start of a source any number counts: the
/// others may be cut off.
pub(crate) fn leading_zeros(bytes: &[u8]) -> Option<usize> {
    let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
    (zeros > 0 && bytes.get(zeros) == Some(&extension::SYNC_END)).then_some(zeros)
}

/// The number of bytes to drop if `bytes` are all zeros and too many to wait for their end: an Alignment Sync can
/// have any length.
pub(crate) fn endless_zeros(bytes: &[u8]) -> usize {
    const MANY: usize = 1 << 20;
    if bytes.len() > MANY && is_zero(bytes) { bytes.len() - MIN_ZEROS } else { 0 }
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0)
}

/// Where bytes of a window are in the input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Straight {
    /// Offset of the first.
    pub(crate) offset: u64,
    /// Number of bytes from it on, at least 1, that follow each other there too.
    pub(crate) count: usize,
    /// Number of bytes from it on, no less, where a byte of the input is left out after the first `count` and then after
    /// the data of every frame.
    pub(crate) framed: usize,
}

/// Bytes of one source, and their place in the input.
pub(crate) trait Window {
    /// The bytes.
    fn bytes(&self) -> &[u8];
    /// Where the byte at `index` and those after it are in the input; `cursor` is a hint that moves along.
    fn straight(&self, index: usize, cursor: &mut usize) -> Straight;
    /// Offset in the input of the byte at `index`.
    #[inline(always)]
    fn offset(&self, index: usize, cursor: &mut usize) -> u64 {
        self.straight(index, cursor).offset
    }
    /// The hint for `index`.
    fn cursor(&self, index: usize) -> usize;
}

/// Takes the packets of a [`Walk`].
pub(crate) trait Visit {
    /// Takes usual packets of `bytes` from `at` on, and returns the place after them: `at` to have the first as a packet
    /// like any other. `bytes` are those of the window up to where packets end.
    fn usual<W: Window>(&mut self, window: &W, bytes: &[u8], at: usize, cursor: &mut usize) -> usize;
    /// Any other packet, of `length` bytes.
    fn packet(&mut self, packet: &Packet, first: u8, length: usize, offset: u64) -> Result<(), Error>;
    /// True to stop before the packet at `at`, which is not an atom packet.
    fn stops_before(&self, at: usize) -> bool;
    /// True to stop after the last packet.
    fn stops_after(&self) -> bool;
}

/// Why [`Walk::run`] returned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Stop {
    /// At the end of the bytes, between two packets.
    End,
    /// The visitor asked for it.
    Visitor,
    /// The last packet is incomplete and more bytes may follow.
    Incomplete,
    /// A bad packet.
    Bad(Error),
}

/// Reads the packets of a window, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Walk {
    reader: Reader,
    /// End of the next Alignment Sync in the window, `usize::MAX` if there is none; `None` if not searched yet.
    sync: Option<usize>,
    /// Hint for [`Window::offset`].
    cursor: usize,
}

impl Walk {
    pub(crate) fn new(reader: Reader) -> Self {
        Walk { reader, sync: None, cursor: 0 }
    }

    /// The window changed.
    pub(crate) fn reset(&mut self) {
        (self.sync, self.cursor) = (None, 0);
    }

    /// The walk continues at another place of the same window.
    pub(crate) fn jump<W: Window>(&mut self, window: &W, at: usize) {
        (self.sync, self.cursor) = (None, window.cursor(at));
    }

    /// Hands the packets from `at` to `end` to `visit`. With `last`, nothing follows `end`.
    pub(crate) fn run<W: Window, V: Visit>(
        &mut self,
        window: &W,
        (end, last): (usize, bool),
        at: &mut usize,
        visit: &mut V,
    ) -> Stop {
        let bytes = &window.bytes()[..end];
        let mut cursor = self.cursor;
        let stop = loop {
            let sync = match self.sync {
                Some(sync) if sync > *at => sync,
                _ => *self.sync.insert(find_sync(bytes, *at).unwrap_or(usize::MAX)),
            };
            // Packets end before the Alignment Sync.
            let (limit, more) = if sync == usize::MAX {
                (bytes.len(), if last { More::Nothing } else { More::Bytes })
            } else {
                (sync - SYNC_LEN, More::Sync)
            };
            if let Some(stop) = self.packets(window, &bytes[..limit], more, at, &mut cursor, visit) {
                break stop;
            }
            if *at == bytes.len() {
                break Stop::End;
            }
            // The zeros of an Alignment Sync are left.
            let offset = window.offset(*at, &mut cursor);
            match more {
                More::Bytes => break Stop::Incomplete,
                More::Nothing => break Stop::Bad(error_at(0, (ErrorKind::Truncated, "zeros"), offset)),
                More::Sync => {}
            }
            match self.reader.read(&bytes[*at..sync], offset) {
                Ok((packet, length)) => {
                    if let Err(error) = visit.packet(&packet, 0, length, offset) {
                        break Stop::Bad(error);
                    }
                    *at += length;
                }
                Err(error) => break Stop::Bad(error),
            }
            if visit.stops_after() {
                break Stop::Visitor;
            }
        };
        self.cursor = cursor;
        stop
    }

    /// Packets up to `bytes.len()`; `None` at the end, or where only zeros are left.
    #[inline(always)]
    fn packets<W: Window, V: Visit>(
        &self,
        window: &W,
        bytes: &[u8],
        more: More,
        place: &mut usize,
        cursor: &mut usize,
        visit: &mut V,
    ) -> Option<Stop> {
        let mut at = *place;
        // One for all: copying a packet costs more than reading it.
        let mut packet = Packet::Ignore;
        let stop = loop {
            let Some(&first) = bytes.get(at) else { break None };
            let next = visit.usual(window, bytes, at, cursor);
            if next == at {
                if visit.stops_before(at) {
                    break Some(Stop::Visitor);
                }
                if more == More::Bytes && bytes.len() - at < LONGEST {
                    break Some(Stop::Incomplete);
                }
                let offset = window.offset(at, cursor);
                match self.reader.read_into(&bytes[at..], offset, &mut packet) {
                    Ok(length) => {
                        if let Err(error) = visit.packet(&packet, first, length, offset) {
                            break Some(Stop::Bad(error));
                        }
                        at += length;
                    }
                    Err(error) => break incomplete(&error, &bytes[at..], more),
                }
            } else {
                at = next;
            }
            if visit.stops_after() {
                break Some(Stop::Visitor);
            }
        };
        *place = at;
        stop
    }
}

/// The input after the bytes that packets are read from.
#[derive(Clone, Copy, PartialEq)]
enum More {
    /// Nothing: the input ends.
    Nothing,
    /// Bytes that are not there yet.
    Bytes,
    /// An Alignment Sync.
    Sync,
}

/// The meaning of an error at the start of `rest`; `None` if these are the zeros of an Alignment Sync.
#[cold]
fn incomplete(error: &Error, rest: &[u8], more: More) -> Option<Stop> {
    match more {
        _ if !error.is_truncated() => Some(Stop::Bad(*error)),
        _ if is_zero(rest) => None,
        More::Bytes => Some(Stop::Incomplete),
        // Bytes are missing before an Alignment Sync; at the end of the input they are only cut off.
        More::Sync => Some(Stop::Bad(Error { kind: ErrorKind::Missing, ..*error })),
        More::Nothing => Some(Stop::Bad(*error)),
    }
}
