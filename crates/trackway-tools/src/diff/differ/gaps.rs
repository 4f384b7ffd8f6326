//! Instructions that one side lost, and the ends of both.

use trackway_core::{Fact, Outcome, Result};

use super::super::explain::{ALIKE, FIRST, GROWTH, continuation};
use super::super::hunk::Hunk;
use super::super::report::Stretch;
use super::super::side::{Cell, MOST, bit};
use super::Differ;

/// Instructions after a gap that are searched for on the other side.
const SURE: usize = 2048;

/// Stretches ahead among which the next that both sides have is searched.
const NEAR: usize = 8;

/// The nearest stretches between gaps that are alike: how many come before them on each side. One that is only changed is
/// the likeliest.
fn resume(ours: &[&[u64]], theirs: &[&[u64]]) -> Option<(usize, usize)> {
    let mut pairs: Vec<(usize, usize)> =
        (0..ours.len()).flat_map(|a| (0..theirs.len()).map(move |b| (a, b))).skip(1).collect();
    pairs.sort_by_key(|&(a, b)| ((a, b) != (1, 1), a + b, a.abs_diff(b)));
    pairs.into_iter().find(|&(a, b)| ours[a] == theirs[b])
}

impl Differ<'_, '_> {
    /// Something is missing on a side: finds where it continues on the other.
    pub(super) fn gap(&mut self) -> Result<()> {
        let (gap_a, gap_b) = (self.a.at_gap(), self.b.at_gap());
        let data = self.data();
        // Traces with many gaps mostly have the same ones: more is read only where they have not.
        self.a.collect(ALIKE, data)?;
        self.b.collect(ALIKE, data)?;
        let ((n, a_closed), (m, b_closed)) = (self.a.stretch(ALIKE), self.b.stretch(ALIKE));
        let shorter = n.min(m);
        let is_whole = shorter == ALIKE || (n == shorter && a_closed) || (m == shorter && b_closed);
        let (ours, theirs) = (&self.a.window.strong, &self.b.window.strong);
        if gap_a && gap_b && shorter > 0 && is_whole && ours[..shorter] == theirs[..shorter] {
            return self.skip(0, 0);
        }
        let mut size = FIRST * GROWTH;
        loop {
            self.a.collect(size, data)?;
            self.b.collect(size, data)?;
            let ((n, a_closed), (m, b_closed)) = (self.a.stretch(size), self.b.stretch(size));
            let last = |closed: bool, full: bool| closed || full || size >= MOST;
            let last = if gap_b && !gap_a {
                last(a_closed, self.a.window.full)
            } else {
                last(b_closed, self.b.window.full)
            };
            let (a, b) = (&self.a.window, &self.b.window);
            // As long as may be: the turns of a loop are alike.
            let lengths: &[usize] = if last { &[SURE, 64, 16, 4] } else { &[SURE] };
            let found = lengths.iter().find_map(|&length| {
                [(&a.strong, &b.strong), (&a.weak, &b.weak)]
                    .into_iter()
                    .find_map(|(x, y)| continuation(&x[..n], &y[..m], [gap_a, gap_b], length))
            });
            if let Some((skip_a, skip_b)) = found {
                return self.skip(skip_a, skip_b);
            }
            if last
                && gap_a
                && gap_b
                && let Some((skip_a, skip_b)) = resume(&self.a.stretches(NEAR), &self.b.stretches(NEAR))
            {
                let (deleted, inserted) = (self.a.gap_at(skip_a), self.b.gap_at(skip_b));
                if (skip_a, skip_b) == (1, 1) {
                    // One stretch instead of the other, to be compared.
                    return self.skip(0, 0);
                }
                (self.a.gap_passed, self.b.gap_passed) = (true, true);
                self.hunk(&Hunk { a: 0, b: 0, deleted, inserted })?;
                (self.a.gap_passed, self.b.gap_passed) = (false, false);
                return Ok(());
            }
            if last && gap_a && a_closed {
                // This stretch is nowhere: the next gap begins another.
                (self.a.gap_passed, self.b.gap_passed) = (true, gap_b);
                return self.hunk(&Hunk { a: 0, b: 0, deleted: n, inserted: 0 });
            }
            if last && gap_b && b_closed {
                (self.a.gap_passed, self.b.gap_passed) = (gap_a, true);
                return self.hunk(&Hunk { a: 0, b: 0, deleted: 0, inserted: m });
            }
            if last {
                return self.unaligned();
            }
            size *= GROWTH;
        }
    }

