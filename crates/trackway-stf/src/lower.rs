//! Events to records.
//!
//! A step is written at once unless its group depends on the next event: a jump without a recorded target, an attempt
//! whose trap follows, a return from a trap, whose mode follows. Such a step waits. The header is delayed too, so that its feature bits match the
//! content.

mod accesses;
mod ahead;
mod books;
mod events;
mod header;
mod repeats;
mod usual;

use std::any::Any;

use trackway_core::*;
use trackway_isa::{Control, Recent, arm::a64, flow, never_retires, riscv};

use self::accesses::seem_joined;
use self::ahead::UsualAhead;
use self::books::Books;
use self::repeats::Templates;
use self::usual::Scratch;
use crate::config::{Version, WriteConfig};
use crate::fields::{Layout, Text32};
use crate::record::Record;
use crate::remark::{Ids, Remark, nop};
use crate::rules::FEATURE_DECLARED;
use crate::values::features;
use crate::write::Writer;

/// Number of groups before the header is written.
const EARLY: usize = 1 << 16;

/// Takes events and writes an STF trace.
#[derive(Debug)]
pub struct Lower {
    writer: Option<Writer>,
    config: WriteConfig,
    meta: Meta,
    layout: Layout,
    version: Version,
    isa: Isa,
    books: Books,
    /// Features seen so far, and those that the header declares.
    features: u64,
    declared: u64,
    /// Number of groups that wait for the header, until it is written.
    early: Option<usize>,
    /// Address of the first instruction.
    first_pc: Option<u64>,
    /// The step that waits for the next event, if `waits`; otherwise empty buffers.
    waiting: Waiting,
    waits: bool,
    /// Records for the next group.
    coming: Coming,
    /// Address of the next group, where it is known; another one needs a FORCE_PC.
    expected: Option<u64>,
    /// Address that a reader computes for the next group, for the index.
    read_next: Option<u64>,
    /// A remark says that addresses are not known.
    unknown: bool,
    /// Ids in force.
    context: Context,
    /// The words of PROCESS_ID_EXT, once one was written; the header names the first ones.
    ids: Option<Ids>,
    header_ids: Option<Ids>,
    /// The privilege of the first instruction is known.
    mode_at_start: bool,
    controls: Controls,
    scratch: Scratch,
    /// Records of stretches that repeat.
    templates: Templates,
    /// Usual steps are written as such; tests compare with the way of all others.
    shortcuts: bool,
}

/// Records of the next instruction, in the order in which they will be written.
#[derive(Debug, Default)]
struct Coming {
    /// Ids, encoding mode, comments.
    front: Vec<u8>,
    /// INST_REG, INST_READY_REG.
    registers: Vec<u8>,
    /// PAGE_TABLE_WALK.
    walks: Vec<u8>,
    /// BUS_MASTER_ACCESS with its content.
    bus: Vec<u8>,
    /// MODE_CHANGE.
    modes: Vec<u64>,
    /// The only mode is in a remark already: it changed before a gap.
    mode_shown: bool,
}

/// A group whose target or events are still to come.
#[derive(Debug, Default)]
struct Waiting {
    pc: Option<u64>,
    encoding: u32,
    length: u8,
    attempted: bool,
    /// Not an instruction.
    placeholder: bool,
    taken: Option<bool>,
    /// Its effect on the flow; none if it was only attempted.
    control: Control,
    /// The target that was handed in, and the return from a trap.
    given_target: Option<u64>,
    returned: Option<Trap>,
    /// A trap was taken here, and one of a failed fetch.
    trapped: bool,
    fetch_fault: bool,
    /// Another mode may be written, which holds after the instruction.
    takes_mode: bool,
    /// The mode to write again if no other follows.
    repeat_mode: Option<u64>,
    /// Records before INST_PC_TARGET.
    front: Vec<u8>,
    target: Option<u64>,
    body: Vec<u8>,
    events: Vec<u8>,
    /// Address that the last event leads to.
    event_target: Option<u64>,
    /// Micro-ops and the instruction.
    end: Vec<u8>,
}

