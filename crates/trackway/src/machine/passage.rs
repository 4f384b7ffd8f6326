//! The effect of a part of a trace on a machine whose state before it is not known yet.
//!
//! A part is decoded on a thread of its own, and [`Passage::observe`] reduces it to little: of each register the last
//! write and what was seen after it, of the flow the calls and returns. [`Passage::apply`] then leads to the same state
//! as [`Machine::apply`] of every event.

use std::sync::Arc;

use trackway_core::{Batch, Context, Event, EventKind, Isa, Outcome, Pool, State, Step, Time, TimeKind};

use super::effects::Effects;
use super::log::Log;
use super::{Ending, Last, Left, Machine};

/// The events of a part, reduced.
#[derive(Debug)]
pub(crate) struct Passage {
    /// Steps, and the other events between them.
    pieces: Vec<Piece>,
    /// The steps since the last of them.
    steps: Steps,
    /// The instruction set at the start, as assumed, and now.
    assumed: Isa,
    isa: Isa,
    time: Option<u64>,
    cycles: Option<u64>,
    /// Instructions so far.
    count: u64,
    effects: Effects,
    /// Where the effects of encodings, once decoded, wait for the next part.
    pool: Arc<Pool<Effects>>,
}

#[derive(Debug)]
enum Piece {
    Steps(Box<Steps>),
    /// An event that is not a step, in a batch of its own, and its number.
    Event(Box<Batch>, u64),
}

/// Consecutive steps.
#[derive(Debug, Default)]
struct Steps {
    /// Address and number of the first: whether the flow broke before it depends on the state.
    first: Option<(Option<u64>, u64)>,
    breaks: Vec<Break>,
    expected: Option<u64>,
    last: Option<Last>,
    registers: Log,
}

/// A break of the flow within the steps: how it left, the instruction before it, the address and number after it.
#[derive(Clone, Copy, Debug)]
struct Break {
    left: Left,
    last: Last,
    pc: u64,
    number: u64,
}

impl Passage {
    /// Of nothing yet; `isa` is the instruction set where no context names another.
    pub(crate) fn new(isa: Isa, pool: Arc<Pool<Effects>>) -> Self {
        Passage {
            pieces: Vec::new(),
            steps: Steps::default(),
            assumed: isa,
            isa,
            time: None,
            cycles: None,
            count: 0,
            effects: pool.take_or(Effects::default),
            pool,
        }
    }

    /// Takes in the steps that `events` begin with; returns how many they are.
    #[inline]
    pub(crate) fn steps(&mut self, batch: &Batch, events: &[Event]) -> usize {
        let count = self.steps.extend(self.isa, batch, events, self.count, &mut self.effects);
        self.count += count as u64;
        count
    }

    /// Takes in the next event.
    pub(crate) fn observe(&mut self, batch: &Batch, event: &Event) {
        match &event.kind {
            EventKind::Step(_) => {
                self.steps(batch, std::slice::from_ref(event));
                return;
            }
            EventKind::Time(time) => self.clock(time),
            EventKind::Mark(_) | EventKind::Foreign(_) => {}
            _ => self.other(batch, event),
        }
        self.count += event.kind.instructions();
    }

    #[cold]
    fn clock(&mut self, time: &Time) {
        match (time.kind, time.value) {
            (TimeKind::Timestamp, value) => self.time = value.or(self.time),
            (TimeKind::Cycles, Some(value)) => {
                self.cycles = Some(self.cycles.unwrap_or(0).saturating_add(value));
            }
            _ => {}
        }
    }

    /// An event that needs the state at its place.
    #[cold]
    fn other(&mut self, batch: &Batch, event: &Event) {
        let mut alone = Batch::default();
        match event.kind {
            EventKind::Trap(n) => alone.push_trap(event.offset, batch.traps[n as usize]),
            EventKind::Gap(n) => alone.push_gap(event.offset, batch.gaps[n as usize]),
            EventKind::Context(n) => {
                let change: Context = batch.contexts[n as usize];
                self.isa = change.isa.unwrap_or(self.isa);
                alone.push_context(event.offset, change);
            }
            EventKind::State(n) if !matches!(batch.states[n as usize], State::Contents(_)) => return,
            _ => {
                alone.copy_from(batch);
                alone.events = vec![*event];
            }
        }
        self.close();
        self.pieces.push(Piece::Event(Box::new(alone), self.count));
    }

