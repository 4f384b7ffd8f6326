//! Events to records.
//!
//! Whether a branch was taken and where a trap went may only be known from the next instruction: such an
//! item waits for it, and what comes in between waits behind it. The level may have to be told from the
//! events: then the first few batches wait too.

use std::io::Write;

mod accesses;

use trackway_core::*;

use crate::config::WriteConfig;
use crate::lower::accesses::{arm_level, merge, wanted_record};
use crate::producer::{Done, Producer};
use crate::record::{Level, StringRecord, Trap as TrapRecord, TrapType};
use crate::rules::*;
use trackway_isa::arm::{Class, StateWrite, classify, state_write};

/// Batches that are looked at to tell the level.
const EARLY: usize = 32;
/// A no-op.
const NOP: u32 = 0xd503_201f;
/// Items that wait for an instruction that never comes.
const LONGEST_WAIT: usize = 1 << 12;

/// What a source may not tell although a rule demands it: written without, and counted in the ledger.
const INCOMPLETE: &[&Rule] = &[
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
];

/// Takes events and writes an ASTF trace.
pub struct Lower {
    out: Option<Box<dyn Write + Send>>,
    producer: Option<Producer<Box<dyn Write + Send>>>,
    meta: Meta,
    config: WriteConfig,
    level: Level,
    losses: Losses,
    /// Batches before the level is known.
    early: Vec<Batch>,
    state: State,
    /// Waiting for the next instruction.
    held: Vec<Held>,
}

/// What the events so far say about the next. All of it is here.
#[derive(Debug, Default)]
struct State {
    /// The context, as events have told it.
    context: Context,
    /// In a Basic trace: the level of its instructions.
    only: Option<Privilege>,
    /// An AArch32 instruction set.
    foreign_isa: bool,
    /// The last time written or waiting; and a suspension that began at it.
    time: Option<u64>,
    suspended: bool,
    /// Times told to the producer, but for one that was made up.
    times: u64,
    /// Instructions written.
    count: u64,
    /// A gap stands between what waits and the next instruction.
    next_is_guessed: bool,
    /// Which source this trace is of.
    source: Option<u16>,
}

/// An item that waits.
#[derive(Debug)]
enum Held {
    Step(Box<Waiting>),
    Trap(Trap),
    Context(Context),
    Time(u64),
    Suspended,
    Note(Vec<u8>),
    Gap,
}