impl Lower {
    /// Starts a trace; `meta` is that of the source.
    pub fn new(output: Output, meta: Meta, config: WriteConfig) -> Result<Self> {
        let oldest = match (&meta.isa_string, meta.vector_bits) {
            (Some(_), _) => Version(1, 6),
            (None, Some(_)) => Version(1, 4),
            _ => Version(1, 3),
        };
        let version = config.version.unwrap_or(oldest);
        if !version.is_supported() {
            let found = u64::from(version.1);
            return Err(ErrorKind::Unsupported { found }.at(0, "VERSION", "minor", "VersionRecord (2)"));
        }
        let vector_words = match meta.vector_bits {
            Some(bits) if version >= Version(1, 4) => bits.div_ceil(64) as u16,
            _ => 0,
        };
        // As in stf_lib: RV64 uses the long event form from version 1.5 on.
        let event64 = version >= Version(1, 5) && meta.isa == Isa::Rv64;
        Ok(Lower {
            writer: Some(Writer::new(output, config)?.without_header()),
            config,
            isa: meta.isa,
            layout: Layout { event64, vector_words, protocol: 0 },
            version,
            books: Books::new(&meta, version, config.process_id),
            features: 0,
            declared: 0,
            early: Some(0),
            first_pc: None,
            waiting: Waiting::default(),
            waits: false,
            coming: Coming::default(),
            expected: None,
            read_next: None,
            unknown: false,
            context: Context::default(),
            ids: None,
            header_ids: None,
            mode_at_start: false,
            controls: Controls::default(),
            scratch: Scratch::default(),
            templates: Templates::default(),
            shortcuts: true,
            meta,
        })
    }

    /// Takes the events one by one, for tests: the same trace results.
    #[doc(hidden)]
    pub fn without_shortcuts(mut self) -> Self {
        self.shortcuts = false;
        self
    }

    /// Writes events of a batch.
    fn events_of(&mut self, mut rest: &[Event], batch: &Batch) -> Result<()> {
        while !rest.is_empty() {
            rest = &rest[self.usual_and_one(rest, batch)?..];
        }
        Ok(())
    }

    /// Writes the usual steps at the start of `events`, and the event after them; returns their number.
    #[inline]
    fn usual_and_one(&mut self, events: &[Event], batch: &Batch) -> Result<usize> {
        let usual = self.usual_steps(events, batch)?;
        Ok(usual + self.one(&events[usual..], batch)?)
    }

    /// Writes the first event, if there is one; returns their number.
    #[inline]
    fn one(&mut self, events: &[Event], batch: &Batch) -> Result<usize> {
        let Some(event) = events.first() else { return Ok(0) };
        match &event.kind {
            EventKind::Step(step) => self.step(step, batch)?,
            _ => self.other(event, batch)?,
        }
        Ok(1)
    }

    fn step(&mut self, step: &Step, batch: &Batch) -> Result<()> {
        let extra = batch.extra_of(step);
        let (encoding, length) = match step.length {
            2 => (step.encoding, 2),
            0 => {
                let placeholder = extra.is_some_and(|extra| extra.placeholder);
                self.books.invent(Fact::Encodings, u64::from(!placeholder));
                (nop(self.isa), 4)
            }
            _ => (step.encoding, 4),
        };
        let step = Step { encoding, length, ..*step };
        let target = extra.and_then(|extra| extra.target);
        let control = self.controls.of(self.isa, encoding);
        let settled = match control {
            Control::TrapReturn => false,
            _ => !control.is_transfer() || target.is_some() || step.taken == Some(false),
        };
        if !settled || step.outcome == Outcome::Attempted {
            return self.wait(&step, control, batch);
        }
        self.books.outcome(step.taken, read_outcome(control, target, true));
        if !control.retires() {
            self.books.invent(Fact::Attempted, 1);
        }
        let force = self.begin(step.pc)?;
        if seem_joined(batch.mem_of(step.accesses)) {
            Remark::SeparateAccesses.write(&mut self.coming.front, &self.layout);
        }
        self.expected = target.or(next_in_memory(step.pc, length));
        self.read_next = self.expected;
        let mut out = self.begin_group()?;
        self.front(force, &mut out);
        if let Some(pc) = target {
            Record::InstPcTarget { pc }.write(&mut out, &self.layout);
        }
        self.body(&step, batch, &mut out);
        self.events(&mut out);
        self.end(&step, extra, batch, &mut out);
        self.end_group(out)
    }

