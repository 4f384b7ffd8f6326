//! Which addresses occur in a stretch of a trace, roughly: an address that is not in the sketch does not occur.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// A set of granules of `1 << SHIFT` bytes: bounds, and a Bloom filter of `WORDS` words.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Granules<const SHIFT: u32, const WORDS: usize> {
    /// The first and the last one; reversed while there is none.
    low: u64,
    high: u64,
    bits: Vec<u64>,
    /// The last one added: most addresses are near the one before.
    #[serde(skip)]
    recent: Option<u64>,
}

impl<const SHIFT: u32, const WORDS: usize> PartialEq for Granules<SHIFT, WORDS> {
    fn eq(&self, other: &Self) -> bool {
        (self.low, self.high, &self.bits) == (other.low, other.high, &other.bits)
    }
}

impl<const SHIFT: u32, const WORDS: usize> Eq for Granules<SHIFT, WORDS> {}

impl<const SHIFT: u32, const WORDS: usize> Default for Granules<SHIFT, WORDS> {
    fn default() -> Self {
        Granules { low: u64::MAX, high: 0, bits: Vec::new(), recent: None }
    }
}

impl<const SHIFT: u32, const WORDS: usize> Granules<SHIFT, WORDS> {
    /// Granules of a range that are looked up one by one; for longer ranges only the bounds are compared.
    const FEW: u64 = 64;

    /// Adds an address.
    #[inline(always)]
    pub fn add(&mut self, address: u64) {
        let granule = address >> SHIFT;
        if self.recent != Some(granule) {
            self.put(granule);
        }
    }

    /// Adds all addresses of a range.
    #[inline]
    pub fn add_range(&mut self, range: Range<u64>) {
        self.add(range.start);
        let (first, last) = (range.start >> SHIFT, range.end.saturating_sub(1) >> SHIFT);
        // A range that wraps around, or a damaged one, is its ends.
        if last > first {
            (first + 1..last).take(Self::FEW as usize).for_each(|granule| self.put(granule));
            self.put(last);
            if last - first > Self::FEW {
                // Too many to list: everything may be in it.
                self.bits.iter_mut().for_each(|word| *word = u64::MAX);
            }
        }
    }

    fn put(&mut self, granule: u64) {
        self.recent = Some(granule);
        if self.bits.len() != WORDS {
            self.bits.resize(WORDS, 0);
        }
        (self.low, self.high) = (self.low.min(granule), self.high.max(granule));
        for bit in Self::places(granule) {
            self.bits[bit / 64] |= 1 << (bit % 64);
        }
    }

    /// Two bits of the filter.
    fn places(granule: u64) -> [usize; 2] {
        const { assert!(WORDS.is_power_of_two()) };
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
        let has =
            |granule| Self::places(granule).iter().all(|bit| self.bits[bit / 64] >> (bit % 64) & 1 == 1);
        last - first >= Self::FEW || (first..=last).any(has)
    }

    /// Adds everything that is in `other`.
    pub fn merge(&mut self, other: &Self) {
        (self.low, self.high) = (self.low.min(other.low), self.high.max(other.high));
        if self.bits.len() == other.bits.len() {
            self.bits.iter_mut().zip(&other.bits).for_each(|(bits, others)| *bits |= others);
        } else if self.bits.is_empty() {
            self.bits.clone_from(&other.bits);
        }
    }
}

/// Addresses in a stretch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sketch {
    /// Instructions.
    pub code: Granules<8, 32>,
    /// Memory accesses.
    pub data: Granules<12, 16>,
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
    fn most_others_are_not() {
        let mut sketch = Sketch::default();
        (0..40).for_each(|n| sketch.code.add(0x1_0000 + n * 0x300));
        let misses = (0..1000).filter(|n| !sketch.may_execute(&(0x1_0000 + n * 0x100..0x1_0004 + n * 0x100)));
        assert!(misses.count() > 900);
        assert!(!sketch.may_execute(&(0x100..0x200)) && !sketch.may_access(&(0..u64::MAX)));
        assert!(!sketch.may_execute(&(5..5)));
    }
}
