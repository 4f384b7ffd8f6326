//! Lines to events.
//!
//! An instruction line begins a group; the registers and memory after it are its accesses. Where a branch went is in
//! the pc of the next instruction, so a step is completed when that line comes.

use serde::{Deserialize, Serialize};
use trackway_core::{
    Accesses, Batch, Event, EventKind, Foreign, Gap, GapReason, Isa, MemKind, Outcome, RegRole, Step,
    StepExtra, Syscall, Time, TimeKind, Trap, TrapKind,
};
use trackway_isa::{Control, Flow, flow};

use super::line::parse;
use super::mode::Mode;
use super::names::Name;
use super::parsed::{Bytes, Content, Exception, Instruction, KINDS, Parsed};
use super::registers;
use super::{Dialect, ID, Tarmac, memory};
use crate::lines::{Line, Wrong};
use crate::log::Lift;

/// Lines after which a group is ended, so that a batch stays small.
const LONGEST: u32 = 4096;

/// Lifts the lines of one core.
#[derive(Clone, Debug)]
pub(crate) struct Lifter {
    dialect: Dialect,
    /// Instruction set of lines that name none.
    isa: Option<Isa>,
    /// Instruction set of the first instruction.
    first: Isa,
    /// The usual unit of time: clock 0.
    unit: u8,
    /// The core; empty where lines name none.
    core: Vec<u8>,
    state: State,
    group: Option<Group>,
    /// The name of the mode that was read last.
    mode_text: Vec<u8>,
    /// LD and ST lines of the group.
    bytes: Vec<Bytes>,
}

/// The state between two groups.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct State {
    /// The time, and its clock.
    time: Option<(u64, u16)>,
    mode: Mode,
    isa: Option<Isa>,
    /// The last line was of another core: a line without time is too.
    elsewhere: bool,
    /// The line before was text of the simulator.
    message: bool,
}

/// An instruction, or state without one, and the lines that belong to it.
#[derive(Clone, Copy, Debug)]
struct Group {
    accesses: Accesses,
    lines: u32,
    /// The instruction; none where registers are set outside of one.
    step: Option<Open>,
    /// Contents outside of an instruction, by their place in the batch.
    contents: Option<u32>,
    /// A trap whose handler comes next, by its place in the batch.
    trap: Option<u32>,
}

/// A step that is not complete.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// Its place in the batch.
    event: u32,
    pc: u64,
    flow: Flow,
    encoding: u32,
    isa: Isa,
    physical: Option<u64>,
    skipped: bool,
    /// Where a BR line says that it went.
    target: Option<u64>,
}

impl Lifter {
    pub(super) fn new(log: &Tarmac, core: Vec<u8>) -> Self {
        let Tarmac { dialect, isa, unit, first: (first, mode), .. } = *log;
        let state = State { elsewhere: !core.is_empty(), mode, ..State::default() };
        Lifter {
            dialect,
            isa,
            unit,
            core,
            first,
            state,
            group: None,
            mode_text: Vec::new(),
            bytes: Vec::new(),
        }
    }

    /// Is the line of this core?
    #[inline(always)]
    fn is_own(&mut self, parsed: &Parsed<'_>) -> bool {
        if self.core.is_empty() {
            return true;
        }
        if parsed.time.is_some() {
            self.state.elsewhere = parsed.core != self.core;
        }
        !self.state.elsewhere
    }

    #[inline(always)]
    fn instruction(&mut self, line: &Line<'_>, parsed: &Parsed<'_>, i: &Instruction<'_>, batch: &mut Batch) {
        self.time(line.offset, parsed, batch);
        if self.mode_text != i.mode || self.state.isa != Some(i.isa) {
            self.switch(line.offset, i, batch);
        }
        let flow = flow(i.isa, i.pc, i.encoding);
        let step = Step::new(i.pc, i.encoding, i.length);
        let event = batch.events.len() as u32;
        batch.push(line.offset, EventKind::Step(step));
        let Instruction { pc, encoding, isa, physical, skipped, .. } = *i;
        let open = Open { event, pc, flow, encoding, isa, physical, skipped, target: None };
        self.group = Some(Group {
            accesses: batch.begin_accesses(),
            lines: 0,
            step: Some(open),
            contents: None,
            trap: None,
        });
    }