    /// Lets a step wait for the next event.
    fn wait(&mut self, step: &Step, control: Control, batch: &Batch) -> Result<()> {
        let first = self.first_pc.is_none();
        let force = self.begin(step.pc)?;
        if seem_joined(batch.mem_of(step.accesses)) {
            Remark::SeparateAccesses.write(&mut self.coming.front, &self.layout);
        }
        let extra = batch.extra_of(step);
        let (modes, last) = (self.coming.modes.len(), self.coming.modes.last().copied());
        let mut group = std::mem::take(&mut self.waiting);
        group.reset();
        (group.pc, group.encoding, group.length) = (step.pc, step.encoding, step.length);
        (group.attempted, group.taken) = (step.outcome == Outcome::Attempted, step.taken);
        group.control = if group.attempted { Control::Sequential } else { control };
        group.placeholder = extra.is_some_and(|extra| extra.placeholder);
        group.target = extra.and_then(|extra| extra.target);
        group.given_target = group.target;
        // The only mode of the first group, or of one with a FORCE_PC, is that of its instruction.
        group.takes_mode = group.control == Control::TrapReturn && (modes > 0 || !first && force.is_none());
        // A reader takes the last of several for the one after the return.
        let alone = usize::from(first || force.is_some());
        group.repeat_mode = last.filter(|_| group.takes_mode && modes > alone);
        self.front(force, &mut group.front);
        self.body(step, batch, &mut group.body);
        self.events(&mut group.events);
        self.end(step, extra, batch, &mut group.end);
        self.waiting = group;
        self.waits = true;
        Ok(())
    }

    /// Begins a group after completing the waiting one. Returns the address that needs a FORCE_PC, if any.
    #[inline]
    fn begin(&mut self, pc: Option<u64>) -> Result<Option<u64>> {
        if self.waits {
            self.complete(pc)?;
        }
        let unknown = std::mem::replace(&mut self.unknown, pc.is_none());
        if pc.is_none() && !unknown {
            Remark::AddressUnknown.write(&mut self.coming.front, &self.layout);
        }
        if self.first_pc.is_none() {
            // The header's FORCE_PC has the first address, but a trap before it may lead elsewhere.
            self.first_pc = pc;
            return Ok(pc.filter(|_| unknown || self.expected.is_some() && pc != self.expected));
        }
        Ok(if pc == self.expected { None } else { pc })
    }

    #[inline]
    fn front(&mut self, force: Option<u64>, out: &mut Vec<u8>) {
        if let Some(pc) = force {
            Record::ForcePc { pc }.write(out, &self.layout);
        }
        move_to(out, &mut self.coming.front);
    }

    /// Writes the modes.
    #[inline]
    fn events(&mut self, out: &mut Vec<u8>) {
        for mode in self.coming.modes.drain(..) {
            events::mode_change(mode, out, &self.layout);
        }
        self.coming.mode_shown = false;
    }

    /// Writes registers, walks, memory and bus.
    #[inline]
    fn body(&mut self, step: &Step, batch: &Batch, out: &mut Vec<u8>) {
        move_to(out, &mut self.coming.registers);
        for access in batch.regs_of(step.accesses) {
            self.register(access, batch, out);
        }
        move_to(out, &mut self.coming.walks);
        self.memory(step.accesses, batch, out);
        move_to(out, &mut self.coming.bus);
    }

    /// Writes micro-ops and the instruction.
    #[inline]
    fn end(&mut self, step: &Step, extra: Option<&StepExtra>, batch: &Batch, out: &mut Vec<u8>) {
        if let Some(extra) = extra {
            self.extra(extra, batch, out);
        }
        match step.length {
            2 => Record::InstOpcode16 { opcode: step.encoding as u16 }.write(out, &self.layout),
            _ => Record::InstOpcode32 { opcode: step.encoding }.write(out, &self.layout),
        }
    }

    /// Writes the rare attributes of a step.
    fn extra(&mut self, extra: &StepExtra, batch: &Batch, out: &mut Vec<u8>) {
        for micro_op in batch.bytes_of(extra.micro_ops).as_chunks::<5>().0 {
            let [size, op @ ..] = *micro_op;
            self.features |= features::MICROOP;
            Record::InstMicroop { size, op: u32::from_le_bytes(op) }.write(out, &self.layout);
        }
    }

