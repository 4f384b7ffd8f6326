//! One of the two traces: its batches, and where the comparison is in it.

mod excerpt;
mod window;

use std::collections::VecDeque;

use trackway_core::{
    Batch, Context, Error, ErrorKind, Event, EventKind, Fact, Isa, MarkKind, Outcome, RegRole, Result,
    Source, Step, TrapKind, Value,
};

pub use excerpt::Excerpt;
pub(super) use window::MOST;
use window::Window;

/// Facts, as bits.
pub(super) type Facts = u128;

pub(super) const fn bit(fact: Fact) -> Facts {
    1 << fact as u32
}

/// An instruction: where its event is, and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) batch: usize,
    pub(super) event: usize,
    pub(super) number: u64,
}

/// One of the two traces.
pub(super) struct Side<'s> {
    pub(super) source: &'s mut dyn Source,
    /// Batches ahead, and the last one passed.
    pub(super) batches: VecDeque<Batch>,
    spare: Vec<Batch>,
    /// The next event: index of its batch, index in the batch, number of the next instruction.
    pub(super) batch: usize,
    pub(super) event: usize,
    pub(super) number: u64,
    pub(super) window: Window,
    /// The gap before the next instruction has been dealt with.
    pub(super) gap_passed: bool,
    /// An instruction was passed.
    started: bool,
    ended: bool,
    /// The error that ended it.
    pub(super) error: Option<Error>,
    /// Facts that occurred.
    pub(super) seen: Facts,
    pub(super) context: Context,
    /// Address after the last instruction; the context before a trap that followed it.
    next_pc: Option<u64>,
    trapped: Option<Context>,
}

/// Events between two instructions.
#[derive(Debug, Default)]
pub(super) struct Between {
    /// Batch and index of traps, times and states, in order.
    pub(super) events: Vec<(usize, usize)>,
    /// The context changed.
    pub(super) context: bool,
    pub(super) marks: u64,
}

/// True for an instruction; a fetch fault that is recorded as a no-op is not one.
fn is_cell(batch: &Batch, step: &Step) -> bool {
    (step.pc.is_some() || step.length > 0) && !batch.extra_of(step).is_some_and(|extra| extra.placeholder)
}

impl<'s> Side<'s> {
    pub(super) fn new(source: &'s mut dyn Source) -> Self {
        let isa = Some(source.meta().isa).filter(|&isa| isa != Isa::Other);
        Side {
            source,
            batches: VecDeque::new(),
            spare: Vec::new(),
            batch: 0,
            event: 0,
            number: 0,
            window: Window::default(),
            gap_passed: false,
            started: false,
            ended: false,
            error: None,
            seen: 0,
            context: Context { isa, ..Context::default() },
            next_pc: None,
            trapped: None,
        }
    }

    pub(super) fn isa(&self) -> Isa {
        self.context.isa.unwrap_or(Isa::Other)
    }

    pub(super) fn step(&self, cell: Cell) -> (&Batch, &Step) {
        let batch = &self.batches[cell.batch];
        match &batch.events[cell.event].kind {
            EventKind::Step(step) => (batch, step),
            _ => unreachable!("cells are steps"),
        }
    }

    /// Reads one more batch; false at the end.
    fn fill(&mut self) -> Result<bool> {
        if self.ended {
            return Ok(false);
        }
        let mut batch = self.spare.pop().unwrap_or_else(Batch::with_capacity);
        loop {
            match self.source.fill(&mut batch) {
                Ok(true) if batch.events.is_empty() => {}
                Ok(true) => break,
                Ok(false) => {
                    self.ended = true;
                    return Ok(false);
                }
                Err(error) if error.kind == ErrorKind::Cancelled => return Err(error),
                Err(error) => {
                    if !self.source.resync().unwrap_or(false) {
                        (self.ended, self.error) = (true, Some(error));
                        return Ok(false);
                    }
                }
            }
        }
        self.note(&batch);
        self.batches.push_back(batch);
        Ok(true)
    }

    /// Notes which facts occur.
    fn note(&mut self, batch: &Batch) {
        let roles = bit(Fact::RegisterReads) | bit(Fact::RegisterWrites);
        if self.seen & roles != roles {
            for access in &batch.regs {
                self.seen |= match access.role {
                    RegRole::Source => bit(Fact::RegisterReads),
                    RegRole::Destination => bit(Fact::RegisterWrites),
                    _ => 0,
                };
            }
        }
        let outcomes = bit(Fact::Outcomes);
        let has_outcome = |event: &Event| matches!(event.kind, EventKind::Step(Step { taken: Some(_), .. }));
        if self.seen & outcomes == 0 && batch.events.iter().any(has_outcome) {
            self.seen |= outcomes;
        }
        if !batch.mem.is_empty() {
            self.seen |= bit(Fact::MemoryAccesses);
            let data = bit(Fact::MemoryData);
            if self.seen & data == 0 && batch.mem.iter().any(|access| access.data != Value::Unknown) {
                self.seen |= data;
            }
        }
    }

