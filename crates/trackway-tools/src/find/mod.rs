//! Instructions that meet conditions, with their numbers.
//!
//! [`Find`] observes a trace, in parts on all cores where it can: parts count their instructions from 0, and merging
//! adds the numbers before them. Conditions on contexts and traps need the events in order.

mod conditions;
mod parse;

pub use conditions::{Conditions, ContextIs, RegisterIs, TrapIs, context_names};

use std::sync::Arc;

use trackway::format::Format;
use trackway::trap_name;
use trackway_core::{Batch, Context, EventKind, Isa, Observer, Outcome, Run, Step, Trap, TrapKind};
use trackway_image::{Image, Memory, expand, program};
use trackway_isa::Recent;

/// An instruction that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Match {
    /// Index of its source.
    pub source: u16,
    /// Its number.
    pub number: u64,
    /// Its address.
    pub pc: Option<u64>,
    /// Its encoding; meaningless where `length` is 0.
    pub encoding: u32,
    /// Its length; 0 where the encoding is not known, as where a trap came between two instructions.
    pub length: u8,
    /// Its instruction set.
    pub isa: Isa,
}

/// Matches that a part keeps; beyond that it only counts.
const KEPT: usize = 1 << 16;

/// Looks for instructions.
pub struct Find {
    conditions: Arc<Conditions>,
    programs: Arc<Vec<Arc<Image>>>,
    format: &'static dyn Format,
    meta: Isa,
    isa: Isa,
    context: Context,
    /// Does the context meet the conditions?
    in_context: bool,
    /// The program as the context sees it, asked for when a run comes.
    memory: Option<Arc<Memory>>,
    source: Option<u16>,
    /// Instructions of each source so far.
    counts: Vec<u64>,
    /// Matches by the encoding alone.
    by_encoding: Recent<(u32, Isa), bool, 4096>,
    /// Matches that are kept.
    pub matches: Vec<Match>,
    /// All matches.
    pub count: u64,
    /// Memory accesses were seen.
    pub has_memory: bool,
    /// Values of registers were seen.
    pub has_registers: bool,
    /// Matches to keep at most.
    most: usize,
    /// The last instruction, where a trap may still belong to it, and whether it meets the other conditions.
    last: Option<(Match, bool)>,
}

impl std::fmt::Debug for Find {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Find({:?}, {} found)", self.conditions, self.count)
    }
}

impl Find {
    /// Looks for instructions of a trace of that format. At most `most` are kept, all are counted.
    pub fn new(
        conditions: Conditions,
        format: &'static dyn Format,
        isa: Isa,
        programs: Vec<Arc<Image>>,
        most: Option<usize>,
    ) -> Self {
        let most = most.unwrap_or(KEPT).min(KEPT);
        Self::fresh(Arc::new(conditions), Arc::new(programs), format, isa, most)
    }

    fn fresh(
        conditions: Arc<Conditions>,
        programs: Arc<Vec<Arc<Image>>>,
        format: &'static dyn Format,
        isa: Isa,
        most: usize,
    ) -> Self {
        let in_context = conditions.contexts.is_empty();
        Find {
            conditions,
            programs,
            format,
            meta: isa,
            isa,
            context: Context::default(),
            in_context,
            memory: None,
            source: None,
            counts: Vec::new(),
            by_encoding: Recent::default(),
            matches: Vec::new(),
            count: 0,
            has_memory: false,
            has_registers: false,
            most,
            last: None,
        }
    }

    /// Matches were found that are not kept, although no limit is so low.
    pub fn has_overflowed(&self) -> bool {
        self.count > self.matches.len() as u64
    }

    /// May it observe parts of the trace in any order?
    pub fn in_parts(&self) -> bool {
        self.conditions.contexts.is_empty()
            && self.conditions.traps.is_none()
            && matches!(self.meta, Isa::Rv32 | Isa::Rv64 | Isa::A64)
            && self.programs.iter().all(|program| program.is_everywhere())
    }

    /// Continues at instruction `number` of the only source, where this is the context.
    pub fn jump(&mut self, number: u64, context: Context) {
        self.enter(0);
        self.counts[0] = number;
        (self.context, self.isa) = (context, context.isa.unwrap_or(self.meta));
        self.in_context = self.conditions.meets_context(&context);
        (self.memory, self.last) = (None, None);
    }

    fn found(&mut self, found: Match) {
        self.count += 1;
        if self.matches.len() < self.most {
            self.matches.push(found);
        }
    }

