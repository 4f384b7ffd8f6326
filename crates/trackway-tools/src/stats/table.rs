//! Values by address, for traces that mostly ask for the same few addresses.

use std::collections::HashMap;

use trackway_isa::Recent;

/// Values by address.
#[derive(Debug)]
pub(super) struct Table<V> {
    recent: Recent<u64, usize, 256>,
    places: HashMap<u64, usize>,
    /// All of them, in the order of first use.
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
        let place = *recent.get(address, || {
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
