//! The address space of a process: regions with permissions, and pages that appear when they are touched.

use std::collections::{BTreeMap, HashMap};

use crate::bus::{Bus, load, store};

/// Bytes in a page.
pub(super) const PAGE: u64 = 4096;

/// May be read.
pub(super) const READ: u8 = 1;
/// May be written.
pub(super) const WRITE: u8 = 2;
/// May be executed.
pub(super) const EXEC: u8 = 4;

const WAYS: usize = 1024;

#[derive(Clone, Copy, Debug)]
struct Entry {
    page: u64,
    slot: u32,
    permissions: u8,
}

const UNUSED: Entry = Entry { page: u64::MAX, slot: 0, permissions: 0 };

/// Region of the address space, up to `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Region {
    end: u64,
    permissions: u8,
}

/// The address space of a process.
#[derive(Clone, Debug)]
pub struct AddressSpace {
    /// By start; they do not overlap and are page-aligned.
    regions: BTreeMap<u64, Region>,
    /// Pages that were touched: page number to place in `pages`.
    index: HashMap<u64, u32>,
    pages: Vec<Box<[u8; PAGE as usize]>>,
    free: Vec<u32>,
    /// Recently used pages.
    recent: Vec<Entry>,
}

impl Default for AddressSpace {
    fn default() -> Self {
        Self {
            regions: BTreeMap::new(),
            index: HashMap::new(),
            pages: Vec::new(),
            free: Vec::new(),
            recent: vec![UNUSED; WAYS],
        }
    }
}

impl AddressSpace {
    /// Maps `[start, end)` with zeroes, replacing what was there.
    pub(crate) fn map(&mut self, start: u64, end: u64, permissions: u8) {
        self.unmap(start, end);
        if start < end {
            self.regions.insert(start, Region { end, permissions });
        }
    }

    /// Removes `[start, end)`.
    pub(crate) fn unmap(&mut self, start: u64, end: u64) {
        self.split(start);
        self.split(end);
        let gone: Vec<u64> = self.regions.range(start..end).map(|(start, _)| *start).collect();
        for region in gone {
            let Some(Region { end, .. }) = self.regions.remove(&region) else { continue };
            if end - region > self.index.len() as u64 * PAGE {
                let dead: Vec<u64> = self
                    .index
                    .keys()
                    .copied()
                    .filter(|page| (region..end).contains(&(page * PAGE)))
                    .collect();
                dead.into_iter().for_each(|page| self.release(page));
            } else {
                (region / PAGE..end / PAGE).for_each(|page| self.release(page));
            }
        }
        self.recent.fill(UNUSED);
    }

    fn release(&mut self, page: u64) {
        if let Some(slot) = self.index.remove(&page) {
            self.pages[slot as usize].fill(0);
            self.free.push(slot);
        }
    }

    /// Changes permissions of `[start, end)`; false where a part is not mapped.
    pub(crate) fn protect(&mut self, start: u64, end: u64, permissions: u8) -> bool {
        if !self.is_mapped(start, end) {
            return false;
        }
        self.split(start);
        self.split(end);
        self.regions.range_mut(start..end).for_each(|(_, region)| region.permissions = permissions);
        self.recent.fill(UNUSED);
        true
    }

    /// Is every page of `[start, end)` mapped?
    pub(crate) fn is_mapped(&self, start: u64, end: u64) -> bool {
        let mut at = start;
        while at < end {
            match self.region(at) {
                Some(region) => at = region.end,
                None => return false,
            }
        }
        true
    }

    /// Are all pages of `[start, end)` unmapped?
    pub(crate) fn is_free(&self, start: u64, end: u64) -> bool {
        self.region(start).is_none() && self.regions.range(start..end).next().is_none()
    }

    fn region(&self, address: u64) -> Option<Region> {
        let (_, region) = self.regions.range(..=address).next_back()?;
        (address < region.end).then_some(*region)
    }

    /// Makes a region begin at `at`, if one spans it.
    fn split(&mut self, at: u64) {
        if let Some((start, region)) = self.regions.range(..at).next_back().map(|(s, r)| (*s, *r))
            && at < region.end
        {
            self.regions.insert(start, Region { end: at, ..region });
            self.regions.insert(at, region);
        }
    }

    /// The page of an address, if it allows this.
    #[inline(always)]
    fn find(&mut self, address: u64, wanted: u8) -> Option<usize> {
        let page = address / PAGE;
        let entry = self.recent[page as usize & (WAYS - 1)];
        if entry.page == page && entry.permissions & wanted != 0 {
            return Some(entry.slot as usize);
        }
        self.find_slowly(page, wanted)
    }

