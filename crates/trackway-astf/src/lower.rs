//! Events to records.
//!
//! ```text
//!  events ─▶ items that wait for the next instruction (pending) ─▶ records (emit) ─▶ Producer
//! ```
//!
//! Whether a branch was taken and where a trap went may only be known from the next instruction: such an item waits
//! for it, and later items wait after it. Where the level is not set, the first batches wait until events decide it.

mod accesses;
mod context;
mod emit;
mod pending;
mod tally;
mod trap;

use std::io::Write;

use trackway_core::*;
use trackway_isa::arm::{Class, classify};

use crate::config::{ID, WriteConfig};
use crate::producer::Producer;
use crate::record::{Header, Level, StringRecord};
use crate::rules::*;
use context::arm_level;
use pending::{Pending, PendingStep};
use tally::Tally;

/// Batches that decide the level.
const EARLY: usize = 32;

/// Rules that demand what a source may not record: the trace is written without it.
static INCOMPLETE: &[&Rule] = &[
    &VECTOR_LENGTH,
    &EA_MISSING,
    &ACCESS_SIZE,
    &RANGE_MISSING,
    &MOPS_RANGES,
    &SME_INDEX,
    &ABORT_EA,
    &TRAPPED_FLAGS,
    &FAULT_LAST,
    &TRAP_MISSING,
    &RETURN_MISSING,
    &TRAP_LEVEL,
    &TRAP_BEFORE_CONTEXT,
    &CONTEXT_MISSING,
    &CONTINUITY,
    &CONTEXT_CONTRADICTS,
    &VECTOR_SIZE,
    &BLOCK_ALIGNED,
    &INSTRUCTION_CLASS,
];

/// Takes events and writes an ASTF trace.
pub struct Lower {
    out: Option<Box<dyn Write + Send>>,
    producer: Option<Producer<Box<dyn Write + Send>>>,
    meta: Meta,
    config: WriteConfig,
    level: Level,
    tally: Tally,
    /// Batches before the level is known.
    early: Vec<Batch>,
    state: State,
    /// Items that wait for the next instruction.
    pending: Vec<Pending>,
}

/// All state that carries over from event to event.
#[derive(Debug, Default)]
struct State {
    /// The context according to the events so far.
    context: Context,
    /// In a Basic trace: the exception level of its instructions.
    only_level: Option<Privilege>,
    /// The current instruction set is AArch32.
    foreign_isa: bool,
    /// The last time written or waiting.
    time: Option<u64>,
    /// A suspension began at `time`.
    suspended: bool,
    /// Instructions written.
    count: u64,
    /// The last instruction written.
    last_pc: Option<u64>,
    /// Address of the next instruction, as a reader of the trace expects it.
    expected: Option<u64>,
    /// Target of the last instruction, an exception return, which the next one shows.
    returns_to: Option<u64>,
    /// Instructions were left out since the last one.
    hole: bool,
    /// In the unsupported mode that a gap is written as.
    away: bool,
    /// In Debug state, which a flow trace records as an exception.
    halted: bool,
    /// A gap lies between the pending items and the next instruction.
    next_is_guessed: bool,
    /// The source whose events are written.
    source: Option<u16>,
}

impl std::fmt::Debug for Lower {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lower")
            .field("level", &self.level)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

impl Lower {
    /// Starts a trace; `meta` is that of the source.
    ///
    /// Refuses sources that the format cannot hold: other instruction sets, and flow traces (ETE), which have no
    /// effective addresses (ASTF 2.2), unless the settings allow nonconforming output.
    pub fn new(out: Box<dyn Write + Send>, meta: Meta, config: WriteConfig) -> Result<Self> {
        if !matches!(meta.isa, Isa::A64 | Isa::A32 | Isa::T32) {
            return Err(refused("ASTF holds A64 instructions only"));
        }
        if meta.flow_only && !config.allow_nonconforming {
            return Err(refused(
                "ASTF demands the addresses of accesses, which this trace does not have; --allow-nonconforming writes it without",
            ));
        }
        let named = meta.level.as_deref().filter(|_| meta.format == ID);
        let level = config.level.or_else(|| named.and_then(|name| name.parse().ok()));
        let mut lower = Lower {
            out: Some(out),
            producer: None,
            tally: Tally::new(&meta),
            meta,
            config,
            level: level.unwrap_or(Level::Basic),
            early: Vec::new(),
            state: State::default(),
            pending: Vec::new(),
        };
        if level.is_some() {
            lower.begin()?;
        }
        Ok(lower)
    }

