//! The walk through both traces.
//!
//! Equal stretches are passed event by event. At a difference, instructions of both sides are collected and aligned; the
//! collection grows until an alignment explains it with few edits. Half of it is then passed, and the walk continues.

use trackway_core::{EventKind, Fact, Isa, Outcome, Result, Source};

use super::between::{Place, Sorted, Strays};
use super::compare::{Comparison, Lacks, is_conditional_store};
use super::explain::{FIRST, GROWTH, Keys, Patience, continuation};
use super::hunk::{Alignment, Hunk};
use super::keys::Data;
use super::options::{Group, Options};
use super::report::{Collector, Difference, Field, Kind, Report, Stretch};
use super::side::{Between, Cell, Excerpt, MOST, Side, bit};
use super::tally::{Passed, Tally};

/// Instructions after a gap that are searched for on the other side.
const SURE: usize = 2048;
/// Instructions of a difference that are shown.
const SHOWN: usize = 5;

/// Called now and then, with both sources.
pub type Progress<'p> = dyn FnMut(&dyn Source, &dyn Source) + 'p;

/// Compares two traces of one source each.
///
/// # Errors
/// Only if it was cancelled; errors that end a trace are in the report.
pub fn diff(
    a: &mut dyn Source,
    b: &mut dyn Source,
    options: &Options,
    progress: &mut Progress<'_>,
) -> Result<Report> {
    let strict = a.meta().format == b.meta().format;
    let isa = Some(a.meta().isa).filter(|&isa| isa != Isa::Other).unwrap_or(b.meta().isa);
    let mut differ = Differ {
        comparison: Comparison::new(options, strict, isa),
        options,
        a: Side::new(a),
        b: Side::new(b),
        pairs: 0,
        strays: Strays::new(strict, isa),
        collector: Collector::new(options.limit),
        tally: Tally::default(),
        patience: Patience::default(),
        between: Default::default(),
        sorted: Default::default(),
        progress,
    };
    differ.walk()?;
    Ok(differ.finish())
}

struct Differ<'d, 'p> {
    options: &'d Options,
    comparison: Comparison<'d>,
    a: Side<'d>,
    b: Side<'d>,
    /// Instructions that both have.
    pairs: u64,
    strays: Strays,
    collector: Collector,
    tally: Tally,
    patience: Patience,
    /// Events before the current instruction of each side, used again.
    between: [Between; 2],
    sorted: [Sorted; 2],
    progress: &'d mut Progress<'p>,
}

impl Differ<'_, '_> {
    fn walk(&mut self) -> Result<()> {
        loop {
            self.same()?;
            self.a.tidy();
            self.b.tidy();
            self.collect(1)?;
            match (self.a.window.weak.first(), self.b.window.weak.first()) {
                (None, None) => return self.last(),
                (None, _) | (_, None) => return self.tail(),
                _ if self.a.at_gap() || self.b.at_gap() => self.gap()?,
                (Some(one), Some(other)) if one == other => {
                    let (a, b) = (self.a.ahead(0), self.b.ahead(0));
                    self.comparison.compare(self.a.step(a), self.b.step(b));
                    if self.comparison.found.definite && self.data().any() {
                        self.resolve()?;
                    } else {
                        self.pair()?;
                    }
                }
                _ => self.resolve()?,
            }
        }
    }

    fn data(&self) -> Data {
        let both = self.a.seen & self.b.seen;
        Data {
            registers: both & bit(Fact::RegisterWrites) != 0 && self.options.has(Group::Regs),
            memory: both & bit(Fact::MemoryAccesses) != 0 && self.options.has(Group::Mem),
            outcomes: both & bit(Fact::Outcomes) != 0,
        }
    }

    /// Looks at up to `size` instructions ahead on both sides.
    fn collect(&mut self, size: usize) -> Result<()> {
        self.a.restart();
        self.b.restart();
        self.a.collect(size, self.data())?;
        self.b.collect(size, self.data())
    }

