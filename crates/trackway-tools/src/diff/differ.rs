//! The walk through both traces.
//!
//! Equal stretches are passed event by event. At a difference, instructions of both sides are collected and aligned; the
//! collection grows until an alignment explains it with few edits and is settled; that is then passed, and the walk continues.

mod gaps;
mod hunks;

use trackway_core::{EventKind, Fact, Isa, Meta, Outcome, Result, Source};

use super::between::{Place, Sorted, Strays};
use super::compare::{Comparison, Lacks};
use super::explain::Patience;
use super::keys::Data;
use super::options::{Group, Options};
use super::report::{Collector, Difference, Kind, Report, Stretch};
use super::side::{Between, Cell, Excerpt, Side, bit};
use super::tally::{Passed, Tally};

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
    // Dialects and levels of one format hold different things, as formats do.
    let same = |a: &Meta, b: &Meta| a.format == b.format && a.level == b.level;
    let strict = same(a.meta(), b.meta());
    let isa = Some(a.meta().isa).filter(|&isa| isa != Isa::Other).unwrap_or(b.meta().isa);
    let mut comparison = Comparison::new(options, strict, isa);
    let clocks = other_clocks(a.meta(), b.meta());
    comparison.groups[Group::Time as usize] &= clocks.is_none();
    let mut differ = Differ {
        comparison,
        options,
        a: Side::new(a),
        b: Side::new(b),
        pairs: 0,
        strays: Strays::new(strict, isa),
        collector: Collector::new(options.limit),
        tally: Tally::new(clocks),
        patience: Patience::default(),
        between: Default::default(),
        sorted: Default::default(),
        progress,
    };
    differ.walk()?;
    Ok(differ.finish())
}

/// The units of time, where both traces name theirs and they differ.
fn other_clocks(a: &Meta, b: &Meta) -> Option<String> {
    let unit = |meta: &Meta| meta.notes.iter().find(|note| note.0 == "time unit").map(|note| note.1.clone());
    let (a, b) = (unit(a)?, unit(b)?);
    (a != b).then(|| format!("{a} in A, {b} in B"))
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
        let seen = [self.a.seen, self.b.seen];
        self.collector.finish(seen, &mut self.tally.unknown, &mut report);
        self.tally.finish(self.options, &self.strays, seen, formats, &mut report);
        report
    }
}
