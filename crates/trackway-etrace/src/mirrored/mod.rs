//! State that encoder and decoder both keep: branch predictor, jump target cache, return stack, data history.
//!
//! All of it is cleared at every synchronisation packet (3.2.5 to 3.2.7, 7.1.3).

mod history;

use serde::{Deserialize, Serialize};

use crate::config::Config;

pub use history::History;
pub(crate) use history::{extend, low};

/// The branch predictor (3.2.6): two bits per entry, the prediction and the last outcome.
#[derive(Clone, Debug)]
pub(crate) struct Predictor {
    table: Box<[u8]>,
    shift: u32,
    clean: bool,
}

impl PartialEq for Predictor {
    fn eq(&self, other: &Self) -> bool {
        self.table == other.table
    }
}

/// State of an entry before its first branch.
const FRESH: u8 = 0b01;

/// The entries of a predictor, in the form that takes fewer bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum SavedPredictor {
    /// Entries that are not fresh: the distance from the one before, and the state.
    Some(Vec<(u16, u8)>),
    /// All, four to a byte.
    All(Vec<u8>),
}

/// Next state of an entry, by state and outcome (1 = taken).
const NEXT: [[u8; 2]; 4] = [[0b00, 0b01], [0b00, 0b11], [0b00, 0b11], [0b10, 0b11]];

impl Predictor {
    /// A predictor of the size that the parameters say.
    pub(crate) fn new(config: &Config) -> Self {
        let entries = if config.params.bpred_size == 0 { 0 } else { 1 << config.params.bpred_size };
        let table = vec![FRESH; entries].into_boxed_slice();
        Predictor { table, shift: config.params.index_shift(), clean: true }
    }

    /// Sets every entry to "not taken".
    #[inline]
    pub(crate) fn reset(&mut self) {
        if !self.clean {
            self.table.fill(FRESH);
            self.clean = true;
        }
    }

    pub(crate) fn save(&self) -> SavedPredictor {
        if self.clean {
            return SavedPredictor::Some(Vec::new());
        }
        let used = (0..=u16::MAX).zip(&self.table).filter(|(_, state)| **state != FRESH);
        if 2 * used.clone().count() > self.table.len() / 4 {
            let byte = |four: &[u8]| four.iter().rev().fold(0, |byte, state| byte << 2 | state & 3);
            return SavedPredictor::All(self.table.chunks(4).map(byte).collect());
        }
        let mut before = 0;
        let entry = |(n, state): (u16, &u8)| (n - std::mem::replace(&mut before, n), *state);
        SavedPredictor::Some(used.map(entry).collect())
    }

    /// False if the table has another size.
    pub(crate) fn restore(&mut self, saved: &SavedPredictor) -> bool {
        self.clean = false;
        self.reset();
        self.clean = false;
        match saved {
            SavedPredictor::Some(used) => {
                let mut at = 0;
                used.iter().all(|(distance, state)| {
                    at += usize::from(*distance);
                    self.table.get_mut(at).map(|entry| *entry = *state & 3).is_some()
                })
            }
            SavedPredictor::All(bytes) => {
                let states = bytes.iter().flat_map(|byte| [0, 2, 4, 6].map(|shift| byte >> shift & 3));
                self.table.iter_mut().zip(states).for_each(|(entry, state)| *entry = state);
                bytes.len() == self.table.len().div_ceil(4)
            }
        }
    }

    #[inline]
    fn index(&self, pc: u64) -> usize {
        (pc >> self.shift) as usize & self.table.len().wrapping_sub(1)
    }

    /// Is the branch predicted taken?
    #[inline]
    pub(crate) fn predict(&self, pc: u64) -> bool {
        self.table.get(self.index(pc)).is_some_and(|state| state & 2 != 0)
    }

    /// Updates the entry with the outcome.
    #[inline]
    pub(crate) fn train(&mut self, pc: u64, taken: bool) {
        let index = self.index(pc);
        if let Some(state) = self.table.get_mut(index) {
            *state = NEXT[usize::from(*state & 3)][usize::from(taken)];
            self.clean = false;
        }
    }
}

/// The jump target cache (3.2.7), direct mapped.
#[derive(Clone, Debug)]
pub(crate) struct JumpCache {
    table: Box<[u64]>,
    shift: u32,
    clean: bool,
}

/// An empty entry: no instruction starts at an odd address.
const EMPTY: u64 = u64::MAX;

impl JumpCache {
    /// A cache of the size that the parameters say.
    pub(crate) fn new(config: &Config) -> Self {
        let entries = if config.params.cache_size == 0 { 0 } else { 1 << config.params.cache_size };
        let table = vec![EMPTY; entries].into_boxed_slice();
        JumpCache { table, shift: config.params.index_shift(), clean: true }
    }

    /// Empties every entry.
    #[inline]
    pub(crate) fn reset(&mut self) {
        if !self.clean {
            self.table.fill(EMPTY);
            self.clean = true;
        }
    }

    /// The addresses in it.
    pub(crate) fn save(&self) -> Vec<u64> {
        let used = if self.clean { &[][..] } else { &self.table };
        used.iter().copied().filter(|address| *address != EMPTY).collect()
    }

