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
pub(crate) mod events;
mod filter;
mod group;
mod sizes;

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};
use trackway_core::{
    Batch, Census, Decode, Entry, Error, Gap, GapReason, Parts, Pool, Result, Show, Stream, in_parts, pack,
    unpack,
};

use self::group::{Inherited, Lifter};
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
    parts: container::Parts,
    /// The part that is being read.
    part: Option<Box<Part>>,
    lifter: Lifter,
    layout: Layout,
    /// The layout after the header.
    settled: Layout,
    /// Where the part with the last error stopped, and its unread bytes.
    failed: Option<Place>,
    /// The state before the next part is not known.
    lost: bool,
    /// A chunk to lift in order, since its index entry is wrong.
    in_order: Option<usize>,
    /// Number of the next instruction.
    number: u64,
    counts: Box<Counts>,
    /// One of several sources; the first of them counts the items.
    counts_items: bool,
}

/// Offset of a record, and the unread bytes of its part from there.
type Place = (u64, u64);

/// The state between two batches, which end between two groups.
#[derive(Serialize, Deserialize)]
struct State {
    place: container::Place,
    lifter: Inherited,
    layout: Layout,
    lost: bool,
}

/// Lifts records of a part until the batch is full; false when the part has ended.
fn fill(
    part: &mut Part,
    lifter: &mut Lifter,
    layout: &mut Layout,
    batch: &mut Batch,
    counts: &mut Counts,
) -> Result<bool> {
    let mut filling = Filling { lifter, batch, counts, failed: None };
    let scanned = scan(&mut part.feed, part.base, layout, &mut filling);
    match (filling.failed, scanned) {
        (Some(error), _) => Err(error),
        (None, Ok(Scan::Stopped)) => Ok(true),
        (None, scanned) => part.end(scanned.err()).map(|()| false),
    }
}

fn place(part: &Part) -> Place {
    (part.base + part.feed.offset(), part.left())
}

/// A chunk that was lifted on its own.
struct Lifted {
    counts: Box<Counts>,
    /// The state that it assumed, and its place in the stream and among the instructions.
    assumed: (Inherited, u64, u64),
    /// The state after it, and its size.
    after: Option<(Lifter, u64)>,
    failed: Option<(Error, Place)>,
    /// Ends inside a group.
    open: bool,
}

/// Why parts end before the last one.
enum Stop {
    Failed(Error),
    /// A chunk has to be lifted in order.
    InOrder,
}

impl Decoder {
    pub(crate) fn new(header: &Header, parts: container::Parts, config: Config) -> Self {
        Decoder {
            lifter: Lifter::new(header, config),
            layout: if header.lost { header.layout } else { Layout::default() },
            settled: header.layout,
            parts,
            part: None,
            failed: None,
            lost: header.lost,
            in_order: None,
            number: 0,
            counts: Box::new([0; 256]),
            counts_items: true,
        }
    }

    /// Lifts one hardware thread of several; the trace begins with `first`.
    pub(crate) fn only(mut self, wanted: u32, first: u32, counts_items: bool) -> Self {
        self.lifter.only(wanted, first);
        self.counts_items = counts_items;
        self
    }

    /// Enters the next part; false if there is none.
    fn enter_part(&mut self) -> Result<bool> {
        let Some(part) = self.parts.next_part()? else { return Ok(false) };
        if std::mem::take(&mut self.lost) {
            self.lifter.start_at(part.start_pc);
            self.lifter.process = (None, None);
            self.layout = self.settled;
        }
        self.part = Some(Box::new(part));
        Ok(true)
    }

