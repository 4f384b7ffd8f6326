//! An instruction with its accesses, each checked against the encoding as it comes.

use trackway_core::Rule;
use trackway_isa::arm::memory::{Elements, Memory, access_bytes, element_bytes, elements, suppresses_faults};
use trackway_isa::arm::{Class, StateWrite, classify, state_write};

use crate::record::{Access, Instruction, Level};
use crate::rules::*;

/// An Instruction, with sums over its Extra EAs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub(super) record: Instruction,
    pub(super) class: Class,
    pub(super) tracked: Option<StateWrite>,
    pub(super) number: u64,
    pub(super) offset: u64,
    /// Rules that an access broke, as bits of [`RULES`].
    pub(super) broken: u128,
    pub(super) accesses: u32,
    /// Accesses that are ranges.
    pub(super) ranges: u32,
    /// Ranges that were read.
    pub(super) reads: u32,
    /// Ranges that were written.
    pub(super) writes: u32,
    /// Accesses that neither read nor wrote.
    pub(super) bare: u32,
    /// Bytes of all accesses.
    pub(super) bytes: u64,
    /// Lowest address, and the address after the highest byte.
    pub(super) span: (u64, u64),
    pub(super) last: Option<Access>,
    /// The elements of a predicated vector access.
    pub(super) elements: Option<Elements>,
    /// Accesses that follow each other in memory: first address, and the address after the last byte.
    run: (u64, u64),
    /// A run of accesses is not made of whole elements.
    odd: bool,
    /// Tag Check Faults of loads are synchronous.
    pub(super) synchronous_tags: bool,
}

const _: () = assert!(RULES.len() <= 128);

/// Accesses of adjacent pages may be apart in physical memory (ASTF 4.5.2).
const PAGE: u64 = 4096;

impl Group {
    pub(super) fn new(record: &Instruction, number: u64, offset: u64, synchronous_tags: bool) -> Self {
        let mut group = Group {
            record: *record,
            class: classify(record.pc, record.iword),
            tracked: state_write(record.iword),
            number,
            offset,
            broken: 0,
            accesses: 0,
            ranges: 0,
            reads: 0,
            writes: 0,
            bare: 0,
            bytes: 0,
            span: (u64::MAX, 0),
            last: None,
            elements: None,
            run: (0, 0),
            odd: false,
            synchronous_tags,
        };
        if group.is_vector() {
            group.elements = elements(record.iword);
        }
        if let Some(access) = record.access() {
            group.add(access);
        }
        group
    }

    /// Adds an access and checks it.
    pub(super) fn add(&mut self, access: Access) {
        if let Class::Memory(memory) = self.class {
            self.judge(memory, &access);
        }
        self.accesses += 1;
        self.bare += u32::from(!access.read && !access.write);
        let size = u64::from(access.size) + 1;
        self.bytes += size;
        let end = access.address.saturating_add(size);
        self.span = (self.span.0.min(access.address), self.span.1.max(end));
        if self.run.1 != access.address {
            self.odd = self.is_odd();
            self.run.0 = access.address;
        }
        self.run.1 = end;
        if access.range.is_some() {
            if access.read && self.writes > 0 {
                self.broke(&RANGE_ORDER);
            }
            self.ranges += 1;
            self.reads += u32::from(access.read);
            self.writes += u32::from(access.write);
        }
        self.last = Some(access);
    }

    /// True if a run of accesses is not made of whole elements. One that a page boundary cuts may be in two parts.
    pub(super) fn is_odd(&self) -> bool {
        let (start, end) = self.run;
        let cut = start.is_multiple_of(PAGE) || end.is_multiple_of(PAGE);
        let whole = |elements: Elements| (end - start).is_multiple_of(elements.bytes) || cut;
        self.odd || !self.elements.is_none_or(whole)
    }

    fn broke(&mut self, rule: &'static Rule) {
        let bit = RULES.iter().position(|other| other.name == rule.name);
        self.broken |= 1 << bit.unwrap_or(0);
    }

