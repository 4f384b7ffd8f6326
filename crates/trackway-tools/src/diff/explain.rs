//! Explanations of a difference: which instructions of both sides belong together.

use super::align::align;
use super::anchors::{find, nearest};
use super::hunk::{Alignment, Hunk};

/// Instructions collected at first, and the factor by which more are.
pub(super) const FIRST: usize = 1024;
pub(super) const GROWTH: usize = 8;
/// Instructions after a gap on both sides that show that both have lost the same.
pub(super) const ALIKE: usize = 16;
/// Instructions up to which a difference may wait for certainty.
pub(super) const SETTLED: usize = 1 << 16;
/// Instructions up to which a shift is searched where addresses agree and only data differ.
const DATA_ONLY: usize = 1 << 16;

/// How often a search for a shift by data alone is worth its time.
#[derive(Debug, Default)]
pub(super) struct Patience {
    /// Collections to pass without one, and how many there were the last time.
    left: u32,
    last: u32,
}

impl Patience {
    /// No more is collected for it: the data of these traces differ throughout.
    fn is_over(&mut self, size: usize) -> bool {
        if self.left > 0 {
            self.left -= 1;
            return true;
        }
        if size < DATA_ONLY {
            return false;
        }
        self.last = (2 * self.last).clamp(1, 1 << 20);
        self.left = self.last;
        true
    }
}

/// Where the stretch after a gap continues: instructions that each side has before that.
pub(super) fn continuation(x: &[u64], y: &[u64], gaps: [bool; 2], length: usize) -> Option<(usize, usize)> {
    let (ours, theirs) = (&x[..x.len().min(length)], &y[..y.len().min(length)]);
    let in_a = || find(theirs, x).map(|a| (a, 0));
    let in_b = || find(ours, y).map(|b| (0, b));
    match gaps {
        [true, false] => in_b(),
        [false, _] => in_a(),
        // Both have lost the same.
        [true, true] if x.len().min(y.len()) >= ALIKE && x[..ALIKE] == y[..ALIKE] => Some((0, 0)),
        [true, true] => {
            let hunk = || {
                nearest(x, y).and_then(|found| found.hunks.first().map(|hunk| (hunk.deleted, hunk.inserted)))
            };
            [in_a(), in_b()].into_iter().flatten().min_by_key(|(a, b)| a + b).or_else(hunk)
        }
    }
}

/// Keys of the instructions ahead, of both sides.
pub(super) struct Keys<'k> {
    pub(super) weak: [&'k [u64]; 2],
    pub(super) strong: [&'k [u64]; 2],
    /// The strong ones hold more than addresses.
    pub(super) data: bool,
}

impl Keys<'_> {
    /// An alignment that explains them with few edits.
    pub(super) fn align(
        &self,
        closed: bool,
        last: bool,
        patience: &mut Patience,
        size: usize,
    ) -> Option<Alignment> {
        let [x, y] = self.weak;
        let both = x.len().min(y.len());
        if self.data && x[..both] == y[..both] && !(closed && x.len() != y.len()) {
            return self.align_data(both, last || closed, patience, size);
        }
        let weak = align(x, y, closed, last);
        if !self.data {
            return weak;
        }
        let strong = align(self.strong[0], self.strong[1], closed, false);
        match (strong, weak) {
            (Some(strong), Some(weak)) => {
                // By addresses alone, every pair whose data differ costs too.
                let cost = weak.cost() + 2 * self.changed(&weak);
                Some(if strong.cost() <= cost { strong } else { weak })
            }
            // A shift by much may look like other data on much the same way.
            (None, Some(weak)) if !last && !self.few(self.changed(&weak)) => {
                patience.is_over(size).then_some(weak)
            }
            (strong, weak) => strong.or(weak),
        }
    }

    /// Is that so few of all that no shift needs to be searched?
    fn few(&self, changed: usize) -> bool {
        let [x, y] = self.strong;
        changed <= x.len().min(y.len()) / 16 + 4
    }

    /// All addresses agree: is it a shift all the same?
    fn align_data(&self, both: usize, last: bool, patience: &mut Patience, size: usize) -> Option<Alignment> {
        let lockstep = Alignment { settled: both / 2 + 1, ..Alignment::new(Vec::new(), (both, both)) };
        let [x, y] = self.strong;
        let changed = x.iter().zip(y).filter(|(one, other)| one != other).count();
        if self.few(changed) {
            return Some(lockstep);
        }
        if patience.left == 0
            && (last || size >= FIRST * GROWTH)
            && let Some(found) = align(x, y, false, false).filter(|found| found.edits() < changed)
        {
            patience.last = 0;
            return Some(found);
        }
        (patience.is_over(size) || last).then_some(lockstep)
    }

    /// Pairs of an alignment by addresses whose data differ.
    fn changed(&self, alignment: &Alignment) -> usize {
        let [x, y] = self.strong;
        let (mut a, mut b, mut changed) = (0, 0, 0);
        let end = Hunk { a: alignment.end.0, b: alignment.end.1, deleted: 0, inserted: 0 };
        for hunk in alignment.hunks.iter().chain([&end]) {
            changed += x[a..hunk.a].iter().zip(&y[b..hunk.b]).filter(|(one, other)| one != other).count();
            (a, b) = (hunk.a + hunk.deleted, hunk.b + hunk.inserted);
        }
        changed
    }
}
