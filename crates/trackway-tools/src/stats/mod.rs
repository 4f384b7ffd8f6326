//! What a trace is made of: events, instructions by class, branches, memory accesses and their footprint, traps,
//! contexts, hot blocks.
//!
//! Parts of a trace can be observed each by itself and merged in order; this gives what observing all of it gives. The one thing
//! that a part has to guess is which code it runs, where a context before the part says: see [`Stats::is_exact`].
//!
//! ```
//! use trackway_core::*;
//! use trackway_tools::stats::Stats;
//!
//! let mut batch = Batch::default();
//! let begun = batch.begin_accesses();
//! batch.mem.push(MemAccess::read(0x1000, 8, Value::Unknown));
//! let accesses = batch.end_accesses(begun).expect("one access fits");
//! batch.push(0, EventKind::Step(Step { accesses, ..Step::new(0x8000, 0x6108, 2) })); // c.ld a0, 0(a0)
//! let mut stats = Stats::new(Isa::Rv64, &[]);
//! stats.observe(&batch);
//! assert_eq!((stats.retired, stats.memory.loads, stats.memory.bytes_read), (1, 1, 8));
//! assert_eq!(stats.classes()["load"], 1);
//! ```

mod blocks;
mod decoded;
mod memory;
mod stretches;
mod table;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use trackway_core::*;
use trackway_image::{Image, Memory as Code, expand, program};

use crate::contexts::Contexts;
use blocks::Blocks;
use decoded::{CLASSES, Class, Lately};
use table::Table;

pub use blocks::Block;
pub use memory::{LINE, Memory, PAGE};

/// Words for events, in the order of [`Stats::events`]'s counts.
const EVENTS: [&str; 9] = ["step", "run", "trap", "context", "time", "mark", "state", "gap", "foreign"];

/// What a trace is made of.
#[derive(Debug)]
pub struct Stats {
    /// Instructions that retired.
    pub retired: u64,
    /// Instructions that were only attempted.
    pub attempted: u64,
    /// Instructions of which not even the address is known.
    pub unknown: u64,
    /// Conditional branches.
    pub branches: Branches,
    /// Memory accesses.
    pub memory: Memory,
    /// Register reads and writes that are recorded.
    pub registers: [u64; 2],
    /// CSR reads and writes among them.
    pub csrs: [u64; 2],
    /// First and last time stamp.
    pub times: Option<(u64, u64)>,
    events: [u64; EVENTS.len()],
    classes: [u64; CLASSES.len()],
    traps: BTreeMap<(TrapKind, Option<u64>, Option<u8>), u64>,
    gaps: BTreeMap<GapReason, u64>,
    contexts: Contexts,
    blocks: Blocks,
    here: Here,
    guessed: Guess,
    misread: bool,
    shared: Arc<Shared>,
    lately: Option<Lately>,
}

/// Conditional branches.
#[derive(Debug, Default)]
pub struct Branches {
    /// Taken, not taken, not told.
    pub outcomes: [u64; 3],
    places: Table<()>,
}

/// What is the same for all parts of a trace.
#[derive(Debug)]
struct Shared {
    /// Instruction set where no context tells one.
    isa: Isa,
    /// The program of each source, or one for all.
    programs: Vec<Arc<Image>>,
    /// Do all contexts see the same of them?
    everywhere: bool,
    /// Of parts that are done, for those to come.
    lately: Mutex<Vec<Lately>>,
}

/// What the context says about code.
#[derive(Debug)]
struct Here {
    isa: Isa,
    code: Option<Arc<Code>>,
    /// What of that may be otherwise: the part does not say.
    unsure: Guess,
}

/// What a part relied on without being told.
#[derive(Clone, Copy, Debug, Default)]
struct Guess {
    isa: bool,
    code: bool,
}

impl Branches {
    /// Distinct ones.
    pub fn distinct(&self) -> u64 {
        self.places.entries.len() as u64
    }

    #[inline]
    fn observe(&mut self, pc: u64, taken: Option<bool>) {
        self.outcomes[match taken {
            Some(true) => 0,
            Some(false) => 1,
            None => 2,
        }] += 1;
        self.places.at(pc);
    }
}

/// Adds up counts by key.
fn add_all<K: Ord>(to: &mut BTreeMap<K, u64>, from: BTreeMap<K, u64>) {
    for (key, count) in from {
        *to.entry(key).or_default() += count;
    }
}

/// Adds up counts by place.
fn add_each<const N: usize>(to: &mut [u64; N], from: [u64; N]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
}

