//! The block table: for a pc, where the straight run ends, how many instructions it has, how it leaves
//! and to where.
//!
//! A table has one 64-bit entry per place where an instruction may start (every 4 bytes in A64 and A32,
//! every 2 in T32 and RISC-V), so a look-up is an index and a load. Entries are made for 512 bytes of code at a
//! time when first asked for. Each entry is complete, so threads share a table without locks: two
//! that build the same part write the same values.
//!
//! Memory: 8 bytes per entry, which is 8 bytes per instruction in A64 and A32 and 8 to 16 in T32 and
//! RISC-V, for each pair of instruction set and waypoints in use, and only for pages that were asked for
//! (the system commits zeroed memory as it is touched).

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use trackway_core::Isa;
use trackway_isa::Switch;
use zerocopy::FromZeros;

use crate::block::{Block, Near};
use crate::build::{PAGE, PART, Rules, granule};
use crate::entry::{Entry, Exchange, Shape};
use crate::memory::{Memory, Range};
use crate::waypoints::Waypoints;

/// Code that is at most this long has one table; the table is made when first asked for.
const REGION: u64 = 1 << 24;

/// The entries of a stretch of code.
#[derive(Debug)]
struct Table {
    entries: Box<[AtomicU64]>,
}

/// A stretch of code and its table.
#[derive(Debug)]
struct Region {
    /// On the instruction set's granule.
    base: u64,
    length: u64,
    table: OnceLock<Arc<Table>>,
}

/// The block table of one view of memory, for one instruction set and one set of waypoints.
///
/// ```
/// use std::sync::Arc;
/// use trackway_core::Isa;
/// use trackway_image::{Blocks, Memory, Segment, Waypoints};
/// use trackway_isa::Control;
///
/// // nop; cbz x0, .+8; svc #0; ret
/// let code = [0xd503_201f_u32, 0xb400_0040, 0xd400_0001, 0xd65f_03c0];
/// let bytes: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
/// let memory = Memory::new([Segment::new(0x1000, Arc::new(bytes))?]);
/// let blocks = Arc::new(Blocks::new(Arc::new(memory), Isa::A64, Waypoints::ete(true)));
///
/// let mut cursor = blocks.cursor();
/// let block = cursor.at(0x1000).unwrap();
/// assert_eq!((block.count, block.end, block.control), (2, 0x1008, Control::Branch));
/// assert_eq!(block.target, Some(0x100c));
/// assert_eq!(cursor.at(0x1008).unwrap().control, Control::Return); // SVC ends no run
/// assert_eq!(cursor.at(0x1010), None); // outside
/// # Ok::<(), trackway_image::Error>(())
/// ```
#[derive(Debug)]
pub struct Blocks {
    memory: Arc<Memory>,
    rules: Rules,
    /// In order of address, without overlap.
    regions: Vec<Region>,
}

impl Blocks {
    /// An empty table over `memory`.
    pub fn new(memory: Arc<Memory>, isa: Isa, waypoints: Waypoints) -> Self {
        let code = if isa == Isa::Other { Vec::new() } else { memory.code() };
        let regions = code.into_iter().flat_map(|range| split(range, isa)).collect();
        Blocks { memory, rules: Rules::new(isa, waypoints), regions }
    }

    /// The instruction set.
    pub fn isa(&self) -> Isa {
        self.rules.isa
    }

    /// The instructions that end a run.
    pub fn waypoints(&self) -> Waypoints {
        self.rules.waypoints
    }

    /// The memory that it describes.
    pub fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    /// Makes a cursor, which is what to look up with.
    pub fn cursor(self: &Arc<Self>) -> Cursor {
        Cursor {
            blocks: Arc::clone(self),
            base: 0,
            granule: granule(self.rules.isa),
            table: Arc::new(Table { entries: Box::default() }),
            region: usize::MAX,
            parked: vec![None; self.regions.len()],
        }
    }

    /// Makes all entries now, for programs that will be used throughout.
    pub fn fill(&self) {
        for region in &self.regions {
            if let Some(table) = self.table(region) {
                for page in 0..region.length.div_ceil(PAGE) {
                    self.build(region.base, &table, page * PAGE, PAGE);
                }
            }
        }
    }

    /// The number of the region that `pc` lies in.
    fn region(&self, pc: u64) -> Option<usize> {
        let at = self.regions.partition_point(|region| region.base <= pc).checked_sub(1)?;
        let region = &self.regions[at];
        (pc - region.base < region.length).then_some(at)
    }

    /// The region's table; `None` where the system has no memory for it.
    fn table(&self, region: &Region) -> Option<Arc<Table>> {
        if let Some(table) = region.table.get() {
            return Some(Arc::clone(table));
        }
        let slots = (region.length >> granule(self.rules.isa)) as usize;
        let entries = <[AtomicU64]>::new_box_zeroed_with_elems(slots).ok()?;
        Some(Arc::clone(region.table.get_or_init(|| Arc::new(Table { entries }))))
    }

    /// Makes the entries around `offset`.
    fn build_around(&self, base: u64, table: &Table, offset: u64) {
        if !self.build(base, table, offset / PART * PART, PART) {
            self.build(base, table, offset / PAGE * PAGE, PAGE);
        }
    }

