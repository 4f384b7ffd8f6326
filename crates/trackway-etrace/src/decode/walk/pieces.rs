//! Pieces of the way that were walked before: the runs from a place on, for the outcomes of the next few branches.

use std::sync::Arc;

use trackway_core::*;

use super::Walker;

/// Pieces that are remembered, each in the one slot of its key.
const SLOTS: usize = 1024;
/// Branches of a piece; it ends with the last of them.
pub(super) const BRANCHES: u32 = 4;
/// Runs of a piece at the most.
const RUNS: usize = 6;

/// The pieces walked last.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    /// Empty until the first one is kept.
    slots: Vec<Piece>,
}

/// A piece of the way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    start: u64,
    /// The code; 0 for an empty slot.
    code: usize,
    /// Outcomes of the branches.
    bits: u64,
    /// Address of the last branch, and of the next instruction.
    pub(super) last: u64,
    pub(super) next: u64,
    pub(super) instructions: u64,
    len: usize,
    runs: [Event; RUNS],
}

impl Piece {
    /// Its runs, as those of a packet at `offset`.
    #[inline(always)]
    pub(super) fn runs(&self, offset: u64) -> impl ExactSizeIterator<Item = Event> + '_ {
        self.runs[..self.len.min(RUNS)].iter().map(move |run| Event { offset, ..*run })
    }
}

/// Outcomes of a piece, of those that come.
#[inline(always)]
const fn outcomes(bits: u64) -> u64 {
    bits & ((1 << BRANCHES) - 1)
}

#[inline(always)]
fn place(start: u64, bits: u64) -> usize {
    ((start << BRANCHES ^ bits).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % SLOTS
}

impl Pieces {
    /// The piece that begins at `start` with these outcomes.
    #[inline(always)]
    pub(super) fn get(&self, start: u64, bits: u64, code: usize) -> Option<&Piece> {
        let bits = outcomes(bits);
        self.slots
            .get(place(start, bits))
            .filter(|piece| piece.start == start && piece.bits == bits && piece.code == code)
    }

    /// Remembers runs that begin at `start` and end with the last branch of a piece, at `last`.
    pub(super) fn keep(&mut self, bits: u64, code: usize, (last, next): (u64, u64), added: &[Event]) {
        let ([Event { kind: EventKind::Run(Run { start, .. }), .. }, ..], 1..=RUNS) = (added, added.len())
        else {
            return;
        };
        let (start, bits) = (*start, outcomes(bits));
        let mut runs = [added[0]; RUNS];
        runs[..added.len()].copy_from_slice(added);
        let instructions = added.iter().map(|event| event.kind.instructions()).sum();
        let piece = Piece { start, code, bits, last, next, instructions, len: added.len(), runs };
        if self.slots.is_empty() {
            self.slots.resize(SLOTS, Piece { code: 0, ..piece });
        }
        self.slots[place(start, bits)] = piece;
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
