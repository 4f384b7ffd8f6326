//! Remembered translations.

use crate::effects::Purpose;

/// Bits in a page offset.
pub(super) const PAGE_BITS: u32 = 12;
pub(super) const PAGE_MASK: u64 = (1 << PAGE_BITS) - 1;

/// Remembered translations, one table per purpose.
#[derive(Clone, Debug)]
pub(super) struct Tlb {
    entries: [Box<[Entry; WAYS]>; 3],
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Virtual page and the context that it was translated in; all ones where unused.
    tag: u64,
    /// Physical address of the page.
    base: u64,
}

const WAYS: usize = 256;
const UNUSED: Entry = Entry { tag: u64::MAX, base: 0 };

impl Tlb {
    pub(super) fn new() -> Self {
        Self { entries: std::array::from_fn(|_| Box::new([UNUSED; WAYS])) }
    }

    pub(super) fn flush(&mut self) {
        self.entries.iter_mut().for_each(|ways| ways.fill(UNUSED));
    }

    #[inline(always)]
    pub(super) fn find(&self, address: u64, context: u64, purpose: Purpose) -> Option<u64> {
        let page = address >> PAGE_BITS;
        let entry = &self.entries[purpose as usize][page as usize & (WAYS - 1)];
        (entry.tag == (page << 4 | context)).then_some(entry.base | address & PAGE_MASK)
    }

    pub(super) fn insert(&mut self, address: u64, context: u64, purpose: Purpose, physical: u64) {
        let page = address >> PAGE_BITS;
        let base = physical & !PAGE_MASK;
        self.entries[purpose as usize][page as usize & (WAYS - 1)] = Entry { tag: page << 4 | context, base };
    }
}
