//! How often each part of the address space was touched in each interval.

use std::collections::{BTreeMap, HashMap};

/// Cells that are kept; then two neighbours become one.
const CELLS: usize = 1 << 17;

/// Counts by interval and by bucket of addresses.
#[derive(Clone, Debug)]
pub struct Density {
    /// A bucket has 2 to the power of this bytes.
    pub shift: u32,
    /// For each interval its buckets that were touched, in order, with counts.
    pub columns: Vec<Vec<(u64, u64)>>,
    /// For each bucket an address in it that was touched.
    pub touched: BTreeMap<u64, u64>,
    cells: usize,
    open: HashMap<u64, u64>,
    /// The bucket touched last, how often in a row, and at which address first.
    last: (u64, u64, u64),
}

impl Density {
    pub(super) fn new(shift: u32) -> Self {
        Density {
            shift,
            columns: Vec::new(),
            touched: BTreeMap::new(),
            cells: 0,
            open: HashMap::new(),
            last: (0, 0, 0),
        }
    }

    /// Was nothing touched at all?
    pub fn is_empty(&self) -> bool {
        self.columns.iter().all(Vec::is_empty)
    }

    #[inline]
    pub(super) fn add(&mut self, address: u64, count: u64) {
        if address >> self.shift == self.last.0 {
            self.last.1 += count;
            return;
        }
        // Buckets may become larger here.
        self.flush();
        self.last = (address >> self.shift, count, address);
    }

    fn flush(&mut self) {
        let (bucket, count, address) = std::mem::take(&mut self.last);
        if count > 0 {
            let known = self.open.entry(bucket).or_default();
            if *known == 0 {
                self.touched.entry(bucket).or_insert(address);
            }
            *known += count;
        }
        while self.cells + self.open.len() > CELLS && self.shift < 63 {
            self.coarsen();
        }
    }

    /// The interval ends.
    pub(super) fn close(&mut self) {
        self.flush();
        let mut column: Vec<_> = self.open.drain().collect();
        column.sort_unstable();
        self.cells += column.len();
        self.columns.push(column);
    }

    /// Buckets of twice the size.
    pub fn coarsen(&mut self) {
        self.shift += 1;
        for column in &mut self.columns {
            *column = joined(column.iter().map(|(bucket, count)| (bucket >> 1, *count)));
        }
        self.cells = self.columns.iter().map(Vec::len).sum();
        for (bucket, address) in std::mem::take(&mut self.touched) {
            self.touched.entry(bucket >> 1).or_insert(address);
        }
        for (bucket, count) in std::mem::take(&mut self.open) {
            *self.open.entry(bucket >> 1).or_default() += count;
        }
    }

    /// Intervals of twice the width.
    pub(super) fn halve(&mut self) {
        let pairs = self.columns.chunks(2).map(|pair| {
            let mut both = pair.concat();
            both.sort_unstable();
            joined(both)
        });
        self.columns = pairs.collect();
        self.cells = self.columns.iter().map(Vec::len).sum();
    }
}

/// Entries in order, the counts of equal buckets added up.
fn joined(entries: impl IntoIterator<Item = (u64, u64)>) -> Vec<(u64, u64)> {
    let mut list: Vec<(u64, u64)> = Vec::new();
    for (bucket, count) in entries {
        match list.last_mut() {
            Some(last) if last.0 == bucket => last.1 += count,
            _ => list.push((bucket, count)),
        }
    }
    list
}