    /// Holds these addresses and no others.
    pub(crate) fn restore(&mut self, saved: &[u64]) {
        self.clean = false;
        self.reset();
        saved.iter().for_each(|address| self.insert(*address));
    }

    /// The entry of an address.
    #[inline]
    pub(crate) fn index(&self, address: u64) -> u32 {
        ((address >> self.shift) as usize & self.table.len().wrapping_sub(1)) as u32
    }

    /// The address in an entry.
    #[inline]
    pub(crate) fn get(&self, index: u32) -> Option<u64> {
        self.table.get(index as usize).copied().filter(|address| *address != EMPTY)
    }

    /// Stores a jump target.
    #[inline]
    pub(crate) fn insert(&mut self, address: u64) {
        let index = self.index(address);
        if let Some(entry) = self.table.get_mut(index as usize) {
            *entry = address;
            self.clean = false;
        }
    }
}

/// The return address stack (3.2.5); with a call counter the decoder keeps a stack of that depth.
#[derive(Clone, Debug)]
pub(crate) struct ReturnStack {
    ring: Box<[u64]>,
    top: usize,
    depth: u32,
}

impl PartialEq for ReturnStack {
    fn eq(&self, other: &Self) -> bool {
        self.depth == other.depth && self.entries().eq(other.entries())
    }
}

impl ReturnStack {
    /// A stack of the size that the parameters say.
    pub(crate) fn new(config: &Config) -> Self {
        ReturnStack { ring: vec![0; config.max_depth() as usize].into_boxed_slice(), top: 0, depth: 0 }
    }

    /// Empties the stack.
    #[inline]
    pub(crate) fn reset(&mut self) {
        self.depth = 0;
    }

    /// The entries, newest first.
    fn entries(&self) -> impl Iterator<Item = u64> + '_ {
        let (older, newer) = self.ring.split_at(self.ring.len().min(self.top + 1));
        older.iter().rev().chain(newer.iter().rev()).take(self.depth as usize).copied()
    }

    pub(crate) fn save(&self) -> Vec<u64> {
        self.entries().collect()
    }

    /// Holds these entries, newest first.
    pub(crate) fn restore(&mut self, saved: &[u64]) {
        self.reset();
        saved.iter().rev().for_each(|link| self.push(*link));
    }

    /// Number of entries.
    #[inline]
    pub(crate) fn depth(&self) -> u32 {
        self.depth
    }

    /// The predicted return address.
    #[inline]
    pub(crate) fn top(&self) -> Option<u64> {
        if self.depth == 0 { None } else { Some(self.ring[self.top]) }
    }

    /// Pushes the return address of a call; a full stack drops its oldest entry.
    #[inline]
    pub(crate) fn push(&mut self, link: u64) {
        if self.ring.is_empty() {
            return;
        }
        self.top = if self.top + 1 == self.ring.len() { 0 } else { self.top + 1 };
        self.ring[self.top] = link;
        self.depth = (self.depth + 1).min(self.ring.len() as u32);
    }

    /// Pops the return address of a return.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<u64> {
        let link = self.top()?;
        self.top = if self.top == 0 { self.ring.len() - 1 } else { self.top - 1 };
        self.depth -= 1;
        Some(link)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 3.2.6: the prediction has to fail twice before it changes.
    #[test]
    fn section_3_2_6_states() {
        let mut config = Config::default();
        config.params.bpred_size = 4;
        let mut predictor = Predictor::new(&config);
        // In the initial state 01 the last outcome counts as a failure: one more changes the prediction.
        let (t, n) = (true, false);
        for (taken, predicted) in
            [(t, n), (t, t), (n, t), (t, t), (n, t), (n, t), (n, n), (t, n), (t, n), (t, t)]
        {
            assert_eq!(predictor.predict(0x100), predicted);
            predictor.train(0x100, taken);
        }
        assert!(!predictor.predict(0x102));
        assert!(predictor.predict(0x100 + (2 << 4)), "the same entry");
        predictor.reset();
        assert!(!predictor.predict(0x100));
    }

    #[test]
    fn section_3_2_7_entries() {
        let mut config = Config::default();
        config.params.cache_size = 3;
        let mut cache = JumpCache::new(&config);
        cache.insert(0x1006);
        assert_eq!((cache.index(0x1006), cache.get(3)), (3, Some(0x1006)));
        cache.insert(0x2006);
        assert_eq!(cache.get(3), Some(0x2006));
        cache.reset();
        assert_eq!(cache.get(3), None);
        config.params.iaddress_lsb = 2;
        assert_eq!(JumpCache::new(&config).index(0x100c), 3);
    }

    /// Chapter 11, `push_return_stack`: a full stack drops its oldest entry.
    #[test]
    fn chapter_11_stack_overflow() {
        let mut config = Config::default();
        config.params.return_stack_size = 1;
        let mut stack = ReturnStack::new(&config);
        for link in [2, 4, 6] {
            stack.push(link);
        }
        assert_eq!((stack.depth(), stack.pop(), stack.pop(), stack.pop()), (2, Some(6), Some(4), None));
    }
}
