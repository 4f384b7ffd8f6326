//! What a trace is made of: events, instructions by class, branches, memory accesses and their footprint, traps,
//! contexts, hot blocks.
//!
//! Counts of parts can be merged. What a part cannot know is its context before the first change: such instructions count as of an
//! unknown one, and a block that goes on over a cut as two.
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
//! let mut stats = Stats::new(Isa::Rv64);
//! stats.observe(&batch);
//! assert_eq!((stats.retired, stats.memory.loads, stats.memory.bytes_read), (1, 1, 8));
//! assert_eq!(stats.classes["load"], 1);
//! ```

use std::collections::{BTreeMap, HashMap, HashSet};

use trackway_core::*;
use trackway_isa::riscv::{self, Class};
use trackway_isa::{Control, flow};

/// Bytes of a line and of a page, for footprints.
pub const LINE: u64 = 64;
/// See [`LINE`].
pub const PAGE: u64 = 4096;

/// Memory accesses.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// Reads.
    pub loads: u64,
    /// Writes.
    pub stores: u64,
    /// Read-modify-writes.
    pub atomics: u64,
    /// Prefetches, maintenance, faulting and suppressed ones.
    pub others: u64,
    /// Bytes read, by atomics too.
    pub bytes_read: u64,
    /// Bytes written, by atomics too.
    pub bytes_written: u64,
    /// With data.
    pub with_data: u64,
    /// Without a known address.
    pub unplaced: u64,
    /// By size.
    pub sizes: BTreeMap<u64, u64>,
    lines: HashSet<u64>,
    pages: HashSet<u64>,
}

impl Memory {
    /// Lines of [`LINE`] bytes touched.
    pub fn lines(&self) -> u64 {
        self.lines.len() as u64
    }

    /// Pages of [`PAGE`] bytes touched.
    pub fn pages(&self) -> u64 {
        self.pages.len() as u64
    }

    fn observe(&mut self, access: &MemAccess) {
        let (reads, writes) = match access.kind {
            MemKind::Read => (true, false),
            MemKind::Write => (false, true),
            MemKind::ReadWrite => (true, true),
            _ => (false, false),
        };
        match (reads, writes) {
            (true, true) => self.atomics += 1,
            (true, false) => self.loads += 1,
            (false, true) => self.stores += 1,
            (false, false) => self.others += 1,
        }
        self.bytes_read += if reads { access.size } else { 0 };
        self.bytes_written += if writes { access.size } else { 0 };
        self.with_data += u64::from(access.data != Value::Unknown);
        *self.sizes.entry(access.size).or_default() += 1;
        if access.unplaced {
            self.unplaced += 1;
            return;
        }
        // A range may be as long as memory: its ends do.
        for at in [access.address, access.address.wrapping_add(access.size.saturating_sub(1))] {
            self.lines.insert(at / LINE);
            self.pages.insert(at / PAGE);
        }
    }

    fn merge(&mut self, other: Memory) {
        self.loads += other.loads;
        self.stores += other.stores;
        self.atomics += other.atomics;
        self.others += other.others;
        self.bytes_read += other.bytes_read;
        self.bytes_written += other.bytes_written;
        self.with_data += other.with_data;
        self.unplaced += other.unplaced;
        add_all(&mut self.sizes, other.sizes);
        self.lines.extend(other.lines);
        self.pages.extend(other.pages);
    }
}

/// A straight run that was entered by a transfer of control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Times it was entered.
    pub entries: u64,
    /// Instructions executed in it.
    pub instructions: u64,
}

/// What a trace is made of.
#[derive(Clone, Debug)]
pub struct Stats {
    isa: Isa,
    /// Events by kind.
    pub events: BTreeMap<&'static str, u64>,
    /// Instructions that retired.
    pub retired: u64,
    /// Instructions that were only attempted.
    pub attempted: u64,
    /// Instructions of which not even the address is known.
    pub unknown: u64,
    /// Instructions by class; of runs without their code only the last one can be told.
    pub classes: BTreeMap<&'static str, u64>,
    /// Conditional branches: taken, not taken, not told.
    pub branches: [u64; 3],
    branch_places: HashSet<u64>,
    /// Memory accesses.
    pub memory: Memory,
    /// Register reads and writes that are recorded.
    pub registers: [u64; 2],
    /// CSR reads and writes among them.
    pub csrs: [u64; 2],
    /// Traps by kind and cause.
    pub traps: BTreeMap<String, u64>,
    /// Instructions by context.
    pub contexts: BTreeMap<String, u64>,
    /// Gaps by reason.
    pub gaps: BTreeMap<&'static str, u64>,
    /// First and last time stamp.
    pub times: Option<(u64, u64)>,
    blocks: HashMap<u64, Block>,
    context: Context,
    context_name: String,
    /// Start of the block going on, and where it would go on.
    block: Option<(u64, u64)>,
    source: u16,
}

