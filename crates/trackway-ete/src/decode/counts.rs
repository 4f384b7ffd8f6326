//! Counts of packets by kind.

use trackway_core::Census;

use crate::wire::header::{HEADERS, Kind};

/// Numbers of packets by header byte; Discard and Overflow, which share `00`, have two more entries.
#[derive(Clone, Debug)]
pub struct PacketCounts([u64; 258]);

const DISCARD: usize = 256;
const OVERFLOW: usize = 257;

impl Default for PacketCounts {
    fn default() -> Self {
        PacketCounts([0; 258])
    }
}

impl PacketCounts {
    /// Counts a packet by its header byte; 0 is an Alignment Sync.
    #[inline(always)]
    pub(crate) fn add(&mut self, header: u8) {
        self.0[usize::from(header)] += 1;
    }

    pub(crate) fn add_discard(&mut self) {
        self.0[DISCARD] += 1;
    }

    pub(crate) fn add_overflow(&mut self) {
        self.0[OVERFLOW] += 1;
    }

    /// Adds the counts of another part.
    pub fn merge(&mut self, other: &PacketCounts) {
        for (mine, more) in self.0.iter_mut().zip(&other.0) {
            *mine += more;
        }
    }

    /// Counts by name, in the order of the header table.
    pub fn by_name(&self) -> Census {
        let mut census = Census::default();
        for (byte, row) in HEADERS.iter().flat_map(|row| (0..=255u8).map(move |byte| (byte, row))) {
            if row.kind == Kind::Extension && byte == row.value {
                census.add("Alignment Sync", self.0[0]);
                census.add("Discard", self.0[DISCARD]);
                census.add("Overflow", self.0[OVERFLOW]);
            } else if row.matches(byte) {
                census.add(row.name, self.0[usize::from(byte)]);
            }
        }
        census
    }
}
