//! Collecting the events of a trace into observations.

use trackway_core::*;

use super::traced::{
    Observation, Outside, OutsideState, TracedAccess, TracedInstruction, TracedRegister, TracedStep,
};

/// Collects events into observations. An instruction is complete when the next one begins.
#[derive(Debug, Default)]
pub(super) struct Collector {
    /// The step that waits to be complete, if `waits`; else the buffers of the next one.
    waiting: TracedStep,
    waits: bool,
    /// Events after the waiting step that do not belong to it.
    after: Vec<Outside>,
    /// Of a flow format: one packet covers many instructions.
    pub(super) is_flow: bool,
    group: u64,
    last_offset: Option<u64>,
    number: u64,
    /// The hart of the trace, and whether another one continues.
    hart: Option<u64>,
    is_other: bool,
    /// Of several cores in one file, the one that is verified.
    source: Option<u16>,
}

impl Collector {
    /// Takes an event; passes finished observations to `put`.
    #[inline]
    pub(super) fn event(&mut self, event: &Event, batch: &Batch, put: &mut impl FnMut(Observation<'_>)) {
        self.begin_group(event.offset);
        match &event.kind {
            EventKind::Step(step) => self.step(event, step, batch, put),
            kind => self.other(event, kind, batch, put),
        }
    }

    #[inline(always)]
    fn begin_group(&mut self, offset: u64) {
        if self.last_offset != Some(offset) {
            self.group += u64::from(self.last_offset.is_some());
            self.last_offset = Some(offset);
        }
    }

    /// Completes the waiting step before others that are not collected, the first of them at `pc`; false, and nothing has
    /// happened, if they have to be.
    pub(super) fn make_way(&mut self, pc: u64, batch: &Batch, put: &mut impl FnMut(Observation<'_>)) -> bool {
        let is_trap = self.waits && self.waiting.trap.is_some();
        if is_trap || self.is_other || *self.source.get_or_insert(batch.source) != batch.source {
            return false;
        }
        self.flush(Some(pc), put);
        true
    }

    /// Counts a step that is not collected; returns its group and number.
    #[inline(always)]
    pub(super) fn pass(&mut self, offset: u64) -> (u64, u64) {
        self.begin_group(offset);
        self.number += 1;
        (self.group, self.number - 1)
    }

    /// Collects the step that was passed last.
    pub(super) fn again(&mut self, event: &Event, next_pc: Option<u64>, batch: &Batch) -> &TracedStep {
        if let EventKind::Step(step) = &event.kind {
            self.number -= 1;
            self.step(event, step, batch, &mut |_| {});
            (self.waits, self.waiting.next_pc) = (false, next_pc.or(self.waiting.next_pc));
        }
        &self.waiting
    }

    fn other(
        &mut self,
        event: &Event,
        kind: &EventKind,
        batch: &Batch,
        put: &mut impl FnMut(Observation<'_>),
    ) {
        match kind {
            EventKind::Trap(n) => self.trap(event, &batch.traps[*n as usize], put),
            EventKind::Context(n) => {
                let Context { privilege, hw_thread, .. } = batch.contexts[*n as usize];
                if let Some(hart) = hw_thread {
                    self.is_other = *self.hart.get_or_insert(hart) != hart;
                }
                let Some(privilege) = privilege else { return };
                match self.own() {
                    Some(traced) => traced.privilege = Some(privilege),
                    None => {
                        let offset = event.offset;
                        let init =
                            OutsideState { offset, privilege: Some(privilege), ..OutsideState::default() };
                        self.push(Outside::State(init), put);
                    }
                }
            }
            EventKind::State(n) => match batch.states[*n as usize] {
                State::Contents(accesses) => self.contents(event, accesses, batch, put),
                State::Bus(bus) => {
                    if let (MemKind::Read, Value::Word(value)) = (bus.kind, bus.returned) {
                        self.push(Outside::Learn(bus.address, bus.size, value), put);
                    }
                }
                State::PageWalk(_) => {}
            },
            EventKind::Time(Time { kind: TimeKind::Timestamp, value: Some(time), .. }) => {
                self.push(Outside::Time(*time), put);
            }
            EventKind::Gap(n) => {
                self.flush(None, put);
                let skipped = batch.gaps[*n as usize].bytes.unwrap_or(0);
                put(Observation::Outside(&Outside::Gap(event.offset, skipped)));
            }
            EventKind::Run(_) => {
                self.flush(None, put);
                put(Observation::Outside(&Outside::Gap(event.offset, 0)));
            }
            EventKind::Step(_) | EventKind::Time(_) | EventKind::Mark(_) | EventKind::Foreign(_) => {}
        }
    }

    /// The trace ended.
    pub(super) fn finish(&mut self, put: &mut impl FnMut(Observation<'_>)) {
        self.flush(None, put);
    }

    /// The step that waits.
    fn open(&mut self) -> Option<&mut TracedStep> {
        self.waits.then_some(&mut self.waiting)
    }

    /// The step that waits, if nothing came after it: the current event may belong to it.
    fn own(&mut self) -> Option<&mut TracedStep> {
        (self.waits && self.after.is_empty()).then_some(&mut self.waiting)
    }

    fn push(&mut self, outside: Outside, put: &mut impl FnMut(Observation<'_>)) {
        if self.waits { self.after.push(outside) } else { put(Observation::Outside(&outside)) }
    }

    #[inline]
    fn flush(&mut self, next_pc: Option<u64>, put: &mut impl FnMut(Observation<'_>)) {
        if std::mem::take(&mut self.waits) {
            // The address of the next instruction is more reliable than the recorded trap target.
            let target = self.waiting.trap.as_ref().and_then(|trap| trap.to);
            self.waiting.next_pc = next_pc.or(target).or(self.waiting.next_pc);
            put(Observation::Step(&self.waiting));
        }
        if !self.after.is_empty() {
            self.after.iter().for_each(|outside| put(Observation::Outside(outside)));
            self.after.clear();
        }
    }

    /// Begins a new step, in the buffers of the last one.
    #[inline]
    fn begin(&mut self, event: &Event, pc: Option<u64>) -> &mut TracedStep {
        let traced = &mut self.waiting;
        traced.writes.clear();
        traced.reads.clear();
        traced.accesses.clear();
        (traced.offset, traced.group, traced.number) = (event.offset, self.group, self.number);
        (traced.instruction, traced.pc, traced.physical_pc, traced.next_pc) = (None, pc, None, None);
        (traced.attempted, traced.trap, traced.privilege) = (false, None, None);
        traced.is_interrupted = false;
        self.waits = true;
        traced
    }

    #[inline]
    fn step(&mut self, event: &Event, step: &Step, batch: &Batch, put: &mut impl FnMut(Observation<'_>)) {
        self.adopt_state(step, batch);
        self.flush(step.pc, put);
        if self.is_other || *self.source.get_or_insert(batch.source) != batch.source {
            put(Observation::Outside(&Outside::OtherHart(event.offset)));
        }
        let traced = self.begin(event, step.pc);
        let (mut placeholder, mut before) = (false, Vec::new());
        if let Some(extra) = batch.extra_of(step) {
            (traced.physical_pc, traced.next_pc) = (extra.physical_pc, extra.target);
            placeholder = extra.placeholder;
        }
        if step.length > 0 && !placeholder {
            traced.instruction =
                Some(TracedInstruction { pc: step.pc, encoding: step.encoding, length: step.length });
        }
        traced.attempted = step.outcome == Outcome::Attempted;
        for access in batch.regs_of(step.accesses) {
            let Some(write) = read_of(access) else { continue };
            match access.role {
                RegRole::Destination if write.known == u64::MAX => traced.writes.push(write),
                RegRole::State if write.known == u64::MAX => before.push(write),
                RegRole::Destination | RegRole::State => {}
                RegRole::Source => traced.reads.push(write),
                RegRole::Ready => {}
            }
        }
        let placed = batch.mem_of(step.accesses).iter().filter(|access| !access.unplaced);
        traced.accesses.extend(placed.map(|access| access_of(access, batch)));
        self.number += 1;
        if !before.is_empty() {
            put(Observation::Outside(&Outside::State(OutsideState {
                offset: event.offset,
                writes: before,
                ..OutsideState::default()
            })));
        }
    }

    /// Some formats record what a trap without an instruction wrote as state of the next instruction.
    #[inline]
    fn adopt_state(&mut self, step: &Step, batch: &Batch) {
        if let Some(traced) = self.open()
            && traced.instruction.is_none()
            && traced.trap.is_some()
            && traced.writes.is_empty()
        {
            let state = batch.regs_of(step.accesses).iter();
            let state = state.filter(|a| a.role == RegRole::State && a.reg.class == RegClass::Csr);
            traced.writes.extend(state.filter_map(write_of));
        }
    }

    fn trap(&mut self, event: &Event, trap: &Trap, put: &mut impl FnMut(Observation<'_>)) {
        match trap.kind {
            TrapKind::Reset => {
                self.flush(None, put);
                put(Observation::Outside(&Outside::Reset));
                return;
            }
            TrapKind::Return => {
                if let Some(traced) = self.open() {
                    traced.next_pc = traced.next_pc.or(trap.to);
                }
                return;
            }
            _ => {}
        }
        let is_flow = self.is_flow;
        let there = |traced: &TracedStep| trap.from.is_some() && trap.from == traced.pc;
        if let Some(traced) = self.own() {
            let same_group = traced.offset == event.offset && (!is_flow || trap.from.is_none());
            // Some formats record an attempt, or a no-op, of the instruction that an interrupt preceded.
            if trap.kind == TrapKind::Interrupt
                && !same_group
                && traced.attempted
                && traced.trap.is_none()
                && traced.writes.is_empty()
                && there(traced)
            {
                traced.instruction = None;
                traced.trap = Some(*trap);
                return;
            }
            let own = traced.trap.is_none() && trap.kind != TrapKind::Interrupt && there(traced);
            if same_group || own {
                traced.trap = Some(*trap);
                return;
            }
        }
        self.waiting.is_interrupted = true;
        self.flush(trap.from, put);
        self.begin(event, trap.from).trap = Some(*trap);
    }

    fn contents(
        &mut self,
        event: &Event,
        accesses: Accesses,
        batch: &Batch,
        put: &mut impl FnMut(Observation<'_>),
    ) {
        let writes = batch.regs_of(accesses).iter().filter_map(write_of);
        // State at a trap without an instruction is what the trap wrote.
        if let Some(traced) = self.open()
            && traced.instruction.is_none()
            && traced.offset == event.offset
        {
            traced.writes.extend(writes);
            return;
        }
        let memory = batch.mem_of(accesses).iter().filter_map(|access| match access.data {
            Value::Word(data) if access.size <= 8 => Some((access.address, access.size, data)),
            _ => None,
        });
        let init = OutsideState {
            offset: event.offset,
            writes: writes.collect(),
            memory: memory.collect(),
            privilege: None,
        };
        self.push(Outside::State(init), put);
    }
}

fn write_of(access: &RegAccess) -> Option<TracedRegister> {
    read_of(access).filter(|write| write.known == u64::MAX)
}

#[inline(always)]
pub(super) fn read_of(access: &RegAccess) -> Option<TracedRegister> {
    let Value::Word(value) = access.value else { return None };
    let known = access.known.unwrap_or(u64::MAX);
    Some(TracedRegister { reg: access.reg, update: access.update, value, known })
}

#[inline(always)]
pub(super) fn access_of(access: &MemAccess, batch: &Batch) -> TracedAccess {
    let word = |value| match value {
        Value::Word(word) => Some(word),
        _ => None,
    };
    let extra = batch.mem_extra_of(access);
    TracedAccess {
        kind: access.kind,
        address: access.address,
        size: access.size,
        data: word(access.data),
        stored: extra.and_then(|extra| word(extra.stored)),
        physical: extra.and_then(|extra| extra.physical),
        inferred: access.inferred,
    }
}
