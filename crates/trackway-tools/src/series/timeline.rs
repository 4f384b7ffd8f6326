//! The intervals of one source.

use trackway_core::{Exit, MemAccess, MemKind, Run, Time, TimeKind, Trap, TrapKind};

use super::density::Density;
use super::interval::{Interval, Times};
use super::{IN_RUNS, Kind, Width};
use crate::stats::{LINE, PAGE};
use crate::table::Table;

/// Instructions of an interval at first, where the width is chosen.
const NARROWEST: u64 = 64;
/// Intervals at most, where the width is chosen: then they are put together in pairs.
const MOST: usize = 256;
/// Intervals at most, where the width is given.
pub const MOST_FIXED: usize = 100_000;
/// Bytes of an access that are counted: longer ones touch more lines than working sets say.
pub const LONGEST_ACCESS: u64 = PAGE;

/// A source over time.
#[derive(Debug)]
pub struct Timeline {
    /// Instructions of each interval but the last.
    pub width: u64,
    /// The intervals.
    pub intervals: Vec<Interval>,
    /// Where instructions were executed; empty for a given width.
    pub pcs: Density,
    /// Where memory was accessed; empty for a given width.
    pub data: Density,
    /// Memory accesses.
    pub accesses: u64,
    /// Accesses that are longer than [`LONGEST_ACCESS`].
    pub long_accesses: u64,
    /// There would have been more intervals than [`MOST_FIXED`]: the last one has all the rest.
    pub is_cut: bool,
    is_fixed: bool,
    next: u64,
    start: u64,
    /// Number of the first instruction that is not in the last interval.
    end: u64,
    /// When each line and page was touched last: the number of the instruction plus 1.
    lines: Table<u64>,
    pages: Table<u64>,
    branches: Table<[u64; 3]>,
}

impl Timeline {
    pub(super) fn new(start: u64, width: Width) -> Self {
        let (width, is_fixed) = match width {
            Width::Fixed(width) => (width.max(1), true),
            Width::Fitting => (NARROWEST, false),
        };
        Timeline {
            width,
            intervals: Vec::new(),
            pcs: Density::new(4),
            data: Density::new(6),
            accesses: 0,
            long_accesses: 0,
            is_cut: false,
            is_fixed,
            next: start,
            start,
            end: start,
            lines: Table::default(),
            pages: Table::default(),
            branches: Table::default(),
        }
    }

    /// Outcomes of each conditional branch whose code is known, by address: taken, not taken, unknown.
    pub fn branches(&self) -> &[(u64, [u64; 3])] {
        &self.branches.entries
    }

    /// Number of the first instruction.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Instructions, attempted ones included.
    pub fn instructions(&self) -> u64 {
        self.next - self.start
    }

    /// Instructions per cycle counted, for each interval; `None` where no cycles are counted.
    pub fn per_cycle(&self) -> Vec<Option<f64>> {
        let mut before = (self.start, 0u64);
        self.rates(Some(before), |interval| {
            before = (interval.counted, before.1.saturating_add(interval.cycles?));
            Some((before, before))
        })
    }

    /// Instructions per tick of the clock that stamps have, for each interval; `None` where there are no stamps.
    pub fn per_tick(&self) -> Vec<Option<f64>> {
        self.rates(None, |interval| interval.times.map(|times| (times.first, times.last)))
    }

    /// Instructions per unit between the marks of intervals: the number of an instruction, and the units up to there.
    /// An interval without a mark has the rate between the marks around it.
    fn rates(
        &self,
        mut before: Option<(u64, u64)>,
        mut marks: impl FnMut(&Interval) -> Option<((u64, u64), (u64, u64))>,
    ) -> Vec<Option<f64>> {
        let mut rates = vec![None; self.intervals.len()];
        let mut known = 0;
        for (n, interval) in self.intervals.iter().enumerate() {
            if let Some((first, last)) = marks(interval) {
                let (from, to) = (before.unwrap_or(first), last);
                let units = to.1.checked_sub(from.1).filter(|units| *units > 0);
                let rate = units.map(|units| to.0.saturating_sub(from.0) as f64 / units as f64);
                let begin = if before.is_some() { known } else { n };
                rates[begin..=n].fill(rate);
                (before, known) = (Some(last), n + 1);
            }
            if interval.gaps > 0 {
                // Time passes in a gap, and instructions are executed.
                (before, known) = (None, n + 1);
            }
        }
        rates
    }

    /// The interval that the last instruction is in.
    fn now(&mut self) -> &mut Interval {
        if self.intervals.is_empty() {
            self.intervals.push(Interval::new(self.start));
            self.end = self.start.saturating_add(self.width);
        }
        let last = self.intervals.len() - 1;
        &mut self.intervals[last]
    }

    /// The interval of the next instruction.
    #[inline]
    fn next(&mut self) -> &mut Interval {
        if self.next == self.end && !self.is_cut {
            self.open();
        }
        self.next += 1;
        self.now()
    }