    #[inline]
    fn step(&mut self, batch: &Batch, step: &Step, isa: Isa, number: u64) {
        let by_encoding = if step.length == 0 {
            !self.conditions.needs_encoding()
        } else {
            let conditions = &self.conditions;
            *self.by_encoding.get((step.encoding, isa), || conditions.meets_encoding(isa, step.encoding))
        };
        let meets = by_encoding && self.in_context && self.conditions.meets_step(batch, step);
        if !meets && self.conditions.traps.is_none() {
            return;
        }
        let found = Match {
            source: batch.source,
            number,
            pc: step.pc,
            encoding: step.encoding,
            length: step.length,
            isa,
        };
        match self.conditions.traps {
            None => self.found(found),
            Some(_) => self.last = (step.outcome == Outcome::Attempted).then_some((found, meets)),
        }
    }

    fn run(&mut self, batch: &Batch, run: &Run, number: u64) {
        // Most runs cannot match, by their addresses alone.
        if !self.in_context || !self.conditions.meets_run(run) {
            self.last = None;
            return;
        }
        let programs = &self.programs;
        let context = &self.context;
        let memory = self.memory.get_or_insert_with(|| program(programs, batch.source).memory(context));
        let memory = Arc::clone(memory);
        let mut at = number;
        expand(&memory, run, batch.accesses_of(run), |kind| match kind {
            EventKind::Step(step) => {
                self.step(batch, &step, run.isa, at);
                at += 1;
            }
            // No code: only addresses are known.
            EventKind::Run(rest) => {
                let step = Step { length: 0, ..Step::new(rest.start, 0, 0) };
                self.step(batch, &step, run.isa, at);
            }
            _ => {}
        });
    }

    fn trap(&mut self, batch: &Batch, trap: &Trap, number: u64) {
        let last = self.last.take();
        let Some(wanted) = &self.conditions.traps else { return };
        if !wanted.meets(trap, trap_name(self.format, trap)) {
            return;
        }
        let same = |found: &Match| trap.from.is_none() || found.pc.is_none() || trap.from == found.pc;
        match last.filter(|(found, _)| trap.kind != TrapKind::Interrupt && same(found)) {
            Some((found, meets)) if meets => self.found(found),
            Some(_) => {}
            // It came between two instructions.
            None if self.in_context && self.conditions.meets_place(trap.from) => self.found(Match {
                source: batch.source,
                number,
                pc: trap.from,
                encoding: 0,
                length: 0,
                isa: self.isa,
            }),
            None => {}
        }
    }

    fn enter(&mut self, source: u16) {
        if self.source.replace(source) != Some(source) {
            (self.context, self.memory, self.last, self.isa) = (Context::default(), None, None, self.meta);
            self.in_context = self.conditions.contexts.is_empty();
        }
        if self.counts.len() <= usize::from(source) {
            self.counts.resize(usize::from(source) + 1, 0);
        }
    }
}

impl Observer for Find {
    fn observe(&mut self, batch: &Batch) {
        self.enter(batch.source);
        self.has_memory |= !batch.mem.is_empty();
        self.has_registers |= !batch.regs.is_empty();
        let mut number = self.counts[usize::from(batch.source)];
        for event in &batch.events {
            match &event.kind {
                EventKind::Step(step) => self.step(batch, step, self.isa, number),
                EventKind::Run(run) if !run.withdrawn => self.run(batch, run, number),
                EventKind::Trap(n) => self.trap(batch, &batch.traps[*n as usize], number),
                EventKind::Context(n) => {
                    self.context.update(&batch.contexts[*n as usize]);
                    self.isa = self.context.isa.unwrap_or(self.meta);
                    self.memory = None;
                    self.in_context = self.conditions.meets_context(&self.context);
                }
                _ => {}
            }
            number += event.kind.instructions();
        }
        self.counts[usize::from(batch.source)] = number;
    }

    fn fork(&self) -> Box<dyn Observer> {
        let (conditions, programs) = (Arc::clone(&self.conditions), Arc::clone(&self.programs));
        Box::new(Self::fresh(conditions, programs, self.format, self.meta, self.most))
    }

    fn merge(&mut self, later: Box<dyn Observer>) {
        let later = later.downcast::<Self>();
        let room = self.most.saturating_sub(self.matches.len());
        let before = |source: u16| self.counts.get(usize::from(source)).copied().unwrap_or(0);
        let moved =
            later.matches.iter().map(|found| Match { number: found.number + before(found.source), ..*found });
        let moved: Vec<Match> = moved.take(room).collect();
        self.matches.extend(moved);
        self.count += later.count;
        self.has_memory |= later.has_memory;
        self.has_registers |= later.has_registers;
        if self.counts.len() < later.counts.len() {
            self.counts.resize(later.counts.len(), 0);
        }
        self.counts.iter_mut().zip(&later.counts).for_each(|(count, more)| *count += more);
        self.source = later.source.or(self.source);
    }
}