/// What a context is called: privilege, security and ids; `None` where none of them is known.
pub fn context_name(context: &Context) -> Option<String> {
    let mut parts: Vec<String> = Vec::new();
    parts.extend(context.privilege.map(|level| level.word().to_string()));
    parts.extend(context.security.map(|state| state.word().to_string()));
    for (name, id) in [
        ("context", context.context_id),
        ("vmid", context.vmid),
        ("asid", context.asid),
        ("pid", context.pid),
        ("tid", context.tid),
        ("hw", context.hw_thread),
    ] {
        parts.extend(id.map(|id| format!("{name} {id:#x}")));
    }
    (!parts.is_empty()).then(|| parts.join(" "))
}

/// The word for an event in event lines.
fn word(kind: &EventKind) -> &'static str {
    match kind {
        EventKind::Step(_) => "step",
        EventKind::Run(_) => "run",
        EventKind::Trap(_) => "trap",
        EventKind::Context(_) => "context",
        EventKind::Time(_) => "time",
        EventKind::Mark(_) => "mark",
        EventKind::State(_) => "state",
        EventKind::Gap(_) => "gap",
        EventKind::Foreign(_) => "foreign",
    }
}

fn add_all<K: Ord>(to: &mut BTreeMap<K, u64>, from: BTreeMap<K, u64>) {
    for (key, count) in from {
        *to.entry(key).or_default() += count;
    }
}

impl Stats {
    /// Nothing yet.
    pub fn new(isa: Isa) -> Self {
        Stats {
            isa,
            events: BTreeMap::new(),
            retired: 0,
            attempted: 0,
            unknown: 0,
            classes: BTreeMap::new(),
            branches: [0; 3],
            branch_places: HashSet::new(),
            memory: Memory::default(),
            registers: [0; 2],
            csrs: [0; 2],
            traps: BTreeMap::new(),
            contexts: BTreeMap::new(),
            gaps: BTreeMap::new(),
            times: None,
            blocks: HashMap::new(),
            context: Context::default(),
            context_name: "unknown".into(),
            block: None,
            source: 0,
        }
    }

    /// Distinct conditional branches.
    pub fn branch_places(&self) -> u64 {
        self.branch_places.len() as u64
    }

    /// Distinct blocks entered.
    pub fn block_count(&self) -> u64 {
        self.blocks.len() as u64
    }

    /// The `n` blocks with most instructions executed in them, hottest first.
    pub fn hottest(&self, n: usize) -> Vec<(u64, Block)> {
        let mut all: Vec<(u64, Block)> = self.blocks.iter().map(|(start, block)| (*start, *block)).collect();
        all.sort_unstable_by_key(|(start, block)| (std::cmp::Reverse(block.instructions), *start));
        all.truncate(n);
        all
    }

    /// Takes a batch.
    pub fn observe(&mut self, batch: &Batch) {
        if batch.source != self.source {
            self.source = batch.source;
            self.context = Context::default();
            self.name_context();
            self.block = None;
        }
        for event in &batch.events {
            *self.events.entry(word(&event.kind)).or_default() += 1;
            match &event.kind {
                EventKind::Step(step) => self.step(step, batch),
                EventKind::Run(run) if !run.withdrawn => self.run(run, batch),
                EventKind::Run(_) => {}
                EventKind::Trap(n) => self.trap(&batch.traps[*n as usize]),
                EventKind::Context(n) => {
                    self.context.update(&batch.contexts[*n as usize]);
                    self.isa = batch.contexts[*n as usize].isa.unwrap_or(self.isa);
                    self.name_context();
                }
                EventKind::Time(time) if time.kind == TimeKind::Timestamp => {
                    if let Some(now) = time.value {
                        self.times = Some((self.times.map_or(now, |times| times.0), now));
                    }
                }
                EventKind::Gap(n) => {
                    *self.gaps.entry(batch.gaps[*n as usize].reason.word()).or_default() += 1;
                    self.block = None;
                }
                EventKind::Time(_) | EventKind::Mark(_) | EventKind::State(_) | EventKind::Foreign(_) => {}
            }
        }
    }

