//! Counts of packets by kind.

use crate::wire::header::{HEADERS, Kind, header};

/// Numbers of packets by header byte; Discard and Overflow, which share `00`, have two more entries.
#[derive(Clone, Debug)]
pub(crate) struct Census([u64; 258]);

const DISCARD: usize = 256;
const OVERFLOW: usize = 257;

impl Default for Census {
    fn default() -> Self {
        Census([0; 258])
    }
}

impl Census {
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
    pub(crate) fn merge(&mut self, other: &Census) {
        for (mine, more) in self.0.iter_mut().zip(&other.0) {
            *mine += more;
        }
    }

    /// Counts by name, in the order of the header table, without those that are 0.
    pub(crate) fn by_name(&self) -> Vec<(&'static str, u64)> {
        let mut names: Vec<(&'static str, u64)> = Vec::new();
        for row in HEADERS {
            if row.kind == Kind::Extension {
                let three = [("Alignment Sync", self.0[0]), ("Discard", self.0[DISCARD])];
                names.extend(three.into_iter().chain([("Overflow", self.0[OVERFLOW])]));
            } else if names.last().is_none_or(|last| last.0 != row.name) {
                let of = |byte: &u8| header(*byte).is_some_and(|other| other.name == row.name);
                let count = (0..=255).filter(of).map(|byte: u8| self.0[usize::from(byte)]).sum();
                names.push((row.name, count));
            }
        }
        names.retain(|(_, count)| *count > 0);
        names
    }
}
