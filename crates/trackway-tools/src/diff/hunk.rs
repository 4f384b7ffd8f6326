//! The result of an alignment.

/// Cost of a hunk, beside its keys. As it is even, a cost reaches every other diagonal only.
pub(super) const HUNK: usize = 2;

/// A stretch without a counterpart: `deleted` keys of `x` from `x[a]` on, `inserted` keys of `y` from `y[b]` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hunk {
    pub(super) a: usize,
    pub(super) b: usize,
    pub(super) deleted: usize,
    pub(super) inserted: usize,
}

impl Hunk {
    pub(super) fn edits(&self) -> usize {
        self.deleted.max(self.inserted)
    }

    pub(super) fn cost(&self) -> usize {
        self.deleted + self.inserted + HUNK
    }

    pub(super) fn is_square(&self) -> bool {
        self.deleted == self.inserted
    }
}

/// An alignment up to `end`; everything outside its hunks is paired.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Alignment {
    pub(super) hunks: Vec<Hunk>,
    pub(super) end: (usize, usize),
    /// Place in `x` up to which no other explanation is as good, whatever follows.
    pub(super) settled: usize,
}

impl Alignment {
    pub(super) fn new(hunks: Vec<Hunk>, end: (usize, usize)) -> Self {
        Alignment { hunks, end, settled: end.0 }
    }

    pub(super) fn edits(&self) -> usize {
        self.hunks.iter().map(Hunk::edits).sum()
    }

    pub(super) fn cost(&self) -> usize {
        self.hunks.iter().map(Hunk::cost).sum()
    }

    /// Another explanation may turn out to be the better one: what both share is settled.
    pub(super) fn settle(&mut self, rival: &[Hunk]) {
        let shared = self.hunks.iter().zip(rival).take_while(|(one, other)| one == other).count();
        let next = [self.hunks.get(shared), rival.get(shared)].into_iter().flatten().map(|hunk| hunk.a).min();
        self.settled = self.settled.min(next.unwrap_or(usize::MAX));
    }

    /// The part that is settled, if there is a hunk in it or none at all. Hunks less than `apart` from each other are
    /// kept together.
    pub(super) fn settled(&self, apart: usize) -> Option<Alignment> {
        let mut kept = self.hunks.iter().take_while(|hunk| hunk.a + hunk.deleted < self.settled).count();
        let follows = |kept: usize| {
            let (last, next) =
                (kept.checked_sub(1).and_then(|last| self.hunks.get(last)), self.hunks.get(kept));
            last.zip(next).is_some_and(|(last, next)| next.a - (last.a + last.deleted) < apart)
        };
        while follows(kept) {
            kept -= 1;
        }
        (kept > 0 || self.hunks.is_empty()).then(|| self.cut(kept, self.settled))
    }

    /// The first hunk, and those that begin up to `half`.
    pub(super) fn half(&self, half: usize) -> Alignment {
        let kept = self.hunks.iter().take_while(|hunk| hunk.a.max(hunk.b) <= half).count();
        self.cut(kept.max(1).min(self.hunks.len()), half + 1)
    }

    /// Without instructions at the end that the other side has lost.
    pub(super) fn before_loss(mut self, lost: [bool; 2]) -> Alignment {
        let is_lost = |hunk: &mut Hunk| {
            (hunk.a + hunk.deleted, hunk.b + hunk.inserted) == self.end
                && (hunk.deleted == 0 && lost[0] || hunk.inserted == 0 && lost[1])
        };
        if let Some(hunk) = self.hunks.pop_if(is_lost) {
            self.end = (hunk.a, hunk.b);
        }
        self
    }

    /// The first `kept` hunks, and keys that agree up to about `to`.
    fn cut(&self, kept: usize, to: usize) -> Alignment {
        let (hunks, rest) = self.hunks.split_at(kept);
        let (a, b) = hunks.last().map_or((0, 0), |hunk| (hunk.a + hunk.deleted, hunk.b + hunk.inserted));
        let run = to.min(rest.first().map_or(self.end.0, |hunk| hunk.a)).saturating_sub(a);
        Alignment::new(hunks.to_vec(), (a + run, b + run))
    }
}