    /// The level is known: writes the Header and the metadata.
    fn begin(&mut self) -> Result<()> {
        let Some(out) = self.out.take() else { return Ok(()) };
        let mut producer = Producer::create(out, self.level, self.meta.timestamps, &self.config)?;
        producer.recent = Some(Vec::new());
        for rule in if self.config.allow_nonconforming { RULES } else { INCOMPLETE } {
            producer.tolerate(rule);
        }
        for comment in &self.meta.comments {
            for part in emit::string_parts(comment.as_bytes()) {
                producer.string(part)?;
            }
        }
        if self.meta.format != ID {
            let from = self.meta.format.as_str();
            producer.string(format!("converted from {from} by Trackway").as_bytes())?;
        }
        if self.config.allow_nonconforming {
            producer.string(b"nonconforming: this trace may break rules of the specification")?;
        }
        self.tally.begin(&Header::new(self.level, self.meta.timestamps));
        self.producer = Some(producer);
        for batch in std::mem::take(&mut self.early) {
            self.lower(&batch)?;
        }
        Ok(())
    }

    /// True if this batch needs more than the Basic level. Only traps with a target count: the others leave a user
    /// program for a kernel that is not in the trace.
    fn needs_plus(&mut self, batch: &Batch) -> bool {
        let levels = batch.contexts.iter().filter_map(|context| context.privilege.map(arm_level));
        let mut first = self.state.only_level;
        let changes = levels.fold(false, |changes, level| changes | (*first.get_or_insert(level) != level));
        self.state.only_level = first;
        changes || batch.traps.iter().any(|trap| trap.to.is_some())
    }

    fn lower(&mut self, batch: &Batch) -> Result<()> {
        if *self.state.source.get_or_insert(batch.source) != batch.source {
            batch.events.iter().for_each(|event| self.tally.lose(batch, &event.kind));
            return Ok(());
        }
        for event in &batch.events {
            self.tally.read(batch, &event.kind);
            match &event.kind {
                EventKind::Step(step) => self.step(event.offset, step, batch)?,
                EventKind::Run(_) => {
                    // Without its program a run has no instruction words.
                    let kind = ErrorKind::Missing;
                    return Err(kind.at(event.offset, "run", "instruction words", "give the program: --elf"));
                }
                EventKind::Trap(n) => self.queue(Pending::Trap(batch.traps[*n as usize]))?,
                EventKind::Context(n) => self.queue(Pending::Context(batch.contexts[*n as usize]))?,
                EventKind::Time(time) => match (time.kind, time.value) {
                    (TimeKind::Timestamp, Some(value)) if self.meta.timestamps => {
                        self.queue(Pending::Time(value))?
                    }
                    _ => {}
                },
                EventKind::Mark(mark) => match mark.kind {
                    MarkKind::Note => self.queue(Pending::Note(batch.bytes_of(mark.text).to_vec()))?,
                    MarkKind::Suspended => self.queue(Pending::Suspended)?,
                    _ => {}
                },
                EventKind::State(_) => {}
                EventKind::Gap(n) => self.queue(Pending::Gap(batch.gaps[*n as usize]))?,
                EventKind::Foreign(foreign) => {
                    let data = batch.bytes_of(foreign.data);
                    let is_string = (foreign.format, foreign.code) == (ID, StringRecord::ID.into());
                    if is_string && data.len() <= usize::from(u16::MAX) {
                        self.queue(Pending::Note(data.to_vec()))?;
                    }
                }
            }
        }
        Ok(())
    }