    #[cold]
    fn open(&mut self) {
        if !self.is_fixed && !self.intervals.is_empty() {
            self.pcs.close();
            self.data.close();
        }
        if self.is_fixed && self.intervals.len() == MOST_FIXED {
            self.is_cut = true;
            return;
        }
        if !self.is_fixed && self.intervals.len() == MOST {
            let pairs = self.intervals.chunks_exact(2).map(|pair| {
                let mut both = pair[0].clone();
                both.join(&pair[1]);
                both
            });
            self.intervals = pairs.collect();
            self.pcs.halve();
            self.data.halve();
            self.width *= 2;
        }
        self.intervals.push(Interval::new(self.next));
        self.end = self.next.saturating_add(self.width);
    }

    #[inline]
    pub(super) fn instruction(
        &mut self,
        pc: Option<u64>,
        kind: Kind,
        taken: Option<bool>,
        is_attempted: bool,
    ) {
        let interval = self.next();
        interval.instructions += 1;
        interval.attempted += u64::from(is_attempted);
        interval.kinds[usize::from(kind.class)] += 1;
        if kind.is_conditional {
            let outcome = outcome(taken);
            interval.branches[outcome] += 1;
            if let Some(pc) = pc {
                self.branches.at(pc)[outcome] += 1;
            }
        }
        if let (Some(pc), false) = (pc, self.is_fixed) {
            self.pcs.add(pc, 1);
        }
    }

    /// A run of unknown code: its instructions are in the intervals that it crosses.
    pub(super) fn unknown_code(&mut self, pc: u64, count: u32, run: &Run, taken: Option<bool>) {
        let mut left = u64::from(count);
        while left > 0 {
            self.next();
            let room = if self.is_cut { left } else { (self.end - self.next + 1).min(left) };
            self.next += room - 1;
            let interval = self.now();
            interval.instructions += room;
            interval.kinds[usize::from(IN_RUNS)] += room;
            if !self.is_fixed {
                self.pcs.add(pc, room);
            }
            left -= room;
        }
        let interval = self.now();
        interval.attempted += u64::from(run.attempted);
        if run.exit == Exit::Branch {
            interval.branches[outcome(taken)] += 1;
        }
    }

    pub(super) fn accesses(&mut self, accesses: &[MemAccess]) {
        for access in accesses {
            self.accesses += 1;
            let interval = self.now();
            match access.kind {
                MemKind::Read => interval.loads += 1,
                MemKind::Write => interval.stores += 1,
                MemKind::ReadWrite => interval.atomics += 1,
                _ => {}
            }
            // TLB-maintenance ranges and empty ranges touch no memory.
            let is_nothing = access.range && (access.size == 0 || access.kind == MemKind::Maintenance);
            if access.unplaced || is_nothing {
                continue;
            }
            self.touch(access);
        }
    }

    fn touch(&mut self, access: &MemAccess) {
        if !self.is_fixed {
            self.data.add(access.address, 1);
        }
        self.long_accesses += u64::from(access.size > LONGEST_ACCESS);
        let size = access.size.clamp(1, LONGEST_ACCESS);
        let last = access.address.saturating_add(size - 1);
        let at = self.next.saturating_sub(self.start).max(1);
        let width = self.width;
        let number = |at: u64| (at - 1) / width;
        let now = if self.is_cut { MOST_FIXED as u64 - 1 } else { number(at) };
        let interval = self.intervals.len() - 1;
        for line in access.address / LINE..=last / LINE {
            let before = std::mem::replace(self.lines.at(line), at);
            let before = (before > 0).then(|| number(before).min(now));
            self.intervals[interval].lines.touch(before, now);
        }
        for page in access.address / PAGE..=last / PAGE {
            let before = std::mem::replace(self.pages.at(page), at);
            let before = (before > 0).then(|| number(before).min(now));
            self.intervals[interval].pages.touch(before, now);
        }
    }

    pub(super) fn trap(&mut self, trap: &Trap) {
        let is_return = trap.kind == TrapKind::Return;
        self.now().traps += u64::from(!is_return);
    }

    pub(super) fn gap(&mut self) {
        self.now().gaps += 1;
    }

    pub(super) fn time(&mut self, time: &Time) {
        let next = self.next;
        let interval = self.now();
        match (time.kind, time.value) {
            (TimeKind::Timestamp, Some(value)) => {
                let now = (next, value);
                interval.times =
                    Some(Times { first: interval.times.map_or(now, |times| times.first), last: now });
            }
            (TimeKind::Cycles, Some(value)) => {
                interval.cycles = Some(interval.cycles.unwrap_or(0).saturating_add(value));
                interval.counted = next;
            }
            _ => {}
        }
    }

    /// The end of the trace.
    pub(super) fn end(&mut self) {
        if !self.is_fixed && !self.intervals.is_empty() {
            self.pcs.close();
            self.data.close();
        }
    }
}

fn outcome(taken: Option<bool>) -> usize {
    match taken {
        Some(true) => 0,
        Some(false) => 1,
        None => 2,
    }
}
