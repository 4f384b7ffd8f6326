//! Adding up counts.

use std::collections::BTreeMap;

/// Adds counts by key.
pub(super) fn add_all<K: Ord>(to: &mut BTreeMap<K, u64>, from: BTreeMap<K, u64>) {
    for (key, count) in from {
        *to.entry(key).or_default() += count;
    }
}

/// Adds counts by index.
pub(super) fn add_each<const N: usize>(to: &mut [u64; N], from: [u64; N]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
}
