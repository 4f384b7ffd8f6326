//! Bytes to records.

use std::ops::ControlFlow;

use trackway_core::{Bytes, Error, ErrorKind, Feed, Result};

use crate::layout::Layout;
use crate::record::{Fault, Record, describe, read_common};

/// No record is longer: a larger count is damage, and must not fill the memory.
const LONGEST: usize = 1 << 28;

/// Reads the record at the start of `bytes`, which is at `offset` of the stream. Gives it and its length.
///
/// ```
/// use trackway_stf::{Layout, Record, read};
/// let (record, len) = read(&[0xf1, 0x82, 0x80], &Layout::default(), 0)?;
/// assert_eq!((record, len), (Record::InstOpcode16 { opcode: 0x8082 }, 3));
/// # Ok::<(), trackway_core::Error>(())
/// ```
#[inline]
pub fn read<'a>(bytes: &'a [u8], layout: &Layout, offset: u64) -> Result<(Record<'a>, usize)> {
    let Some(&descriptor) = bytes.first() else { return Err(at_end(offset)) };
    let mut cursor = Bytes::new(&bytes[1..]);
    match Record::read_body(descriptor, &mut cursor, layout) {
        Ok(record) => Ok((record, 1 + cursor.position())),
        Err(fault) => Err(place(fault, descriptor, cursor.position(), offset)),
    }
}

#[cold]
fn at_end(offset: u64) -> Error {
    ErrorKind::Truncated.at(offset, "record", "descriptor", "STF Record Format")
}

/// Adds the place: the item's start for what is cut, the field for what is wrong.
#[cold]
fn place(fault: Fault, descriptor: u8, position: usize, offset: u64) -> Error {
    let (item, section) = describe(descriptor);
    let at = match fault.kind {
        ErrorKind::Truncated => offset,
        _ if fault.field == "descriptor" => offset,
        _ => offset + 1 + position as u64,
    };
    fault.kind.at(at, item, fault.field, section)
}

/// Why a scan ended without an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scan {
    /// The visitor asked to stop.
    Stopped,
    /// The input ended after a whole record.
    Ended,
}

/// Sees records one by one, with their offsets and bytes.
pub trait Visit {
    /// The next record; `Break` ends the scan behind it.
    fn visit(&mut self, offset: u64, record: &Record<'_>, raw: &[u8]) -> ControlFlow<()>;

    /// As many common records as stand at the front of `bytes`: gives their length, and whether to go on.
    /// Those who need speed write this loop with their state at hand.
    fn visit_common(&mut self, bytes: &[u8], start: u64, layout: &Layout) -> (usize, ControlFlow<()>) {
        let mut rest = bytes;
        while let Some(window) = rest.first_chunk::<WINDOW>() {
            let offset = start + (bytes.len() - rest.len()) as u64;
            let (flow, len) = read_common!(window, layout, |record, len| {
                (self.visit(offset, &record, &window[..len]), len)
            }, else break);
            rest = &rest[len..];
            if flow.is_break() {
                return (bytes.len() - rest.len(), flow);
            }
        }
        (bytes.len() - rest.len(), ControlFlow::Continue(()))
    }
}

impl<F: FnMut(u64, &Record<'_>, &[u8]) -> ControlFlow<()>> Visit for F {
    #[inline(always)]
    fn visit(&mut self, offset: u64, record: &Record<'_>, raw: &[u8]) -> ControlFlow<()> {
        self(offset, record, raw)
    }
}

/// Longer than any of the common records.
pub(crate) const WINDOW: usize = 32;

/// Reads records from `feed` and shows each to `visitor`, until it breaks.
pub fn scan(feed: &mut Feed, base: u64, layout: &mut Layout, visitor: &mut impl Visit) -> Result<Scan> {
    let more = |feed: &mut Feed| feed.more().map_err(|error| Error { offset: base + error.offset, ..error });
    loop {
        let bytes = feed.bytes();
        let start = base + feed.offset();
        let mut at = 0;
        let stop = loop {
            let (len, flow) = visitor.visit_common(&bytes[at..], start + at as u64, layout);
            at += len;
            if flow.is_break() {
                break Some(Ok(Scan::Stopped));
            }
            if at == bytes.len() {
                break None;
            }
            match read(&bytes[at..], layout, start + at as u64) {
                Ok((record, len)) => {
                    if record.is_header() {
                        layout.note(&record);
                    }
                    let (offset, raw) = (start + at as u64, &bytes[at..at + len]);
                    at += len;
                    if visitor.visit(offset, &record, raw).is_break() {
                        break Some(Ok(Scan::Stopped));
                    }
                }
                Err(error) => break Some(Err(error)),
            }
        };
        let cut = bytes.len() - at;
        feed.consume(at);
        match stop {
            Some(Err(error)) if error.is_truncated() && cut < LONGEST => {
                if !more(feed)? {
                    return Err(error);
                }
            }
            Some(stop) => return stop,
            None => {
                if !more(feed)? {
                    return Ok(Scan::Ended);
                }
            }
        }
    }
}