    #[inline(always)]
    fn time(&mut self, offset: u64, parsed: &Parsed<'_>, batch: &mut Batch) {
        let Some(time) = parsed.time else { return };
        let clock = if parsed.unit == self.unit { 0 } else { u16::from(parsed.unit) + 1 };
        if self.state.time.replace((time, clock)) != Some((time, clock)) {
            let time = Time { kind: TimeKind::Timestamp, value: Some(time), clock };
            batch.push(offset, EventKind::Time(time));
        }
    }

    /// Another mode or instruction set begins, or the same by another name.
    #[cold]
    fn switch(&mut self, offset: u64, i: &Instruction<'_>, batch: &mut Batch) {
        let mode = if i.mode.is_empty() { self.state.mode } else { Mode::read(i.mode) };
        self.mode_text.clear();
        self.mode_text.extend_from_slice(i.mode);
        if (self.state.mode, self.state.isa) != (mode, Some(i.isa)) {
            (self.state.mode, self.state.isa) = (mode, Some(i.isa));
            batch.push_context(offset, mode.context(i.isa));
        }
    }

    /// The group that registers and memory belong to; one without an instruction begins where there is none.
    #[inline(always)]
    fn group(&mut self, offset: u64, batch: &mut Batch) -> &mut Group {
        let group = self.group.get_or_insert_with(|| Group {
            accesses: batch.begin_accesses(),
            lines: 0,
            step: None,
            contents: None,
            trap: None,
        });
        if group.step.is_none() && group.contents.is_none() {
            batch.push_state(offset, trackway_core::State::Contents(Accesses::default()));
            group.contents = Some(batch.states.len() as u32 - 1);
        }
        group
    }

    /// Ends a group; `next` is the pc that follows, where it is known. `trapped` says that the instruction took an
    /// exception.
    #[inline(always)]
    fn finish(&mut self, next: Option<u64>, trapped: bool, batch: &mut Batch) {
        let Some(group) = self.group.take() else { return };
        if !self.bytes.is_empty() {
            let element = group.step.map_or(16, |open| memory::element(open.isa, open.encoding));
            memory::push_bytes(&mut self.bytes, element, batch);
        }
        // A group ends before its accesses are too many.
        let accesses = batch.end_accesses(group.accesses).unwrap_or_default();
        if let Some(trap) = group.trap.and_then(|trap| batch.traps.get_mut(trap as usize)) {
            trap.to = next.or(trap.to);
        }
        if let Some(open) = group.step {
            complete(&open, accesses, next, trapped, batch);
        } else if let Some(state) = group.contents.and_then(|n| batch.states.get_mut(n as usize)) {
            *state = trackway_core::State::Contents(accesses);
        }
    }

    /// An exception, an interrupt or a reset.
    #[cold]
    fn exception(&mut self, line: &Line<'_>, parsed: &Parsed<'_>, found: &Exception<'_>, batch: &mut Batch) {
        let name = found.name.to_ascii_uppercase();
        let has = |part: &[u8]| name.windows(part.len()).any(|window| window == part);
        let (kind, cause) = if has(b"RESET") {
            (TrapKind::Reset, None)
        } else if has(b"SERROR") {
            (TrapKind::Interrupt, Some(1))
        } else if has(b"IRQ") {
            (TrapKind::Interrupt, Some(2))
        } else if has(b"FIQ") {
            (TrapKind::Interrupt, Some(3))
        } else {
            (TrapKind::Exception, None)
        };
        let mut trap = Trap { cause, from: found.pc, ..Trap::new(kind) };
        let contents = self.group.and_then(|group| group.contents);
        match self.group.and_then(|group| group.step) {
            // The instruction itself took it.
            Some(open) if kind == TrapKind::Exception && found.pc.is_none_or(|pc| pc == open.pc) => {
                trap = Trap { cause, ..open.trap() };
                self.finish(None, true, batch);
            }
            _ => self.finish(found.pc, false, batch),
        }
        self.time(line.offset, parsed, batch);
        if kind == TrapKind::Reset {
            trap.from = None;
        }
        batch.push_trap(line.offset, trap);
        if let (TrapKind::Reset, None, Some(contents)) = (kind, self.state.isa, contents) {
            // Models print the registers that a reset leaves before it.
            let is_shown = |event: &Event| event.kind == EventKind::State(contents);
            let at = batch.events.iter().rposition(is_shown).unwrap_or(0);
            batch.events[at..].rotate_right(1);
        }
        let trap = Some(batch.traps.len() as u32 - 1);
        let accesses = batch.begin_accesses();
        self.group = Some(Group { accesses, lines: 0, step: None, contents: None, trap });
    }

