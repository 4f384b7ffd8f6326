//! Reuse distances of cache lines: the distinct other lines that a source touched since it last touched this one.

use std::collections::{BTreeMap, HashMap};

use trackway_core::{Batch, SplitMix64};

use super::accesses::{Part, is_data, lines, parts};
use super::powers::Powers;

/// Distinct lines up to which distances are exact. Beyond, one line of every two is followed, then of every four, and so on
/// (as in Waldspurger and others, "Efficient MRC construction with SHARDS", 2015), so that memory stays bounded.
pub const EXACT_LINES: usize = 1 << 20;

/// Reuse distances of a trace. Each source has lines of its own, by virtual address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reuse {
    /// Touches of lines by their distance; estimated where not all lines were followed.
    pub distances: Powers,
    /// First touches; estimated where not all lines were followed.
    pub cold: u64,
    /// Lines touched by loads, stores and atomics, each time.
    pub touches: u64,
    /// At the end one line of this many was followed; 1 says that the distances are exact.
    pub one_in: u64,
    /// Accesses that are too long, and are left out.
    pub too_long: u64,
    /// Gaps: accesses in them are missing.
    pub gaps: u64,
}

/// Reuse while the trace is read.
#[derive(Debug)]
pub(super) struct Observing {
    stacks: BTreeMap<u16, Stack>,
    most: usize,
    /// Lines that are followed, of all sources.
    followed: usize,
    /// One line of 2 to this power is followed.
    sampling: u32,
    result: Reuse,
}

impl Observing {
    pub(super) fn new(most: usize) -> Self {
        let (stacks, result) = (BTreeMap::new(), Reuse::default());
        Observing { stacks, most, followed: 0, sampling: 0, result }
    }

    pub(super) fn observe(&mut self, batch: &Batch) {
        for part in parts(batch) {
            let Part::Executed(_, accesses) = part else {
                self.result.gaps += 1;
                continue;
            };
            for access in accesses.iter().filter(|access| is_data(access)) {
                match lines(access) {
                    Some(lines) => lines.for_each(|line| self.touch(batch.source, line)),
                    None => self.result.too_long += 1,
                }
            }
        }
    }

    fn touch(&mut self, source: u16, line: u64) {
        self.result.touches += 1;
        if !is_followed(line, self.sampling) {
            return;
        }
        let weight = 1 << self.sampling;
        match self.stacks.entry(source).or_default().touch(line) {
            Some(distance) => self.result.distances.add(distance << self.sampling, weight),
            None => {
                self.result.cold += weight;
                self.followed += 1;
                while self.followed > self.most && self.sampling < 48 {
                    self.sampling += 1;
                    let sampling = self.sampling;
                    self.stacks
                        .values_mut()
                        .for_each(|stack| stack.retain(|line| is_followed(line, sampling)));
                    self.followed = self.stacks.values().map(|stack| stack.slots.len()).sum();
                }
            }
        }
    }

    pub(super) fn finish(self) -> Option<Reuse> {
        (self.result.touches > 0).then(|| Reuse { one_in: 1 << self.sampling, ..self.result })
    }
}

/// Is the line among those that are followed?
fn is_followed(line: u64, sampling: u32) -> bool {
    SplitMix64(line).next_u64().trailing_zeros() >= sampling
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

    fn retain(&mut self, keeps: impl Fn(u64) -> bool) {
        let dropped: Vec<u32> =
            self.slots.extract_if(|line, _| !keeps(*line)).map(|(_, slot)| slot).collect();
        dropped.into_iter().for_each(|slot| self.add(slot, u32::MAX));
        self.last = self.last.filter(|line| keeps(*line));
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

    /// A table doubles when 7 of 8 places are taken, and has the old one beside it until then.
    #[test]
    fn a_line_takes_less_than_100_bytes() {
        let mut stack = Stack::default();
        for line in 1..=300_000u64 {
            stack.touch(line);
            let places = (stack.slots.capacity() as u64 * 8 / 7).next_power_of_two();
            let bytes = places * 17 * 3 / 2 + stack.tree.capacity() as u64 * 4;
            assert!(line < 1000 || bytes < 100 * line, "{bytes} bytes for {line} lines");
        }
    }

    /// With a bound, memory is bounded and the answer is near.
    #[test]
    fn sampled_distances_are_near() {
        let mut exact = Observing::new(usize::MAX);
        let mut sampled = Observing::new(1000);
        let mut numbers = Numbers(1);
        for n in 0..200_000u64 {
            // A loop over 3000 lines, and some lines that come once.
            let line = if numbers.one_in(10) { 1_000_000 + n } else { n % 3000 };
            exact.touch(0, line);
            sampled.touch(0, line);
            assert!(sampled.followed <= 1000);
        }
        let (exact, sampled) = (exact.finish().unwrap(), sampled.finish().unwrap());
        assert_eq!(exact.one_in, 1);
        assert!(sampled.one_in > 1);
        let at = |reuse: &Reuse| reuse.distances.entries().max_by_key(|(_, count)| *count).unwrap();
        let ((from, count), (near_from, near)) = (at(&exact), at(&sampled));
        assert_eq!(from, near_from);
        assert!(near.abs_diff(count) < count / 10, "{near} for {count}");
        assert_eq!(exact.touches, sampled.touches);
    }
}