    /// True if there is an event at the current place, after reading more where needed. Batches that were passed are
    /// used again, but for the last one: it has the context of a difference.
    pub(super) fn ready(&mut self) -> Result<bool> {
        while self.batches.get(self.batch).is_none_or(|batch| self.event >= batch.events.len()) {
            if self.batch < self.batches.len() {
                (self.batch, self.event) = (self.batch + 1, 0);
            }
            if self.batch == self.batches.len() {
                self.tidy();
                if !self.fill()? {
                    return Ok(false);
                }
            }
            self.number = self.batches[self.batch].first_instruction;
        }
        Ok(true)
    }

    /// The next `n` events are instructions, and were passed.
    pub(super) fn pass(&mut self, n: usize) {
        self.event += n;
        self.number += n as u64;
        self.gap_passed &= n == 0;
        self.started |= n > 0;
        let last = self.batches[self.batch].events[..self.event].last();
        if let Some(Event { kind: EventKind::Step(step), .. }) = last.filter(|_| n > 0) {
            self.next_pc = step.pc.map(|pc| pc.wrapping_add(step.length.into()));
            self.trapped = None;
        }
    }

    /// Drops batches that were passed, but for the last one.
    pub(super) fn tidy(&mut self) {
        while self.batch > 1 {
            self.spare.extend(self.batches.pop_front());
            self.batch -= 1;
        }
        self.spare.truncate(4);
    }

    /// Passes the next instruction; events before it are noted in `between`.
    pub(super) fn take(&mut self, between: &mut Between) -> Result<Option<Cell>> {
        between.events.clear();
        (between.context, between.marks) = (false, 0);
        self.gap_passed = false;
        loop {
            if self.batches.get(self.batch).is_none_or(|batch| self.event >= batch.events.len()) {
                // Nothing is dropped here: the window refers to batches.
                if self.batch < self.batches.len() {
                    (self.batch, self.event) = (self.batch + 1, 0);
                }
                if self.batch == self.batches.len() && !self.fill()? {
                    return Ok(None);
                }
                self.number = self.batches[self.batch].first_instruction;
                continue;
            }
            let (batch, place) = (&self.batches[self.batch], self.event);
            let Event { kind, .. } = &batch.events[place];
            self.event += 1;
            let number = self.number;
            self.number += kind.instructions();
            match kind {
                EventKind::Step(step) if is_cell(batch, step) => {
                    if step.outcome == Outcome::Attempted {
                        self.seen |= bit(Fact::Attempted);
                    }
                    self.started = true;
                    // A program without its kernel continues after a system call as it was before.
                    if let Some(before) = self.trapped.take()
                        && step.pc == self.next_pc
                    {
                        self.context = before;
                    }
                    self.next_pc = step.pc.map(|pc| pc.wrapping_add(step.length.into()));
                    return Ok(Some(Cell { batch: self.batch, event: place, number }));
                }
                EventKind::Context(n) => {
                    self.context.update(&batch.contexts[*n as usize]);
                    self.seen |= bit(Fact::Privileges);
                    between.context = true;
                }
                EventKind::Trap(n) => {
                    if batch.traps[*n as usize].kind == TrapKind::Return {
                        self.seen |= bit(Fact::TrapReturns);
                    } else {
                        self.seen |= bit(Fact::Traps);
                        self.trapped.get_or_insert(self.context);
                    }
                    between.events.push((self.batch, place));
                }
                EventKind::Time(_) => {
                    self.seen |= bit(Fact::Timestamps);
                    between.events.push((self.batch, place));
                }
                EventKind::Mark(mark) if !is_pause(mark.kind) => between.marks += 1,
                EventKind::State(_) | EventKind::Foreign(_) => between.marks += 1,
                _ => {}
            }
        }
    }

    /// The next instruction, where it has been read.
    pub(super) fn peek(&self) -> Option<Cell> {
        let (mut batch, mut event, mut number) = (self.batch, self.event, self.number);
        loop {
            let held = self.batches.get(batch)?;
            match held.events.get(event) {
                Some(Event { kind: EventKind::Step(step), .. }) if is_cell(held, step) => {
                    return Some(Cell { batch, event, number });
                }
                Some(Event { kind, .. }) => {
                    event += 1;
                    number += kind.instructions();
                }
                None => {
                    (batch, event) = (batch + 1, 0);
                    number = self.batches.get(batch)?.first_instruction;
                }
            }
        }
    }
}

fn is_pause(kind: MarkKind) -> bool {
    matches!(kind, MarkKind::TraceOn | MarkKind::TraceOff)
}
