//! An opened trace: its header, and the ways through its records.

use std::ops::ControlFlow;

use trackway_core::{Batch, Error, Gap, GapReason, Input, Meta, Result, Source};

use crate::config::{Config, Container};
use crate::container::{Part, Parts};
use crate::header::Header;
use crate::layout::Layout;
use crate::lift::Lifter;
use crate::parallel::Pool;
use crate::read::{Scan, Visit, scan};
use crate::record::Record;
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
        Lift::new(self)
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
    pub fn scan(&mut self, mut visitor: impl Visit) -> Result<Scan> {
        loop {
            if self.part.is_none() && self.enter()?.is_none() {
                return Ok(Scan::Ended);
            }
            if self.scan_part(&mut visitor)? == Scan::Stopped {
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
        (self.parts.len() > 1).then_some(left)
    }
}

/// Records by descriptor.
pub(crate) type Census = [u64; 256];

/// Opcode records counted.
pub(crate) fn instructions(census: &Census) -> u64 {
    census[240] + census[241]
}

/// Events of an STF trace.
#[derive(Debug)]
pub struct Lift {
    meta: Meta,
    header: Header,
    config: Config,
    parts: Parts,
    state: State,
    /// Number of the next instruction.
    number: u64,
    /// Instructions in the batch at hand.
    filled: u64,
    /// Records read so far, by descriptor.
    census: Census,
    /// To be delivered with the next batch: what `resync` skipped.
    gap: Option<(u64, Gap)>,
    /// To be returned by the next call: the batch before it was delivered first.
    pending: Option<Error>,
}

#[derive(Debug)]
enum State {
    Start,
    /// One part at a time, in this thread.
    Serial(Option<Box<(Part, Lifter, Layout)>>),
    /// Chunks on several threads.
    Parallel(Pool),
}

impl Lift {
    fn new(trace: Trace) -> Self {
        Lift {
            meta: trace.header.meta(),
            header: trace.header,
            config: trace.config,
            parts: trace.parts,
            state: State::Start,
            number: 0,
            filled: 0,
            census: [0; 256],
            gap: None,
            pending: None,
        }
    }

    fn start(&mut self) {
        let lifter = Lifter::new(&self.header, self.config);
        self.state = match self.parts.split().filter(|(_, range)| self.config.jobs > 1 && range.len() > 1) {
            Some((reader, range)) => {
                State::Parallel(Pool::new(reader, range, lifter, self.header.layout, self.config.jobs))
            }
            None => State::Serial(None),
        };
    }

    /// Fills from the part in hand, or the next one. True if there is more to come.
    fn fill_serial(&mut self, batch: &mut Batch) -> Result<bool> {
        let State::Serial(current) = &mut self.state else { return Ok(false) };
        if current.is_none() {
            let Some(part) = self.parts.next_part()? else { return Ok(false) };
            let mut lifter = Lifter::new(&self.header, self.config);
            lifter.start_at(part.start_pc);
            // Behind the first part the header has settled the layout.
            let layout = if part.start_pc.is_some() { self.header.layout } else { Layout::default() };
            *current = Some(Box::new((part, lifter, layout)));
        }
        let Some((part, lifter, layout)) = current.as_deref_mut() else { return Ok(false) };
        let more = fill_from(part, lifter, layout, batch, &mut self.census)?;
        if !more {
            let finished = part.finish();
            *current = None;
            finished?;
        }
        Ok(true)
    }
}

/// Lifts records of a part until the batch is full; false when the part has ended.
pub(crate) fn fill_from(
    part: &mut Part,
    lifter: &mut Lifter,
    layout: &mut Layout,
    batch: &mut Batch,
    census: &mut Census,
) -> Result<bool> {
    lifter.begin_batch(batch);
    let mut filling = Filling { lifter, batch, census, failed: None };
    let scanned = scan(&mut part.feed, part.base, layout, &mut filling);
    let failed = filling.failed;
    let offset = part.base + part.feed.offset();
    match (scanned, failed) {
        (_, Some(error)) | (Err(error), None) => {
            lifter.end_part(offset, batch);
            Err(error)
        }
        (Ok(Scan::Stopped), None) => Ok(true),
        (Ok(Scan::Ended), None) => {
            lifter.end_part(offset, batch);
            Ok(false)
        }
    }
}

/// A batch being filled.
struct Filling<'f> {
    lifter: &'f mut Lifter,
    batch: &'f mut Batch,
    census: &'f mut Census,
    failed: Option<Error>,
}

