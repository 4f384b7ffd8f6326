//! The result of an alignment.

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

    pub(super) fn is_square(&self) -> bool {
        self.deleted == self.inserted
    }
}

/// An alignment up to `end`; everything outside its hunks is paired.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Alignment {
    pub(super) hunks: Vec<Hunk>,
    pub(super) end: (usize, usize),
}

impl Alignment {
    pub(super) fn edits(&self) -> usize {
        self.hunks.iter().map(Hunk::edits).sum()
    }
}