    /// Makes the entries of one page, or of a part of it; false if it takes the page.
    fn build(&self, base: u64, table: &Table, offset: u64, length: u64) -> bool {
        let granule = granule(self.rules.isa);
        let first = (offset >> granule) as usize;
        let entries = &table.entries[first..];
        let entries = &entries[..entries.len().min((length >> granule) as usize)];
        let length = (entries.len() << granule) as u64;
        // The page ends where the table does, at the latest.
        let page = (offset / PAGE + 1) * PAGE;
        let is_part = offset + length < page.min((table.entries.len() << granule) as u64);
        self.rules.build(&self.memory, base + offset, (length, is_part), |slot, entry| {
            entries[slot].store(entry.0, Relaxed);
        })
    }

    /// Where the direct transfer at `last` goes, from its encoding.
    #[cold]
    fn look_at(&self, last: u64) -> (Option<u64>, Switch) {
        let flow = self
            .memory
            .fetch(self.rules.isa, last)
            .map(|(encoding, _)| trackway_isa::flow(self.rules.isa, last, encoding))
            .unwrap_or_default();
        (flow.target, flow.switch)
    }
}

/// Cuts a range of code into regions, on the granule of the instruction set. A slot that is known in part
/// only is left out: no instruction fits.
fn split(range: Range, isa: Isa) -> impl Iterator<Item = Region> {
    let mask = (1 << granule(isa)) - 1;
    let skip = range.address.wrapping_neg() & mask;
    let base = range.address.wrapping_add(skip);
    let length = range.length.saturating_sub(skip) & !mask;
    (0..length).step_by(REGION as usize).map(move |offset| Region {
        base: base + offset,
        length: (length - offset).min(REGION),
        table: OnceLock::new(),
    })
}

/// Looks up blocks, and remembers where it did so last: following a run that stays in the same 16 MiB is
/// one subtraction, one compare and one load.
#[derive(Clone, Debug)]
pub struct Cursor {
    blocks: Arc<Blocks>,
    base: u64,
    granule: u32,
    table: Arc<Table>,
    /// The region that `table` is of.
    region: usize,
    /// Tables of regions that were used before, by region: going back to one touches no shared counter.
    parked: Vec<Option<Arc<Table>>>,
}

impl Cursor {
    /// The table that it looks into.
    pub fn blocks(&self) -> &Arc<Blocks> {
        &self.blocks
    }

    /// The run that starts at `pc`; `None` where no code is known, and between two places where an
    /// instruction may start.
    #[inline]
    pub fn at(&mut self, pc: u64) -> Option<Block> {
        let entry = self.entry(pc)?;
        let end = pc.wrapping_add(entry.length());
        let last = end.wrapping_sub(entry.last_length());
        let control = entry.control();
        let (target, switch) = if entry.exchange() == Exchange::Far {
            self.blocks.look_at(last)
        } else {
            let target = control.is_direct().then(|| pc.wrapping_add_signed(entry.distance()));
            (target, entry.switch(self.blocks.rules.isa))
        };
        let conditional = entry.conditional();
        Some(Block { start: pc, end, count: entry.count(), last, control, conditional, target, switch })
    }

    /// The run that starts at `pc` if it is like most: it ends in a direct transfer that stays in its instruction
    /// set. `None` also for pages that were never looked up; then ask [`at`](Cursor::at).
    #[inline(always)]
    pub fn near(&self, pc: u64) -> Option<Near> {
        let index = pc.wrapping_sub(self.base).rotate_right(self.granule);
        let entry = Entry(self.table.entries.get(index as usize)?.load(Relaxed));
        entry.is_near().then_some(Near { pc, entry })
    }

    /// The run that starts at `pc`, whatever ends it, if its transfer is not far and stays in its instruction set. `None`
    /// also for pages that were never looked up; then ask [`at`](Cursor::at).
    #[inline(always)]
    pub fn peek(&self, pc: u64) -> Option<Near> {
        let index = pc.wrapping_sub(self.base).rotate_right(self.granule);
        let entry = Entry(self.table.entries.get(index as usize)?.load(Relaxed));
        entry.stays().then_some(Near { pc, entry })
    }