    /// Does the first chunk hold the declared number of instructions? If not, the index cannot be used to seek.
    fn index_is_usable(&self, per_chunk: u64, chunks: &container::ChunkReader) -> bool {
        let Ok(mut first) = chunks.part(0, 0) else { return false };
        let mut markers = 0;
        let mut visitor = |_: u64, record: &Record<'_>, _: &[u8]| {
            markers += u64::from(record.is_marker());
            ControlFlow::Continue(())
        };
        let scanned = scan(&mut first.feed, first.base, &mut Layout::default(), &mut visitor);
        scanned.is_ok() && markers == per_chunk
    }

    /// Fills the batch from the current part and, while a group is open, from those after it.
    fn fill_parts(&mut self, batch: &mut Batch) -> Result<bool> {
        loop {
            if self.part.is_none() {
                let entered = self.enter_part();
                if entered != Ok(true) {
                    self.lifter.end(self.parts.base(), batch);
                    return entered;
                }
            }
            let Some(part) = &mut self.part else { return Ok(false) };
            match fill(part, &mut self.lifter, &mut self.layout, batch, &mut self.counts) {
                Ok(true) => return Ok(true),
                Ok(false) => {
                    self.parts.end_part(part, true);
                    self.part = None;
                    if !batch.events.is_empty() && self.lifter.between_groups(batch) {
                        return Ok(true);
                    }
                }
                Err(error) => {
                    self.failed = Some(place(part));
                    self.lifter.end(part.base + part.feed.offset(), batch);
                    self.parts.end_part(part, false);
                    (self.part, self.lost) = (None, true);
                    return Err(error);
                }
            }
        }
    }
}

