//! Which addresses occur in a stretch of a trace, roughly: an address that is not in the sketch does not occur.

use std::ops::Range;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use trackway_core::{Event, EventKind, MemAccess, Step};

/// A set of granules of `1 << SHIFT` bytes: bounds, and a Bloom filter of `WORDS` words. Few addresses are also listed, in
/// granules of `1 << FINE` bytes, or larger ones where they are more.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Granules<const SHIFT: u32, const WORDS: usize, const FINE: u32> {
    /// The first and the last one; reversed while there is none.
    low: u64,
    high: u64,
    bits: Vec<u64>,
    listed: Listed,
    /// Listed granules that were added lately, by their lowest bits: most addresses come again soon.
    #[serde(skip)]
    recent: Vec<u64>,
    /// Ranges that were added lately, by their starts.
    #[serde(skip)]
    ranges: Vec<Range<u64>>,
}

/// Listed granules at most.
const LISTED: usize = 256;

/// Granules of `1 << shift` bytes, sorted; none are listed where `shift` is [`ALL`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Listed {
    /// Beyond the smallest size.
    coarser: u32,
    list: Vec<u64>,
}

/// Too many are listed: the filter alone counts.
const ALL: u32 = u32::MAX;

impl Listed {
    fn is_used(&self) -> bool {
        self.coarser != ALL
    }

    /// Makes granules larger, by powers of two, until `fits`, or none are listed.
    fn coarsen(&mut self, most: u32, fits: impl Fn(&Self) -> bool) {
        while self.is_used() && !fits(self) {
            if self.coarser >= most {
                *self = Listed { coarser: ALL, list: Vec::new() };
                return;
            }
            self.coarser += 1;
            self.list.iter_mut().for_each(|granule| *granule >>= 1);
            self.list.dedup();
        }
    }
}

/// As differences: neighbours are near.
impl Serialize for Listed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut last = 0;
        let steps = self.list.iter().map(|granule| granule - std::mem::replace(&mut last, *granule));
        (self.coarser, steps.collect::<Vec<u64>>()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Listed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (coarser, steps) = <(u32, Vec<u64>)>::deserialize(deserializer)?;
        let mut last = 0u64;
        let mut add = |step: u64| {
            last = last.checked_add(step)?;
            Some(last)
        };
        let list: Option<Vec<u64>> = steps.into_iter().map(&mut add).collect();
        let damaged = || serde::de::Error::custom("a granule beyond the last one");
        let list = list.filter(|_| coarser == ALL || coarser <= u32::BITS).ok_or_else(damaged)?;
        Ok(Listed { coarser, list })
    }
}

impl<const SHIFT: u32, const WORDS: usize, const FINE: u32> PartialEq for Granules<SHIFT, WORDS, FINE> {
    fn eq(&self, other: &Self) -> bool {
        (self.low, self.high, &self.bits, &self.listed) == (other.low, other.high, &other.bits, &other.listed)
    }
}

impl<const SHIFT: u32, const WORDS: usize, const FINE: u32> Eq for Granules<SHIFT, WORDS, FINE> {}

impl<const SHIFT: u32, const WORDS: usize, const FINE: u32> Default for Granules<SHIFT, WORDS, FINE> {
    fn default() -> Self {
        let listed = Listed::default();
        Granules { low: u64::MAX, high: 0, bits: Vec::new(), listed, recent: Vec::new(), ranges: Vec::new() }
    }
}

impl<const SHIFT: u32, const WORDS: usize, const FINE: u32> Granules<SHIFT, WORDS, FINE> {
    /// Granules of a range that are looked up one by one; for longer ranges only the bounds are compared.
    const FEW: u64 = 64;

    /// Granules that are remembered, and ranges.
    const RECENT: usize = 64;
    const RANGES: usize = 256;

    /// The size of listed granules, as a power of two.
    #[inline(always)]
    fn shift(&self) -> u32 {
        if self.listed.is_used() { FINE + self.listed.coarser } else { SHIFT }
    }

