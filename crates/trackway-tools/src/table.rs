//! Values by address or another number, for traces that mostly ask for the same few.

use std::collections::HashMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use trackway_isa::Recent;

/// Values by address.
#[derive(Debug)]
pub(crate) struct Table<V> {
    recent: Recent<u64, usize, 256>,
    places: HashMap<u64, usize>,
    /// All of them, in the order of first use.
    pub(crate) entries: Vec<(u64, V)>,
}

impl<V> Default for Table<V> {
    fn default() -> Self {
        Table { recent: Recent::default(), places: HashMap::new(), entries: Vec::new() }
    }
}

impl<V: Default> Table<V> {
    /// The value at `address`.
    #[inline]
    pub(crate) fn at(&mut self, address: u64) -> &mut V {
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
    pub(crate) fn merge(&mut self, other: Table<V>, mut add: impl FnMut(&mut V, V)) {
        for (address, value) in other.entries {
            add(self.at(address), value);
        }
    }
}

impl<V: Serialize> Serialize for Table<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.entries.serialize(serializer)
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Table<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let entries = Vec::<(u64, V)>::deserialize(deserializer)?;
        let places: HashMap<u64, usize> = entries.iter().enumerate().map(|(n, entry)| (entry.0, n)).collect();
        if places.len() < entries.len() {
            return Err(serde::de::Error::custom("an address is there twice"));
        }
        Ok(Table { recent: Recent::default(), places, entries })
    }
}
