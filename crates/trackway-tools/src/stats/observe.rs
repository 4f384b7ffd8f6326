//! Counting events, and merging the counts of parts.

use std::sync::Arc;

use trackway_core::*;
use trackway_image::{expand, program, taken_at_end};

use super::Stats;
use super::code::Assumptions;
use super::count::{add_all, add_each};
use super::decode::DecodeCache;

/// Index of an event's count.
#[derive(Clone, Copy)]
enum Kind {
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
    /// Takes instruction set and code from the current context.
    pub(super) fn follow_context(&mut self, source: u16) {
        let (context, on_top) = (self.contexts.now(), self.contexts.is_on_top());
        self.code.isa = context.isa.unwrap_or(self.shared.isa);
        self.code.assumed =
            Assumptions { isa: on_top && context.isa.is_none(), code: on_top && !self.shared.everywhere };
        if !self.shared.programs.is_empty() && (self.code.memory.is_none() || !self.shared.everywhere) {
            self.code.memory = Some(program(&self.shared.programs, source).memory(context));
        }
    }

    /// Checks what the part that follows assumed.
    fn check_assumptions(&mut self, assumed: Assumptions) {
        let before = self.contexts.now();
        let isa = before.isa.is_some_and(|isa| isa != self.shared.isa);
        let code = *before != Context::default();
        self.misread |= (assumed.isa && isa) || (assumed.code && code);
        if self.contexts.is_on_top() {
            self.assumed.isa |= assumed.isa && before.isa.is_none();
            self.assumed.code |= assumed.code;
        }
    }

    #[inline]
    fn count(&mut self, instructions: u64, attempted: u64) {
        self.retired += instructions - attempted;
        self.attempted += attempted;
        self.contexts.count(instructions);
    }

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

    #[inline]
    fn step(&mut self, step: &Step, isa: Isa, batch: &Batch, cache: &mut DecodeCache) {
        self.events[Kind::Step as usize] += 1;
        self.count(1, u64::from(step.outcome == Outcome::Attempted));
        self.accesses(batch, step.accesses);
        let Some(pc) = step.pc else {
            self.unknown += 1;
            return;
        };
        if step.length == 0 {
            self.undecoded += 1;
            self.blocks.leave();
            return;
        }
        let decoded = cache.decode(isa, step.encoding);
        self.classes[decoded.class(batch.mem_of(step.accesses)) as usize] += 1;
        if decoded.branches {
            self.branches.observe(pc, step.taken);
        }
        self.blocks.enter(pc, pc.wrapping_add(step.length.into()), 1, decoded.leaves);
    }

    /// A run, instruction by instruction where its code is known.
    fn run(&mut self, run: &Run, batch: &Batch, cache: &mut DecodeCache) {
        let Some(code) = self.code.memory.clone() else { return self.whole_run(run, batch) };
        self.assumed.code |= self.code.assumed.code;
        let accesses = batch.accesses_of(run);
        let Some(shape) = cache.shape(&code, run) else {
            return expand(&code, run, accesses, |kind| match kind {
                EventKind::Step(step) => self.step(&step, run.isa, batch, cache),
                EventKind::Run(run) => self.whole_run(&run, batch),
                _ => {}
            });
        };
        let before_last = u64::from(run.count) - 1;
        self.events[Kind::Step as usize] += before_last;
        self.count(before_last, shape.attempted);
        for (class, count) in &shape.classes {
            self.classes[*class as usize] += count;
        }
        for pc in &shape.branches {
            self.branches.observe(*pc, None);
        }
        for block in &shape.blocks {
            self.blocks.enter(block.start, block.end, block.instructions, block.leaves);
        }
        let outcome = if run.attempted { Outcome::Attempted } else { shape.last.outcome };
        let last = Step { accesses, outcome, taken: taken_at_end(run), ..shape.last };
        self.step(&last, run.isa, batch, cache);
    }

    /// A run without known code.
    fn whole_run(&mut self, run: &Run, batch: &Batch) {
        self.events[Kind::Run as usize] += 1;
        self.count(run.count.into(), run.attempted.into());
        self.accesses(batch, batch.accesses_of(run));
        self.in_runs += u64::from(run.count);
        if run.exit == Exit::Branch {
            self.branches.observe(run.end, run.taken);
        }
        self.blocks.enter(run.start, run.end, run.count.into(), run.exit != Exit::Next);
    }
}

impl Observer for Stats {
    fn observe(&mut self, batch: &Batch) {
        let mut cache = self.cache.take().unwrap_or_else(|| self.shared.take_cache());
        if self.contexts.source() != Some(batch.source) {
            if self.contexts.enter(batch.source) {
                self.blocks.leave();
            }
            self.code.memory = None;
            self.follow_context(batch.source);
        }
        for event in &batch.events {
            match &event.kind {
                EventKind::Step(step) => {
                    self.assumed.isa |= self.code.assumed.isa;
                    self.step(step, self.code.isa, batch, &mut cache);
                }
                EventKind::Run(run) if run.withdrawn => self.events[Kind::Run as usize] += 1,
                EventKind::Run(run) => self.run(run, batch, &mut cache),
                EventKind::Trap(n) => {
                    self.events[Kind::Trap as usize] += 1;
                    let trap = &batch.traps[*n as usize];
                    *self.traps.entry((trap.kind, trap.cause, trap.class)).or_default() += 1;
                    self.blocks.leave();
                }
                EventKind::Context(n) => {
                    self.events[Kind::Context as usize] += 1;
                    self.contexts.change(&batch.contexts[*n as usize]);
                    self.follow_context(batch.source);
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
                    self.blocks.leave();
                }
                EventKind::Foreign(_) => self.events[Kind::Foreign as usize] += 1,
            }
        }
        self.cache = Some(cache);
    }

    fn fork(&self) -> Box<dyn Observer> {
        Box::new(Self::with(Arc::clone(&self.shared)))
    }

    fn merge(&mut self, later: Box<dyn Observer>) {
        let later = *later.downcast::<Self>();
        self.retired += later.retired;
        self.attempted += later.attempted;
        self.unknown += later.unknown;
        add_each(&mut self.branches.outcomes, later.branches.outcomes);
        self.branches.places.merge(later.branches.places, |(), ()| ());
        self.memory.merge(later.memory);
        add_each(&mut self.registers, later.registers);
        add_each(&mut self.csrs, later.csrs);
        self.times = match (self.times, later.times) {
            (Some((first, _)), Some((_, last))) => Some((first, last)),
            (before, after) => before.or(after),
        };
        add_each(&mut self.events, later.events);
        add_each(&mut self.classes, later.classes);
        self.undecoded += later.undecoded;
        self.in_runs += later.in_runs;
        add_all(&mut self.traps, later.traps);
        add_all(&mut self.gaps, later.gaps);
        if self.contexts.ends_before(&later.contexts) {
            self.blocks.leave();
        } else {
            self.check_assumptions(later.assumed);
        }
        self.misread |= later.misread;
        self.contexts.merge(later.contexts);
        self.blocks.merge(later.blocks);
        self.code.memory = None;
        if let Some(source) = self.contexts.source() {
            self.follow_context(source);
        }
        if let Some(cache) = later.cache {
            self.shared.return_cache(cache);
        }
    }
}