    /// Adds an address.
    #[inline(always)]
    pub fn add(&mut self, address: u64) {
        let granule = address >> self.shift();
        if self.recent.get(granule as usize % Self::RECENT) != Some(&granule) {
            self.put(address);
        }
    }

    /// Adds all addresses of a range.
    #[inline]
    pub fn add_range(&mut self, range: Range<u64>) {
        let place = (range.start >> 1 ^ range.start >> 9) as usize % Self::RANGES;
        if self.ranges.get(place) != Some(&range) {
            if self.ranges.is_empty() {
                // No range is in its own place yet: that of 0 is the first.
                self.ranges.resize(Self::RANGES, 0..0);
                self.ranges[0] = 2..2;
            }
            self.ranges[place] = range.clone();
            self.put_range(range);
        }
    }

    fn put_range(&mut self, range: Range<u64>) {
        self.add(range.start);
        // A range that wraps around, or a damaged one, is its ends.
        let Some(last) = range.end.checked_sub(1).filter(|last| *last > range.start) else { return };
        let most = |shift: u32| (last >> shift) - (range.start >> shift);
        if last - range.start > Self::FEW << SHIFT {
            // Too many to list: everything may be in it.
            self.put(last);
            self.listed = Listed { coarser: ALL, list: Vec::new() };
            self.recent.clear();
            self.bits.iter_mut().for_each(|word| *word = u64::MAX);
            return;
        }
        if most(self.shift()) > LISTED as u64 {
            let fits = |listed: &Listed| most(FINE + listed.coarser) <= LISTED as u64;
            self.listed.coarsen(SHIFT - FINE, fits);
            self.recent.clear();
        }
        let mut at = range.start;
        loop {
            let shift = self.shift();
            let Some(next) = ((at >> shift) + 1).checked_mul(1 << shift).filter(|next| *next <= last) else {
                break;
            };
            self.add(next);
            at = next;
        }
    }

    #[cold]
    fn put(&mut self, address: u64) {
        if self.bits.len() != WORDS {
            self.bits.resize(WORDS, 0);
        }
        let granule = address >> SHIFT;
        (self.low, self.high) = (self.low.min(granule), self.high.max(granule));
        for bit in Self::places(granule) {
            self.bits[bit / 64] |= 1 << (bit % 64);
        }
        if self.listed.is_used() {
            let fine = address >> self.shift();
            if let Err(place) = self.listed.list.binary_search(&fine) {
                self.listed.list.insert(place, fine);
                self.shorten();
            }
        }
        let granule = address >> self.shift();
        if self.recent.is_empty() {
            // No granule has its own number in the place of another.
            self.recent = (1..=Self::RECENT as u64).collect();
        }
        self.recent[granule as usize % Self::RECENT] = granule;
    }

    /// Lists larger granules where there are too many.
    fn shorten(&mut self) {
        if self.listed.list.len() > LISTED {
            self.listed.coarsen(SHIFT - FINE, |listed| listed.list.len() <= LISTED);
            self.recent.clear();
        }
    }

    /// Two bits of the filter.
    fn places(granule: u64) -> [usize; 2] {
        const { assert!(WORDS.is_power_of_two() && FINE < SHIFT) };
        // The upper bits of a product depend on all bits of its factor.
        let hash = granule.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        [hash >> 48, hash >> 32].map(|hash| hash as usize % (WORDS * 64))
    }

    /// True unless no address of the range is in it.
    pub fn may_contain(&self, range: &Range<u64>) -> bool {
        if range.is_empty() || self.low > self.high {
            return false;
        }
        let (first, last) = (range.start >> SHIFT, (range.end - 1) >> SHIFT);
        let (first, last) = (first.max(self.low), last.min(self.high));
        if first > last || self.bits.len() != WORDS {
            return first <= last;
        }
        if self.listed.is_used() {
            let (shift, list) = (self.shift(), &self.listed.list);
            let place = list.partition_point(|granule| *granule < range.start >> shift);
            return list.get(place).is_some_and(|granule| *granule <= (range.end - 1) >> shift);
        }
        let has =
            |granule| Self::places(granule).iter().all(|bit| self.bits[bit / 64] >> (bit % 64) & 1 == 1);
        last - first >= Self::FEW || (first..=last).any(has)
    }

