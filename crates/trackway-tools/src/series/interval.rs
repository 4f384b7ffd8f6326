//! One interval, and how two that follow each other are put together.

use super::KINDS;

/// Counts of consecutive instructions of one source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Number of its first instruction.
    pub from: u64,
    /// Instructions, attempted ones included.
    pub instructions: u64,
    /// Instructions that did not retire.
    pub attempted: u64,
    /// Instructions by [kind](super::kind_name).
    pub kinds: [u64; KINDS],
    /// Conditional branches: taken, not taken, unknown.
    pub branches: [u64; 3],
    /// Read accesses.
    pub loads: u64,
    /// Write accesses.
    pub stores: u64,
    /// Read-modify-writes.
    pub atomics: u64,
    /// Traps, without returns from them.
    pub traps: u64,
    /// Gaps of the trace in it or right after it.
    pub gaps: u64,
    /// Time stamps.
    pub times: Option<Times>,
    /// Cycles counted in it.
    pub cycles: Option<u64>,
    /// Number of the instruction after which cycles were counted last.
    pub counted: u64,
    /// Distinct lines and pages.
    pub(super) lines: Touched,
    pub(super) pages: Touched,
}

/// The first and the last time stamp of an interval, each with the number of the next instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// The first.
    pub first: (u64, u64),
    /// The last.
    pub last: (u64, u64),
}

impl Interval {
    pub(super) fn new(from: u64) -> Self {
        Interval {
            from,
            instructions: 0,
            attempted: 0,
            kinds: [0; KINDS],
            branches: [0; 3],
            loads: 0,
            stores: 0,
            atomics: 0,
            traps: 0,
            gaps: 0,
            times: None,
            cycles: None,
            counted: from,
            lines: Touched::default(),
            pages: Touched::default(),
        }
    }

    /// Distinct lines of [`LINE`](crate::stats::LINE) bytes touched in it.
    pub fn lines(&self) -> u64 {
        self.lines.distinct()
    }

    /// Distinct pages of [`PAGE`](crate::stats::PAGE) bytes touched in it.
    pub fn pages(&self) -> u64 {
        self.pages.distinct()
    }

    /// Lines that nothing before it touched.
    pub fn new_lines(&self) -> u64 {
        self.lines.first
    }

    /// Adds the one that follows; both together are one interval of twice the width.
    pub(super) fn join(&mut self, later: &Interval) {
        self.instructions += later.instructions;
        self.attempted += later.attempted;
        self.kinds.iter_mut().zip(later.kinds).for_each(|(to, from)| *to += from);
        self.branches.iter_mut().zip(later.branches).for_each(|(to, from)| *to += from);
        self.loads += later.loads;
        self.stores += later.stores;
        self.atomics += later.atomics;
        self.traps += later.traps;
        self.gaps += later.gaps;
        self.times = match (self.times, later.times) {
            (Some(before), Some(after)) => Some(Times { last: after.last, ..before }),
            (before, after) => before.or(after),
        };
        if let Some(cycles) = later.cycles {
            self.cycles = Some(self.cycles.unwrap_or(0).saturating_add(cycles));
            self.counted = later.counted;
        }
        self.lines.join(&later.lines);
        self.pages.join(&later.pages);
    }
}

/// First touches of lines or pages in an interval, by how far back the touch before was: so that distinct ones are known
/// for intervals of twice, four times, ... the width as well.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Touched {
    /// Never touched before.
    first: u64,
    /// Touched before, last in an interval whose number first differs in this bit: joined with its neighbours so often
    /// that the bit is gone, both touches are in one interval.
    again: Vec<u64>,
}

impl Touched {
    /// A touch in interval `now`; the one before was in interval `before`.
    #[inline]
    pub(super) fn touch(&mut self, before: Option<u64>, now: u64) {
        let Some(before) = before else {
            self.first += 1;
            return;
        };
        let Some(bit) = (before ^ now).checked_ilog2() else { return };
        let bit = bit as usize;
        if bit >= self.again.len() {
            self.again.resize(bit + 1, 0);
        }
        self.again[bit] += 1;
    }

    fn distinct(&self) -> u64 {
        self.first + self.again.iter().sum::<u64>()
    }

    fn join(&mut self, later: &Touched) {
        self.first += later.first;
        let bits = self.again.len().max(later.again.len());
        let at = |list: &[u64], bit: usize| list.get(bit).copied().unwrap_or(0);
        self.again = (1..bits).map(|bit| at(&self.again, bit) + at(&later.again, bit)).collect();
    }
}