    fn close(&mut self) {
        if self.steps.first.is_some() {
            self.pieces.push(Piece::Steps(Box::new(std::mem::take(&mut self.steps))));
        }
    }

    /// Leads `machine` over the part, whose first instruction has the number `base`; false if that cannot be, for
    /// instance because the state before it has another instruction set than was assumed.
    pub(crate) fn apply(mut self, machine: &mut Machine, base: u64) -> bool {
        self.close();
        self.pool.put(self.effects);
        if machine.isa_now() != self.assumed {
            return false;
        }
        for piece in self.pieces {
            match piece {
                Piece::Steps(steps) => {
                    if !steps.apply(machine, base) {
                        return false;
                    }
                }
                Piece::Event(batch, number) => machine.apply(&batch, &batch.events[0], base + number),
            }
        }
        machine.time = self.time.or(machine.time);
        if let Some(cycles) = self.cycles {
            machine.cycles = Some(machine.cycles.unwrap_or(0).saturating_add(cycles));
        }
        true
    }
}

impl Steps {
    /// As [`Machine::steps`], without the state before the first one.
    #[inline]
    fn extend(
        &mut self,
        isa: Isa,
        batch: &Batch,
        events: &[Event],
        number: u64,
        effects: &mut Effects,
    ) -> usize {
        let (mut expected, mut previous, mut next) = (self.expected, None, number);
        for event in events {
            let EventKind::Step(step) = &event.kind else { break };
            if self.first.is_none() {
                self.first = Some((step.pc, next));
            } else if let Some(pc) = step.pc
                && expected != step.pc
            {
                self.leave(previous, next);
                self.arrive(isa, pc, next, effects);
            }
            expected = step.pc.map(|pc| pc.wrapping_add(step.length.into()));
            self.registers.step(isa, batch, step, next, effects);
            previous = Some(step);
            next += 1;
        }
        self.leave(previous, next);
        self.expected = expected;
        (next - number) as usize
    }

    fn leave(&mut self, step: Option<&Step>, next: u64) {
        if let Some(step) = step {
            self.last = Last::of(step, next - 1);
        }
    }

    #[cold]
    #[inline(never)]
    fn arrive(&mut self, isa: Isa, pc: u64, number: u64, effects: &mut Effects) {
        let Some(last) = self.last else { return };
        let left = last.left(isa, effects);
        // Jumps do not change the stack.
        if left != Left::Jump {
            self.breaks.push(Break { left, last, pc, number });
        }
    }

    /// False if a trap waits for its handler and the first step has no address.
    fn apply(self, machine: &mut Machine, base: u64) -> bool {
        match self.first {
            Some((Some(pc), number)) if machine.expected != Some(pc) => machine.arrive(pc, base + number),
            Some((None, _)) if machine.trap.is_some() => return false,
            _ => {}
        }
        for Break { left, last, pc, number } in self.breaks {
            machine.calls.go(left, last.pc, last.end, base + last.number, pc, base + number);
        }
        (machine.expected, machine.last) = (self.expected, self.last.map(|last| last.from(base)));
        self.registers.apply(&mut machine.registers, base);
        true
    }
}

impl Last {
    /// The same, numbered from `base` on.
    fn from(self, base: u64) -> Self {
        Last { number: base + self.number, ..self }
    }

    /// A step with that number; none where its address is not known.
    pub(super) fn of(step: &Step, number: u64) -> Option<Self> {
        step.pc.map(|pc| Last {
            pc: Some(pc),
            end: pc.wrapping_add(step.length.into()),
            number,
            how: Ending::Encoding(step.encoding),
            attempted: step.outcome == Outcome::Attempted,
            taken: step.taken,
        })
    }

    /// How control left it.
    pub(super) fn left(&self, isa: Isa, effects: &mut Effects) -> Left {
        match self.how {
            Ending::Exit(exit) => Left::by_exit(exit),
            Ending::Encoding(encoding) => {
                let control = effects.control(isa, encoding);
                if self.attempted && control.retires() { Left::Trap } else { Left::by_control(control) }
            }
        }
    }
}