    /// A register that says more about the trap before it.
    #[cold]
    fn syndrome(&self, number: u16, value: u64, batch: &mut Batch) {
        let Some(trap) = self.group.and_then(|group| group.trap) else { return };
        let Some(trap) = batch.traps.get_mut(trap as usize) else { return };
        // ESR_ELx, FAR_ELx and ELR_ELx, whatever the level.
        match number & !0x3800 {
            0xc290 if trap.kind != TrapKind::Interrupt => trap.class = Some((value >> 26 & 0x3f) as u8),
            0xc300 => trap.value = Some(value),
            0xc201 => trap.return_address = Some(value),
            _ => {}
        }
    }

    /// Keeps a line that the model does not name.
    #[cold]
    fn keep(&mut self, line: &Line<'_>, kind: usize, batch: &mut Batch) {
        let data = batch.add_bytes(line.text);
        batch.push(line.offset, EventKind::Foreign(Foreign { format: ID, code: kind as u32, data }));
    }
}

impl Open {
    /// The exception that it takes.
    #[cold]
    fn trap(&self) -> Trap {
        let mut trap = Trap { from: Some(self.pc), ..Trap::new(TrapKind::Exception) };
        if self.flow.control == Control::SystemCall && self.isa == Isa::A64 {
            let (syscall, class) = match self.encoding & 3 {
                1 => (Syscall::Svc, 0x15),
                2 => (Syscall::Hvc, 0x16),
                _ => (Syscall::Smc, 0x17),
            };
            (trap.syscall, trap.class) = (Some(syscall), Some(class));
            trap.syscall_index = Some(u64::from(self.encoding >> 5 & 0xffff));
        }
        trap
    }
}

/// Completes a step.
#[inline(always)]
fn complete(open: &Open, accesses: Accesses, next: Option<u64>, trapped: bool, batch: &mut Batch) {
    let Open { event, pc, flow, physical, skipped, target, .. } = *open;
    let after = pc.wrapping_add(u64::from(flow.length));
    let next = target.or(next);
    let attempted = trapped || !flow.control.retires() && !skipped;
    let mut taken = None;
    if !attempted && flow.control.is_transfer() {
        taken = match (skipped, target) {
            (true, _) => Some(false),
            (_, Some(_)) => Some(true),
            _ if flow.conditional || flow.control == Control::Branch => next.map(|next| next != after),
            _ => Some(true),
        };
    }
    let target = next.filter(|_| taken == Some(true));
    let extra = match (target, physical) {
        (None, None) => None,
        _ => batch.add_extra(StepExtra { target, physical_pc: physical, ..StepExtra::default() }),
    };
    let Some(Event { kind: EventKind::Step(step), offset }) = batch.events.get_mut(event as usize) else {
        return;
    };
    let offset = *offset;
    (step.accesses, step.extra, step.taken) = (accesses, extra, taken);
    if attempted {
        step.outcome = Outcome::Attempted;
        // A log without exceptions shows them by where they lead. The handler of a semihosting call is outside of it.
        if !trapped {
            batch.push_trap(offset, Trap { to: next.filter(|next| *next != after), ..open.trap() });
        }
        return;
    }
    if flow.control == Control::TrapReturn && taken == Some(true) {
        let trap = Trap { from: Some(pc), to: next, ..Trap::new(TrapKind::Return) };
        batch.push_trap(offset, trap);
    }
    let expected = if taken == Some(true) { flow.target.or(next) } else { Some(after) };
    if let (Some(next), Some(expected)) = (next, expected)
        && next != expected
    {
        let gap = Gap { from: Some(pc), to: Some(next), ..Gap::new(GapReason::Unexplained) };
        batch.push_gap(offset, gap);
    }
}

