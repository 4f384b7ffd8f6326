//! Lines of memory that long accesses touch: copies, vectors, cleared blocks.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Bytes of a line, for footprints.
pub const LINE: u64 = 64;
/// Bytes of a page, for footprints.
pub const PAGE: u64 = 4096;

/// Lines of a page: the bits of a word.
pub(super) const LINES: u64 = PAGE / LINE;
const _: () = assert!(LINES == 64);

/// Ranges of line numbers that neither overlap nor touch: start and end of each. An access adds at most one, however
/// long it is.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Vec<(u64, u64)>", into = "Vec<(u64, u64)>")]
pub(super) struct LineRanges(BTreeMap<u64, u64>);

impl From<Vec<(u64, u64)>> for LineRanges {
    fn from(list: Vec<(u64, u64)>) -> Self {
        let mut ranges = LineRanges::default();
        list.into_iter().filter(|(start, end)| start < end).for_each(|(start, end)| ranges.add(start, end));
        ranges
    }
}

impl From<LineRanges> for Vec<(u64, u64)> {
    fn from(ranges: LineRanges) -> Self {
        ranges.0.into_iter().collect()
    }
}

impl LineRanges {
    /// Lines from `start` up to `end` are touched.
    pub(super) fn add(&mut self, mut start: u64, mut end: u64) {
        // The last one that begins before the end reaches furthest: if that does not meet it, none does.
        while let Some((&first, &after)) =
            self.0.range(..=end).next_back().filter(|(_, after)| **after >= start)
        {
            self.0.remove(&first);
            (start, end) = (start.min(first), end.max(after));
        }
        self.0.insert(start, end);
    }

    pub(super) fn merge(&mut self, other: LineRanges) {
        other.0.into_iter().for_each(|(start, end)| self.add(start, end));
    }

    /// Number of lines.
    pub(super) fn lines(&self) -> u64 {
        self.0.iter().map(|(start, end)| end - start).sum()
    }

    /// Number of pages with at least one line.
    pub(super) fn pages(&self) -> u64 {
        let (mut pages, mut after) = (0, 0);
        for (start, end) in &self.0 {
            let first = (start / LINES).max(after);
            after = end.div_ceil(LINES);
            pages += after.saturating_sub(first);
        }
        pages
    }

    /// The lines of a page that are in them, as bits.
    pub(super) fn of_page(&self, page: u64) -> u64 {
        let (from, to) = (page * LINES, (page + 1) * LINES);
        let ranges = self.0.range(..to).rev().take_while(|(_, end)| **end > from);
        let bits = ranges.map(|(start, end)| {
            let (low, high) = (start.saturating_sub(from), (end.min(&to) - from));
            u64::MAX >> (LINES - (high - low)) << low
        });
        bits.fold(0, |all, bits| all | bits)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn they_hold_what_a_set_of_lines_holds(
            list in prop::collection::vec((0u64..600, 1u64..200), 0..20), cut in 0usize..20
        ) {
            let (mut whole, mut set) = (LineRanges::default(), BTreeSet::new());
            let mut later = LineRanges::default();
            for (n, (start, len)) in list.into_iter().enumerate() {
                if n < cut { whole.add(start, start + len) } else { later.add(start, start + len) }
                set.extend(start..start + len);
            }
            whole.merge(later);
            prop_assert_eq!(whole.lines(), set.len() as u64);
            let pages: BTreeSet<u64> = set.iter().map(|line| line / LINES).collect();
            prop_assert_eq!(whole.pages(), pages.len() as u64);
            for page in 0..14 {
                let bits = (0..LINES).filter(|line| set.contains(&(page * LINES + line)));
                prop_assert_eq!(whole.of_page(page), bits.fold(0, |all, line| all | 1 << line));
            }
        }
    }
}