    /// The runs of the code looked at last, for an instruction set whose instructions start at every 1 << `GRANULE` bytes.
    #[inline(always)]
    pub fn glances<const GRANULE: u32>(&self) -> Glances<'_, GRANULE> {
        debug_assert_eq!(GRANULE, self.granule);
        Glances { base: self.base, entries: &self.table.entries }
    }

    /// How many instructions of the run from `pc` come before the one at `address`; `None` if no instruction
    /// of that run starts there.
    pub fn position(&mut self, pc: u64, address: u64) -> Option<u32> {
        let run = self.entry(pc)?;
        let ahead = address.wrapping_sub(pc);
        if ahead >= run.length() || !ahead.is_multiple_of(1 << self.granule) {
            return None;
        }
        if self.granule == 2 {
            return Some((ahead / 4) as u32);
        }
        if !self.starts_within(ahead / 2, address) {
            return None;
        }
        match self.entry(address) {
            Some(rest) if ahead + rest.length() == run.length() => Some(run.count() - rest.count()),
            // Two pieces of a run too long for one entry: count.
            _ => Some(self.count(pc, address)),
        }
    }

    /// Instructions from `pc` to `address`, which is known to be on the path.
    #[cold]
    fn count(&mut self, pc: u64, address: u64) -> u32 {
        let (mut at, mut count) = (pc, 0);
        while at != address
            && let Some(entry) = self.entry(at)
        {
            at = at.wrapping_add(entry.first_length());
            count += 1;
        }
        count
    }

    /// In a set with instructions of 2 and 4 bytes: does the path that begins `halfwords` before `address`
    /// come to `address`, and not step over it?
    ///
    /// Going back from `address` over places where a wide instruction would start, up to the start of
    /// the path: a path cannot step over the place after a narrow one, so an instruction starts there or
    /// at the start of the path itself, and from it wide ones follow each other.
    fn starts_within(&mut self, halfwords: u64, address: u64) -> bool {
        let mut wide = 0;
        while wide < halfwords {
            match self.entry(address - 2 * (wide + 1)) {
                Some(entry) if entry.first_length() == 4 => wide += 1,
                _ => break,
            }
        }
        wide.is_multiple_of(2)
    }

    /// The entry for `pc`, made if need be; `None` for a hole.
    #[inline]
    fn entry(&mut self, pc: u64) -> Option<Entry> {
        // Rotating puts the bits of a misaligned pc on top: one compare finds it outside.
        let index = pc.wrapping_sub(self.base).rotate_right(self.granule);
        if let Some(entry) = self.table.entries.get(index as usize) {
            let entry = Entry(entry.load(Relaxed));
            if !entry.is_empty() {
                return Some(entry);
            }
        }
        self.find(pc)
    }

    /// The slow way: another region, a page that was not asked for yet, a hole.
    #[cold]
    #[inline(never)]
    fn find(&mut self, pc: u64) -> Option<Entry> {
        let region = self.blocks.region(pc)?;
        if region != self.region {
            self.change_region(region)?;
        }
        let offset = pc - self.base;
        if !offset.is_multiple_of(1 << self.granule) {
            return None;
        }
        let slot = self.table.entries.get((offset >> self.granule) as usize)?;
        if slot.load(Relaxed) == Entry::UNKNOWN.0 {
            self.blocks.build_around(self.base, &self.table, offset);
        }
        let entry = Entry(slot.load(Relaxed));
        (!entry.is_empty()).then_some(entry)
    }

    fn change_region(&mut self, region: usize) -> Option<()> {
        let table = match self.parked[region].take() {
            Some(table) => table,
            None => self.blocks.table(&self.blocks.regions[region])?,
        };
        let before = std::mem::replace(&mut self.table, table);
        if let Some(parked) = self.parked.get_mut(self.region) {
            *parked = Some(before);
        }
        (self.base, self.region) = (self.blocks.regions[region].base, region);
        Some(())
    }
}

/// Runs of one stretch of code, as far as they are known.
#[derive(Clone, Copy, Debug)]
pub struct Glances<'c, const GRANULE: u32> {
    base: u64,
    entries: &'c [AtomicU64],
}

impl<const GRANULE: u32> Glances<'_, GRANULE> {
    /// The place of `pc` in the stretch: a number that is too large outside of it and between two places.
    #[inline(always)]
    pub fn slot(&self, pc: u64) -> u64 {
        pc.wrapping_sub(self.base).rotate_right(GRANULE)
    }

    /// The address of a slot that was reached from one in the stretch.
    #[inline(always)]
    pub fn address(&self, slot: u64) -> u64 {
        self.base.wrapping_add(slot << GRANULE)
    }

    /// The run that starts at a slot; outside the stretch nothing is known.
    #[inline(always)]
    pub fn run(&self, slot: u64) -> Glance<GRANULE> {
        Glance(self.entries.get(slot as usize).map_or(Entry::UNKNOWN, |entry| Entry(entry.load(Relaxed))))
    }

    /// The address after the stretch.
    pub fn end(&self) -> u64 {
        self.address(self.entries.len() as u64)
    }
}

/// A run, wherever it is; lengths are in slots.
#[derive(Clone, Copy, Debug)]
pub struct Glance<const GRANULE: u32>(Entry);

impl<const GRANULE: u32> Glance<GRANULE> {
    /// The way it is left; sequential where nothing is known.
    #[inline(always)]
    pub fn shape(self) -> Shape {
        self.0.shape()
    }

    /// How many instructions.
    #[inline(always)]
    pub fn count(self) -> u32 {
        self.0.count()
    }

    /// From the first instruction to the end of the last.
    #[inline(always)]
    pub fn length(self) -> u64 {
        // Where all instructions fill one slot, their number is the length.
        if GRANULE == 2 { self.count().into() } else { self.0.length() >> GRANULE }
    }

    /// From the first instruction to the target of a transfer whose shape [`stays`](Shape::stays).
    #[inline(always)]
    pub fn distance(self) -> u64 {
        (self.0.distance() >> GRANULE) as u64
    }
}
