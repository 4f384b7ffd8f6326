//! Stretches that differ: their alignment, and what each side has in them.

use trackway_core::{Fact, Outcome, Result};

use super::super::compare::is_conditional_store;
use super::super::explain::{FIRST, GROWTH, Keys, SETTLED};
use super::super::hunk::{Alignment, Hunk};
use super::super::options::Group;
use super::super::report::{Difference, Field, Kind, OneSided, Stretch};
use super::super::side::{Excerpt, MOST, Side, bit};
use super::Differ;

impl Differ<'_, '_> {
    /// Collects more and more of both sides until an alignment explains the difference.
    pub(super) fn resolve(&mut self) -> Result<()> {
        let data = self.data();
        let mut size = FIRST;
        let mut unsettled = None;
        self.a.restart();
        self.b.restart();
        loop {
            self.a.collect(size, data)?;
            self.b.collect(size, data)?;
            let ((n, a_closed), (m, b_closed)) = (self.a.stretch(size), self.b.stretch(size));
            let closed = a_closed && b_closed;
            // A short stretch before a gap is not worth a long search.
            let stuck = |side: &Side<'_>, length: usize| {
                side.window.full || length < 64 && length < side.window.weak.len().min(size)
            };
            let last = closed || size >= MOST || stuck(&self.a, n) || stuck(&self.b, m);
            let (a, b) = (&self.a.window, &self.b.window);
            let keys = Keys {
                weak: [&a.weak[..n], &b.weak[..m]],
                strong: [&a.strong[..n], &b.strong[..m]],
                data: data.any(),
            };
            let found = keys.align(closed, last, &mut self.patience, size);
            // Near the end of a collection another explanation may be as good: a larger one decides, if it can.
            match found {
                Some(found) if closed && (found.settled == found.end.0 || unsettled.is_none()) => {
                    let lost = [self.a.loses_after(n), self.b.loses_after(m)];
                    return self.commit(&found.before_loss(lost));
                }
                Some(found) if !closed => match found.settled(self.options.order()) {
                    Some(settled) => return self.commit(&settled),
                    None if last || size >= SETTLED => return self.commit(&found.half(size / 2)),
                    None => unsettled = Some(found.half(size / 2)),
                },
                _ => match unsettled {
                    Some(found) => return self.commit(&found),
                    None if last => return self.unaligned(),
                    None => {}
                },
            }
            size *= GROWTH;
        }
    }

    /// Passes what an alignment explains.
    fn commit(&mut self, alignment: &Alignment) -> Result<()> {
        let (mut a, mut b) = (0, 0);
        let mut hunks = &alignment.hunks[..];
        while let Some(hunk) = hunks.first() {
            self.pairs_up_to(&mut a, &mut b, hunk.a)?;
            let tolerated = self.reordered(hunks);
            if tolerated > 0 {
                let last = &hunks[tolerated - 1];
                let (to_a, to_b) = (last.a + last.deleted, last.b + last.inserted);
                for _ in a..to_a {
                    self.take(0)?;
                }
                for _ in b..to_b {
                    self.take(1)?;
                }
                self.pairs += (to_a - a) as u64;
                self.tally.tolerated += 1;
                (a, b) = (to_a, to_b);
                hunks = &hunks[tolerated..];
                continue;
            }
            if hunk.deleted == hunk.inserted && self.is_replaced(hunk) {
                self.pairs_up_to(&mut a, &mut b, hunk.a + hunk.deleted)?;
            } else {
                self.hunk(hunk)?;
                (a, b) = (hunk.a + hunk.deleted, hunk.b + hunk.inserted);
            }
            hunks = &hunks[1..];
        }
        // In a matching stretch there is nothing to lose.
        self.pairs_up_to(&mut a, &mut b, alignment.end.0)
    }

    /// Each instruction of a hunk has another one in its place, so that they are pairs.
    fn is_replaced(&self, hunk: &Hunk) -> bool {
        let ours = &self.a.window.strong[hunk.a..hunk.a + hunk.deleted];
        let theirs = &self.b.window.strong[hunk.b..hunk.b + hunk.inserted];
        ours.iter().zip(theirs).all(|(one, other)| one != other)
    }

    fn pairs_up_to(&mut self, a: &mut usize, b: &mut usize, to: usize) -> Result<()> {
        while *a < to && self.pair()? {
            (*a, *b) = (*a + 1, *b + 1);
        }
        Ok(())
    }

    /// Hunks, beginning with the first, that only put the same instructions into another order.
    fn reordered(&self, hunks: &[Hunk]) -> usize {
        let window = self.options.order();
        let Some(first) = hunks.first().filter(|_| window > 0) else { return 0 };
        for (n, hunk) in hunks.iter().enumerate() {
            let (to_a, to_b) = (hunk.a + hunk.deleted, hunk.b + hunk.inserted);
            if (to_a - first.a).max(to_b - first.b) > window {
                break;
            }
            if to_a - first.a == to_b - first.b {
                let mut ours = self.a.window.weak[first.a..to_a].to_vec();
                let mut theirs = self.b.window.weak[first.b..to_b].to_vec();
                ours.sort_unstable();
                theirs.sort_unstable();
                // Data that differ are not another order.
                let moved = self.a.window.weak[first.a..to_a] != self.b.window.weak[first.b..to_b];
                if ours == theirs && moved {
                    return n + 1;
                }
            }
        }
        0
    }

    /// Passes instructions that have no partner.
    pub(super) fn hunk(&mut self, hunk: &Hunk) -> Result<()> {
        let tolerated = self.options.sc_failure() && self.is_retry(hunk);
        let place = self.place();
        self.strays.hunk(place.pairs);
        let mut stretches = [Stretch::default(); 2];
        let mut firsts = [None; 2];
        let mut attempted = true;
        for (n, count) in [hunk.deleted, hunk.inserted].into_iter().enumerate() {
            let side = if n == 0 { &self.a } else { &self.b };
            let next = side.peek();
            let from = next.map_or(side.number, |cell| cell.number);
            let pc = next.and_then(|cell| side.step(cell).1.pc);
            firsts[n] = next;
            stretches[n] = Stretch { from, to: from, pc };
            for index in 0..count {
                let Some(cell) = self.take(n)? else { break };
                if index == 0 {
                    self.feed(n, place);
                }
                let side = if n == 0 { &self.a } else { &self.b };
                attempted &= side.step(cell).1.outcome == Outcome::Attempted;
                stretches[n].to = cell.number + 1;
            }
        }
        if tolerated {
            self.tally.tolerated += 1;
            return Ok(());
        }
        let excerpts = firsts[0].zip(firsts[1]).and_then(|(a, b)| self.excerpts(a, b));
        // Instructions that were only attempted are not in every format.
        let mut one_sided = [0; 2];
        if attempted && !self.comparison.strict && hunk.deleted.min(hunk.inserted) == 0 {
            one_sided[usize::from(hunk.deleted == 0)] = bit(Fact::Attempted);
        }
        let mut fields = Vec::new();
        // A branch that went another way begins such a stretch.
        if let [Some(a), Some(b)] = firsts
            && hunk.deleted > 0
            && hunk.inserted > 0
            && stretches[0].pc == stretches[1].pc
        {
            self.comparison.compare(self.a.step(a), self.b.step(b));
            fields = std::mem::take(&mut self.comparison.found.fields);
        }
        self.report(stretches, fields, excerpts, one_sided);
        Ok(())
    }

    pub(super) fn report(
        &mut self,
        [a, b]: [Stretch; 2],
        fields: Vec<Field>,
        excerpts: Option<[Excerpt; 2]>,
        one_sided: OneSided,
    ) {
        if !self.options.has(Group::Pcs) {
            self.tally.unpaired += (a.to - a.from) + (b.to - b.from);
            return;
        }
        let kind = match (a.to > a.from, b.to > b.from) {
            (true, true) => Kind::Changed,
            (true, false) => Kind::Deleted,
            (false, true) => Kind::Inserted,
            (false, false) => return,
        };
        self.collector.push(Difference { kind, a, b, fields, excerpts }, one_sided);
    }

    /// `sc-failure`: one side goes round the loop of a store-conditional once more.
    fn is_retry(&self, hunk: &Hunk) -> bool {
        let (side, from, count) = match (hunk.deleted, hunk.inserted) {
            (0, count) => (&self.b, hunk.b, count),
            (count, 0) => (&self.a, hunk.a, count),
            _ => return false,
        };
        let is_store =
            |index: &usize| is_conditional_store(self.comparison.isa, side.step(side.ahead(*index)).1);
        let Some(index) = (from..from + count).find(is_store) else { return false };
        let keys = &side.window.weak;
        let around = keys[from.saturating_sub(64)..from]
            .iter()
            .chain(&keys[from + count..keys.len().min(from + count + 64)]);
        around.into_iter().any(|key| *key == keys[index]) || self.comparison.conditional.is_some()
    }
}
