//! Bytes to records: one record, a scan over a stretch of bytes, the records of a whole trace.

use std::ops::ControlFlow;

use trackway_core::{Bytes, Error, ErrorKind, Feed, Result};

use crate::container::{Doubt, Part, Parts};
use crate::fields::Layout;
use crate::record::{Fault, Record, describe, read_common};

/// Upper bound on the length of a record. A longer one is damage and must not exhaust memory.
const LONGEST: usize = 1 << 28;

/// Reads the record at the start of `bytes`, which is at `offset` of the stream; returns it and its length.
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

/// Adds the place of an error: the start of a truncated record, or the field that is wrong.
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

/// Receives records one by one, with their offsets and bytes.
pub trait Visit {
    /// Takes the next record; `Break` ends the scan after it.
    fn visit(&mut self, offset: u64, record: &Record<'_>, raw: &[u8]) -> ControlFlow<()>;

    /// Takes all common records at the front of `bytes`; returns their length, and whether to continue.
    /// A visitor that must be fast overrides this loop to take whole groups (see `lift.rs`).
    // A part of `scan`, so that a small visitor stays in registers.
    #[inline(always)]
    fn visit_common(&mut self, bytes: &[u8], start: u64, layout: &Layout) -> (usize, ControlFlow<()>) {
        let mut rest = bytes;
        while let Some(window) = rest.first_chunk::<WINDOW>() {
            let offset = start + (bytes.len() - rest.len()) as u64;
            let mut visit = |from: usize, record: Record<'_>, len: usize| {
                let flow = self.visit(offset + from as u64, &record, &window[from..from + len]);
                (flow, from + len)
            };
            // The opcode that mostly completes the group.
            macro_rules! opcode {
                ($from:expr) => {
                    read_common!(@arms window[$from..], layout, |record, len| visit($from, record, len),
                        else (ControlFlow::Continue(()), $from), INST_OPCODE32 INST_OPCODE16)
                };
            }
            // A window holds the rest of a group after its registers: one look at the length for all of it.
            let (flow, len) = read_common!(window, layout, |record, len| {
                match (visit(0, record, len), record) {
                    ((ControlFlow::Continue(()), access), Record::InstMemAccess { .. }) => {
                        read_common!(@arms window[access..], layout, |record, len| {
                            match visit(access, record, len) {
                                (ControlFlow::Continue(()), content) => opcode!(content),
                                stopped => stopped,
                            }
                        }, else opcode!(access), INST_MEM_CONTENT)
                    }
                    ((ControlFlow::Continue(()), target), Record::InstPcTarget { .. }) => opcode!(target),
                    (visited, _) => visited,
                }
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

/// Longer than any of the common records, and than an access with its content and an opcode.
pub(crate) const WINDOW: usize = 32;

/// Bytes after which those read are consumed.
const PIECE: usize = 1 << 20;

/// Reads records from `feed` and passes each to `visitor` until it breaks.
pub fn scan(feed: &mut Feed, base: u64, layout: &mut Layout, visitor: &mut impl Visit) -> Result<Scan> {
    let more = |feed: &mut Feed| feed.more().map_err(|error| Error { offset: base + error.offset, ..error });
    loop {
        let bytes = feed.bytes();
        // A mapped file is consumed in pieces, so that its memory is released.
        let piece = bytes.len().min(PIECE);
        let start = base + feed.offset();
        let mut at = 0;
        let stop = loop {
            let (len, flow) = visitor.visit_common(&bytes[at..], start + at as u64, layout);
            at += len;
            if flow.is_break() {
                break Some(Ok(Scan::Stopped));
            }
            if at >= piece {
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
                if cut == 0 && !more(feed)? {
                    return Ok(Scan::Ended);
                }
            }
        }
    }
}

/// The records of a trace, one by one or all at once.
#[derive(Debug)]
pub struct Records {
    parts: Parts,
    part: Option<Part>,
    layout: Layout,
}

impl Records {
    pub(crate) fn new(parts: Parts, layout: Layout) -> Self {
        Records { parts, part: None, layout }
    }

    /// Instructions per chunk that the file declares, if it has chunks.
    pub(crate) fn per_chunk(&self) -> Option<u64> {
        self.parts.per_chunk()
    }

    /// Passes the next record, its offset and its bytes to `visit`; returns false at the end.
    pub fn next(&mut self, visit: impl FnOnce(u64, &Record<'_>, &[u8])) -> Result<bool> {
        let mut visit = Some(visit);
        let mut visitor = |offset: u64, record: &Record<'_>, raw: &[u8]| {
            if let Some(visit) = visit.take() {
                visit(offset, record, raw);
            }
            ControlFlow::Break(())
        };
        loop {
            if self.part.is_none() && self.enter()?.is_none() {
                return Ok(false);
            }
            if self.scan_part(&mut visitor)? == Scan::Stopped {
                return Ok(true);
            }
        }
    }

    /// Passes all records to `visitor` until it breaks.
    pub fn scan(&mut self, visitor: &mut impl Visit) -> Result<Scan> {
        loop {
            if self.part.is_none() && self.enter()?.is_none() {
                return Ok(Scan::Ended);
            }
            if self.scan_part(visitor)? == Scan::Stopped {
                return Ok(Scan::Stopped);
            }
        }
    }

    /// Enters the next part and returns the start address that the index has for it, if any.
    pub(crate) fn enter(&mut self) -> Result<Option<Option<u64>>> {
        self.part = self.parts.next_part()?;
        Ok(self.part.as_ref().map(|part| part.start_pc))
    }

    /// Contradictions of the index that were found so far.
    pub(crate) fn doubts(&self) -> &[Doubt] {
        self.parts.doubts()
    }

    /// Passes the records of the current part to `visitor`, to its end or until it breaks.
    pub(crate) fn scan_part(&mut self, visitor: &mut impl Visit) -> Result<Scan> {
        let Some(part) = &mut self.part else { return Ok(Scan::Ended) };
        let scanned = scan(&mut part.feed, part.base, &mut self.layout, visitor);
        if scanned != Ok(Scan::Stopped) {
            part.end(scanned.err())?;
            self.parts.end_part(part, true);
            self.part = None;
        }
        scanned
    }

    /// Leaves the current part after an error; returns the unread bytes of it if another part follows.
    pub fn skip_part(&mut self) -> Option<u64> {
        let part = self.part.take();
        if let Some(part) = &part {
            self.parts.end_part(part, false);
        }
        let left = part.map_or(0, |part| part.left());
        (!self.parts.is_done()).then_some(left)
    }
}

/// All parts of a trace as one stream of bytes.
pub(crate) struct Decompressed {
    parts: Parts,
    part: Option<Part>,
}

impl Decompressed {
    pub(crate) fn new(parts: Parts) -> Self {
        Decompressed { parts, part: None }
    }
}

impl std::io::Read for Decompressed {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let damaged = |_| std::io::Error::from(std::io::ErrorKind::InvalidData);
        loop {
            let Some(part) = &mut self.part else {
                self.part = self.parts.next_part().map_err(damaged)?;
                if self.part.is_none() {
                    return Ok(0);
                }
                continue;
            };
            if part.feed.bytes().is_empty() && !part.feed.more().map_err(damaged)? {
                part.end(None).map_err(damaged)?;
                self.part = None;
                continue;
            }
            let n = part.feed.bytes().read(out)?;
            part.feed.consume(n);
            return Ok(n);
        }
    }
}