    /// Writes the waiting group, if any; the instruction after it is at `next`.
    fn complete(&mut self, next: Option<u64>) -> Result<()> {
        if !std::mem::take(&mut self.waits) {
            return Ok(());
        }
        let (isa, layout) = (self.isa, self.layout);
        let group = &mut self.waiting;
        let after = next_in_memory(group.pc, group.length);
        let mut remark = None;
        if group.control.is_transfer() && group.target.is_none() {
            // A jump to the next instruction is taken too; a branch only if the flow shows it.
            let shown = next.map(|next| Some(next) != after);
            let taken = if group.control == Control::Branch { group.taken.or(shown) } else { Some(true) };
            let encoded = group.pc.and_then(|pc| flow(isa, pc, group.encoding).target);
            group.target = encoded.or(next).filter(|_| taken == Some(true));
            if group.control == Control::Branch && taken != Some(false) && group.target.is_none() {
                remark = Some(Remark::OutcomeUnknown);
            }
        }
        if !group.placeholder {
            self.books.outcome(group.taken, read_outcome(group.control, group.target, remark.is_none()));
            self.books.target(group.given_target, group.target);
        }
        if let Some(mode) = group.repeat_mode.filter(|_| group.takes_mode) {
            events::mode_change(mode, &mut group.events, &layout);
        }
        if group.control == Control::TrapReturn {
            let to = group.target;
            let found = to.map(|_| Trap { from: group.pc, to, ..Trap::new(TrapKind::Return) });
            self.books.trap(group.returned.take(), found);
        }
        // A no-op whose fetch failed is taken for a placeholder, and an attempt without a trap for a retirement.
        let seems = group.fetch_fault && group.encoding == nop(isa);
        if group.placeholder != seems {
            remark = Some(if seems { Remark::Attempted } else { Remark::Placeholder });
        } else if group.attempted && !group.trapped && !never_retires(isa, group.encoding) {
            remark = Some(Remark::Attempted);
        }
        // Only a branch that was not taken continues in memory.
        let continues = !group.control.is_transfer() || group.control == Control::Branch;
        let next = group.event_target.or(group.target);
        (self.expected, self.read_next) = (next.or(after.filter(|_| continues)), next.or(after));
        self.unknown &= self.expected.is_none();
        let mut out = self.begin_group()?;
        let group = &mut self.waiting;
        move_to(&mut out, &mut group.front);
        if let Some(remark) = remark {
            remark.write(&mut out, &layout);
        }
        if let Some(pc) = group.target {
            Record::InstPcTarget { pc }.write(&mut out, &layout);
        }
        for part in [&mut group.body, &mut group.events, &mut group.end] {
            move_to(&mut out, part);
        }
        self.end_group(out)
    }

    /// The buffer to append the next group to; `end_group` takes it back.
    #[inline]
    fn begin_group(&mut self) -> Result<Vec<u8>> {
        match &mut self.writer {
            Some(writer) => writer.begin_group(self.read_next.unwrap_or(0)),
            None => Ok(Vec::new()),
        }
    }

    #[inline]
    fn end_group(&mut self, out: Vec<u8>) -> Result<()> {
        if let Some(writer) = &mut self.writer {
            writer.end_group(out);
        }
        self.count_early(1)
    }

    /// Counts groups that wait for the header, and writes it after the last of them.
    #[inline]
    fn count_early(&mut self, groups: usize) -> Result<()> {
        match &mut self.early {
            Some(early) => {
                *early += groups;
                if *early >= EARLY { self.write_header() } else { Ok(()) }
            }
            None => Ok(()),
        }
    }

    fn write_header(&mut self) -> Result<()> {
        let Some(early) = self.early.take() else { return Ok(()) };
        let header = self.header(early < EARLY);
        self.writer.as_mut().map_or(Ok(()), |writer| writer.late_header(&header))
    }

    /// Events other than steps.
    fn other(&mut self, event: &Event, batch: &Batch) -> Result<()> {
        match &event.kind {
            EventKind::Step(_) => {}
            EventKind::Run(run) if run.withdrawn => {}
            EventKind::Run(run) => {
                self.books.lose_event(batch, &event.kind);
                self.books.lose(Fact::Instructions, u64::from(run.count).saturating_sub(1));
                let (start, end, count) = (run.start, run.end, run.count);
                self.gap(&format!("reason=no-code from={start:#x} to={end:#x} instructions={count:#x}"))?;
            }
            EventKind::Trap(n) => self.trap(&event.kind, &batch.traps[*n as usize], batch)?,
            EventKind::Context(n) => self.context(&event.kind, &batch.contexts[*n as usize], batch),
            EventKind::State(n) => self.state(&event.kind, &batch.states[*n as usize], batch),
            EventKind::Mark(mark) if mark.kind == MarkKind::Note => {
                let text = batch.bytes_of(mark.text);
                let out = &mut self.coming.front;
                match Remark::is_ambiguous(text) {
                    true => Remark::Note(text).write(out, &self.layout),
                    false => Record::Comment { text: Text32(text) }.write(out, &self.layout),
                }
            }
            EventKind::Gap(_) => {
                let mut fields = String::new();
                batch.event_fields(event, &mut |name, value| fields += &format!("{name}={value} "));
                self.gap(fields.trim_end())?;
            }
            EventKind::Time(_) | EventKind::Mark(_) | EventKind::Foreign(_) => {}
        }
        Ok(())
    }

