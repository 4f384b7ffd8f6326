//! A predictor like TAGE: tagged tables with histories of growing lengths over a bimodal one.
//!
//! As by Seznec and Michaud, "A case for (partially) tagged geometric history length branch prediction" (2006), without
//! its random choice between tables, so that results are the same each time.

use super::directions::Bimodal;

/// Entries of each table.
pub(super) const ENTRIES: usize = 1024;
/// Outcomes that each table looks at.
pub(super) const HISTORIES: [u32; 4] = [5, 12, 27, 64];
const INDEX_BITS: u32 = ENTRIES.ilog2();
const TAG_BITS: u32 = 9;
/// Predictions after which the use of entries counts half.
const AGE: u32 = 1 << 18;

#[derive(Debug)]
pub(super) struct Tage {
    base: Bimodal,
    tables: [Box<[Entry]>; HISTORIES.len()],
    since_aged: u32,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// More bits than a tag has where it is empty.
    tag: u16,
    /// Taken from 0 up; -4 to 3.
    counter: i8,
    /// 0 to 3.
    useful: u8,
}

impl Default for Tage {
    fn default() -> Self {
        let empty = Entry { tag: u16::MAX, counter: 0, useful: 0 };
        Tage {
            base: Bimodal::default(),
            tables: [(); 4].map(|()| vec![empty; ENTRIES].into()),
            since_aged: 0,
        }
    }
}

impl Tage {
    /// Predicts, then learns.
    pub(super) fn predict(&mut self, key: u64, history: u64, taken: bool) -> bool {
        let mut places = [(0, 0); HISTORIES.len()];
        for (n, (place, length)) in places.iter_mut().zip(HISTORIES).enumerate() {
            let seen = history & (u64::MAX >> (64 - length));
            let index = key ^ key >> (INDEX_BITS - n as u32) ^ fold(seen, INDEX_BITS);
            let tag = key ^ fold(seen, TAG_BITS) ^ fold(seen, TAG_BITS - 1) << 1;
            *place = (index as usize % ENTRIES, (tag & ((1 << TAG_BITS) - 1)) as u16);
        }
        let hits = |tables: &[Box<[Entry]>; 4], below: usize| {
            (0..below).rev().find(|n| tables[*n][places[*n].0].tag == places[*n].1)
        };
        let provider = hits(&self.tables, HISTORIES.len());
        let other = hits(&self.tables, provider.unwrap_or(0));
        let answer = |tage: &mut Tage, table: Option<usize>| match table {
            Some(n) => tage.tables[n][places[n].0].counter >= 0,
            None => tage.base.peek(key),
        };
        let (predicted, alternative) = (answer(self, provider), answer(self, other));
        match provider {
            Some(n) => {
                let entry = &mut self.tables[n][places[n].0];
                entry.counter = if taken { (entry.counter + 1).min(3) } else { (entry.counter - 1).max(-4) };
                if predicted != alternative {
                    entry.useful = if predicted == taken {
                        (entry.useful + 1).min(3)
                    } else {
                        entry.useful.saturating_sub(1)
                    };
                }
            }
            None => {
                self.base.predict(key, taken);
            }
        }
        if predicted != taken {
            self.allocate(&places, provider.map_or(0, |n| n + 1), taken);
        }
        self.age();
        predicted
    }

    /// An entry in a table with a longer history.
    fn allocate(&mut self, places: &[(usize, u16); HISTORIES.len()], from: usize, taken: bool) {
        let longer = || (from..HISTORIES.len()).map(|n| (n, places[n]));
        let free = longer().find(|(n, (index, _))| self.tables[*n][*index].useful == 0);
        if let Some((n, (index, tag))) = free {
            self.tables[n][index] = Entry { tag, counter: if taken { 0 } else { -1 }, useful: 0 };
            return;
        }
        for (n, (index, _)) in longer() {
            self.tables[n][index].useful -= 1;
        }
    }

    fn age(&mut self) {
        self.since_aged += 1;
        if self.since_aged == AGE {
            self.since_aged = 0;
            self.tables.iter_mut().flat_map(|table| table.iter_mut()).for_each(|entry| entry.useful >>= 1);
        }
    }
}

/// All bits of a number in few.
fn fold(mut number: u64, bits: u32) -> u64 {
    let mut folded = 0;
    while number > 0 {
        folded ^= number & ((1 << bits) - 1);
        number >>= bits;
    }
    folded
}
