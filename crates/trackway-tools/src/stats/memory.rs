//! Memory accesses and what they touch.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use trackway_core::{MemAccess, MemKind, Value};

use super::count::{add_all, add_each};
use super::footprint::{LINE, LINES, LineRanges};
use crate::table::Table;

/// Sizes that are counted without a search.
const SMALL: usize = 65;

/// Memory accesses.
#[derive(Debug, Serialize, Deserialize)]
pub struct Memory {
    /// Read accesses.
    pub loads: u64,
    /// Write accesses.
    pub stores: u64,
    /// Read-modify-writes.
    pub atomics: u64,
    /// Prefetches, maintenance, faulting and suppressed ones.
    pub others: u64,
    /// Bytes read, by atomics too.
    pub bytes_read: u64,
    /// Bytes written, by atomics too.
    pub bytes_written: u64,
    /// Accesses with recorded data.
    pub with_data: u64,
    /// Accesses without a known address.
    pub unplaced: u64,
    #[serde(with = "small")]
    small: [u64; SMALL],
    large: BTreeMap<u64, u64>,
    /// Lines of each page, touched by accesses of one or two lines.
    pages: Table<u64>,
    /// Lines touched by longer accesses.
    ranges: LineRanges,
}

impl Default for Memory {
    fn default() -> Self {
        Memory {
            loads: 0,
            stores: 0,
            atomics: 0,
            others: 0,
            bytes_read: 0,
            bytes_written: 0,
            with_data: 0,
            unplaced: 0,
            small: [0; SMALL],
            large: BTreeMap::new(),
            pages: Table::default(),
            ranges: LineRanges::default(),
        }
    }
}

impl Memory {
    /// Lines of [`LINE`](super::LINE) bytes touched.
    pub fn lines(&self) -> u64 {
        let others = self.pages.entries.iter().map(|(page, lines)| lines & !self.ranges.of_page(*page));
        self.ranges.lines() + others.map(|lines| u64::from(lines.count_ones())).sum::<u64>()
    }

    /// Pages of [`PAGE`](super::PAGE) bytes touched.
    pub fn pages(&self) -> u64 {
        let others = self.pages.entries.iter().filter(|(page, _)| self.ranges.of_page(*page) == 0);
        self.ranges.pages() + others.count() as u64
    }

    /// Accesses by size.
    pub fn sizes(&self) -> BTreeMap<u64, u64> {
        let small = (0..).zip(self.small).filter(|(_, count)| *count > 0);
        small.chain(self.large.iter().map(|(size, count)| (*size, *count))).collect()
    }

    pub(super) fn observe(&mut self, access: &MemAccess) {
        match access.kind {
            MemKind::Read => self.loads += 1,
            MemKind::Write => self.stores += 1,
            MemKind::ReadWrite => self.atomics += 1,
            _ => self.others += 1,
        }
        if matches!(access.kind, MemKind::Read | MemKind::ReadWrite) {
            self.bytes_read = self.bytes_read.saturating_add(access.size);
        }
        if matches!(access.kind, MemKind::Write | MemKind::ReadWrite) {
            self.bytes_written = self.bytes_written.saturating_add(access.size);
        }
        self.with_data += u64::from(access.data != Value::Unknown);
        if access.size < SMALL as u64 {
            self.small[access.size as usize] += 1;
        } else {
            *self.large.entry(access.size).or_default() += 1;
        }
        if access.unplaced {
            self.unplaced += 1;
            return;
        }
        // TLB-maintenance ranges and empty ranges touch no memory.
        if access.range && (access.size == 0 || access.kind == MemKind::Maintenance) {
            return;
        }
        let last = access.address.saturating_add(access.size.saturating_sub(1));
        let (first, last) = (access.address / LINE, last / LINE);
        if last - first > 1 {
            return self.ranges.add(first, last + 1);
        }
        self.touch(first);
        if last != first {
            self.touch(last);
        }
    }

    fn touch(&mut self, line: u64) {
        *self.pages.at(line / LINES) |= 1 << (line % LINES);
    }

    pub(super) fn merge(&mut self, other: Memory) {
        self.loads += other.loads;
        self.stores += other.stores;
        self.atomics += other.atomics;
        self.others += other.others;
        self.bytes_read = self.bytes_read.saturating_add(other.bytes_read);
        self.bytes_written = self.bytes_written.saturating_add(other.bytes_written);
        self.with_data += other.with_data;
        self.unplaced += other.unplaced;
        add_each(&mut self.small, other.small);
        add_all(&mut self.large, other.large);
        self.pages.merge(other.pages, |to, lines| *to |= lines);
        self.ranges.merge(other.ranges);
    }
}

/// Counts of small sizes: serde has no arrays of this length.
mod small {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::SMALL;

    pub(super) fn serialize<S: Serializer>(counts: &[u64; SMALL], serializer: S) -> Result<S::Ok, S::Error> {
        counts[..].serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[u64; SMALL], D::Error> {
        let counts = Vec::<u64>::deserialize(deserializer)?;
        counts.try_into().map_err(|_| D::Error::custom("another number of sizes"))
    }
}