    /// Passes instructions that the other side has lost.
    fn skip(&mut self, a: usize, b: usize) -> Result<()> {
        for _ in 0..a {
            self.take(0)?;
        }
        for _ in 0..b {
            self.take(1)?;
        }
        self.tally.in_gaps[0] += a as u64;
        self.tally.in_gaps[1] += b as u64;
        (self.a.gap_passed, self.b.gap_passed) = (true, true);
        Ok(())
    }

    /// No alignment: the rest is only counted.
    pub(super) fn unaligned(&mut self) -> Result<()> {
        let place = self.place();
        let mut stretches = [Stretch::default(); 2];
        let firsts = [self.a.peek(), self.b.peek()];
        let excerpts = firsts[0].zip(firsts[1]).and_then(|(a, b)| self.excerpts(a, b));
        for (n, first) in firsts.into_iter().enumerate() {
            let side = if n == 0 { &self.a } else { &self.b };
            let pc = first.and_then(|cell| side.step(cell).1.pc);
            let from = first.map_or(side.number, |cell| cell.number);
            stretches[n] = Stretch { from, to: self.count_rest(n, from)?.0, pc };
        }
        self.tally.unaligned =
            Some((place, stretches[0].to - stretches[0].from, stretches[1].to - stretches[1].from));
        self.report(stretches, Vec::new(), excerpts, [0; 2]);
        self.last()
    }

    /// Reads a side to its end; returns the number after its last instruction, and whether all were only attempted.
    fn count_rest(&mut self, n: usize, from: u64) -> Result<(u64, bool)> {
        let (mut to, mut attempted) = (from, true);
        while let Some(cell) = self.take(n)? {
            to = cell.number + 1;
            let side = if n == 0 { &self.a } else { &self.b };
            attempted &= side.step(cell).1.outcome == Outcome::Attempted;
            if n == 0 {
                self.a.tidy()
            } else {
                self.b.tidy()
            }
            if to.is_multiple_of(1 << 16) {
                (self.progress)(&*self.a.source, &*self.b.source);
            }
        }
        Ok((to, attempted))
    }

    /// Only one side has more.
    pub(super) fn tail(&mut self) -> Result<()> {
        let n = usize::from(self.a.window.weak.is_empty());
        let (more, done) = if n == 0 { (&self.a, &self.b) } else { (&self.b, &self.a) };
        let lost = done.loses_after(0) || done.error.is_some();
        let first = more.peek();
        let pc = first.and_then(|cell| more.step(cell).1.pc);
        let from = first.map_or(more.number, |cell| cell.number);
        let end = done.number;
        // The ended side is shown by its last instructions.
        let excerpts = first.and_then(|cell| {
            let last = Cell { batch: done.batch, event: done.event, number: done.number };
            let (a, b) = if n == 0 { (cell, last) } else { (last, cell) };
            self.excerpts(a, b)
        });
        let place = self.place();
        let (to, attempted) = self.count_rest(n, from)?;
        if lost {
            self.tally.in_gaps[n] += to - from;
        } else {
            let mut stretches = [Stretch { from: end, to: end, pc: None }; 2];
            stretches[n] = Stretch { from, to, pc };
            // A trap after the last instruction belongs to this stretch.
            self.strays.hunk(place.pairs);
            self.feed(n, place);
            let mut one_sided = [0; 2];
            if attempted && !self.comparison.strict {
                one_sided[n] = bit(Fact::Attempted);
            }
            self.report(stretches, Vec::new(), excerpts, one_sided);
        }
        self.last()
    }
}
