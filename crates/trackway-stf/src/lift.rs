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
    Batch, Census, Decode, Entry, Error, Gap, GapReason, Parts, Pool, Result, Show, Stream, in_parts,
};

use self::group::Lifter;
use crate::config::Config;
use crate::container::{self, Part};
use crate::fields::Layout;
use crate::header::Header;
use crate::read::{Scan, Visit, scan};
use crate::record::{RECORDS, Record, descriptor};

/// Number of records by descriptor.
pub(crate) type Counts = [u64; 256];

/// Instructions among the records counted.
fn instructions(counts: &Counts) -> u64 {
    counts[usize::from(descriptor::INST_OPCODE32)] + counts[usize::from(descriptor::INST_OPCODE16)]
}

/// The events of an STF trace.
pub type Lift = Stream<Decoder>;

/// Lifts the parts of a trace, one after the other or on several threads.
#[derive(Debug)]
pub struct Decoder {
    header: Header,
    config: Config,
    parts: container::Parts,
    /// The part that is being read.
    current: Option<Box<Current>>,
    /// Where the part with the last error stopped, and its unread bytes.
    failed: Option<Place>,
    /// Number of the next instruction.
    number: u64,
    counts: Counts,
}

/// Offset of a record, and the unread bytes of its part from there.
type Place = (u64, u64);

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
    fn fill(&mut self, batch: &mut Batch, counts: &mut Counts) -> Result<bool> {
        let Current { part, lifter, layout } = self;
        lifter.begin_batch(batch);
        let mut filling = Filling { lifter, batch, counts, failed: None };
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

    /// Lifts the whole part for an observer.
    fn show(
        mut self,
        show: &mut Show<'_>,
        batch: &mut Batch,
        counts: &mut Counts,
    ) -> std::result::Result<(), (Error, Place)> {
        loop {
            batch.clear();
            let before = instructions(counts);
            let filled = self.fill(batch, counts);
            show.batch(batch, instructions(counts) - before);
            match filled {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(error) => return Err((error, self.place())),
            }
        }
    }

    fn place(&self) -> Place {
        (self.part.base + self.part.feed.offset(), self.part.left())
    }
}

impl Decoder {
    pub(crate) fn new(header: Header, parts: container::Parts, config: Config) -> Self {
        Decoder { header, config, parts, current: None, failed: None, number: 0, counts: [0; 256] }
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
}

impl Decode for Decoder {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
        if self.current.is_none() {
            let Some(part) = self.parts.next_part()? else { return Ok(false) };
            self.current = Some(Box::new(Current::new(part, &self.header, self.config)));
        }
        let Some(current) = &mut self.current else { return Ok(false) };
        let before = instructions(&self.counts);
        let filled = current.fill(batch, &mut self.counts);
        self.number += instructions(&self.counts) - before;
        if filled.is_err() {
            self.failed = Some(current.place());
        }
        if filled != Ok(true) {
            self.current = None;
        }
        filled.map(|_| true)
    }

    fn instructions(&self) -> u64 {
        self.number
    }

    fn enter(&mut self) -> Result<Entry> {
        let failed = self.failed.take();
        // Only the start of a chunk is known to be the start of a record.
        if self.parts.is_done() {
            return Ok(Entry::End);
        }
        Ok(match failed {
            Some((offset, bytes @ 1..)) => {
                Entry::After { offset, gap: Gap { bytes: Some(bytes), ..Gap::new(GapReason::BadInput) } }
            }
            _ => Entry::Here,
        })
    }

    fn observe_parts(&mut self, threads: usize, show: &mut Show<'_>) -> Result<Parts> {
        if self.current.is_some() {
            return Ok(Parts::None);
        }
        let Some(chunks) = self.parts.chunks() else { return Ok(Parts::None) };
        let (header, config, per_chunk) = (&self.header, self.config, self.parts.per_chunk().unwrap_or(0));
        let batches = Pool::default();
        let lift_chunk = |chunk: usize, show: &mut Show<'_>| {
            // Bounded, so that a damaged count leaves room for the instructions of the chunk.
            show.number = (chunk as u64).saturating_mul(per_chunk).min(u64::MAX / 2);
            let mut counts: Box<Counts> = Box::new([0; 256]);
            let mut batch = batches.take_or(Batch::default);
            let lifted = match chunks.part(chunk) {
                Ok(part) => Current::new(part, header, config).show(show, &mut batch, &mut counts),
                Err(error) => Err((error, (0, 0))),
            };
            batches.put(batch);
            (counts, lifted)
        };
        let range = self.parts.next_chunks(CHUNKS_PER_THREAD * threads);
        in_parts(threads, show, range, lift_chunk, |show, (counts, lifted), seen| {
            self.parts.step_over();
            show.join(seen);
            self.counts.iter_mut().zip(&*counts).for_each(|(sum, n)| *sum += n);
            self.number += instructions(&counts);
            lifted.map_err(|(error, place)| {
                self.failed = Some(place);
                error
            })
        })?;
        Ok(Parts::Shown)
    }

    fn seek(&mut self, n: u64) -> Result<()> {
        if self.index_is_usable() {
            self.number = self.parts.seek(n);
        }
        Ok(())
    }

    fn position(&self) -> u64 {
        self.current.as_ref().map_or_else(|| self.parts.base(), |current| current.place().0)
    }

    fn size(&self) -> Option<u64> {
        self.parts.total()
    }

    fn census(&self) -> Census {
        RECORDS.iter().map(|record| (record.1, self.counts[usize::from(record.0)])).collect()
    }
}

/// Chunks per thread in one call of `observe_parts`.
const CHUNKS_PER_THREAD: usize = 16;

/// A batch being filled.
struct Filling<'f> {
    lifter: &'f mut Lifter,
    batch: &'f mut Batch,
    counts: &'f mut Counts,
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
        self.counts[usize::from(record.descriptor())] += 1;
        let lifted = self.lifter.lift(offset, record, self.batch);
        self.flow(lifted)
    }

    fn visit_common(&mut self, bytes: &[u8], start: u64, layout: &Layout) -> (usize, ControlFlow<()>) {
        let (len, lifted) = self.lifter.lift_common(bytes, start, layout, self.batch, self.counts);
        (len, self.flow(lifted))
    }
}
