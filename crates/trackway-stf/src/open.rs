//! An opened trace: its header, and the ways through its records.

use std::ops::ControlFlow;

use trackway_core::{Input, Result};

use crate::config::{Config, Container};
use crate::container::{Part, Parts};
use crate::header::Header;
use crate::layout::Layout;
use crate::read::{Scan, Visit, scan};
use crate::record::Record;
use crate::lift::Lift;
use crate::text::Text;

/// An STF trace, opened.
///
/// ```
/// use trackway_core::{Batch, Input, Source};
/// use trackway_stf::{Config, Trace};
/// # let bytes = trackway_stf::example();
/// let trace = Trace::open(Input::from_vec(bytes), Config::default())?;
/// assert_eq!(trace.header.version, Some((1, 3)));
/// let mut source = trace.source();
/// let mut batch = Batch::default();
/// while source.fill(&mut batch)? {
///     for event in &batch.events {
///         // …
/// #       let _ = event;
///     }
/// }
/// # Ok::<(), trackway_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Trace {
    /// The header record group.
    pub header: Header,
    /// The container.
    pub container: Container,
    parts: Parts,
    config: Config,
}

impl Trace {
    /// Opens a trace and reads its header.
    pub fn open(input: Input, config: Config) -> Result<Self> {
        let mut parts = Parts::open(input)?;
        let header = Header::read(&mut parts, &config)?;
        Ok(Trace { header, container: parts.container, parts, config })
    }

    /// Instructions per chunk, where the file has chunks.
    pub fn per_chunk(&self) -> Option<u64> {
        self.parts.per_chunk()
    }

    /// Chunks of the file; 1 where it has none.
    pub fn chunks(&self) -> usize {
        self.parts.len()
    }

    /// Events.
    pub fn source(self) -> Lift {
        Lift::new(self.header, self.parts, self.config)
    }

    /// The decompressed records, without the container.
    pub fn bytes(self) -> Input {
        Input::Stream(Box::new(Decompressed { parts: self.parts, part: None }))
    }

    /// Records as text.
    pub fn items(self) -> Text {
        let config = self.config;
        Text::new(self.records(), config)
    }

    /// Records.
    pub fn records(self) -> Records {
        Records { parts: self.parts, part: None, layout: Layout::default() }
    }
}

/// The parts of a trace, one behind the other.
struct Decompressed {
    parts: Parts,
    part: Option<Part>,
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
                self.part = None;
                continue;
            }
            let n = part.feed.bytes().read(out)?;
            part.feed.consume(n);
            return Ok(n);
        }
    }
}

/// The records of a trace, one by one or all of them.
#[derive(Debug)]
pub struct Records {
    parts: Parts,
    part: Option<Part>,
    layout: Layout,
}

impl Records {
    /// Shows the next record, its offset and its bytes to `visit`; false at the end.
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

    /// Shows all records to `visitor` until it breaks.
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

    /// Goes into the next part. Gives the address that the index has for it, if it has one.
    pub(crate) fn enter(&mut self) -> Result<Option<Option<u64>>> {
        self.part = self.parts.next_part()?;
        Ok(self.part.as_ref().map(|part| part.start_pc))
    }

    /// Shows the records of the part to `visitor`, to its end or until it breaks.
    pub(crate) fn scan_part(&mut self, visitor: &mut impl Visit) -> Result<Scan> {
        let Some(part) = &mut self.part else { return Ok(Scan::Ended) };
        let scanned = scan(&mut part.feed, part.base, &mut self.layout, visitor)?;
        if scanned == Scan::Ended {
            let finished = part.finish();
            self.part = None;
            finished?;
        }
        Ok(scanned)
    }

    /// After an error: leaves the part it is in; gives the bytes left there, if another part follows.
    pub fn skip_part(&mut self) -> Option<u64> {
        let left = self.part.take().map_or(0, |part| part.left());
        (!self.parts.is_done()).then_some(left)
    }
}