    /// Passes instructions that are alike, batch by batch.
    fn same(&mut self) -> Result<()> {
        while self.a.ready()? && self.b.ready()? {
            let (a, b) = (&self.a, &self.b);
            let (ours, theirs) = (&a.batches[a.batch], &b.batches[b.batch]);
            let mut passed = Passed::default();
            let mut attempted = false;
            let lacks = self.lacks();
            let (ahead, others) = (&ours.events[a.event..], &theirs.events[b.event..]);
            let both = ahead.len().min(others.len());
            for (one, other) in ahead.iter().zip(others) {
                let (EventKind::Step(one), EventKind::Step(other)) = (&one.kind, &other.kind) else { break };
                if self.comparison.is_same((ours, one), (theirs, other)) {
                    passed.memory += u64::from(one.accesses.mem_len);
                    passed.registers += u64::from(one.accesses.regs_len);
                } else if let Some(lacks) = lacks
                    && self.comparison.is_same_flow((ours, one), (theirs, other), lacks)
                {
                    passed.lack(&one.accesses, &other.accesses);
                } else {
                    break;
                }
                attempted |= one.outcome == Outcome::Attempted;
                passed.instructions += 1;
            }
            let n = passed.instructions as usize;
            if attempted {
                self.a.seen |= bit(Fact::Attempted);
                self.b.seen |= bit(Fact::Attempted);
            }
            self.pairs += n as u64;
            self.a.pass(n);
            self.b.pass(n);
            self.tally.pass(&passed, &self.comparison.groups);
            (self.progress)(&*self.a.source, &*self.b.source);
            if n < both {
                break;
            }
        }
        Ok(())
    }

    /// Accesses that one side has not had so far, if the formats differ.
    fn lacks(&self) -> Option<Lacks> {
        let absent = |fact: Fact| self.a.seen & bit(fact) == 0 || self.b.seen & bit(fact) == 0;
        (!self.comparison.strict).then(|| Lacks {
            memory: absent(Fact::MemoryAccesses),
            registers: absent(Fact::RegisterReads) && absent(Fact::RegisterWrites),
        })
    }

    /// The place of the next instructions.
    fn place(&self) -> Place {
        Place { pairs: self.pairs, a: self.a.number, b: self.b.number }
    }

    /// Passes one instruction of a side; traps and times before it count if it has a partner.
    fn take(&mut self, n: usize) -> Result<Option<Cell>> {
        let side = if n == 0 { &mut self.a } else { &mut self.b };
        let cell = side.take(&mut self.between[n])?;
        self.tally.marks += self.between[n].marks;
        let events = self.between[n].events.iter();
        self.sorted[n].read(events.map(|&(batch, event)| (&side.batches[batch], event)));
        Ok(cell)
    }

