//! Pieces of the way that were walked before: the runs from a place on, for the outcomes of the next few branches.

use std::sync::Arc;

use trackway_core::*;

use super::Walker;

/// Pieces that are remembered, each in the one slot of its key.
const SLOTS: usize = 1024;
/// Branches of a piece at the most; it ends with the last of them.
const BRANCHES: u32 = 4;
/// Runs of a piece at the most.
pub(super) const RUNS: usize = 6;

/// The pieces walked last.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    /// Empty until the first one is kept.
    slots: Vec<Piece>,
}

/// All that decides about a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    start: u64,
    /// Outcomes of its branches, below a 1.
    bits: u64,
    /// The code; 0 for an empty slot.
    code: usize,
}

/// A piece of the way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    key: Key,
    /// Address of the last branch, and of the next instruction.
    pub(super) last: u64,
    pub(super) next: u64,
    pub(super) instructions: u64,
    len: usize,
    runs: [Event; RUNS],
}

impl Key {
    /// The piece that begins at `start`, and its number of branches. After it another of the `count` outcomes must be left.
    #[inline(always)]
    pub(super) fn new(start: u64, bits: u64, count: u32, code: usize) -> (Self, u32) {
        let branches = BRANCHES.min(count - 1);
        let end = 1 << branches;
        (Key { start, bits: bits & (end - 1) | end, code }, branches)
    }

    #[inline(always)]
    fn slot(&self) -> usize {
        // The upper bits of a product depend on all bits of its factor.
        let digest = (self.start << (BRANCHES + 1) ^ self.bits).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (digest >> (64 - SLOTS.trailing_zeros())) as usize
    }
}

impl Piece {
    /// Appends its runs as those of a packet at `offset`. All of the array is copied: that takes no branch.
    #[inline(always)]
    pub(super) fn append_to(&self, events: &mut Vec<Event>, offset: u64) {
        let len = events.len() + self.len;
        events.extend(self.runs.iter().map(|run| Event { offset, ..*run }));
        events.truncate(len);
    }
}

impl Pieces {
    /// The piece with this key.
    #[inline(always)]
    pub(super) fn get(&self, key: &Key) -> Option<&Piece> {
        self.slots.get(key.slot()).filter(|piece| piece.key == *key)
    }

    /// Remembers the runs of a piece that ends with the branch at `last`.
    pub(super) fn keep(&mut self, key: Key, (last, next): (u64, u64), added: &[Event]) {
        let ([first, ..], 1..=RUNS) = (added, added.len()) else { return };
        let mut runs = [*first; RUNS];
        runs[..added.len()].copy_from_slice(added);
        let instructions = added.iter().map(|event| event.kind.instructions()).sum();
        let piece = Piece { key, last, next, instructions, len: added.len(), runs };
        if self.slots.is_empty() {
            self.slots.resize(SLOTS, Piece { key: Key { code: 0, ..key }, ..piece });
        }
        self.slots[key.slot()] = piece;
    }
}

impl Walker {
    /// A number for the code that is walked, and whether the program contradicts the trace. It is even: a table begins at
    /// a multiple of 4.
    #[inline]
    pub(crate) fn code(&self) -> usize {
        Arc::as_ptr(self.cursor.blocks()) as usize | usize::from(self.doubtful) << 1
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Weak;

    use trackway_image::{Blocks, Image, Space};

    use super::*;
    use crate::config::Config;
    use crate::dialect::Dialect;

    /// Keys name a table by its address: no other one may ever have it while the walker is there.
    #[test]
    fn tables_live_as_long_as_the_walker() {
        const CONTEXTS: u64 = 20;
        let mut image = Image::default();
        for id in 0..CONTEXTS {
            let space = Space { context_id: Some(id), ..Space::default() };
            image.add_raw("code", 0x1000 * id, Arc::new([1u8, 0].repeat(64)), space).unwrap();
        }
        let mut walker = Walker::new(&Config::new(Dialect::V2), &Arc::new(image), Isa::Rv64);
        let mut seen: Vec<(Weak<Blocks>, usize)> = Vec::new();
        for id in (0..CONTEXTS).chain(0..CONTEXTS) {
            walker.select_code(Some(0), Some(id));
            let now = (Arc::downgrade(walker.cursor.blocks()), walker.code());
            assert!(seen.iter().all(|(blocks, _)| blocks.upgrade().is_some()));
            match seen.get(id as usize) {
                Some((blocks, code)) => assert!(blocks.ptr_eq(&now.0) && *code == now.1),
                None => {
                    assert!(seen.iter().all(|(_, code)| *code != now.1));
                    seen.push(now);
                }
            }
        }
    }
}