    #[inline(never)]
    fn find_slowly(&mut self, page: u64, wanted: u8) -> Option<usize> {
        let permissions = self.region(page * PAGE)?.permissions;
        if permissions & wanted == 0 {
            return None;
        }
        let slot = match self.index.get(&page) {
            Some(slot) => *slot,
            None => {
                let slot = self.free.pop().unwrap_or_else(|| {
                    self.pages.push(Box::new([0; PAGE as usize]));
                    self.pages.len() as u32 - 1
                });
                self.index.insert(page, slot);
                slot
            }
        };
        self.recent[page as usize & (WAYS - 1)] = Entry { page, slot, permissions };
        Some(slot as usize)
    }

    /// Copies bytes out, whatever the permissions; false where a part is not mapped.
    pub(crate) fn read_bytes(&mut self, address: u64, out: &mut [u8]) -> bool {
        let mut done = 0;
        while done < out.len() {
            let at = address.wrapping_add(done as u64);
            let offset = (at % PAGE) as usize;
            let n = (PAGE as usize - offset).min(out.len() - done);
            let Some(slot) = self.find(at, READ | WRITE | EXEC) else { return false };
            out[done..done + n].copy_from_slice(&self.pages[slot][offset..offset + n]);
            done += n;
        }
        true
    }

    /// Copies bytes in, whatever the permissions; false where a part is not mapped.
    pub(crate) fn write_bytes(&mut self, address: u64, bytes: &[u8]) -> bool {
        let mut done = 0;
        while done < bytes.len() {
            let at = address.wrapping_add(done as u64);
            let offset = (at % PAGE) as usize;
            let n = (PAGE as usize - offset).min(bytes.len() - done);
            let Some(slot) = self.find(at, READ | WRITE | EXEC) else { return false };
            self.pages[slot][offset..offset + n].copy_from_slice(&bytes[done..done + n]);
            done += n;
        }
        true
    }

    /// A string that ends with 0, at most 4096 bytes.
    pub(crate) fn read_string(&mut self, address: u64) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        for n in 0..PAGE {
            let mut byte = [0];
            if !self.read_bytes(address.wrapping_add(n), &mut byte) {
                return None;
            }
            if byte[0] == 0 {
                return Some(text);
            }
            text.push(byte[0]);
        }
        None
    }
}

impl Bus for AddressSpace {
    #[inline(always)]
    fn read(&mut self, address: u64, size: usize) -> Option<u64> {
        let slot = self.find(address, READ)?;
        load(&self.pages[slot][..], (address % PAGE) as usize, size)
    }

    #[inline(always)]
    fn write(&mut self, address: u64, size: usize, value: u64) -> bool {
        match self.find(address, WRITE) {
            Some(slot) => store(&mut self.pages[slot][..], (address % PAGE) as usize, size, value),
            None => false,
        }
    }

    fn fetch(&mut self, address: u64) -> Option<u16> {
        let slot = self.find(address, EXEC)?;
        load(&self.pages[slot][..], (address % PAGE) as usize, 2).map(|half| half as u16)
    }

    fn writable(&mut self, address: u64, _size: usize) -> bool {
        self.find(address, WRITE).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_decide() {
        let mut space = AddressSpace::default();
        space.map(0x1000, 0x3000, READ);
        assert_eq!(space.read(0x1ffc, 4), Some(0));
        assert!(!space.write(0x1000, 4, 1) && space.fetch(0x1000).is_none());
        assert!(space.protect(0x2000, 0x3000, READ | WRITE | EXEC));
        assert!(space.write(0x2000, 8, 0x1122_3344_5566_7788) && !space.write(0x1ff8, 8, 1));
        assert_eq!(space.fetch(0x2002), Some(0x5566));
        assert!(!space.protect(0x2000, 0x4000, READ), "a part is not mapped");
        // The kernel writes whatever the permissions are.
        assert!(space.write_bytes(0x1ffe, &[1, 2, 3, 4]));
        let mut bytes = [0; 4];
        assert!(space.read_bytes(0x1ffe, &mut bytes) && bytes == [1, 2, 3, 4]);
        assert!(!space.write_bytes(0x2ffe, &[0; 4]), "it ends outside");
    }

    #[test]
    fn mapping_again_clears() {
        let mut space = AddressSpace::default();
        space.map(0x1000, 0x5000, READ | WRITE);
        assert!(space.write(0x2000, 8, 7) && space.write(0x4000, 8, 9));
        space.unmap(0x2000, 0x3000);
        assert!(space.read(0x2000, 8).is_none() && space.is_free(0x2000, 0x3000));
        assert!(!space.is_mapped(0x1000, 0x5000) && space.is_mapped(0x3000, 0x5000));
        space.map(0x2000, 0x3000, READ);
        assert_eq!((space.read(0x2000, 8), space.read(0x4000, 8)), (Some(0), Some(9)));
        assert!(space.write_bytes(0x2000, b"text\0"));
        assert_eq!(space.read_string(0x2000).as_deref(), Some(&b"text"[..]));
        assert_eq!(space.read_string(0x4ffd), Some(Vec::new()));
        assert_eq!(space.read_string(0x9000), None);
    }
}