impl Lift for Lifter {
    type State = State;

    #[inline(always)]
    fn line(&mut self, line: &Line<'_>, full: bool, batch: &mut Batch) -> Result<Option<usize>, Wrong> {
        let message = std::mem::take(&mut self.state.message);
        let parsed = parse(line.text, self.isa, message)?;
        self.state.message = matches!(parsed.content, Content::Message);
        if !self.is_own(&parsed) {
            return Ok(Some(KINDS.len()));
        }
        let kind = parsed.content.kind();
        match &parsed.content {
            Content::Instruction(i) => {
                self.finish(Some(i.pc), false, batch);
                if full {
                    return Ok(None);
                }
                self.instruction(line, &parsed, i, batch);
                return Ok(Some(kind));
            }
            Content::Register(register) => {
                let group = *self.group(line.offset, batch);
                let (role, system, isa) = match group.step {
                    Some(open) => (RegRole::Destination, is_system(&open), open.isa),
                    None => (RegRole::State, true, self.state.isa.unwrap_or(self.first)),
                };
                if !registers::push(register, (&self.state.mode, isa), role, system, batch) {
                    self.keep(line, kind, batch);
                } else if let (Name::System(number), Some(_)) = (register.name, group.trap) {
                    self.syndrome(number, register.value as u64, batch);
                }
            }
            Content::Memory(access) => {
                let open = self.group(line.offset, batch).step;
                match open {
                    Some(open)
                        if self.dialect == Dialect::Gem5
                            && access.kind == MemKind::Write
                            && memory::is_load(open.isa, open.encoding) =>
                    {
                        memory::push_pair(access, memory::element(open.isa, open.encoding), batch);
                    }
                    _ => memory::push(access, batch),
                }
            }
            Content::Bytes(bytes) => {
                self.group(line.offset, batch);
                let kind = bytes.kind.or_else(|| self.bytes.last().and_then(|line| line.kind));
                self.bytes.push(Bytes { kind, ..*bytes });
            }
            Content::Exception(found) if found.name != b"CoreEvent_ModeChange" => {
                self.exception(line, &parsed, found, batch);
            }
            Content::Branch(target) => {
                if let Some(Group { step: Some(open), .. }) = &mut self.group {
                    open.target = Some(*target);
                } else if let Some(Group { trap: Some(trap), .. }) = self.group {
                    if let Some(trap) = batch.traps.get_mut(trap as usize) {
                        trap.to = Some(*target);
                    }
                } else {
                    self.keep(line, kind, batch);
                }
            }
            Content::Exception(_) | Content::Operation | Content::Other | Content::Message => {
                self.keep(line, kind, batch)
            }
            Content::Header(_) | Content::Blank => {}
        }
        if let Some(group) = &mut self.group {
            group.lines += 1;
            if group.lines == LONGEST {
                self.finish(None, false, batch);
            }
        }
        Ok(Some(kind))
    }

    fn end(&mut self, batch: &mut Batch) {
        self.finish(None, false, batch);
        self.state.message = false;
    }

    #[inline(always)]
    fn is_open(&self) -> bool {
        self.group.is_some()
    }

    fn begins(&self, line: &Line<'_>) -> bool {
        let found = parse(line.text, self.isa, false);
        found.is_ok_and(|parsed| {
            matches!(parsed.content, Content::Instruction(_))
                && parsed.time.is_some()
                && parsed.core == self.core
        })
    }

    fn state(&self) -> State {
        self.state.clone()
    }

    fn set_state(&mut self, state: State) {
        self.state = state;
        self.mode_text.clear();
    }
}

/// May it change more of the processor's state than the flags?
#[inline(always)]
fn is_system(open: &Open) -> bool {
    open.isa != Isa::A64
        || open.encoding >> 22 == 0xd500_0000 >> 22
        || open.flow.control == Control::TrapReturn
}
