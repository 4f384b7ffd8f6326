//! Paths that were walked before: a packet of format 1 or 2 that comes again where it came before leads the same way.

use trackway_core::*;

use super::Decoder;
use crate::decode::walk::Landing;

/// Paths that are remembered, each in the one slot of its key.
const SLOTS: usize = 512;
/// Runs of a path at the most, and branches.
const RUNS: usize = 4;
const BRANCHES: u8 = RUNS as u8;

/// All that decides about the path of a packet while execution is followed without predictor and return stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    /// The payload in the upper bits, and its length in bytes.
    payload: u128,
    len: u32,
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

/// A path and where it leads.
#[derive(Clone, Copy, Debug)]
struct Path {
    key: Key,
    landing: Landing,
    /// Address reported last, afterwards.
    address: u64,
    len: usize,
    runs: [Event; RUNS],
}

/// The paths walked last.
#[derive(Debug, Default)]
pub(super) struct Paths {
    /// Empty until the first one is kept.
    slots: Vec<Option<Path>>,
}

impl Paths {
    #[inline]
    fn place(key: &Key) -> usize {
        let words = [key.payload as u64, (key.payload >> 64) as u64, key.start, key.address, key.bits];
        let mix =
            |digest: u64, word: u64| (digest ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        (words.into_iter().fold(0, mix) >> 32) as usize % SLOTS
    }
}

impl Decoder {
    /// The key of a payload of `len` bytes, 1 to 16; `None` where more than the key decides, and for long paths.
    #[inline]
    pub(crate) fn path_key(&self, payload: &[u8; 16], len: u32) -> Option<Key> {
        let walker = &self.walker;
        // The number of branches in format 1; 0 is 31. In format 2 these are bits of the address.
        let is_long = payload[0] & 3 == 1 && !(1..=BRANCHES).contains(&(payload[0] >> 2 & 31));
        if is_long {
            return None;
        }
        let is_plain = walker.can_stride() && walker.jumps_are_plain() && !walker.outcomes.is_untrained();
        if !is_plain || self.config.data.enable {
            return None;
        }
        let (count, bits) = walker.outcomes.bits();
        Some(Key {
            payload: u128::from_le_bytes(*payload) << (128 - 8 * len),
            len,
            count,
            bits,
            start: walker.start,
            pc: walker.pc,
            address: self.flow.address,
            code: walker.code() ^ usize::from(walker.options.full_address),
        })
    }

    /// Follows a packet along a path that is known; false, and nothing has changed, if there is none or no room for it.
    #[inline]
    pub(crate) fn follow_path(&mut self, key: &Key, offset: u64, out: &mut Batch) -> bool {
        let Some(Some(path)) = self.paths.slots.get(Paths::place(key)) else { return false };
        if path.key != *key || out.events.len() + path.len > Batch::FULL {
            return false;
        }
        out.events.extend(path.runs[..path.len].iter().map(|run| Event { offset, ..*run }));
        self.walker.offset = offset;
        self.walker.land(&path.landing);
        (self.flow.address, self.flow.sync_follows) = (path.address, false);
        true
    }

    /// Remembers the path that a packet took from `key` on, with the events that it added.
    pub(super) fn keep_path(&mut self, key: &Key, instructions: u64, added: &[Event]) {
        let is_run = |event: &Event| matches!(event.kind, EventKind::Run(_));
        let ([first, ..], 1..=RUNS) = (added, added.len()) else { return };
        if self.flow.sync_follows || !self.is_following() || !added.iter().all(is_run) {
            return;
        }
        let mut runs = [*first; RUNS];
        runs[..added.len()].copy_from_slice(added);
        if self.paths.slots.is_empty() {
            self.paths.slots.resize(SLOTS, None);
        }
        let landing = self.walker.landing(instructions);
        let path = Path { key: *key, landing, address: self.flow.address, len: added.len(), runs };
        self.paths.slots[Paths::place(key)] = Some(path);
    }
}