    /// Adds everything that is in `other`.
    pub fn merge(&mut self, other: &Self) {
        if other.low > other.high {
            return;
        }
        self.recent.clear();
        if self.low > self.high {
            (self.low, self.high, self.listed) = (other.low, other.high, other.listed.clone());
            self.bits.clone_from(&other.bits);
            return;
        }
        (self.low, self.high) = (self.low.min(other.low), self.high.max(other.high));
        self.bits.iter_mut().zip(&other.bits).for_each(|(bits, others)| *bits |= others);
        let mut more = other.listed.clone();
        let coarser = self.listed.coarser.max(more.coarser);
        for listed in [&mut self.listed, &mut more] {
            listed.coarsen(SHIFT - FINE, |listed| listed.coarser == coarser);
        }
        if self.listed.is_used() {
            self.listed.list.extend(more.list);
            self.listed.list.sort_unstable();
            self.listed.list.dedup();
            self.shorten();
        }
    }

    /// Forgets the list.
    fn forget_list(&mut self) {
        if self.low <= self.high {
            self.listed = Listed { coarser: ALL, list: Vec::new() };
            self.recent.clear();
        }
    }
}

/// The smallest granules, as powers of two.
const CODE: u32 = 4;
const DATA: u32 = 3;

/// Addresses in a stretch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sketch {
    /// Instructions.
    pub code: Granules<8, 32, CODE>,
    /// Memory accesses.
    pub data: Granules<12, 16, DATA>,
    /// Something in it has no address: an instruction or an access that the trace does not place.
    pub unplaced: bool,
}

impl Sketch {
    /// True unless no instruction of the range is executed.
    pub fn may_execute(&self, range: &Range<u64>) -> bool {
        self.code.may_contain(range)
    }

    /// True unless no byte of the range is accessed.
    pub fn may_access(&self, range: &Range<u64>) -> bool {
        self.data.may_contain(range)
    }

    /// Adds the addresses of steps.
    pub(crate) fn add_steps(&mut self, events: &[Event]) {
        // The next one is mostly in the same granule, however small that is.
        let mut last = None;
        for event in events {
            let EventKind::Step(Step { pc, .. }) = &event.kind else { continue };
            let Some(pc) = *pc else {
                self.unplaced = true;
                continue;
            };
            if last.replace(pc >> CODE) != Some(pc >> CODE) {
                self.code.add(pc);
            }
        }
    }

    /// Adds the addresses of runs.
    pub(crate) fn add_runs(&mut self, events: &[Event]) {
        for event in events {
            let EventKind::Run(run) = &event.kind else { continue };
            self.code.add_range(run.start..run.end);
        }
    }

    /// Adds the addresses of memory accesses.
    pub(crate) fn add_accesses(&mut self, accesses: &[MemAccess]) {
        for &MemAccess { address, size, unplaced, .. } in accesses {
            let last = address.wrapping_add(size.saturating_sub(1));
            if unplaced {
                self.unplaced = true;
            } else if size > 64 {
                self.data.add_range(address..address.saturating_add(size));
            } else {
                self.data.add(address);
                if last >> DATA != address >> DATA {
                    self.data.add(last);
                }
            }
        }
    }

    /// Forgets what makes it large: fewer searches skip it.
    pub(crate) fn forget_lists(&mut self) {
        self.code.forget_list();
        self.data.forget_list();
    }

