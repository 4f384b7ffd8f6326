//! Pseudo-random numbers for tests and models: the same seed yields the same numbers everywhere.

/// The SplitMix64 generator (Steele, Lea and Flood 2014). Not for secrets.
///
/// ```
/// let mut random = trackway_core::SplitMix64(42);
/// assert_eq!(random.next_u64(), 0xbdd7_3226_2feb_6e95);
/// assert!(random.below(6) < 6);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SplitMix64(pub u64);

impl SplitMix64 {
    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`; 0 for a bound of 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next_u64() % bound.max(1)
    }

    /// True once in `n` times on average; never for 0.
    pub fn one_in(&mut self, n: u64) -> bool {
        n > 0 && self.below(n) == 0
    }
}