impl Filling<'_> {
    fn flow(&mut self, lifted: Result<()>) -> ControlFlow<()> {
        self.failed = lifted.err();
        let full = self.batch.is_full() && self.lifter.between_groups(self.batch);
        if full || self.failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl Visit for Filling<'_> {
    fn visit(&mut self, offset: u64, record: &Record<'_>, _: &[u8]) -> ControlFlow<()> {
        self.census[usize::from(record.descriptor())] += 1;
        let lifted = self.lifter.lift(offset, record, self.batch);
        self.flow(lifted)
    }

    fn visit_common(&mut self, bytes: &[u8], start: u64, layout: &Layout) -> (usize, ControlFlow<()>) {
        let (len, lifted) = self.lifter.lift_common(bytes, start, layout, self.batch, self.census);
        (len, self.flow(lifted))
    }
}

impl Source for Lift {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
        batch.clear();
        if let Some(error) = self.pending.take() {
            return Err(error);
        }
        if let Some((offset, gap)) = self.gap.take() {
            batch.push_gap(offset, gap);
        }
        if matches!(self.state, State::Start) {
            self.start();
        }
        // A part may end without an event: go on until there is one, or nothing more.
        self.filled = 0;
        let result = loop {
            let more = match &mut self.state {
                State::Parallel(pool) => pool.fill(batch, &mut self.census, &mut self.filled),
                _ => {
                    let before = instructions(&self.census);
                    let more = self.fill_serial(batch);
                    self.filled += instructions(&self.census) - before;
                    more
                }
            };
            match more {
                Ok(true) if batch.events.is_empty() => continue,
                more => break more,
            }
        };
        batch.source = 0;
        batch.first_instruction = self.number;
        self.number += self.filled;
        match result {
            Err(error) if !batch.events.is_empty() => {
                self.pending = Some(error);
                Ok(true)
            }
            Ok(more) => Ok(more || !batch.events.is_empty()),
            result => result,
        }
    }

    fn resync(&mut self) -> Result<bool> {
        let skipped = match &mut self.state {
            State::Parallel(pool) => pool.resync(),
            State::Serial(current) => match current.take().as_deref() {
                // A plain stream cannot be entered again: nothing tells where a record begins.
                Some((part, ..)) if self.parts.len() > 1 => {
                    Some((part.base + part.feed.offset(), part.left()))
                }
                Some(_) => None,
                // The part had ended: only its length was wrong.
                None => Some((0, 0)),
            },
            State::Start => None,
        };
        if let Some((offset, bytes)) = skipped
            && bytes > 0
        {
            self.gap = Some((offset, Gap { bytes: Some(bytes), ..Gap::new(GapReason::BadInput) }));
        }
        Ok(skipped.is_some())
    }

    fn seek(&mut self, n: u64) -> Result<u64> {
        self.number = self.parts.seek(n);
        Ok(self.number)
    }

    fn progress(&self) -> Option<(u64, u64)> {
        let done = match &self.state {
            State::Serial(Some(current)) => current.0.base + current.0.feed.offset(),
            State::Parallel(pool) => pool.chunk_base(),
            _ => 0,
        };
        Some((done, self.parts.total()?))
    }

    fn census(&self) -> Vec<(&'static str, u64)> {
        let counted =
            |&(descriptor, name, _): &(u8, &'static str, _)| (name, self.census[usize::from(descriptor)]);
        crate::RECORDS.iter().map(counted).filter(|(_, n)| *n > 0).collect()
    }
}