impl Decode for Decoder {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
        let before = instructions(&self.counts);
        self.lifter.begin_batch(batch);
        let filled = self.fill_parts(batch);
        self.number += match self.lifter.filter {
            None => instructions(&self.counts) - before,
            Some(_) => batch.instructions(),
        };
        filled
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
            Some((offset, left)) => {
                let bytes = Some(left).filter(|&left| left > 0);
                Entry::After { offset, gap: Gap { bytes, ..Gap::new(GapReason::BadInput) } }
            }
            None => Entry::Here,
        })
    }

    fn observe_parts(&mut self, threads: usize, show: &mut Show<'_>) -> Result<Parts> {
        let first = self.parts.next_chunk();
        if self.part.is_some() || self.lifter.filter.is_some() || self.lost || self.in_order == Some(first) {
            return Ok(Parts::None);
        }
        let Some(chunks) = self.parts.chunks() else { return Ok(Parts::None) };
        // Only the index says where later chunks begin.
        let known =
            chunks.list()[first..].iter().take_while(|chunk| chunk.start_pc.and(chunk.size).is_some());
        let count = known.take(CHUNKS_PER_THREAD * threads).count();
        if count < 2 {
            return Ok(Parts::None);
        }
        let per_chunk = self.parts.per_chunk().unwrap_or(0);
        let (start, layout, settled, number) = (&self.lifter.clone(), self.layout, self.settled, self.number);
        let mut base = self.parts.base();
        let bases = chunks.list()[first..first + count].iter().enumerate().map(|(n, chunk)| {
            let here = base;
            base = base.saturating_add(chunk.size.unwrap_or(0));
            (first + n, here)
        });
        let batches = Pool::default();
        let lift_chunk = |(chunk, base): (usize, u64), show: &mut Show<'_>| {
            let mut batch = batches.take_or(Batch::default);
            batch.clear();
            let mut lifter = start.clone();
            let mut layout = if chunk == first { layout } else { settled };
            // Bounded, so that a damaged count leaves room for the instructions of the chunk.
            let before = ((chunk - first) as u64).saturating_mul(per_chunk).min(u64::MAX / 4);
            show.number = number.saturating_add(before).min(u64::MAX / 2);
            let mut lifted = Lifted {
                counts: Box::new([0; 256]),
                assumed: (lifter.inherited(), base, show.number),
                after: None,
                failed: None,
                open: false,
            };
            match chunks.part(chunk, base) {
                Ok(mut part) => {
                    if chunk != first {
                        lifter.start_at(part.start_pc);
                        lifted.assumed.0 = lifter.inherited();
                    }
                    lift_part(&mut part, lifter, &mut layout, &mut batch, show, &mut lifted);
                }
                Err(error) => lifted.failed = Some((error, (base, 0))),
            }
            batches.put(batch);
            lifted
        };
        let shown = in_parts(threads, show, bases, lift_chunk, |show, lifted, seen| {
            let actual = (self.lifter.inherited(), self.parts.base(), self.number);
            if lifted.assumed != actual || lifted.open {
                self.in_order = Some(self.parts.next_chunk());
                return Err(Stop::InOrder);
            }
            show.join(seen);
            self.parts.skip_chunk();
            self.layout = self.settled;
            self.counts.iter_mut().zip(&*lifted.counts).for_each(|(sum, n)| *sum += n);
            self.number += instructions(&lifted.counts);
            if let Some((lifter, size)) = lifted.after {
                self.lifter = lifter;
                self.parts.step_over(actual.1, size, lifted.failed.is_none());
            }
            match lifted.failed {
                None => {
                    show.place(|| Some((self.position(), self.save()?)));
                    Ok(())
                }
                Some((error, place)) => {
                    (self.failed, self.lost) = (Some(place), true);
                    Err(Stop::Failed(error))
                }
            }
        });
        match shown {
            Err(Stop::Failed(error)) => Err(error),
            Ok(()) | Err(Stop::InOrder) => Ok(Parts::Shown),
        }
    }

    fn places_parts(&self) -> bool {
        self.lifter.filter.is_none() && self.parts.chunks().is_some()
    }

    fn seek(&mut self, n: u64) -> Result<()> {
        let (Some(per_chunk @ 1..), Some(chunks)) = (self.parts.per_chunk(), self.parts.chunks()) else {
            return Ok(());
        };
        let last = chunks.list().len() - 1;
        let chunk = usize::try_from(n / per_chunk).unwrap_or(last).min(last);
        let before = &chunks.list()[..chunk];
        if chunk == 0
            || before.iter().any(|chunk| chunk.size.is_none())
            || !self.index_is_usable(per_chunk, &chunks)
        {
            return Ok(());
        }
        // The records of the chunk before decide where this one begins.
        self.parts.seek(chunk - 1);
        (self.lost, self.number) = (chunk > 1, (chunk as u64 - 1) * per_chunk);
        let mut batch = Batch::default();
        while self.parts.next_chunk() < chunk || self.part.is_some() {
            batch.clear();
            if self.fill(&mut batch).is_err() {
                break;
            }
        }
        *self.counts = [0; 256];
        Ok(())
    }

    fn save(&self) -> Option<Vec<u8>> {
        let place = self.parts.place(self.part.as_deref())?;
        pack(&State { place, lifter: self.lifter.inherited(), layout: self.layout, lost: self.lost })
    }

    fn restore(&mut self, state: &[u8], instructions: u64) -> Result<bool> {
        let state = unpack(state).filter(|_| instructions <= u64::MAX / 2);
        let Some(State { place, lifter, layout, lost }) = state else { return Ok(false) };
        let Some(part) = self.parts.enter(&place) else { return Ok(false) };
        self.lifter.inherit(lifter);
        (self.part, self.layout, self.lost) = (part.map(Box::new), layout, lost);
        self.number = instructions;
        Ok(true)
    }

    fn position(&self) -> u64 {
        self.part.as_ref().map_or_else(|| self.parts.base(), |part| place(part).0)
    }

    fn size(&self) -> Option<u64> {
        self.parts.total()
    }

    fn census(&self) -> Census {
        let count = |descriptor: u8| if self.counts_items { self.counts[usize::from(descriptor)] } else { 0 };
        RECORDS.iter().map(|record| (record.1, count(record.0))).collect()
    }
}

/// Lifts a whole chunk for an observer.
fn lift_part(
    part: &mut Part,
    mut lifter: Lifter,
    layout: &mut Layout,
    batch: &mut Batch,
    show: &mut Show<'_>,
    lifted: &mut Lifted,
) {
    loop {
        batch.clear();
        lifter.begin_batch(batch);
        let before = instructions(&lifted.counts);
        let filled = fill(part, &mut lifter, layout, batch, &mut lifted.counts);
        if filled.is_err() {
            lifter.end(part.base + part.feed.offset(), batch);
        }
        lifted.open = !lifter.between_groups(batch);
        show.batch(batch, instructions(&lifted.counts) - before);
        match filled {
            Ok(true) => continue,
            Ok(false) => {}
            Err(error) => lifted.failed = Some((error, place(part))),
        }
        let size = part.feed.offset();
        let size = if lifted.failed.is_some() { size + part.left() } else { size };
        lifted.after = Some((lifter, size));
        return;
    }
}

/// Chunks per thread in one call of `observe_parts`: at its end the threads wait for each other, for up to a chunk.
const CHUNKS_PER_THREAD: usize = 64;

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
