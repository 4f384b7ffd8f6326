//! Instructions as they come most: runs, or steps that are all known, each ended by a branch whose outcome is known.

use trackway_core::{Batch, Event, EventKind, Isa, Outcome, Run, Step};
use trackway_isa::{Control, arm::a64, flow};

use super::code::{TCOMMIT, TSB_CSYNC};
use super::lane::{Expected, Lane};
use super::stretch::{Place, Stretch, Way};
use crate::encode::{Block, Branch, Instruction};

/// Steps of a block at most: those of longer ones are taken one by one.
const LONGEST: usize = 1 << 10;

/// A block, the address of the instruction after it, and the number of events that it is made of.
type Next = (Block, Expected, usize);

impl Lane {
    /// Executes usual instructions from the first of `events` on, and returns the number of events.
    pub(super) fn row(&mut self, events: &[Event], batch: &Batch) -> usize {
        match events.first() {
            Some(Event { kind: EventKind::Run(first), .. }) => {
                let isa = first.isa;
                self.row_of(isa, events, |lane, events, expected| match &events.first()?.kind {
                    EventKind::Run(run) if run.isa == isa => lane.run_block(run, expected),
                    _ => None,
                })
            }
            Some(Event { kind: EventKind::Step(_), .. }) if self.isa == Isa::A64 => {
                self.row_of(Isa::A64, events, |lane, events, expected| {
                    lane.step_block(events, expected, batch)
                })
            }
            _ => 0,
        }
    }

    /// The same with one kind of events.
    #[inline(always)]
    fn row_of(
        &mut self,
        isa: Isa,
        events: &[Event],
        next: impl Fn(&mut Self, &[Event], Expected) -> Option<Next>,
    ) -> usize {
        let waits = self.pending.is_some() || self.timestamp.is_some();
        if waits || !self.unit.is_plain() || !self.unit.begin_row(isa) {
            return 0;
        }
        let (mut expected, mut at, mut count, mut instructions) = (self.expected, 0, 0, 0);
        while let Some((block, after, used)) = next(self, &events[at..], expected) {
            if !self.unit.block(&block) {
                break;
            }
            expected = after;
            at += used;
            count += 1;
            instructions += u64::from(block.count);
        }
        if count > 0 {
            self.unit.end_row(count, instructions);
            (self.isa, self.expected) = (isa, expected);
            (self.call, self.attempted) = (None, None);
        }
        at
    }

    /// A run as a block, if it is usual.
    #[inline(always)]
    fn run_block(&mut self, run: &Run, expected: Expected) -> Option<Next> {
        let taken = run.taken.filter(|_| expected.permits(run.start))?;
        if run.attempted || run.withdrawn {
            return None;
        }
        let place = Place::of(run, self.space);
        let stretch = match self.stretches.find(place) {
            Some(stretch) => stretch,
            None => {
                self.learn(run).then_some(())?;
                self.stretches.find(place)?
            }
        };
        let next = match stretch.ways[usize::from(taken)] {
            Way::Unusual => return None,
            Way::Open => Expected::Any,
            Way::To(address) => Expected::At(address),
        };
        let branch = Branch { control: stretch.flow.control, taken, end: stretch.end, isa: run.isa };
        Some((Block { start: run.start, count: run.count, branch, known: None }, next, 1))
    }

    /// Steps of A64 as a block, if all are usual.
    #[inline(always)]
    fn step_block(&mut self, events: &[Event], expected: Expected, batch: &Batch) -> Option<Next> {
        let Some(Event { kind: EventKind::Step(first), .. }) = events.first() else { return None };
        let start = first.pc.filter(|pc| expected.permits(*pc))?;
        let mut pc = start;
        for (n, event) in events.iter().enumerate().take(LONGEST) {
            let EventKind::Step(step) = &event.kind else { return None };
            let is_usual = (step.outcome == Outcome::Retired) & (step.length == 4) & (step.pc == Some(pc));
            if !is_usual || !self.code.execute(self.space, pc, step.encoding, 4) {
                return None;
            }
            let (encoding, is_quiet) = (step.encoding, step.taken.is_none() && step.extra.is_none());
            if is_quiet && (a64::is_plain(encoding) || passes(encoding)) {
                pc = pc.wrapping_add(4);
                continue;
            }
            let place = Place { start, count: n as u32 + 1, isa: Isa::A64, space: self.space };
            let (block, next) = self.branch_block(place, step, batch)?;
            return Some((block, next, n + 1));
        }
        None
    }

    /// The block of the steps at a place, of which this is the last one.
    #[inline(always)]
    fn branch_block(&mut self, place: Place, step: &Step, batch: &Batch) -> Option<(Block, Expected)> {
        let taken = step.taken?;
        let target = match batch.extra_of(step) {
            Some(extra) if extra.placeholder => return None,
            Some(extra) => extra.target,
            None => None,
        };
        if taken != target.is_some() {
            return None;
        }
        if self.stretches.find(place).is_none() {
            let last = Instruction::new(Isa::A64, step.pc?, step.encoding, true);
            self.stretches.keep(place, Stretch::of_a64(last, step.encoding)?);
        }
        let stretch = self.stretches.find(place).filter(|known| known.encoding == step.encoding)?;
        let next = match (stretch.ways[usize::from(taken)], target) {
            (Way::Unusual, _) => return None,
            (Way::Open, Some(target)) => target,
            (Way::Open, None) => return None,
            (Way::To(address), _) => address,
        };
        let branch = Branch { control: stretch.flow.control, taken, end: stretch.end, isa: Isa::A64 };
        let block = Block { start: place.start, count: place.count, branch, known: Some(target) };
        Some((block, Expected::At(next)))
    }
}

/// An instruction of A64 that is not a branch, and that a trace unit does not look at.
#[cold]
fn passes(encoding: u32) -> bool {
    flow(Isa::A64, 0, encoding).control == Control::Sequential && !matches!(encoding, TSB_CSYNC | TCOMMIT)
}