/// An instruction that waits, with what it needs of its batch.
#[derive(Debug)]
struct Waiting {
    pc: u64,
    word: u32,
    class: Class,
    attempted: bool,
    taken: Option<bool>,
    target: Option<u64>,
    index: Option<u8>,
    accesses: Vec<MemAccess>,
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
    /// Refuses sources that the format is not for: other instruction sets, and flow traces (ETE), which
    /// have no effective addresses (ASTF 2.2), unless the settings allow what does not conform.
    pub fn new(out: Box<dyn Write + Send>, meta: Meta, config: WriteConfig) -> Result<Self> {
        if !matches!(meta.isa, Isa::A64 | Isa::A32 | Isa::T32) {
            return Err(refused("instruction set", "ASTF 2.2"));
        }
        if meta.format == FormatId::Ete && !config.allow_nonconforming {
            return Err(refused("effective addresses", "ASTF 2.2; --allow-nonconforming writes it without"));
        }
        let named = meta.level.as_deref().filter(|_| meta.format == FormatId::Astf);
        let level = config.level.or_else(|| named.and_then(|name| name.parse().ok()));
        let mut lower = Lower {
            out: Some(out),
            producer: None,
            meta,
            config,
            level: level.unwrap_or(Level::Basic),
            losses: Losses::default(),
            early: Vec::new(),
            state: State::default(),
            held: Vec::new(),
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
        for rule in if self.config.allow_nonconforming { RULES } else { INCOMPLETE } {
            producer.tolerate(rule);
        }
        for comment in &self.meta.comments {
            for part in string_parts(comment.as_bytes()) {
                producer.string(part)?;
            }
            self.losses.add(Fate::Kept, "comments", 1);
        }
        if self.meta.format != FormatId::Astf {
            let from = self.meta.format.as_str();
            producer.string(format!("converted from {from} by Trackway").as_bytes())?;
        }
        if self.config.allow_nonconforming {
            producer.string(b"nonconforming: this trace may break rules of the specification")?;
        }
        self.losses.add(Fate::Dropped, "producers", self.meta.producers.len() as u64);
        self.losses.add(Fate::Dropped, "ISA string", self.meta.isa_string.is_some().into());
        self.losses.add(
            Fate::Dropped,
            "vector length of the machine",
            self.meta.vector_bits.is_some().into(),
        );
        self.producer = Some(producer);
        for batch in std::mem::take(&mut self.early) {
            self.lower(&batch)?;
        }
        Ok(())
    }

    /// Does this batch need more than the Basic level? Only what has a target counts as a trap: what left
    /// a user program for a kernel that is not in the trace does not.
    fn needs_plus(&mut self, batch: &Batch) -> bool {
        let levels = batch.contexts.iter().filter_map(|context| context.privilege.map(arm_level));
        let mut first = self.state.only;
        let changes = levels.fold(false, |changes, level| changes | (*first.get_or_insert(level) != level));
        self.state.only = first;
        changes || batch.traps.iter().any(|trap| trap.to.is_some())
    }

    fn lower(&mut self, batch: &Batch) -> Result<()> {
        if *self.state.source.get_or_insert(batch.source) != batch.source {
            self.losses.add(Fate::Dropped, "events of other sources", batch.events.len() as u64);
            return Ok(());
        }
        for event in &batch.events {
            match &event.kind {
                EventKind::Step(step) => self.step(event.offset, step, batch)?,
                EventKind::Run(_) => {
                    // Without its program a run has no instruction words.
                    let kind = ErrorKind::Missing;
                    return Err(kind.at(event.offset, "run", "instruction words", "give the program: --elf"));
                }
                EventKind::Trap(n) => self.hold(Held::Trap(batch.traps[*n as usize]))?,
                EventKind::Context(n) => self.hold(Held::Context(batch.contexts[*n as usize]))?,
                EventKind::Time(time) => match (time.kind, time.value) {
                    (TimeKind::Timestamp, Some(value)) if self.meta.timestamps => {
                        self.hold(Held::Time(value))?
                    }
                    (TimeKind::Timestamp, _) => self.losses.add(Fate::Dropped, "timestamps", 1),
                    _ => self.losses.add(Fate::Dropped, "cycle counts", 1),
                },
                EventKind::Mark(mark) => match mark.kind {
                    MarkKind::Note => self.hold(Held::Note(batch.bytes_of(mark.text).to_vec()))?,
                    MarkKind::Suspended => self.hold(Held::Suspended)?,
                    _ => self.losses.add(Fate::Dropped, "marks", 1),
                },
                EventKind::State(n) => self.drop_state(&batch.states[*n as usize], batch),
                EventKind::Gap(_) => self.hold(Held::Gap)?,
                EventKind::Foreign(foreign) => {
                    let data = batch.bytes_of(foreign.data);
                    let is_string =
                        (foreign.format, foreign.code) == (FormatId::Astf, StringRecord::ID.into());
                    if is_string && data.len() <= usize::from(u16::MAX) {
                        self.hold(Held::Note(data.to_vec()))?;
                    } else {
                        self.losses.add(Fate::Dropped, "items of other formats", 1);
                    }
                }
            }
        }
        Ok(())
    }

    fn drop_state(&mut self, state: &trackway_core::State, batch: &Batch) {
        match state {
            trackway_core::State::Contents(accesses) => {
                self.losses.add(Fate::Dropped, "register contents", batch.regs_of(*accesses).len() as u64);
                self.losses.add(Fate::Dropped, "memory contents", batch.mem_of(*accesses).len() as u64);
            }
            trackway_core::State::PageWalk(_) => self.losses.add(Fate::Dropped, "page table walks", 1),
            trackway_core::State::Bus(_) => self.losses.add(Fate::Dropped, "bus accesses", 1),
        }
    }

    fn step(&mut self, offset: u64, step: &Step, batch: &Batch) -> Result<()> {
        let extra = batch.extra_of(step).copied().unwrap_or_default();
        let mut lose = |there: bool, what| self.losses.add(Fate::Dropped, what, there.into());
        lose(extra.physical_pc.is_some(), "physical instruction addresses");
        lose(extra.micro_ops.len > 0, "micro-ops");
        // A fetch that failed has no instruction: its Trap stands alone.
        if extra.placeholder {
            lose(true, "placeholder instructions");
            return Ok(());
        }
        let Some(pc) = step.pc else {
            lose(true, "instructions without an address");
            return Ok(());
        };
        if step.length == 0 {
            let kind = ErrorKind::Missing;
            return Err(kind.at(offset, "step", "instruction word", "ASTF 4.5"));
        }
        self.flush(Some(pc))?;
        if self.is_left_out() {
            return Ok(());
        }
        self.losses.add(Fate::Dropped, "register values", step.accesses.regs_len.into());
        let class = classify(pc, step.encoding);
        let mut accesses = Vec::new();
        for access in batch.mem_of(step.accesses) {
            self.count_lost(access, batch);
            if access.unplaced {
                self.losses.add(Fate::Dropped, "accesses without an address", 1);
                continue;
            }
            accesses.push(MemAccess { data: Value::Unknown, extra: None, attributes: 0, ..*access });
        }
        if self.meta.format != FormatId::Astf {
            merge(class, &mut accesses, &mut self.losses);
        }
        let waiting = Waiting {
            pc,
            word: step.encoding,
            class,
            // These never retire, whatever the source says of them.
            attempted: step.outcome == Outcome::Attempted
                || matches!(class, Class::Syscall(..) | Class::Undefined)
                || (class == Class::Breakpoint && step.encoding & 0xffe0_001f == 0xd420_0000),
            taken: step.taken,
            target: extra.target,
            index: extra.sme_index.and_then(|index| u8::try_from(index).ok()),
            accesses,
        };
        // What the trap behind it says about an attempt: was there one at all?
        let doubtful = waiting.attempted && self.meta.format != FormatId::Astf;
        let returns = class == Class::ExceptionReturn && self.level == Level::BasicPlus;
        if waiting.is_complete() && !returns && !doubtful {
            return self.write_step(waiting, None);
        }
        self.held.push(Held::Step(Box::new(waiting)));
        Ok(())
    }

    fn count_lost(&mut self, access: &MemAccess, batch: &Batch) {
        let mut lose = |there: bool, what| self.losses.add(Fate::Dropped, what, there.into());
        lose(access.data != Value::Unknown, "memory data");
        lose(access.attributes != 0, "memory attributes");
        if let Some(extra) = batch.mem_extra_of(access) {
            lose(extra.physical.is_some(), "physical addresses");
            lose(extra.stored != Value::Unknown, "memory data");
            lose(extra.operation.is_some(), "atomic operations");
        }
    }

    /// Instructions of other levels do not belong into a Basic trace; AArch32 ones into none.
    fn is_left_out(&mut self) -> bool {
        if self.state.foreign_isa {
            self.losses.add(Fate::Dropped, "AArch32 instructions", 1);
            return true;
        }
        let privilege = self.state.context.privilege;
        let other = self.level == Level::Basic
            && privilege.is_some_and(|level| *self.state.only.get_or_insert(level) != level);
        if other {
            self.losses.add(Fate::Dropped, "instructions at other exception levels", 1);
        }
        other
    }

    /// Takes an item: at once if nothing waits, else behind what does.
    fn hold(&mut self, item: Held) -> Result<()> {
        let waits = matches!(&item, Held::Trap(trap) if trap.to.is_none() && self.level == Level::BasicPlus);
        if self.held.is_empty() && !waits {
            return self.put_item(item, None);
        }
        self.held.push(item);
        if self.held.len() > LONGEST_WAIT { self.flush(None) } else { Ok(()) }
    }

    /// The next instruction is at `next`, or there is none: what waits is settled.
    fn flush(&mut self, next: Option<u64>) -> Result<()> {
        let held = std::mem::take(&mut self.held);
        let gap = held.iter().any(|item| matches!(item, Held::Gap));
        let mut items = held.into_iter();
        while let Some(item) = items.next() {
            // Times and notes may stand before the trap.
            let mut before_gap = items.as_slice().iter().take_while(|item| !matches!(item, Held::Gap));
            let trap = before_gap.find_map(|item| match item {
                Held::Trap(trap) => Some(*trap),
                _ => None,
            });
            // An interrupt says where the flow would have gone; its handler is elsewhere.
            let follows = trap.map(|trap| trap.from.or(trap.return_address));
            let eret =
                matches!(&item, Held::Step(step) if step.class == Class::ExceptionReturn && !step.attempted);
            if let (Held::Step(step), Some(trap)) = (&item, &trap)
                && step.attempted
                && (comes_before(trap) || step.word == NOP)
            {
                // A no-op takes no exception: it stands where there is no instruction.
                let nothing = step.word == NOP;
                let what = if nothing { "placeholder instructions" } else { "interrupted instructions" };
                self.losses.add(Fate::Dropped, what, 1);
                continue;
            }
            self.state.next_is_guessed = gap;
            match follows {
                Some(from) if matches!(item, Held::Step(_)) => self.put_item(item, from)?,
                _ => self.put_item(item, next)?,
            }
            if eret && follows.is_none() && !gap && self.level == Level::BasicPlus && next.is_some() {
                // Formats without a return of their own: the jump tells it.
                self.losses.add(Fate::Derived, "exception returns", 1);
                self.put_item(Held::Trap(Trap { to: next, ..Trap::new(TrapKind::Return) }), next)?;
            }
        }
        Ok(())
    }

    fn put_item(&mut self, item: Held, next: Option<u64>) -> Result<()> {
        match item {
            Held::Step(waiting) => self.write_step(*waiting, next),
            Held::Trap(trap) => self.write_trap(&trap, next),
            Held::Context(context) => self.write_context(&context),
            Held::Time(value) => self.write_time(value),
            Held::Suspended => {
                self.state.suspended = true;
                Ok(())
            }
            Held::Note(text) => {
                self.losses.add(Fate::Kept, "notes", 1);
                for part in string_parts(&text) {
                    self.producer()?.string(part)?;
                }
                Ok(())
            }
            Held::Gap => {
                self.losses.add(Fate::Kept, "gaps", 1);
                self.producer()?.discontinuity();
                Ok(())
            }
        }
    }

    fn producer(&mut self) -> Result<&mut Producer<Box<dyn Write + Send>>> {
        self.producer.as_mut().ok_or_else(|| ErrorKind::Impossible { found: 0 }.at(0, "trace", "finish", ""))
    }

    fn write_step(&mut self, step: Waiting, next: Option<u64>) -> Result<()> {
        let Some(done) = self.done(&step, next) else {
            self.losses.add(Fate::Dropped, "branches to an unknown target", 1);
            return Ok(());
        };
        if self.state.count == 0 {
            self.first_instruction()?;
        }
        let accesses = step.accesses.len() as u64;
        self.producer()?.indexed(step.pc, step.word, done, &step.accesses, step.index)?;
        self.state.count += 1;
        self.losses.add(Fate::Kept, "instructions", 1);
        self.losses.add(Fate::Kept, "memory accesses", accesses);
        match state_write(step.word).filter(|_| !step.attempted && self.meta.format != FormatId::Astf) {
            Some(written) => self.follow_write(written),
            None => Ok(()),
        }
    }

    /// An instruction whose encoding tells the new state, of a source that may not.
    fn follow_write(&mut self, written: StateWrite) -> Result<()> {
        let context = &mut self.state.context;
        let (field, set) = match written {
            StateWrite::Streaming(set) => (&mut context.streaming, set),
            StateWrite::Dit(set) => (&mut context.dit, set),
            StateWrite::Ssbs(set) => (&mut context.ssbs, set),
            StateWrite::StackPointer(set) => (&mut context.own_stack, set),
            StateWrite::Register => return Ok(()),
        };
        if field.replace(set) != Some(set) {
            self.losses.add(Fate::Derived, "PSTATE changes", 1);
        }
        let record = self.record_of_context();
        Ok(self.producer()?.context(record)?)
    }

    /// How an instruction ended; `None` where a target is demanded and not known.
    fn done(&mut self, step: &Waiting, next: Option<u64>) -> Option<Done> {
        let Class::Branch { conditional, target: direct } = step.class else {
            return Some(if step.attempted { Done::Trapped } else { Done::Next });
        };
        if step.attempted {
            return Some(Done::Trapped);
        }
        let behind = step.pc.wrapping_add(4);
        let taken = step.taken.unwrap_or_else(|| {
            let told = !conditional || next.is_some();
            self.losses.add(if told { Fate::Derived } else { Fate::Invented }, "branch outcomes", 1);
            !conditional || (next.is_some() && next != Some(behind) && next == direct)
        });
        if !taken {
            return Some(Done::NotTaken);
        }
        if step.target.is_none() {
            let guessed = direct.is_none() && self.state.next_is_guessed;
            self.losses.add(if guessed { Fate::Invented } else { Fate::Derived }, "branch targets", 1);
        }
        step.target.or(direct).or(next).map(Done::Taken)
    }

    /// What has to stand before the first instruction and no event told.
    fn first_instruction(&mut self) -> Result<()> {
        if self.meta.timestamps && self.state.time.is_none() {
            self.first_time()?;
        }
        if self.state.context.privilege.is_none() {
            self.losses.add(Fate::Invented, "exception level (EL0)", 1);
            self.state.context.privilege = Some(Privilege::El0);
            self.state.only = Some(Privilege::El0);
        }
        if self.state.context.security.is_none() {
            self.losses.add(Fate::Invented, "security state (non-secure)", 1);
        }
        let context = self.record_of_context();
        Ok(self.producer()?.context(context)?)
    }

    fn write_trap(&mut self, trap: &Trap, next: Option<u64>) -> Result<()> {
        if self.level == Level::Basic {
            // The instruction has its flag, and the Context behind it stands for the rest.
            let call = trap.syscall == Some(Syscall::Svc);
            let fate = if call { Fate::Derived } else { Fate::Dropped };
            self.losses.add(fate, if call { "system call traps" } else { "traps" }, 1);
            self.producer()?.discontinuity();
            return Ok(());
        }
        if self.state.foreign_isa && trap.to.is_none() {
            self.losses.add(Fate::Dropped, "traps", 1);
            return Ok(());
        }
        let target = trap.to.or(next);
        if target.is_none() {
            self.losses.add(Fate::Invented, "trap targets (0)", 1);
        } else if trap.to.is_none() {
            self.losses.add(Fate::Derived, "trap targets", 1);
        }
        let record = TrapRecord { target_pc: target.unwrap_or(0), ..self.record_of_trap(trap) };
        self.losses.add(Fate::Dropped, "trap values", trap.value.is_some().into());
        self.losses.add(Fate::Kept, "traps", 1);
        Ok(self.producer()?.trap(record)?)
    }

    fn record_of_trap(&mut self, trap: &Trap) -> TrapRecord {
        let mut record = TrapRecord { is_virtual: trap.is_virtual, ..TrapRecord::default() };
        let kind = match trap.kind {
            TrapKind::Exception | TrapKind::Unknown => TrapType::SYNCHRONOUS,
            TrapKind::Return => TrapType::RETURN,
            TrapKind::Reset => TrapType::RESET,
            TrapKind::Interrupt => match (trap.cause, trap.class) {
                (Some(1), _) | (_, Some(0x2f)) => TrapType::SERROR,
                (Some(2), _) => TrapType::IRQ,
                (Some(3), _) => TrapType::FIQ,
                _ => {
                    self.losses.add(Fate::Invented, "interrupt types (IRQ)", 1);
                    TrapType::IRQ
                }
            },
        };
        record.trap_type = kind.0;
        record.is_virtual &= matches!(kind, TrapType::SERROR | TrapType::IRQ | TrapType::FIQ);
        if kind == TrapType::SERROR {
            record.ec = 0x2f;
        }
        if kind == TrapType::SYNCHRONOUS {
            let called = trap.syscall.map(crate::check::syscall_codes);
            if let Some((code, class)) = called {
                record.syscall_type = code;
                record.ec = class;
                record.syscall_index = trap.syscall_index.unwrap_or(0) as u16;
            }
            // Formats with one number for all causes keep the class in it.
            let class = trap.class.map(u64::from).or(trap.cause).filter(|class| *class < 64);
            match class {
                Some(class) => record.ec = class as u8,
                None if called.is_none() => self.losses.add(Fate::Invented, "exception classes (0)", 1),
                None => {}
            }
            self.derive_syscall(&mut record);
        }
        record
    }

    /// A class that says system call, and a source that does not name it: the instruction does.
    fn derive_syscall(&mut self, record: &mut TrapRecord) {
        if record.syscall_type == 0
            && let Some(Class::Syscall(syscall, immediate)) =
                self.producer.as_ref().and_then(Producer::last_class)
            && crate::check::syscall_codes(syscall).1 == record.ec
        {
            record.syscall_type = crate::check::syscall_codes(syscall).0;
            record.syscall_index = immediate;
            self.losses.add(Fate::Derived, "system call numbers", 1);
        }
    }

    fn write_context(&mut self, change: &Context) -> Result<()> {
        let lost = [
            (change.context_id.is_some(), "context ids"),
            (change.vmid.is_some(), "virtual machine ids"),
            (change.asid.is_some(), "address space ids"),
            (change.hw_thread.is_some(), "hardware threads"),
            (change.change.is_some(), "kinds of context change"),
        ];
        for (there, what) in lost {
            self.losses.add(Fate::Dropped, what, there.into());
        }
        if matches!(change.security, Some(Security::Realm | Security::Root)) {
            if !self.config.allow_nonconforming {
                return Err(refused("Realm and Root states", "ASTF 2.2; --allow-nonconforming writes them"));
            }
            self.losses.add(Fate::Invented, "security states (secure)", 1);
        }
        self.state.foreign_isa = match change.isa {
            None => self.state.foreign_isa,
            Some(isa) => isa != Isa::A64,
        };
        let change = &Context { privilege: change.privilege.map(arm_level), ..*change };
        apply(&mut self.state.context, change, self.meta.format == FormatId::Astf);
        if change.privilege.is_some() && self.state.context.own_stack.is_none() {
            self.losses.add(Fate::Invented, "stack pointer selections (SP_ELx)", 1);
        }
        let other = self.state.only.filter(|_| self.level == Level::Basic);
        let privilege = self.state.context.privilege;
        if other.is_some_and(|only| privilege.is_some_and(|privilege| privilege != only)) {
            self.losses.add(Fate::Dropped, "contexts of other exception levels", 1);
            return Ok(());
        }
        let mut record = self.record_of_context();
        if self.level == Level::Basic && record.unsupported {
            self.losses.add(Fate::Dropped, "unsupported modes", 1);
            return Ok(());
        }
        self.losses.add(Fate::Kept, "contexts", 1);
        if privilege.is_none() {
            return Ok(());
        }
        record.unsupported |= self.state.foreign_isa && self.level == Level::BasicPlus;
        if self.meta.timestamps && self.state.time.is_none() && record.unsupported {
            self.first_time()?;
        }
        Ok(self.producer()?.context(record)?)
    }

    fn record_of_context(&self) -> crate::record::Context {
        wanted_record(&self.state.context)
    }

    /// A trace with timestamps begins with one.
    fn first_time(&mut self) -> Result<()> {
        self.losses.add(Fate::Invented, "first timestamp (0)", 1);
        self.state.time = Some(0);
        Ok(self.producer()?.timestamp(0)?)
    }

    fn write_time(&mut self, value: u64) -> Result<()> {
        let suspended = std::mem::take(&mut self.state.suspended);
        let last = self.state.time;
        if value == u64::MAX || last.is_some_and(|last| last >= value) {
            let what = if last == Some(value) { "repeated timestamps" } else { "timestamps that go back" };
            self.losses.add(Fate::Dropped, what, 1);
            return Ok(());
        }
        if self.meta.format != FormatId::Astf && last.is_none() {
            self.losses.add(Fate::Invented, "unit of timestamps (microseconds)", 1);
        }
        self.state.times += 1;
        self.state.time = Some(value);
        let producer = self.producer()?;
        match last.filter(|_| suspended) {
            Some(from) => producer.suspend(from, value)?,
            None => producer.timestamp(value)?,
        }
        Ok(())
    }
}

impl Waiting {
    /// True if it can be written without knowing what follows.
    fn is_complete(&self) -> bool {
        match self.class {
            Class::Branch { .. } if self.attempted => true,
            Class::Branch { target, .. } => match self.taken {
                Some(true) => self.target.is_some() || target.is_some(),
                Some(false) => true,
                None => false,
            },
            _ => true,
        }
    }
}

/// Formats whose traps belong to an instruction put one there that did not run, or a no-op, for interrupts and
/// for what happens before there is an instruction: Instruction Aborts and misaligned addresses.
fn comes_before(trap: &Trap) -> bool {
    let class = trap.class.map(u64::from).or(trap.cause);
    match trap.kind {
        TrapKind::Interrupt => true,
        TrapKind::Exception => matches!(class, Some(0x20..=0x22)),
        _ => false,
    }
}

/// Applies a change: what it does not say stays, but ids belong to the level that they were given with, and
/// a `complete` change says all that is known of them.
fn apply(context: &mut Context, change: &Context, complete: bool) {
    let user = Some(Privilege::El0);
    if change.privilege.is_some() && (complete || change.privilege != user) {
        (context.pid, context.tid) = (None, None);
    }
    context.privilege = change.privilege.or(context.privilege);
    context.security = change.security.or(context.security);
    // What is not said with a new level is not known of it.
    context.own_stack = match change.privilege {
        Some(Privilege::El0) => change.own_stack.or(Some(false)),
        Some(_) => change.own_stack,
        None => change.own_stack.or(context.own_stack),
    };
    context.pid = change.pid.or(context.pid);
    context.tid = change.tid.or(context.tid);
    context.vector_bits = change.vector_bits.or(context.vector_bits);
    context.streaming = change.streaming.or(context.streaming);
    context.dit = change.dit.or(context.dit);
    context.ssbs = change.ssbs.or(context.ssbs);
    context.mte = change.mte.or(context.mte);
    context.unsupported = change.unsupported.or(context.unsupported);
}

impl Sink for Lower {
    fn put(&mut self, batch: &Batch) -> Result<()> {
        if self.producer.is_some() {
            return self.lower(batch);
        }
        if self.needs_plus(batch) {
            self.level = Level::BasicPlus;
            self.state.only = None;
        }
        self.early.push(batch.clone());
        if self.level == Level::BasicPlus || self.early.len() >= EARLY {
            self.state.only = None;
            self.begin()?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<Losses> {
        self.state.only = if self.producer.is_none() { None } else { self.state.only };
        self.begin()?;
        self.flush(None)?;
        let producer = self.producer()?;
        producer.finish()?;
        let (sanitised, broken) = (producer.sanitised, std::mem::take(&mut producer.broken));
        let superseded = producer.superseded;
        self.losses.add(Fate::Derived, "sanitised addresses", sanitised);
        self.losses.add(Fate::Kept, "timestamps", self.state.times.saturating_sub(superseded));
        self.losses.add(Fate::Dropped, "timestamps between two instructions", superseded);
        for (rule, count) in broken {
            // Demanded, not in the source, and not made up either: a reader misses it.
            self.losses.add(Fate::Dropped, rule, count);
        }
        self.producer = None;
        Ok(std::mem::take(&mut self.losses))
    }
}

/// What goes into one String each: an empty one is one too, and text is not cut inside a character.
fn string_parts(mut bytes: &[u8]) -> Vec<&[u8]> {
    const MOST: usize = u16::MAX as usize;
    let mut parts = Vec::new();
    while bytes.len() > MOST {
        let cut = match std::str::from_utf8(&bytes[..MOST]) {
            // A character that is not complete has up to three bytes.
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => MOST,
        };
        let (part, rest) = bytes.split_at(cut);
        parts.push(part);
        bytes = rest;
    }
    parts.push(bytes);
    parts
}

fn refused(what: &'static str, section: &'static str) -> Error {
    ErrorKind::Unsupported { found: 0 }.at(0, "source", what, section)
}
