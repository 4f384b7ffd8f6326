//! One of the two traces: its batches, and where the comparison is in it.

use std::collections::VecDeque;

use trackway_core::{
    Batch, Context, Error, ErrorKind, Event, EventKind, Fact, Isa, MarkKind, Outcome, RegRole, Result,
    Source, Step, TrapKind, Value,
};

use super::keys::{Data, strong, weak};

/// Instructions that are looked at together at the most, and bytes of their batches: both sides, and the tables of the
/// alignment, fit into 200 MB.
pub(super) const MOST: usize = 1 << 19;
const MOST_BYTES: usize = 40 << 20;

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

/// Instructions ahead, with their keys.
#[derive(Debug, Default)]
pub(super) struct Window {
    /// Place and length of the search so far.
    batch: usize,
    event: usize,
    bytes: usize,
    pub(super) weak: Vec<u64>,
    pub(super) strong: Vec<u64>,
    places: Vec<(u32, u32)>,
    /// Instructions before which something is missing.
    gaps: Vec<usize>,
    gap: bool,
    /// Nothing follows.
    pub(super) ended: bool,
    /// It is as large as it may become.
    pub(super) full: bool,
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
                while self.batch > 1 {
                    self.spare.extend(self.batches.pop_front());
                    self.batch -= 1;
                }
                self.spare.truncate(4);
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

    /// Forgets the instructions ahead: the place has changed.
    pub(super) fn restart(&mut self) {
        let Window { mut weak, mut strong, mut places, mut gaps, .. } = std::mem::take(&mut self.window);
        weak.clear();
        strong.clear();
        places.clear();
        gaps.clear();
        // What a large search took is not kept for small ones.
        if weak.capacity() > MOST / 8 {
            (weak, strong, places) = Default::default();
        }
        let (batch, event) = (self.batch, self.event);
        self.window = Window { batch, event, weak, strong, places, gaps, ..Window::default() };
        self.window.bytes = self.batches.iter().skip(batch).map(bytes).sum();
    }

    /// Looks at instructions ahead until there are `wanted`, or no more can be.
    pub(super) fn collect(&mut self, wanted: usize, data: Data) -> Result<()> {
        while self.window.places.len() < wanted.min(MOST) {
            let Some(batch) = self.batches.get(self.window.batch) else {
                if self.window.bytes > MOST_BYTES {
                    self.window.full = true;
                    return Ok(());
                }
                if !self.fill()? {
                    self.window.ended = true;
                    return Ok(());
                }
                self.window.bytes += self.batches.back().map_or(0, bytes);
                continue;
            };
            let window = &mut self.window;
            let Some(event) = batch.events.get(window.event) else {
                (window.batch, window.event) = (window.batch + 1, 0);
                continue;
            };
            match &event.kind {
                EventKind::Step(step) if is_cell(batch, step) => {
                    if std::mem::take(&mut window.gap) {
                        window.gaps.push(window.places.len());
                    }
                    window.places.push((window.batch as u32, window.event as u32));
                    let key = weak(step, data);
                    window.weak.push(key);
                    window.strong.push(strong(key, batch, step, data));
                }
                // Every trace is switched on before its first instruction.
                EventKind::Mark(_) if !self.started && window.places.is_empty() => {}
                kind => window.gap |= is_gap(kind),
            }
            window.event += 1;
        }
        self.window.full |= self.window.places.len() >= MOST;
        Ok(())
    }

    /// Is something missing before the next instruction, and not dealt with?
    pub(super) fn at_gap(&self) -> bool {
        !self.gap_passed && self.window.gaps.first() == Some(&0)
    }

    /// Something is missing after the last instruction.
    pub(super) fn ends_in_gap(&self) -> bool {
        self.window.gap
    }

    /// Instructions ahead up to the next gap, and whether that is all up to it or to the end.
    pub(super) fn stretch(&self, wanted: usize) -> (usize, bool) {
        let length = self.window.places.len();
        match self.window.gaps.iter().find(|gap| **gap > 0) {
            Some(&gap) if gap <= wanted => (gap, true),
            _ if length > wanted => (wanted, false),
            _ => (length, self.window.ended),
        }
    }

    /// The instruction ahead with that index in the window; its number is not known.
    pub(super) fn ahead(&self, index: usize) -> Cell {
        let (batch, event) = self.window.places[index];
        Cell { batch: batch as usize, event: event as usize, number: 0 }
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
                    if batch.traps[*n as usize].kind != TrapKind::Return {
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

    /// Up to `before` instructions before `cell`, and up to `count` from it on, as events of a batch of their own.
    pub(super) fn excerpt(&self, cell: Cell, before: usize, count: usize) -> Excerpt {
        let mut places = Vec::new();
        let (mut batch, mut event) = (cell.batch, cell.event);
        while places.len() < before {
            if event == 0 {
                if batch == 0 {
                    break;
                }
                batch -= 1;
                event = self.batches[batch].events.len();
                continue;
            }
            event -= 1;
            if matches!(self.batches[batch].events[event].kind, EventKind::Step(_)) {
                places.push((batch, event));
            }
        }
        places.reverse();
        let skipped = places.len();
        (batch, event) = (cell.batch, cell.event);
        while places.len() < skipped + count {
            let Some(held) = self.batches.get(batch) else { break };
            match held.events.get(event) {
                Some(Event { kind: EventKind::Step(_), .. }) => places.push((batch, event)),
                Some(_) => {}
                None => {
                    (batch, event) = (batch + 1, 0);
                    continue;
                }
            }
            event += 1;
        }
        let mut excerpt =
            Batch { first_instruction: cell.number.saturating_sub(skipped as u64), ..Batch::default() };
        let mut line = String::new();
        for (batch, event) in places {
            let held = &self.batches[batch];
            line.clear();
            // As text and back: whatever a step refers to comes with it.
            held.write_line(&held.events[event], &mut line);
            let _ = excerpt.read_line(&line);
        }
        Excerpt { batch: excerpt, first: skipped, isa: self.isa() }
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

/// Instructions around a difference.
#[derive(Clone, Debug)]
pub struct Excerpt {
    /// The instructions.
    pub batch: Batch,
    /// Index of the first that differs.
    pub first: usize,
    /// Instruction set.
    pub isa: Isa,
}

/// Breaks in tracing are shown as marks or gaps, by the habit of the format.
fn is_gap(kind: &EventKind) -> bool {
    match kind {
        EventKind::Gap(_) => true,
        EventKind::Mark(mark) => is_pause(mark.kind),
        EventKind::Run(run) => !run.withdrawn,
        _ => false,
    }
}

fn is_pause(kind: MarkKind) -> bool {
    matches!(kind, MarkKind::TraceOn | MarkKind::TraceOff)
}

/// Memory that a batch takes.
fn bytes(batch: &Batch) -> usize {
    fn of<T>(items: &Vec<T>) -> usize {
        items.capacity() * size_of::<T>()
    }
    of(&batch.events)
        + of(&batch.mem)
        + of(&batch.regs)
        + of(&batch.bytes)
        + of(&batch.extras)
        + of(&batch.mem_extras)
}
