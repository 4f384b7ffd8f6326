//! Records to events: part after part in order, or chunks on several threads for observers.
//!
//! The hot loop crosses between `read.rs` and this module. `scan` owns the bytes and first offers them to the
//! visitor (`visit_common`). The lifter takes as many common groups as it can in one loop with its state in
//! registers (`common.rs`), reading them with `read_common!`, which expands the declarations of `record.rs` in
//! place. It returns at the first record that is not common; `scan` reads that one generally, passes it to
//! `visit`, and offers the rest again. `tests/lift.rs` compares both ways.
//!
//! ```text
//! read.rs                     lift.rs, lift/                       record.rs
//! scan ──visit_common(bytes)─▶ Filling ─▶ lift_groups  ◀─expands──  read_common!
//!   ▲  ◀──bytes taken────────                │ whole groups: opcode, access + content, target
//!   │                                        ▼
//!   └─read─▶ record ──visit───▶ Filling ─▶ Lifter::lift              Batch of events
//! ```

mod common;
mod group;
mod sizes;

use std::ops::ControlFlow;

use trackway_core::{
    Batch, Error, Gap, GapReason, Meta, Observer, Pool, Result, Source, in_order, observe_serially,
};

use self::group::Lifter;
use crate::config::Config;
use crate::container::{ChunkReader, Part, Parts};
use crate::fields::Layout;
use crate::header::Header;
use crate::read::{Scan, Visit, scan};
use crate::record::{RECORDS, Record, descriptor};

/// Records by descriptor.
pub(crate) type Census = [u64; 256];

/// Instructions among the records counted.
fn instructions(census: &Census) -> u64 {
    census[usize::from(descriptor::INST_OPCODE32)] + census[usize::from(descriptor::INST_OPCODE16)]
}

/// Events of an STF trace.
#[derive(Debug)]
pub struct Lift {
    meta: Meta,
    header: Header,
    config: Config,
    parts: Parts,
    /// The part that is being read.
    current: Option<Box<Current>>,
    /// Where the part with the last error stopped, and its unread bytes.
    failed: Option<(u64, u64)>,
    /// Number of the next instruction.
    number: u64,
    /// Records read so far, by descriptor.
    census: Census,
    /// Gap that begins the next batch: the bytes that `resync` skipped.
    gap: Option<(u64, Gap)>,
    /// Error for the next call: the events before it were delivered first.
    pending: Option<Error>,
}

/// A part, and the state of lifting it.
#[derive(Debug)]
struct Current {
    part: Part,
    lifter: Lifter,
    layout: Layout,
}

impl Current {
    fn new(part: Part, header: &Header, config: Config) -> Self {
        let mut lifter = Lifter::new(header, config);
        lifter.start_at(part.start_pc);
        // After the first part the header has settled the layout.
        let layout = if part.start_pc.is_some() { header.layout } else { Layout::default() };
        Current { part, lifter, layout }
    }

    /// Lifts records until the batch is full; false when the part has ended.
    fn fill(&mut self, batch: &mut Batch, census: &mut Census) -> Result<bool> {
        let Current { part, lifter, layout } = self;
        lifter.begin_batch(batch);
        let mut filling = Filling { lifter, batch, census, failed: None };
        let scanned = scan(&mut part.feed, part.base, layout, &mut filling);
        let failed = filling.failed;
        let more = match (scanned, failed) {
            (_, Some(error)) | (Err(error), None) => Err(error),
            (Ok(Scan::Stopped), None) => return Ok(true),
            (Ok(Scan::Ended), None) => part.finish().map(|()| false),
        };
        lifter.end_part(part.base + part.feed.offset(), batch);
        more
    }

    /// Offset of the next record, and the unread bytes of the part.
    fn place(&self) -> (u64, u64) {
        (self.part.base + self.part.feed.offset(), self.part.left())
    }
}

impl Lift {
    pub(crate) fn new(header: Header, parts: Parts, config: Config) -> Self {
        Lift {
            meta: header.meta(),
            header,
            config,
            parts,
            current: None,
            failed: None,
            number: 0,
            census: [0; 256],
            gap: None,
            pending: None,
        }
    }

    /// Fills from the current part, or the next one; false when there is none.
    fn fill_next(&mut self, batch: &mut Batch) -> Result<bool> {
        if self.current.is_none() {
            let Some(part) = self.parts.next_part()? else { return Ok(false) };
            self.current = Some(Box::new(Current::new(part, &self.header, self.config)));
        }
        let Some(current) = &mut self.current else { return Ok(false) };
        match current.fill(batch, &mut self.census) {
            Ok(true) => {}
            Ok(false) => self.current = None,
            Err(error) => {
                self.failed = Some(current.place());
                self.current = None;
                return Err(error);
            }
        }
        Ok(true)
    }