    /// Adds the addresses of another stretch.
    pub fn merge(&mut self, other: &Sketch) {
        self.code.merge(&other.code);
        self.data.merge(&other.data);
        self.unplaced |= other.unplaced;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trackway_core::SplitMix64;

    #[test]
    fn an_address_that_was_added_is_found() {
        let mut random = SplitMix64(1);
        let mut addresses: Vec<u64> = (0..2000).map(|_| 0x8000_0000 + random.below(1 << 22)).collect();
        addresses.extend([0, u64::MAX, u64::MAX - 4096]);
        let mut halves = [Sketch::default(), Sketch::default()];
        for (n, address) in addresses.iter().enumerate() {
            halves[n % 2].code.add(*address);
            halves[n % 2].data.add_range(*address..address.saturating_add(8));
        }
        let [mut all, other] = halves;
        all.merge(&other);
        for address in addresses {
            assert!(all.may_execute(&(address..address.saturating_add(1))) || address == u64::MAX);
            assert!(all.may_access(&(address.saturating_sub(2)..address.saturating_add(1))));
        }
    }

    #[test]
    fn few_addresses_are_listed() {
        let mut sketch = Sketch::default();
        // Two variables in a page, and a loop of 40 instructions.
        (0..1000u64).for_each(|n| sketch.data.add(0x2000 + 64 * (n % 2)));
        (0..1000u64).for_each(|n| sketch.code.add(0x8000 + 4 * (n % 40)));
        assert!(sketch.may_access(&(0x2000..0x2001)) && sketch.may_access(&(0x1000..0x2041)));
        assert!(!sketch.may_access(&(0x2008..0x2040)) && !sketch.may_access(&(0x2048..0x3000)));
        assert!(sketch.may_execute(&(0x809c..0x809d)) && !sketch.may_execute(&(0x80a0..0x80a4)));
        sketch.forget_lists();
        assert!(sketch.may_access(&(0x2008..0x2010)) && sketch.may_execute(&(0x80a0..0x80a4)));
        assert!(!sketch.may_access(&(0x5000..0x5008)));
    }

    #[test]
    fn more_addresses_are_listed_in_larger_granules() {
        let mut sketch = Sketch::default();
        (0..2000u64).for_each(|n| sketch.data.add(0x2000 + 8 * n));
        assert!((0..2000u64).all(|n| sketch.may_access(&(0x2000 + 8 * n..0x2001 + 8 * n))));
        assert_eq!(sketch.data.shift(), 6);
        assert!(!sketch.may_access(&(0x2000 + 8 * 2000 + 64..0x2000 + 8 * 2000 + 128)));
        // Lists of different sizes are put together.
        let mut other = Sketch::default();
        other.data.add(0x1_0000);
        other.merge(&sketch);
        assert!(other.may_access(&(0x1_003f..0x1_0040)) && other.may_access(&(0x2000..0x2001)));
        assert!(!other.may_access(&(0x1_0040..0x1_0080)));
        // A range of many granules, and one of too many.
        other.data.add_range(0x4_0000..0x4_8000);
        assert!((0x4_0000..0x4_8000).step_by(8).all(|at| other.may_access(&(at..at + 1))));
        assert!(!other.may_access(&(0x4_9000..0x4_9008)));
        other.data.add_range(0x100_0000..0x200_0000);
        assert!(other.may_access(&(0x180_0000..0x180_0001)));
    }

    #[test]
    fn ranges_that_come_again_change_nothing() {
        let mut random = SplitMix64(2);
        let (mut quick, mut plain) = (Sketch::default(), Sketch::default());
        quick.code.add_range(0..0);
        plain.code.put_range(0..0);
        for round in 0..2000 {
            // More and more places, so that granules become larger on the way.
            let start = 2 * random.below(50 + 20 * round);
            let range = start..start + 2 * random.below(40);
            quick.code.add_range(range.clone());
            plain.code.put_range(range);
            assert_eq!(quick, plain, "round {round}");
        }
    }

    #[test]
    fn most_others_are_not() {
        let mut sketch = Sketch::default();
        (0..40).for_each(|n| sketch.code.add(0x1_0000 + n * 0x300));
        let misses = (0..1000).filter(|n| !sketch.may_execute(&(0x1_0000 + n * 0x100..0x1_0004 + n * 0x100)));
        assert!(misses.count() > 900);
        assert!(!sketch.may_execute(&(0x100..0x200)) && !sketch.may_access(&(0..u64::MAX)));
        assert!(!sketch.may_execute(&(5..5)));
    }
}