    /// Something is missing here.
    fn gap(&mut self, fields: &str) -> Result<()> {
        // The next instruction says nothing about the one before.
        self.complete(None)?;
        self.expected = None;
        let Coming { front, modes, mode_shown, .. } = &mut self.coming;
        // The group of the next instruction is after the gap: it only repeats the last mode.
        if !std::mem::replace(mode_shown, true) {
            modes.iter().for_each(|&mode| Remark::Mode(mode).write(front, &self.layout));
            modes.drain(..modes.len().saturating_sub(1));
        }
        Remark::Gap(fields).write(&mut self.coming.front, &self.layout);
        Ok(())
    }
}

/// The effect of instructions on the flow.
#[derive(Debug, Default)]
struct Controls(Recent<(u32, Isa), Control, 4096>);

impl Controls {
    #[inline(always)]
    fn of(&mut self, isa: Isa, encoding: u32) -> Control {
        match isa {
            Isa::Rv32 | Isa::Rv64 if riscv::is_plain(encoding) => Control::Sequential,
            Isa::Rv32 | Isa::Rv64 if riscv::is_branch(encoding) => Control::Branch,
            Isa::A64 if a64::is_plain(encoding) => Control::Sequential,
            Isa::A64 if a64::is_branch(encoding) => Control::Branch,
            _ => self.rare(isa, encoding),
        }
    }

    #[inline(never)]
    fn rare(&mut self, isa: Isa, encoding: u32) -> Control {
        *self.0.get((encoding, isa), || flow(isa, 0, encoding).control)
    }
}

impl Waiting {
    /// Forgets the group, keeps the memory.
    fn reset(&mut self) {
        let Waiting { front, body, events, end, .. } = std::mem::take(self);
        *self = Waiting { front, body, events, end, ..Waiting::default() };
    }
}

/// Address of the next instruction in memory.
#[inline]
fn next_in_memory(pc: Option<u64>, length: u8) -> Option<u64> {
    pc.map(|pc| pc.wrapping_add(length.into()))
}

/// Moves the content of a buffer; most are empty.
#[inline]
fn move_to(out: &mut Vec<u8>, part: &mut Vec<u8>) {
    if !part.is_empty() {
        out.append(part);
    }
}

/// The outcome that a reader finds for an instruction that retired; a remark may say that it is not known.
#[inline]
fn read_outcome(control: Control, target: Option<u64>, known: bool) -> Option<bool> {
    match target {
        Some(_) => Some(true),
        None => (control == Control::Branch && known).then_some(false),
    }
}

impl Sink for Lower {
    fn put(&mut self, batch: &Batch) -> Result<()> {
        self.events_of(&batch.events, batch)
    }

    fn ahead(&self) -> Option<Box<dyn Ahead>> {
        self.shortcuts.then(|| Box::new(UsualAhead::new(self.isa)) as Box<dyn Ahead>)
    }

    fn put_ahead(&mut self, batch: &Batch, ahead: &mut dyn Ahead) -> Result<()> {
        match (ahead as &mut dyn Any).downcast_mut() {
            Some(ahead) => self.put_batch_ahead(batch, ahead),
            None => self.put(batch),
        }
    }

    fn takes_repeats(&self) -> bool {
        true
    }

    fn put_folded(&mut self, folded: &Folded) -> Result<()> {
        self.folded(folded)
    }

    fn finish(&mut self) -> Result<Account> {
        self.complete(None)?;
        self.write_header()?;
        let mut events = Vec::new();
        if !self.coming.mode_shown {
            self.events(&mut events);
        }
        let Coming { front: mut rest, mut registers, mut walks, mut bus, .. } =
            std::mem::take(&mut self.coming);
        if ![&registers, &walks, &bus, &events].iter().all(|part| part.is_empty()) {
            Remark::Trailing.write(&mut rest, &self.layout);
        }
        for part in [&mut registers, &mut walks, &mut bus, &mut events] {
            rest.append(part);
        }
        if self.config.reserve_end {
            Record::ReserveEnd {}.write(&mut rest, &self.layout);
        }
        if let Some(writer) = self.writer.take() {
            writer.finish(&rest)?;
        }
        let mut account = self.books.close();
        // Seen only after the header was written.
        let late = (self.features & !self.declared).count_ones();
        if late > 0 {
            account.broken.insert(FEATURE_DECLARED.name, late.into());
        }
        Ok(account)
    }
}