    /// Does the first chunk hold the declared number of instructions? If not, the index cannot be used to seek.
    fn index_is_usable(&self) -> bool {
        let (Some(per_chunk), Some(chunks)) = (self.parts.per_chunk(), self.parts.chunks()) else {
            return true;
        };
        let Ok(mut first) = chunks.part(0) else { return false };
        let mut markers = 0;
        let mut visitor = |_: u64, record: &Record<'_>, _: &[u8]| {
            markers += u64::from(record.is_marker());
            ControlFlow::Continue(())
        };
        let scanned = scan(&mut first.feed, first.base, &mut Layout::default(), &mut visitor);
        scanned.is_ok() && markers == per_chunk
    }

    /// Lifts the next chunks on several threads, each for an observer of its own.
    fn observe_chunks(&mut self, observer: &mut dyn Observer, chunks: &ChunkReader) -> Result<bool> {
        let (header, config, per_chunk) = (&self.header, self.config, self.parts.per_chunk().unwrap_or(0));
        let template = observer.fork();
        let spare = Pool::default();
        let range = self.parts.next_chunks(STRETCH * config.jobs);
        let parts = range.map(move |chunk| (chunk, template.fork()));
        let work = |(chunk, observer): (usize, Box<dyn Observer>)| {
            let mut lifted = LiftedChunk { observer, census: Box::new([0; 256]), failed: None };
            let mut batch = spare.take_or(Batch::default);
            match chunks.part(chunk) {
                Ok(part) => {
                    let current = Current::new(part, header, config);
                    lifted.lift(current, (chunk as u64).saturating_mul(per_chunk), &mut batch);
                }
                Err(error) => lifted.failed = Some((error, (0, 0))),
            }
            spare.put(batch);
            lifted
        };
        in_order(config.jobs, parts, work, |lifted: LiftedChunk| {
            self.parts.step_over();
            observer.merge(lifted.observer);
            self.census.iter_mut().zip(&*lifted.census).for_each(|(sum, n)| *sum += n);
            self.number += instructions(&lifted.census);
            lifted.failed.map_or(Ok(()), |(error, place)| {
                self.failed = Some(place);
                Err(error)
            })
        })?;
        Ok(true)
    }
}

/// Chunks per thread in one call of `observe`.
const STRETCH: usize = 16;

/// The result of lifting a chunk for an observer.
struct LiftedChunk {
    observer: Box<dyn Observer>,
    census: Box<Census>,
    failed: Option<(Error, (u64, u64))>,
}

impl LiftedChunk {
    fn lift(&mut self, mut current: Current, first: u64, batch: &mut Batch) {
        loop {
            batch.clear();
            batch.first_instruction = first.saturating_add(instructions(&self.census));
            let more = current.fill(batch, &mut self.census);
            if !batch.events.is_empty() {
                self.observer.observe(batch);
            }
            match more {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => return self.failed = Some((error, current.place())),
            }
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
        batch.source = 0;
        batch.first_instruction = self.number;
        let before = instructions(&self.census);
        // A part may end without an event: continue until there is one, or nothing is left.
        let result = loop {
            match self.fill_next(batch) {
                Ok(true) if batch.events.is_empty() => continue,
                more => break more,
            }
        };
        self.number += instructions(&self.census) - before;
        match result {
            Err(error) if !batch.events.is_empty() => {
                self.pending = Some(error);
                Ok(true)
            }
            Ok(more) => Ok(more || !batch.events.is_empty()),
            result => result,
        }
    }

    fn observe(&mut self, observer: &mut dyn Observer) -> Result<bool> {
        if self.config.jobs > 1
            && self.current.is_none()
            && self.gap.is_none()
            && self.pending.is_none()
            && let Some(chunks) = self.parts.chunks()
        {
            return self.observe_chunks(observer, &chunks);
        }
        observe_serially(self, observer)
    }

    fn resync(&mut self) -> Result<bool> {
        let failed = self.failed.take();
        // Only the start of a chunk is known to be the start of a record.
        if self.parts.is_done() {
            return Ok(false);
        }
        if let Some((offset, bytes @ 1..)) = failed {
            self.gap = Some((offset, Gap { bytes: Some(bytes), ..Gap::new(GapReason::BadInput) }));
        }
        Ok(true)
    }

    fn seek(&mut self, n: u64) -> Result<u64> {
        if self.index_is_usable() {
            self.number = self.parts.seek(n);
        }
        Ok(self.number)
    }

    fn progress(&self) -> Option<(u64, u64)> {
        let done = self.current.as_ref().map_or_else(|| self.parts.base(), |current| current.place().0);
        Some((done, self.parts.total()?))
    }

    fn census(&self) -> trackway_core::Census {
        let counted =
            |&(descriptor, name, _): &(u8, &'static str, _)| (name, self.census[usize::from(descriptor)]);
        RECORDS.iter().map(counted).filter(|(_, n)| *n > 0).collect()
    }
}
