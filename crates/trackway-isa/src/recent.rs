//! A small cache for answers that loops ask for again and again.

/// A key of a [`Recent`] cache.
pub trait Key: PartialEq {
    /// A number that differs for most keys in use at the same time. It needs no mixing: the cache does that.
    fn digest(&self) -> u64;
}

impl Key for u32 {
    #[inline(always)]
    fn digest(&self) -> u64 {
        (*self).into()
    }
}

impl Key for u64 {
    #[inline(always)]
    fn digest(&self) -> u64 {
        *self
    }
}

/// A 32-bit encoding and a detail of it; encodings alone choose the slot.
impl<T: PartialEq> Key for (u32, T) {
    #[inline(always)]
    fn digest(&self) -> u64 {
        self.0.into()
    }
}

/// A direct-mapped cache of `N` entries (a power of two): each key has one slot, and a new key evicts the old one.
///
/// Made for decoded encodings: a hit costs a multiplication and a compare. Memory is allocated by the first `get`.
///
/// ```
/// use trackway_core::Isa;
/// use trackway_isa::{Recent, riscv};
///
/// let mut decoded: Recent<u32, Option<riscv::Inst>, 1024> = Recent::default();
/// let mut misses = 0;
/// for encoding in [0x8082, 0x0505, 0x8082, 0x0505] {
///     let inst = decoded.get(encoding, || {
///         misses += 1;
///         riscv::decode(Isa::Rv64, encoding)
///     });
///     assert!(inst.is_some());
/// }
/// assert_eq!(misses, 2);
/// ```
#[derive(Clone, Debug)]
pub struct Recent<K, V, const N: usize> {
    /// Empty until the first `get`, then `N`.
    slots: Vec<Option<(K, V)>>,
}

impl<K, V, const N: usize> Default for Recent<K, V, N> {
    fn default() -> Self {
        Recent { slots: Vec::new() }
    }
}

impl<K: Key, V, const N: usize> Recent<K, V, N> {
    /// The value kept for `key`, else the one that `make` returns.
    #[inline(always)]
    pub fn get(&mut self, key: K, make: impl FnOnce() -> V) -> &V {
        const { assert!(N.is_power_of_two() && N > 1) };
        // The upper bits of a product depend on all bits of its factor.
        let place = (key.digest().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - N.trailing_zeros())) as usize;
        if place >= self.slots.len() {
            self.allocate();
        }
        let slot = &mut self.slots[place];
        if slot.as_ref().is_none_or(|(kept, _)| *kept != key) {
            *slot = None;
        }
        &slot.get_or_insert_with(|| (key, make())).1
    }

    /// Forgets everything: for when the answers change, as with another instruction set.
    pub fn clear(&mut self) {
        self.slots.clear();
    }

    #[cold]
    fn allocate(&mut self) {
        self.slots.resize_with(N, || None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_asked_for_once_until_its_slot_is_taken() {
        let mut cache: Recent<u64, u64, 2> = Recent::default();
        let mut made = Vec::new();
        for key in [1, 1, 2, 2, 3, 1, 0, 0] {
            assert_eq!(
                *cache.get(key, || {
                    made.push(key);
                    key * 10
                }),
                key * 10
            );
        }
        // Slots by the top bit of the product: 1 and 3 share one, 0 and 2 the other.
        assert_eq!(made, [1, 2, 3, 1, 0]);
        cache.clear();
        assert_eq!(*cache.get(1, || 7), 7);
    }

    #[test]
    fn a_detail_tells_entries_apart() {
        let mut cache: Recent<(u32, u64), u64, 64> = Recent::default();
        assert_eq!(*cache.get((5, 8), || 1), 1);
        assert_eq!(*cache.get((5, 16), || 2), 2);
        assert_eq!(*cache.get((5, 16), || 3), 2);
    }
}