    fn step(&mut self, offset: u64, step: &Step, batch: &Batch) -> Result<()> {
        let extra = batch.extra_of(step).copied().unwrap_or_default();
        // A fetch that failed has no instruction: there is only its Trap.
        let Some(pc) = step.pc.filter(|_| !extra.placeholder) else { return Ok(()) };
        if step.length == 0 {
            let kind = ErrorKind::Missing;
            return Err(kind.at(offset, "step", "instruction word", "ASTF 4.5"));
        }
        self.flush(Some(pc))?;
        if self.is_left_out() {
            self.state.hole = true;
            return Ok(());
        }
        let class = classify(pc, step.encoding);
        let placed = batch.mem_of(step.accesses).iter().filter(|access| !access.unplaced);
        let bare =
            |access: &MemAccess| MemAccess { data: Value::Unknown, extra: None, attributes: 0, ..*access };
        let mut accesses: Vec<_> = placed.map(bare).collect();
        let mut changed = 0;
        if self.meta.format != ID {
            changed += accesses::merge(class, &mut accesses);
        }
        // Some never retire, whatever the source says.
        let attempted = step.outcome == Outcome::Attempted || class.always_traps();
        if attempted {
            changed += u64::from(accesses::fault(class, &mut accesses));
        }
        self.tally.changed[Fact::MemoryAccesses] += changed;
        let waiting = PendingStep {
            pc,
            word: step.encoding,
            class,
            attempted,
            taken: step.taken,
            target: extra.target,
            index: extra.sme_index.and_then(|index| u8::try_from(index).ok()),
            accesses,
        };
        // Whether the instruction was attempted at all depends on the trap after it.
        let doubtful = waiting.attempted && self.meta.format != ID;
        let returns = class == Class::ExceptionReturn && self.level == Level::BasicPlus;
        if waiting.is_complete() && !returns && !doubtful {
            return self.write_step(waiting, None);
        }
        self.pending.push(Pending::Step(Box::new(waiting)));
        Ok(())
    }

    /// True for instructions that the trace cannot hold: of other levels in a Basic trace, of AArch32 in any.
    fn is_left_out(&mut self) -> bool {
        let privilege = self.state.context.privilege;
        self.state.foreign_isa
            || (self.level == Level::Basic
                && privilege.is_some_and(|level| *self.state.only_level.get_or_insert(level) != level))
    }

    /// Counts the records since the last call.
    fn count_written(&mut self) {
        if let Some(recent) = self.producer.as_mut().and_then(|producer| producer.recent.as_mut()) {
            self.tally.wrote(recent);
            recent.clear();
        }
    }

    fn producer(&mut self) -> Result<&mut Producer<Box<dyn Write + Send>>> {
        self.producer.as_mut().ok_or_else(|| ErrorKind::Impossible { found: 0 }.at(0, "trace", "finish", ""))
    }
}

impl Sink for Lower {
    fn put(&mut self, batch: &Batch) -> Result<()> {
        if self.producer.is_some() {
            self.lower(batch)?;
            self.count_written();
            return Ok(());
        }
        if self.needs_plus(batch) {
            self.level = Level::BasicPlus;
            self.state.only_level = None;
        }
        self.early.push(batch.clone());
        if self.level == Level::BasicPlus || self.early.len() >= EARLY {
            self.state.only_level = None;
            self.begin()?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<Account> {
        self.state.only_level = if self.producer.is_none() { None } else { self.state.only_level };
        self.begin()?;
        self.flush(None)?;
        if self.state.foreign_isa && self.tally.is_empty() {
            return Err(refused("ASTF holds A64 instructions only, and this trace has none"));
        }
        let producer = self.producer()?;
        producer.finish()?;
        let (sanitised, broken) =
            (std::mem::take(&mut producer.sanitised), std::mem::take(&mut producer.broken));
        self.tally.changed.merge(&sanitised);
        self.count_written();
        self.producer = None;
        let mut account = self.tally.account(&self.meta, self.level);
        account.broken = broken;
        Ok(account)
    }
}

fn refused(text: &'static str) -> Error {
    ErrorKind::Reason { text, value: 0 }.at(0, "source", "", "ASTF 2.2")
}
