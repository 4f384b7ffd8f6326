//! Ascending numbers in few bytes.

use serde::{Deserialize, Serialize};

use crate::varint;

/// Ascending numbers: the difference of each from the one before it.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Positions {
    bytes: Vec<u8>,
    last: u64,
}

impl Positions {
    pub(super) fn push(&mut self, position: u64) {
        varint::put(&mut self.bytes, position.wrapping_sub(self.last));
        self.last = position;
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        let (mut bytes, mut last) = (&self.bytes[..], 0u64);
        std::iter::from_fn(move || {
            last = last.wrapping_add(varint::take(&mut bytes)?);
            Some(last)
        })
    }
}