/// Counts that are there, by name.
fn named<const N: usize>(names: [&'static str; N], counts: [u64; N]) -> BTreeMap<&'static str, u64> {
    names.into_iter().zip(counts).filter(|(_, count)| *count > 0).collect()
}

impl Stats {
    /// Nothing yet. Runs are looked at instruction by instruction where the programs are given: one for each source, or one
    /// for all.
    pub fn new(isa: Isa, programs: &[Arc<Image>]) -> Self {
        let everywhere = programs.iter().all(|program| program.is_everywhere());
        let shared = Shared { isa, programs: programs.to_vec(), everywhere, lately: Mutex::default() };
        Self::with(Arc::new(shared))
    }

    fn with(shared: Arc<Shared>) -> Self {
        Stats {
            retired: 0,
            attempted: 0,
            unknown: 0,
            branches: Branches::default(),
            memory: Memory::default(),
            registers: [0; 2],
            csrs: [0; 2],
            times: None,
            events: [0; EVENTS.len()],
            classes: [0; CLASSES.len()],
            traps: BTreeMap::new(),
            gaps: BTreeMap::new(),
            contexts: Contexts::default(),
            blocks: Blocks::default(),
            here: Here { isa: shared.isa, code: None, unsure: Guess::default() },
            guessed: Guess::default(),
            misread: false,
            shared,
            lately: None,
        }
    }

    /// Is this what observing all in one part would give? Not so where a part was decoded for the wrong instruction set, or by
    /// the wrong program, because the context that says so came before it.
    pub fn is_exact(&self) -> bool {
        !self.misread
    }

    /// Events by kind.
    pub fn events(&self) -> BTreeMap<&'static str, u64> {
        named(EVENTS, self.events)
    }

    /// Instructions by class; of runs without their code only the last one can be told.
    pub fn classes(&self) -> BTreeMap<&'static str, u64> {
        named(CLASSES, self.classes)
    }

    /// Instructions by context.
    pub fn contexts(&self) -> BTreeMap<String, u64> {
        let mut named = self.contexts.by_name();
        named.retain(|_, count| *count > 0);
        named
    }

    /// Traps by kind and cause.
    pub fn traps(&self) -> BTreeMap<String, u64> {
        let name = |(kind, cause, class): (TrapKind, Option<u64>, Option<u8>)| {
            let cause = cause.map_or_else(String::new, |cause| format!(" {cause}"));
            let class = class.map_or_else(String::new, |class| format!(" class {class:#x}"));
            format!("{kind}{cause}{class}")
        };
        self.traps.iter().map(|(trap, count)| (name(*trap), *count)).collect()
    }

    /// Gaps by reason.
    pub fn gaps(&self) -> BTreeMap<&'static str, u64> {
        self.gaps.iter().map(|(reason, count)| (reason.word(), *count)).collect()
    }

    /// Distinct blocks entered.
    pub fn block_count(&self) -> u64 {
        self.blocks.all().len() as u64
    }

    /// The `n` blocks with most instructions executed in them, hottest first.
    pub fn hottest(&self, n: usize) -> Vec<(u64, Block)> {
        let mut all: Vec<(u64, Block)> = self.blocks.all().into_iter().collect();
        all.sort_unstable_by_key(|(start, block)| (std::cmp::Reverse(block.instructions), *start));
        all.truncate(n);
        all
    }

    /// What the context at hand says.
    fn look(&mut self, source: u16) {
        let (context, on_top) = (self.contexts.now(), self.contexts.is_on_top());
        self.here.isa = context.isa.unwrap_or(self.shared.isa);
        self.here.unsure =
            Guess { isa: on_top && context.isa.is_none(), code: on_top && !self.shared.everywhere };
        if !self.shared.programs.is_empty() && (self.here.code.is_none() || !self.shared.everywhere) {
            self.here.code = Some(program(&self.shared.programs, source).memory(context));
        }
    }

    /// Was it right what a part relied on, which follows?
    fn judge(&mut self, guessed: Guess) {
        let before = self.contexts.now();
        let isa = before.isa.is_some_and(|isa| isa != self.shared.isa);
        let code = *before != Context::default();
        self.misread |= (guessed.isa && isa) || (guessed.code && code);
        if self.contexts.is_on_top() {
            self.guessed.isa |= guessed.isa && before.isa.is_none();
            self.guessed.code |= guessed.code;
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
    fn step(&mut self, step: &Step, isa: Isa, batch: &Batch, lately: &mut Lately) {
        self.events[0] += 1;
        self.count(1, u64::from(step.outcome == Outcome::Attempted));
        self.accesses(batch, step.accesses);
        let Some(pc) = step.pc else {
            self.unknown += 1;
            return;
        };
        if step.length == 0 {
            self.classes[Class::Unknown as usize] += 1;
            self.blocks.leave();
            return;
        }
        let decoded = lately.decode(isa, step.encoding);
        self.classes[decoded.class(batch.mem_of(step.accesses)) as usize] += 1;
        if decoded.branches {
            self.branches.observe(pc, step.taken);
        }
        self.blocks.enter(pc, pc.wrapping_add(step.length.into()), 1, decoded.leaves);
    }

    /// A run, instruction by instruction where its code is known.
    fn run(&mut self, run: &Run, batch: &Batch, lately: &mut Lately) {
        let Some(code) = self.here.code.clone() else { return self.whole_run(run, batch) };
        self.guessed.code |= self.here.unsure.code;
        let accesses = batch.accesses_of(run);
        let Some(shape) = lately.shape(&code, run) else {
            return expand(&code, run, accesses, |kind| match kind {
                EventKind::Step(step) => self.step(&step, run.isa, batch, lately),
                EventKind::Run(run) => self.whole_run(&run, batch),
                _ => {}
            });
        };
        let before_last = u64::from(run.count) - 1;
        self.events[0] += before_last;
        self.count(before_last, shape.attempted);
        for (class, count) in &shape.classes {
            self.classes[*class as usize] += count;
        }
        for pc in &shape.branches {
            self.branches.observe(*pc, None);
        }
        for (start, end, instructions, leaves) in &shape.blocks {
            self.blocks.enter(*start, *end, *instructions, *leaves);
        }
        let outcome = if run.attempted { Outcome::Attempted } else { shape.last.outcome };
        let last = Step { accesses, outcome, taken: run.taken, ..shape.last };
        self.step(&last, run.isa, batch, lately);
    }

    /// A run of which the code is not known.
    fn whole_run(&mut self, run: &Run, batch: &Batch) {
        self.events[1] += 1;
        self.count(run.count.into(), run.attempted.into());
        self.accesses(batch, batch.accesses_of(run));
        self.classes[Class::InRuns as usize] += u64::from(run.count);
        if run.exit == Exit::Branch {
            self.branches.observe(run.end, run.taken);
        }
        self.blocks.enter(run.start, run.end, run.count.into(), run.exit != Exit::Next);
    }
}

impl Observer for Stats {
    fn observe(&mut self, batch: &Batch) {
        let mut lately = self.lately.take().unwrap_or_else(|| self.shared.take());
        if self.contexts.source() != Some(batch.source) {
            if self.contexts.enter(batch.source) {
                self.blocks.leave();
            }
            self.here.code = None;
            self.look(batch.source);
        }
        for event in &batch.events {
            match &event.kind {
                EventKind::Step(step) => {
                    self.guessed.isa |= self.here.unsure.isa;
                    self.step(step, self.here.isa, batch, &mut lately);
                }
                EventKind::Run(run) if run.withdrawn => self.events[1] += 1,
                EventKind::Run(run) => self.run(run, batch, &mut lately),
                EventKind::Trap(n) => {
                    self.events[2] += 1;
                    let trap = &batch.traps[*n as usize];
                    *self.traps.entry((trap.kind, trap.cause, trap.class)).or_default() += 1;
                    self.blocks.leave();
                }
                EventKind::Context(n) => {
                    self.events[3] += 1;
                    self.contexts.change(&batch.contexts[*n as usize]);
                    self.look(batch.source);
                }
                EventKind::Time(time) => {
                    self.events[4] += 1;
                    if let (TimeKind::Timestamp, Some(now)) = (time.kind, time.value) {
                        self.times = Some((self.times.map_or(now, |times| times.0), now));
                    }
                }
                EventKind::Mark(_) => self.events[5] += 1,
                EventKind::State(_) => self.events[6] += 1,
                EventKind::Gap(n) => {
                    self.events[7] += 1;
                    *self.gaps.entry(batch.gaps[*n as usize].reason).or_default() += 1;
                    self.blocks.leave();
                }
                EventKind::Foreign(_) => self.events[8] += 1,
            }
        }
        self.lately = Some(lately);
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
        add_all(&mut self.traps, later.traps);
        add_all(&mut self.gaps, later.gaps);
        if self.contexts.ends_before(&later.contexts) {
            self.blocks.leave();
        } else {
            self.judge(later.guessed);
        }
        self.misread |= later.misread;
        self.contexts.merge(later.contexts);
        self.blocks.merge(later.blocks);
        self.here.code = None;
        if let Some(source) = self.contexts.source() {
            self.look(source);
        }
        if let Some(lately) = later.lately {
            self.shared.give(lately);
        }
    }
}

impl Shared {
    fn take(&self) -> Lately {
        self.lately.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    fn give(&self, lately: Lately) {
        self.lately.lock().unwrap_or_else(PoisonError::into_inner).push(lately);
    }
}
