//! Look-ups that mostly find what they found a moment ago.

use std::collections::HashMap;

/// What was made for a key, kept until another key wants its place. `N` is a power of two.
#[derive(Debug)]
pub(super) struct Recent<K, V, const N: usize>(Vec<Option<(K, V)>>);

impl<K, V, const N: usize> Default for Recent<K, V, N> {
    fn default() -> Self {
        Recent(Vec::new())
    }
}

impl<K: PartialEq, V, const N: usize> Recent<K, V, N> {
    /// What is kept for `key`, else what `make` gives; `mixed` tells keys apart.
    #[inline]
    pub(super) fn get(&mut self, mixed: u64, key: K, make: impl FnOnce() -> V) -> &V {
        if self.0.is_empty() {
            self.0.resize_with(N, || None);
        }
        // The upper bits of a product depend on all bits of its factor.
        let place = (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - N.trailing_zeros())) as usize;
        let slot = &mut self.0[place & (N - 1)];
        if slot.as_ref().is_none_or(|(kept, _)| *kept != key) {
            *slot = None;
        }
        &slot.get_or_insert_with(|| (key, make())).1
    }
}

/// Values by address.
#[derive(Debug)]
pub(super) struct Table<V> {
    recent: Recent<u64, usize, 256>,
    places: HashMap<u64, usize>,
    /// All of them, in the order they came.
    pub(super) entries: Vec<(u64, V)>,
}

impl<V> Default for Table<V> {
    fn default() -> Self {
        Table { recent: Recent::default(), places: HashMap::new(), entries: Vec::new() }
    }
}

impl<V: Default> Table<V> {
    /// The value at `address`.
    #[inline]
    pub(super) fn at(&mut self, address: u64) -> &mut V {
        let Table { recent, places, entries } = self;
        let place = *recent.get(address, address, || {
            *places.entry(address).or_insert_with(|| {
                entries.push((address, V::default()));
                entries.len() - 1
            })
        });
        &mut entries[place].1
    }

    /// Takes over the values of another table.
    pub(super) fn merge(&mut self, other: Table<V>, mut add: impl FnMut(&mut V, V)) {
        for (address, value) in other.entries {
            add(self.at(address), value);
        }
    }
}
