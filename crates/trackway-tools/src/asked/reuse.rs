//! Reuse distances of cache lines: the distinct other lines that a source touched since it last touched this one.
//!
//! Beside all lines, one of every 16 is followed, of every 256, and so on, until those that are followed are too many: their
//! distances are dropped then (sampling as in Waldspurger and others, "Efficient MRC construction with SHARDS", 2015). So
//! memory is bounded, and the result does not depend on how a trace is cut into parts.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use trackway_core::{Batch, SplitMix64};

use super::accesses::{Part, is_data, lines, parts};
use super::powers::Powers;

/// Distinct lines up to which distances are exact. Beyond, one line of every 16 is followed, then of every 256, and so on.
pub const EXACT_LINES: usize = 1 << 20;

/// Each level follows one line of 2 to this power of those of the level before.
const STEP: u32 = 4;
/// The last level follows one line of 2^48, which is never too many.
const LEVELS: usize = 13;

/// Reuse distances of a trace. Each source has lines of its own, by virtual address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reuse {
    /// Touches of lines by their distance; estimated where not all lines were followed.
    pub distances: Powers,
    /// First touches; estimated where not all lines were followed.
    pub cold: u64,
    /// Lines touched by loads, stores and atomics, each time.
    pub touches: u64,
    /// One line of this many was followed; 1 says that the distances are exact.
    pub one_in: u64,
    /// Accesses that are too long, and are left out.
    pub too_long: u64,
    /// Gaps: accesses in them are missing.
    pub gaps: u64,
}

/// Reuse while the trace is read.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Observing {
    /// `None` where a level had too many lines.
    levels: [Option<Level>; LEVELS],
    most: usize,
    /// Something may come before it: first touches are kept for the part before.
    is_part: bool,
    touches: u64,
    too_long: u64,
    gaps: u64,
}

/// Some of the lines.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Level {
    stacks: BTreeMap<u16, Stack>,
    /// Lines that are followed, of all sources.
    followed: usize,
    distances: Powers,
}

impl Observing {
    pub(super) fn new(most: usize) -> Self {
        Self::with(most, false)
    }

    /// Of a part.
    pub(super) fn fork(&self) -> Self {
        Self::with(self.most, true)
    }

    fn with(most: usize, is_part: bool) -> Self {
        let levels = std::array::from_fn(|_| Some(Level::default()));
        Observing { levels, most, is_part, touches: 0, too_long: 0, gaps: 0 }
    }

    pub(super) fn observe(&mut self, batch: &Batch) {
        for part in parts(batch) {
            let Part::Executed(_, accesses) = part else {
                self.gaps += 1;
                continue;
            };
            for access in accesses.iter().filter(|access| is_data(access)) {
                match lines(access) {
                    Some(lines) => lines.for_each(|line| self.touch(batch.source, line)),
                    None => self.too_long += 1,
                }
            }
        }
    }

    fn touch(&mut self, source: u16, line: u64) {
        self.touches += 1;
        let (most, is_part) = (self.most, self.is_part);
        for (n, slot) in self.levels.iter_mut().enumerate().take(levels_of(line)) {
            let Some(level) = slot else { continue };
            level.touch(source, line, is_part);
            if level.followed > most && n + 1 < LEVELS {
                *slot = None;
            }
        }
    }

    /// Adds those of the part that follows.
    pub(super) fn merge(&mut self, later: Observing) {
        self.touches += later.touches;
        self.too_long += later.too_long;
        self.gaps += later.gaps;
        let (most, is_part) = (self.most, self.is_part);
        for (n, (slot, later)) in self.levels.iter_mut().zip(later.levels).enumerate() {
            let (Some(level), Some(later)) = (slot.as_mut(), later) else {
                *slot = None;
                continue;
            };
            level.merge(later, is_part);
            if level.followed > most && n + 1 < LEVELS {
                *slot = None;
            }
        }
    }

    pub(super) fn finish(self) -> Option<Reuse> {
        let Observing { levels, touches, too_long, gaps, .. } = self;
        let (n, level) = (0u32..).zip(levels).find_map(|(n, level)| Some((n, level?)))?;
        let sampling = n * STEP;
        let cold = level.stacks.values().map(|stack| stack.slots.len() as u64).sum::<u64>();
        let mut distances = Powers::default();
        level
            .distances
            .entries()
            .for_each(|(from, times)| distances.add(from << sampling, times << sampling));
        let one_in = 1 << sampling;
        (touches > 0).then_some(Reuse { distances, cold: cold << sampling, touches, one_in, too_long, gaps })
    }
}

/// The number of levels that follow a line.
fn levels_of(line: u64) -> usize {
    (SplitMix64(line).next_u64().trailing_zeros() / STEP) as usize + 1
}

impl Level {
    fn touch(&mut self, source: u16, line: u64, is_part: bool) {
        let stack = self.stacks.entry(source).or_default();
        match stack.touch(line) {
            Some(distance) => self.distances.add(distance, 1),
            None => {
                self.followed += 1;
                if is_part {
                    stack.firsts.push(line);
                }
            }
        }
    }

    /// The first touches of a part have their distances from the lines before it; the last ones decide on the order after it.
    fn merge(&mut self, later: Level, is_part: bool) {
        self.distances.merge(later.distances);
        for (source, next) in later.stacks {
            next.firsts.iter().for_each(|line| self.touch(source, *line, is_part));
            let stack = self.stacks.entry(source).or_default();
            next.order().into_iter().for_each(|line| {
                stack.touch(line);
            });
        }
    }
}

