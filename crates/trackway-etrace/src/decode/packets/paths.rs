//! Paths that were walked before: a packet of format 1 or 2 that comes again in the same state leads the same way.
//!
//! A path has the state it leads to, so that known paths are followed one after the other without the walker, which is
//! moved to the end of the last one.

use trackway_core::*;

use super::Decoder;
use crate::decode::walk::{Landing, Walker};

/// Slots for paths, each in the one of its key: at first, and at the most.
const FEW_SLOTS: usize = 256;
const SLOTS: usize = 2048;
/// Runs of a path at the most, and branches.
const RUNS: usize = 6;
const BRANCHES: u8 = RUNS as u8;

/// All that decides about the path of a packet while execution is followed without predictor and return stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    /// A digest of the rest.
    digest: u64,
    /// Outcomes that are left from packets before.
    count: u32,
    bits: u64,
    start: u64,
    pc: u64,
    /// Address reported last.
    address: u64,
    /// The code, and the modes that matter.
    code: usize,
}

/// A payload of 1 to 8 bytes, in the upper bits, and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Short {
    payload: u64,
    len: u32,
}

/// A path and where it leads.
#[derive(Clone, Copy, Debug)]
struct Path {
    from: State,
    packet: Short,
    /// Runs.
    len: usize,
    to: State,
    landing: Landing,
    runs: [Event; RUNS],
}

/// The paths walked last.
#[derive(Debug, Default)]
pub(super) struct Paths {
    /// A power of two; empty until the first one is kept.
    slots: Vec<Path>,
    /// The upper bits of a digest that are the number of a slot.
    bits: u32,
    /// Paths that were kept since the slots were doubled.
    kept: usize,
}

impl Paths {
    /// Remembers a path. Once as many were kept as there are slots, these are doubled.
    fn keep(&mut self, path: Path) {
        if self.kept == self.slots.len() && self.kept < SLOTS {
            let len = (2 * self.kept).max(FEW_SLOTS);
            (self.bits, self.kept) = (len.trailing_zeros(), 0);
            let before = std::mem::replace(&mut self.slots, vec![Path { packet: Short::NONE, ..path }; len]);
            before.into_iter().filter(|path| path.packet != Short::NONE).for_each(|path| self.put(path));
        }
        self.kept += 1;
        self.put(path);
    }

    fn put(&mut self, path: Path) {
        let slot = path.packet.slot(&path.from, self.bits);
        self.slots[slot] = path;
    }
}

#[inline(always)]
fn mix(digest: u64, word: u64) -> u64 {
    (digest ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}

impl Short {
    /// No packet is empty.
    const NONE: Short = Short { payload: 0, len: 0 };

    /// A payload of `len` bytes, 1 to 16, unless it or its path is long.
    #[inline(always)]
    pub(crate) fn new(payload: &[u8; 16], len: u32) -> Option<Self> {
        let [a, b, c, d, e, f, g, h, ..] = *payload;
        let word = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
        // The number of branches in format 1; 0 is 31. In format 2 these are bits of the address.
        let is_long = a & 3 == 1 && !(1..=BRANCHES).contains(&(a >> 2 & 31));
        (len <= 8 && !is_long).then(|| Short { payload: word << (64 - 8 * len), len })
    }

    /// The slot of its path from a state; there are 2 to the power of `bits`, at most [`SLOTS`].
    #[inline(always)]
    fn slot(self, from: &State, bits: u32) -> usize {
        // The upper bits of a product depend on all bits of its factor.
        let digest = (from.digest ^ self.payload).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (digest >> ((64 - bits) % 64)) as usize
    }
}

impl Decoder {
    /// The state between two packets; `None` where more than it decides.
    pub(crate) fn state(&self) -> Option<State> {
        let walker = &self.walker;
        let is_plain = walker.can_stride() && walker.jumps_are_plain() && !walker.outcomes.is_untrained();
        if !is_plain || self.config.data.enable {
            return None;
        }
        let (count, bits) = walker.outcomes.bits();
        let code = walker.code() ^ usize::from(walker.options.full_address);
        let (&Walker { start, pc, .. }, address) = (walker, self.flow.address);
        let digest = [start, pc, address, bits << 6 ^ u64::from(count)].into_iter().fold(0, mix);
        Some(State { digest, count, bits, start, pc, address, code })
    }

    /// Follows packets after header bytes from `state` on along known paths, the first at `offset`. Returns the bytes of
    /// the packets, and counts those of formats 1 and 2.
    #[inline(never)]
    pub(crate) fn follow_paths(
        &mut self,
        bytes: &[u8],
        header: u8,
        offset: u64,
        state: &mut State,
        counts: &mut [u64; 2],
        out: &mut Batch,
    ) -> usize {
        let (mut at, mut last, mut instructions) = (0, None, 0);
        let mut from = &*state;
        while !out.is_full()
            && let Some((first, payload)) = bytes[at..].split_first()
            && let Some(payload) = payload.first_chunk()
            && let len = first ^ header
            && (1..=8).contains(&len)
            && let Some(packet) = Short::new(payload, len.into())
            && let Some(path) = self.paths.slots.get(packet.slot(from, self.paths.bits))
            && path.packet == packet
            && path.from == *from
            && out.events.len() + RUNS <= Batch::FULL
        {
            let (offset, events) = (offset + at as u64, out.events.len() + path.len);
            // All of the array is copied: that takes no branch.
            out.events.extend(path.runs.iter().map(|run| Event { offset, ..*run }));
            out.events.truncate(events);
            instructions += path.landing.instructions;
            (from, last) = (&path.to, Some((path, offset)));
            counts[usize::from(payload[0] >> 1 & 1)] += 1;
            at += usize::from(len) + 1;
        }
        if let Some((path, offset)) = last {
            self.walker.offset = offset;
            self.walker.land(&path.landing);
            self.walker.instructions += instructions;
            (self.flow.address, self.flow.sync_follows) = (path.to.address, false);
            *state = path.to;
        }
        at
    }

    /// Remembers the path that a packet took, with the events that it added; returns the state that it leads to.
    pub(super) fn keep_path(
        &mut self,
        from: State,
        packet: Short,
        instructions: u64,
        added: &[Event],
    ) -> Option<State> {
        let is_run = |event: &Event| matches!(event.kind, EventKind::Run(_));
        let ([first, ..], 1..=RUNS) = (added, added.len()) else { return None };
        if self.flow.sync_follows || !self.is_following() || !added.iter().all(is_run) {
            return None;
        }
        let (to, landing) = (self.state()?, self.walker.landing(instructions));
        let mut runs = [*first; RUNS];
        runs[..added.len()].copy_from_slice(added);
        self.paths.keep(Path { from, packet, len: added.len(), to, landing, runs });
        Some(to)
    }
}
