//! Counting events, and merging the counts of parts.

use trackway_core::*;

use super::Stats;
use super::count::{add_all, add_each};

/// Index of an event's count. Steps and runs are counted as blocks, withdrawn runs here.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Step,
    Run,
    Trap,
    Context,
    Time,
    Mark,
    State,
    Gap,
    Foreign,
}

impl Stats {
    #[inline]
    fn accesses(&mut self, batch: &Batch, accesses: Accesses) {
        for access in batch.mem_of(accesses) {
            self.memory.observe(access);
        }
        for access in batch.regs_of(accesses) {
            let which = match access.role {
                RegRole::Source => 0,
                RegRole::Destination => 1,
                RegRole::State | RegRole::Ready => continue,
            };
            self.registers[which] += 1;
            self.csrs[which] += u64::from(access.reg.class == RegClass::Csr);
        }
    }
}

impl Stats {
    /// Counts everything but executed blocks.
    pub(super) fn count(&mut self, batch: &Batch) {
        let times = self.events[Kind::Time as usize];
        self.contexts.enter(batch.source);
        for event in &batch.events {
            match &event.kind {
                EventKind::Step(step) => {
                    self.contexts.count(1);
                    self.accesses(batch, step.accesses);
                }
                EventKind::Run(run) if run.withdrawn => self.events[Kind::Run as usize] += 1,
                EventKind::Run(run) => {
                    self.contexts.count(run.count.into());
                    if run.accesses.is_some() {
                        self.accesses(batch, batch.accesses_of(run));
                    }
                }
                EventKind::Trap(n) => {
                    self.events[Kind::Trap as usize] += 1;
                    let trap = &batch.traps[*n as usize];
                    *self.traps.entry((trap.kind, trap.cause, trap.class)).or_default() += 1;
                }
                EventKind::Context(n) => {
                    self.events[Kind::Context as usize] += 1;
                    self.contexts.change(&batch.contexts[*n as usize]);
                }
                EventKind::Time(time) => {
                    self.events[Kind::Time as usize] += 1;
                    if let (TimeKind::Timestamp, Some(now)) = (time.kind, time.value) {
                        self.times = Some((self.times.map_or(now, |times| times.0), now));
                    }
                }
                EventKind::Mark(_) => self.events[Kind::Mark as usize] += 1,
                EventKind::State(_) => self.events[Kind::State as usize] += 1,
                EventKind::Gap(n) => {
                    self.events[Kind::Gap as usize] += 1;
                    *self.gaps.entry(batch.gaps[*n as usize].reason).or_default() += 1;
                }
                EventKind::Foreign(_) => self.events[Kind::Foreign as usize] += 1,
            }
        }
        let has_times = self.events[Kind::Time as usize] > times;
        self.spent.observe(batch, has_times || !batch.gaps.is_empty());
    }
}

impl Observer for Stats {
    fn observe(&mut self, batch: &Batch) {
        self.executed.observe(batch);
        self.count(batch);
    }

    fn fork(&self) -> Box<dyn Observer> {
        Box::new(self.another())
    }

    fn merge(&mut self, later: Box<dyn Observer>) {
        let mut later = *later.downcast::<Self>();
        let executed = std::mem::replace(&mut later.executed, self.executed.another());
        self.executed.merge(Box::new(executed));
        self.add(later);
    }
}

impl Stats {
    /// Adds everything but executed blocks.
    pub(super) fn add(&mut self, later: Stats) {
        self.contexts.merge(later.contexts);
        self.memory.merge(later.memory);
        add_each(&mut self.registers, later.registers);
        add_each(&mut self.csrs, later.csrs);
        self.times = match (self.times, later.times) {
            (Some((first, _)), Some((_, last))) => Some((first, last)),
            (before, after) => before.or(after),
        };
        self.spent.merge(later.spent);
        add_each(&mut self.events, later.events);
        add_all(&mut self.traps, later.traps);
        add_all(&mut self.gaps, later.gaps);
    }
}