/// Lines in the order of their last touch. Slots of time are numbered; a Fenwick tree counts those that are still the
/// last touch of a line. About 60 bytes per line: 17 to 39 in the table, 8 in the tree, and both twice while they grow.
#[derive(Debug, Default)]
struct Stack {
    /// The slot of each line.
    slots: HashMap<u64, u32>,
    tree: Vec<u32>,
    /// Next free slot.
    now: u32,
    last: Option<u64>,
    /// Lines in the order of their first touch, in a part.
    firsts: Vec<u64>,
}

impl Stack {
    /// Returns the distance; `None` for the first touch.
    fn touch(&mut self, line: u64) -> Option<u64> {
        if self.last == Some(line) {
            return Some(0);
        }
        self.last = Some(line);
        if self.now as usize == self.tree.len() {
            self.compact();
        }
        let lines = self.slots.len() as u64;
        let before = self.slots.insert(line, self.now);
        let distance = before.map(|slot| {
            let older = u64::from(self.up_to(slot));
            self.add(slot, u32::MAX);
            lines - older
        });
        self.add(self.now, 1);
        self.now += 1;
        distance
    }

    /// Numbers the slots anew, without those that are not used.
    fn compact(&mut self) {
        let mut slots = std::mem::take(&mut self.slots);
        slots.values_mut().for_each(|slot| *slot = self.up_to(*slot) - 1);
        let used = slots.len();
        self.slots = slots;
        self.now = used as u32;
        self.tree.clear();
        self.tree.shrink_to(0);
        self.tree.resize((2 * used).max(1024), 0);
        // Node n sums the lowbit(n) slots before it; the first `used` slots hold one each.
        for n in 1..=self.tree.len() {
            let from = n - (n & n.wrapping_neg());
            self.tree[n - 1] = used.min(n).saturating_sub(from) as u32;
        }
    }

    /// The lines, the one touched last at the end.
    fn order(&self) -> Vec<u64> {
        let mut lines: Vec<(u32, u64)> = self.slots.iter().map(|(line, slot)| (*slot, *line)).collect();
        lines.sort_unstable();
        lines.into_iter().map(|(_, line)| line).collect()
    }

    /// Adds to a slot, modulo 2^32.
    fn add(&mut self, slot: u32, change: u32) {
        let mut n = slot as usize + 1;
        while n <= self.tree.len() {
            self.tree[n - 1] = self.tree[n - 1].wrapping_add(change);
            n += n & n.wrapping_neg();
        }
    }

    /// Lines whose last touch is this slot or one before.
    fn up_to(&self, slot: u32) -> u32 {
        let (mut n, mut sum) = (slot as usize + 1, 0u32);
        while n > 0 {
            sum = sum.wrapping_add(self.tree[n - 1]);
            n &= n - 1;
        }
        sum
    }
}

impl Serialize for Stack {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.order(), &self.firsts).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Stack {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (order, firsts) = <(Vec<u64>, Vec<u64>)>::deserialize(deserializer)?;
        let mut stack = Stack { firsts, ..Stack::default() };
        order.into_iter().for_each(|line| {
            stack.touch(line);
        });
        Ok(stack)
    }
}

#[cfg(test)]
mod tests {
    use trackway_testkit::random::Numbers;

    use super::*;

    #[test]
    fn distances_are_those_of_a_list() {
        let mut numbers = Numbers(5);
        let (mut stack, mut list) = (Stack::default(), Vec::new());
        for n in 0..20_000u64 {
            let line = numbers.below(1 + n / 4).min(numbers.below(4000));
            let at = list.iter().rposition(|other| *other == line);
            let distance = at.map(|at| (list.len() - at - 1) as u64);
            at.map(|at| list.remove(at));
            list.push(line);
            assert_eq!(stack.touch(line), distance, "{n}");
        }
    }

    /// A table doubles when 7 of 8 places are taken, and has the old one beside it until then; the other levels have one
    /// line of 15 that the first has.
    #[test]
    fn a_line_takes_less_than_100_bytes() {
        let mut stack = Stack::default();
        for line in 1..=300_000u64 {
            stack.touch(line);
            let places = (stack.slots.capacity() as u64 * 8 / 7).next_power_of_two();
            let bytes = (places * 17 * 3 / 2 + stack.tree.capacity() as u64 * 4) * 16 / 15;
            assert!(line < 1000 || bytes < 100 * line, "{bytes} bytes for {line} lines");
        }
    }

    /// With a bound, memory is bounded and the answer is near.
    #[test]
    fn sampled_distances_are_near() {
        let mut exact = Observing::new(usize::MAX);
        let mut sampled = Observing::new(2000);
        let mut numbers = Numbers(1);
        for n in 0..200_000u64 {
            // A loop over 3000 lines, and some lines that come once.
            let line = if numbers.one_in(10) { 1_000_000 + n } else { n % 3000 };
            exact.touch(0, line);
            sampled.touch(0, line);
            let followed = sampled.levels.iter().flatten().map(|level| level.followed);
            assert!(followed.max().unwrap() <= 2000);
        }
        let (exact, sampled) = (exact.finish().unwrap(), sampled.finish().unwrap());
        assert_eq!(exact.one_in, 1);
        assert_eq!(sampled.one_in, 16);
        let at = |reuse: &Reuse| reuse.distances.entries().max_by_key(|(_, count)| *count).unwrap();
        let ((from, count), (near_from, near)) = (at(&exact), at(&sampled));
        assert_eq!(from, near_from);
        assert!(near.abs_diff(count) < count / 10, "{near} for {count}");
        assert_eq!(exact.touches, sampled.touches);
    }
}