    fn judge(&mut self, memory: Memory, access: &Access) {
        use Memory::*;
        let Access { read, write, tagged, size, range, address } = *access;
        let (trap, word, tags) = (self.record.trap, self.record.iword, self.synchronous_tags);
        let mut demand = |legal: bool, rule: &'static Rule| {
            if !legal {
                self.broke(rule);
            }
        };
        match memory {
            Load | VectorLoad => {
                let suppressed = !read && !trap && suppresses_faults(word);
                demand(read || trap || suppressed, &READ_FLAG);
                demand(!write, &LOAD_WRITES);
                demand(!suppressed || u64::from(size) + 1 == element_bytes(word), &SUPPRESSED_SIZE);
                demand(!suppressed || !tagged || tags, &SUPPRESSED_TAG);
            }
            Store | ZeroBlock | TagDataStore | VectorStore => {
                demand(write || trap, &WRITE_FLAG);
                demand(!read, &STORE_READS);
            }
            ReadWrite => demand((read && write) || trap, &READ_WRITE_FLAGS),
            CompareSwap => demand(read || trap, &READ_FLAG),
            ConditionalStore => demand(!read, &STORE_READS),
            Prefetch => {
                demand(!read && !write, &PREFETCH_FLAGS);
                demand(size == 0, &SPECIAL_SIZE);
                demand(!tagged, &SPECIAL_TAGGED);
            }
            VectorPrefetch => demand(!read && !write, &PREFETCH_FLAGS),
            Maintenance { .. } | TlbMaintenance | TlbRange | OtherMaintenance => {
                demand(!read && !write, &SPECIAL_FLAGS);
                demand(size == 0, &SPECIAL_SIZE);
                let may_check = matches!(memory, Maintenance { tags: true } | OtherMaintenance);
                demand(!tagged || may_check, &SPECIAL_TAGGED);
            }
            TagLoad => {
                demand(tagged || trap, &UNTAGGED_TAGS);
                demand(read || trap, &READ_FLAG);
                demand(!write, &LOAD_WRITES);
            }
            TagStore => {
                demand(tagged || trap, &UNTAGGED_TAGS);
                demand(write || trap, &WRITE_FLAG);
                demand(!read, &STORE_READS);
            }
            Copy | Set { .. } => {
                // The access that faulted is not a range.
                demand(range.is_some() || (trap && !read && !write), &RANGE_MISSING);
                demand(range.is_none() || read != write, &RANGE_DIRECTION);
                demand(range != Some(0) || !tagged, &MOPS_ZERO_TAG);
                demand(memory == Copy || !read, &MOPS_RANGES);
            }
        }
        if matches!(memory, TagLoad | TagStore | TagDataStore) && tagged && (read || write) {
            demand(address % 16 == 0, &TAG_GRANULE);
        }
        match memory {
            // Some of these have a range, of intermediate addresses.
            Copy | Set { .. } | OtherMaintenance => {}
            TlbRange => demand(range.is_some() || trap, &RANGE_MISSING),
            _ => demand(range.is_none(), &RANGE_UNEXPECTED),
        }
    }

    /// Address of the next instruction without a Trap; `None` if unknown.
    pub(super) fn next(&self, level: Level) -> Option<u64> {
        let record = &self.record;
        match self.class {
            _ if record.trap && level == Level::BasicPlus => None,
            // The handler is not in the trace: the instruction is tried again.
            _ if record.trap => Some(record.pc),
            Class::ExceptionReturn => None,
            _ if record.is_branch && record.ea_valid => Some(record.ea),
            _ => Some(record.pc.wrapping_add(4)),
        }
    }

    /// True if the instruction has an access whenever it completes.
    pub(super) fn needs_access(&self) -> bool {
        use Memory::*;
        matches!(
            self.class,
            Class::Memory(
                Load | Store
                    | ReadWrite
                    | CompareSwap
                    | Prefetch
                    | Maintenance { .. }
                    | TlbMaintenance
                    | ZeroBlock
                    | TagDataStore
            )
        ) || (self.is_vector() && access_bytes(self.record.iword).is_some())
    }

    pub(super) fn is_mops(&self) -> bool {
        matches!(self.class, Class::Memory(Memory::Copy | Memory::Set { .. }))
    }

    pub(super) fn is_vector(&self) -> bool {
        matches!(self.class, Class::Memory(Memory::VectorLoad | Memory::VectorStore))
    }
}