    /// Takes over what another part counted.
    pub fn merge(&mut self, other: Stats) {
        add_all(&mut self.events, other.events);
        self.retired += other.retired;
        self.attempted += other.attempted;
        self.unknown += other.unknown;
        add_all(&mut self.classes, other.classes);
        for (to, from) in self.branches.iter_mut().zip(other.branches) {
            *to += from;
        }
        self.branch_places.extend(other.branch_places);
        self.memory.merge(other.memory);
        for n in 0..2 {
            self.registers[n] += other.registers[n];
            self.csrs[n] += other.csrs[n];
        }
        add_all(&mut self.traps, other.traps);
        add_all(&mut self.contexts, other.contexts);
        add_all(&mut self.gaps, other.gaps);
        self.times = match (self.times, other.times) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (a, b) => a.or(b),
        };
        for (start, block) in other.blocks {
            let here = self.blocks.entry(start).or_default();
            here.entries += block.entries;
            here.instructions += block.instructions;
        }
    }

    fn name_context(&mut self) {
        self.context_name = context_name(&self.context).unwrap_or_else(|| "unknown".into());
    }

    fn count(&mut self, instructions: u64, attempted: u64) {
        self.retired += instructions - attempted;
        self.attempted += attempted;
        match self.contexts.get_mut(&self.context_name) {
            Some(count) => *count += instructions,
            None => drop(self.contexts.insert(self.context_name.clone(), instructions)),
        }
    }

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

    /// Instructions from `start` to `end`; a block goes on where nothing led away.
    fn enter(&mut self, start: u64, end: u64, instructions: u64, leaves: bool) {
        let first = match self.block {
            Some((first, next)) if next == start => first,
            _ => {
                self.blocks.entry(start).or_default().entries += 1;
                start
            }
        };
        self.blocks.entry(first).or_default().instructions += instructions;
        self.block = (!leaves).then_some((first, end));
    }

    fn branch(&mut self, pc: u64, taken: Option<bool>) {
        self.branches[match taken {
            Some(true) => 0,
            Some(false) => 1,
            None => 2,
        }] += 1;
        self.branch_places.insert(pc);
    }

    fn step(&mut self, step: &Step, batch: &Batch) {
        self.count(1, u64::from(step.outcome == Outcome::Attempted));
        self.accesses(batch, step.accesses);
        let Some(pc) = step.pc else {
            self.unknown += 1;
            return;
        };
        if step.length == 0 {
            *self.classes.entry("unknown").or_default() += 1;
            self.block = None;
            return;
        }
        let flow = flow(self.isa, pc, step.encoding);
        let class = class(self.isa, step.encoding, flow.control, batch.mem_of(step.accesses));
        *self.classes.entry(class).or_default() += 1;
        if flow.conditional || flow.control == Control::Branch {
            self.branch(pc, step.taken);
        }
        let leaves = flow.control.is_transfer() || !flow.control.retires();
        self.enter(pc, pc.wrapping_add(step.length.into()), 1, leaves);
    }

    fn run(&mut self, run: &Run, batch: &Batch) {
        self.count(run.count.into(), run.attempted.into());
        self.accesses(batch, batch.accesses_of(run));
        *self.classes.entry("in runs").or_default() += u64::from(run.count);
        if run.exit == Exit::Branch {
            self.branch(run.end, run.taken);
        }
        self.enter(run.start, run.end, run.count.into(), run.exit != Exit::Next);
    }

    fn trap(&mut self, trap: &Trap) {
        let mut name = trap.kind.word().to_string();
        if let Some(cause) = trap.cause {
            name += &format!(" {cause}");
        }
        if let Some(class) = trap.class {
            name += &format!(" class {class:#x}");
        }
        *self.traps.entry(name).or_default() += 1;
        self.block = None;
    }
}

/// The class of an instruction: for RISC-V by its table, else by what it does to flow and memory.
fn class(isa: Isa, encoding: u32, control: Control, mem: &[MemAccess]) -> &'static str {
    if matches!(isa, Isa::Rv32 | Isa::Rv64)
        && let Some(inst) = riscv::decode(isa, encoding)
    {
        return match inst.op.class() {
            Class::Int => "integer",
            Class::Multiply => "multiply",
            Class::Divide => "divide",
            Class::Branch => "branch",
            Class::Jal | Class::Jalr => match control {
                control if control.is_call() => "call",
                control if control.is_return() => "return",
                _ => "jump",
            },
            Class::Load(_) | Class::LoadReserved(_) => "load",
            Class::Store(_) | Class::StoreConditional(_) => "store",
            Class::Amo(_) => "atomic",
            Class::Csr => "csr",
            Class::Fence => "fence",
            Class::System => "system",
            Class::Float
            | Class::FloatMultiply
            | Class::FloatDivide
            | Class::FloatCompare
            | Class::FloatConvert
            | Class::FloatMove => "float",
            Class::VectorLoad(_) => "vector load",
            Class::VectorStore(_) => "vector store",
            Class::VectorConfig | Class::Vector => "vector",
        };
    }
    let has = |kind: MemKind| mem.iter().any(|access| access.kind == kind);
    match control {
        Control::Branch => "branch",
        control if control.is_call() => "call",
        control if control.is_return() => "return",
        Control::Sequential if has(MemKind::ReadWrite) || (has(MemKind::Read) && has(MemKind::Write)) => {
            "atomic"
        }
        Control::Sequential if has(MemKind::Read) => "load",
        Control::Sequential if has(MemKind::Write) => "store",
        Control::Sequential => "other",
        control if control.retires() => "jump",
        _ => "system",
    }
}
