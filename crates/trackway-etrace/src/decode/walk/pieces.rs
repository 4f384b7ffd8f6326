//! Pieces of the way that were walked before: the runs from a place on, for the outcomes of the next few branches.
//!
//! A piece names the place it leads to, so that pieces are followed from place to place without looking any up.

use std::sync::Arc;

use trackway_core::*;

use super::Walker;

/// Branches of a piece at the most; it ends with the last of them.
pub(super) const BRANCHES: u32 = 4;
/// Patterns of outcomes: those of a piece's branches, below a 1.
const PATTERNS: usize = 2 << BRANCHES;
/// Runs of a piece at the most.
const RUNS: usize = 6;
/// Places, and runs of all pieces together, at the most. Beyond these everything is forgotten.
const PLACES: usize = 1024;
const ALL_RUNS: usize = 1 << 15;
/// Slots for the numbers of the places: twice as many, so that few are taken.
const SLOTS: usize = 2 * PLACES;

/// The pieces walked since all were forgotten.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    /// Numbers of places, from 1, each at the first slot from its own on that was free; empty before the first place.
    slots: Vec<u16>,
    places: Vec<Place>,
    /// Those of each place, by pattern.
    pieces: Vec<Piece>,
    /// The runs of all pieces, and as many more as a piece can have.
    runs: Vec<Event>,
}

/// A place where pieces begin: an address in some code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    start: u64,
    code: usize,
}

/// A piece of the way.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// The place that it leads to.
    next: u16,
    /// Its first run; none has this number if the piece is not known.
    runs: u16,
    /// At most [`RUNS`] times the instructions of a block.
    instructions: u16,
    /// How many runs.
    len: u8,
    /// Length of its last instruction, a branch.
    last_length: u8,
}

impl Piece {
    const UNKNOWN: Piece = Piece { next: 0, runs: u16::MAX, instructions: 0, len: 0, last_length: 0 };
}

/// A position between two pieces.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    /// The place that was reached.
    place: usize,
    /// Outcomes that are left.
    pub(super) bits: u64,
    pub(super) count: u32,
    /// Instructions of the pieces passed.
    pub(super) instructions: u64,
    /// Length of the last one; 0 if no piece was passed.
    last_length: u8,
}

/// The number of branches in the next piece, with its pattern. After it another of the `count` outcomes must be left.
#[inline(always)]
fn pattern(bits: u64, count: u32) -> (u32, usize) {
    let branches = BRANCHES.min(count - 1);
    let end = 1 << branches;
    (branches, (bits & (end - 1) | end) as usize)
}

impl Pieces {
    /// The way from `start` on.
    #[inline(always)]
    pub(super) fn way(&mut self, start: u64, code: usize, bits: u64, count: u32) -> Way {
        Way { place: self.place(start, code), bits, count, instructions: 0, last_length: 0 }
    }

    /// Follows known pieces while another outcome is left after each, and appends their runs as those of a packet at
    /// `offset`. Returns the address of the last branch, and of the next instruction, unless no piece was passed.
    #[inline(always)]
    pub(super) fn follow(&self, way: &mut Way, events: &mut Vec<Event>, offset: u64) -> Option<(u64, u64)> {
        while way.count >= 2 && self.pass(way, events, offset) {}
        let Some(Event { kind: EventKind::Run(run), .. }) = events.last() else { return None };
        let last = run.end.wrapping_sub(way.last_length.into());
        (way.last_length > 0).then(|| (last, self.places[way.place].start))
    }

    /// Passes the next piece if it is known and there is room for any.
    #[inline(always)]
    fn pass(&self, way: &mut Way, events: &mut Vec<Event>, offset: u64) -> bool {
        let (branches, pattern) = pattern(way.bits, way.count);
        let Some(piece) = self.pieces.get(way.place * PATTERNS + pattern) else { return false };
        let Some(runs) = self.runs.get(piece.runs.into()..).and_then(|runs| runs.first_chunk::<RUNS>())
        else {
            return false;
        };
        let len = events.len();
        if len + RUNS > Batch::FULL {
            return false;
        }
        // As many runs as there can be are copied: that takes no branch.
        events.extend(runs.iter().map(|run| Event { offset, ..*run }));
        events.truncate(len + usize::from(piece.len));
        way.place = piece.next.into();
        (way.bits, way.count) = (way.bits >> branches, way.count - branches);
        way.instructions += u64::from(piece.instructions);
        way.last_length = piece.last_length;
        true
    }

    /// Remembers the runs of the next piece of the way, which ends with a branch of `last_length` bytes and leads to
    /// `next`.
    pub(super) fn keep(&mut self, way: &Way, next: u64, last_length: u64, added: &[Event]) {
        let ([first, ..], 1..=RUNS) = (added, added.len()) else { return };
        if self.places.len() == PLACES || self.runs.len() + RUNS > ALL_RUNS {
            return self.clear();
        }
        let (_, pattern) = pattern(way.bits, way.count);
        let number = way.place * PATTERNS + pattern;
        if self.pieces[number].runs != Piece::UNKNOWN.runs {
            return;
        }
        let next = self.place(next, self.places[way.place].code) as u16;
        let at = self.runs.len().saturating_sub(RUNS);
        self.runs.truncate(at);
        self.runs.extend_from_slice(added);
        self.runs.resize(at + added.len() + RUNS, *first);
        let instructions: u64 = added.iter().map(|event| event.kind.instructions()).sum();
        self.pieces[number] = Piece {
            next,
            runs: at as u16,
            instructions: instructions as u16,
            len: added.len() as u8,
            last_length: last_length as u8,
        };
    }

    /// The number of a place, which is added if it is new.
    #[inline(always)]
    fn place(&mut self, start: u64, code: usize) -> usize {
        let place = Place { start, code };
        // The upper bits of a product depend on all bits of its factor.
        let digest = (start ^ (code as u64).rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut slot = (digest >> (64 - SLOTS.trailing_zeros())) as usize;
        while let Some(number @ 1..) = self.slots.get(slot).map(|number| usize::from(*number)) {
            if self.places[number - 1] == place {
                return number - 1;
            }
            slot = (slot + 1) % SLOTS;
        }
        self.add(place, slot)
    }

    /// Adds a place, whose slot is free.
    #[inline(never)]
    fn add(&mut self, place: Place, slot: usize) -> usize {
        if self.places.len() == PLACES {
            self.clear();
        }
        self.slots.resize(SLOTS, 0);
        self.places.push(place);
        self.slots[slot] = self.places.len() as u16;
        self.pieces.resize(self.places.len() * PATTERNS, Piece::UNKNOWN);
        self.places.len() - 1
    }

    fn clear(&mut self) {
        self.slots.fill(0);
        self.places.clear();
        self.pieces.clear();
        self.runs.clear();
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