    /// Passes an instruction of each side, which are partners, and reports how they differ.
    fn pair(&mut self) -> Result<bool> {
        let place = self.place();
        let (Some(a), Some(b)) = (self.take(0)?, self.take(1)?) else { return Ok(false) };
        self.between_pairs(Place { a: a.number, b: b.number, ..place });
        self.comparison.compare(self.a.step(a), self.b.step(b));
        self.pairs += 1;
        let found = &mut self.comparison.found;
        self.tally.add(found);
        if found.fields.is_empty() {
            return Ok(true);
        }
        let fields = std::mem::take(&mut found.fields);
        let (one_sided, definite) = (found.one_sided, found.definite);
        let stretch = |side: &Side<'_>, cell: Cell| Stretch {
            from: cell.number,
            to: cell.number + 1,
            pc: side.step(cell).1.pc,
        };
        let (at_a, at_b) = (stretch(&self.a, a), stretch(&self.b, b));
        let excerpts = self.excerpts(a, b);
        let new = Difference { kind: Kind::Changed, a: at_a, b: at_b, fields, excerpts };
        self.collector.changed(new, one_sided, definite);
        Ok(true)
    }

    /// Compares what lies before a pair of instructions.
    fn between_pairs(&mut self, place: Place) {
        if self.between.iter().all(|between| between.events.is_empty() && !between.context) {
            return;
        }
        self.feed(0, place);
        self.feed(1, place);
        if self.comparison.groups[Group::Contexts as usize]
            && self.between.iter().any(|between| between.context)
        {
            self.strays.context(&self.a.context, &self.b.context, place);
        }
        self.strays.settle(place.pairs);
        self.report_strays();
    }

    /// Traps and times of a side before its current instruction.
    fn feed(&mut self, n: usize, place: Place) {
        let Sorted { traps, times } = &self.sorted[n];
        if self.comparison.groups[Group::Traps as usize] {
            let seen = if n == 0 { &mut self.a.seen } else { &mut self.b.seen };
            traps.iter().for_each(|trap| self.strays.trap(n, *trap, place, seen));
        }
        if self.comparison.groups[Group::Time as usize] && !times.is_empty() {
            self.strays.times(n, times, place);
        }
    }

    fn report_strays(&mut self) {
        for stray in std::mem::take(&mut self.strays.found) {
            let Place { a, b, .. } = stray.place;
            let at = |from| Stretch { from, to: from + 1, pc: None };
            let new =
                Difference { kind: Kind::Changed, a: at(a), b: at(b), fields: stray.fields, excerpts: None };
            self.collector.push(new, stray.one_sided);
        }
    }

    fn excerpts(&self, a: Cell, b: Cell) -> Option<[Excerpt; 2]> {
        let before = self.options.before;
        self.collector
            .wants_excerpt()
            .then(|| [self.a.excerpt(a, before, SHOWN), self.b.excerpt(b, before, SHOWN)])
    }

    /// Collects more and more of both sides until an alignment explains the difference.
    fn resolve(&mut self) -> Result<()> {
        let data = self.data();
        let mut size = FIRST;
        self.a.restart();
        self.b.restart();
        loop {
            self.a.collect(size, data)?;
            self.b.collect(size, data)?;
            let ((n, a_closed), (m, b_closed)) = (self.a.stretch(size), self.b.stretch(size));
            // A short stretch before a gap is not worth a long search.
            let stuck =
                |length: usize, closed: bool, full: bool| closed && length < 64 || full || size >= MOST;
            let last = a_closed && b_closed
                || stuck(n, a_closed, self.a.window.full)
                || stuck(m, b_closed, self.b.window.full);
            let (a, b) = (&self.a.window, &self.b.window);
            let keys = Keys {
                weak: [&a.weak[..n], &b.weak[..m]],
                strong: [&a.strong[..n], &b.strong[..m]],
                data: data.any(),
            };
            let closed = a_closed && b_closed;
            if let Some(found) = keys.align(closed, last, &mut self.patience, size) {
                let half = if closed { usize::MAX } else { size / 2 };
                return self.commit(&found, half);
            }
            if last {
                return self.unaligned();
            }
            size *= GROWTH;
        }
    }

    /// Passes what an alignment explains, up to about `half` of it.
    fn commit(&mut self, alignment: &Alignment, half: usize) -> Result<()> {
        let (mut a, mut b) = (0, 0);
        let mut hunks = &alignment.hunks[..];
        while let Some(hunk) = hunks.first() {
            if hunk.a.max(hunk.b) > half && a > 0 {
                break;
            }
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
            if hunk.deleted == hunk.inserted {
                self.pairs_up_to(&mut a, &mut b, hunk.a + hunk.deleted)?;
            } else {
                self.hunk(hunk)?;
                (a, b) = (hunk.a + hunk.deleted, hunk.b + hunk.inserted);
            }
            hunks = &hunks[1..];
        }
        // In a matching stretch there is nothing to lose.
        let next = hunks.first().map_or(alignment.end.0, |hunk| hunk.a);
        let to = next.min(a.max(half.saturating_add(1)));
        self.pairs_up_to(&mut a, &mut b, to)
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
    fn hunk(&mut self, hunk: &Hunk) -> Result<()> {
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
        if attempted && !self.comparison.strict && hunk.deleted.min(hunk.inserted) == 0 {
            let lacking = usize::from(hunk.inserted == 0);
            self.tally.lack(Fact::Attempted, lacking, hunk.deleted.max(hunk.inserted) as u64);
            return Ok(());
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
        self.report(stretches, fields, excerpts);
        Ok(())
    }

    fn report(&mut self, [a, b]: [Stretch; 2], fields: Vec<Field>, excerpts: Option<[Excerpt; 2]>) {
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
        self.collector.push(Difference { kind, a, b, fields, excerpts }, [0; 2]);
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

    /// Something is missing on a side: finds where it continues on the other.
    fn gap(&mut self) -> Result<()> {
        let (gap_a, gap_b) = (self.a.at_gap(), self.b.at_gap());
        let data = self.data();
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
    fn unaligned(&mut self) -> Result<()> {
        let place = self.place();
        let mut stretches = [Stretch::default(); 2];
        let firsts = [self.a.peek(), self.b.peek()];
        let excerpts = firsts[0].zip(firsts[1]).and_then(|(a, b)| self.excerpts(a, b));
        for (n, first) in firsts.into_iter().enumerate() {
            let side = if n == 0 { &self.a } else { &self.b };
            let pc = first.and_then(|cell| side.step(cell).1.pc);
            let from = first.map_or(side.number, |cell| cell.number);
            stretches[n] = Stretch { from, to: self.count_rest(n, from)?, pc };
        }
        self.tally.unaligned =
            Some((place, stretches[0].to - stretches[0].from, stretches[1].to - stretches[1].from));
        self.report(stretches, Vec::new(), excerpts);
        self.last()
    }

    /// Reads a side to its end; returns the number after its last instruction.
    fn count_rest(&mut self, n: usize, from: u64) -> Result<u64> {
        let mut to = from;
        while let Some(cell) = self.take(n)? {
            to = cell.number + 1;
            if n == 0 {
                self.a.tidy()
            } else {
                self.b.tidy()
            }
            if to.is_multiple_of(1 << 16) {
                (self.progress)(&*self.a.source, &*self.b.source);
            }
        }
        Ok(to)
    }

    /// Only one side has more.
    fn tail(&mut self) -> Result<()> {
        let n = usize::from(self.a.window.weak.is_empty());
        let (more, done) = if n == 0 { (&self.a, &self.b) } else { (&self.b, &self.a) };
        let lost = done.ends_in_gap() || done.error.is_some();
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
        let to = self.count_rest(n, from)?;
        if lost {
            self.tally.in_gaps[n] += to - from;
        } else {
            let mut stretches = [Stretch { from: end, to: end, pc: None }; 2];
            stretches[n] = Stretch { from, to, pc };
            self.report(stretches, Vec::new(), excerpts);
        }
        self.last()
    }

    /// Events after the last instructions.
    fn last(&mut self) -> Result<()> {
        let place = self.place();
        let aligned = self.tally.unaligned.is_none();
        for n in 0..2 {
            while self.take(n)?.is_some() {}
        }
        if aligned {
            self.between_pairs(place);
        }
        Ok(())
    }

    fn finish(mut self) -> Report {
        self.strays.finish(self.pairs);
        self.report_strays();
        let mut report = Report { errors: [self.a.error, self.b.error], ..Report::default() };
        let formats = [&self.a, &self.b].map(|side| side.source.meta().format);
        self.tally.finish(self.options, &self.strays, [self.a.seen, self.b.seen], formats, &mut report);
        self.collector.finish([self.a.seen, self.b.seen], &mut report);
        report
    }
}
