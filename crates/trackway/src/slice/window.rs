//! A part of a source, as a source of its own.

use trackway_core::{
    Batch, Context, Event, EventKind, Gap, GapReason, Meta, Result, Source, State, Time, TimeKind,
};

use super::known::add_known;
use super::selection::Selection;
use crate::machine::Machine;

/// The selected instructions of a source. Each stretch begins with the state that a reader needs: context, time and
/// registers as far as they are known. Instructions left out between two stretches are a gap.
///
/// An event that is not an instruction belongs to the instruction before it.
pub struct Window {
    inner: Box<dyn Source>,
    meta: Meta,
    selection: Selection,
    /// The last instruction was kept.
    inside: bool,
    /// The answer of the selection, and the number up to which it holds.
    answer: (bool, u64),
    /// Instructions kept so far, and left out since the last of them.
    kept: u64,
    left_out: u64,
    /// Address of the last one kept.
    last_pc: Option<u64>,
    /// The state before the next event.
    machine: Machine,
    events: Vec<Event>,
    done: bool,
}

impl std::fmt::Debug for Window {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Window({:?}, {} kept)", self.selection, self.kept)
    }
}

impl Window {
    /// The instructions of `selection`; `inner` has one source. `remark` is added to the comments.
    pub fn new(inner: Box<dyn Source>, selection: Selection, remark: Option<String>) -> Self {
        let mut meta = inner.meta().clone();
        let machine = Machine::new(meta.isa);
        let answer = selection.keeps(0);
        let inside = answer.0 && selection.contexts.is_empty();
        if !inside {
            meta.start_pc = None;
        }
        meta.comments.extend(remark);
        Window {
            inner,
            meta,
            selection,
            inside,
            answer,
            kept: 0,
            left_out: 0,
            last_pc: None,
            machine,
            events: Vec::new(),
            done: false,
        }
    }

    /// The same, where the events of `inner` begin later: with this state, and before the first instruction that is kept.
    pub(crate) fn entered(self, machine: Machine) -> Self {
        Window { machine, ..self }
    }

    fn keeps(&mut self, n: u64) -> bool {
        if n >= self.answer.1 || n == 0 {
            self.answer = self.selection.keeps(n);
        }
        self.answer.0 && self.selection.contexts.iter().all(|is| is.holds(&self.machine.context))
    }

    /// Nothing of the state is needed after the batch: it is kept whole, and so is all that follows in this range.
    fn is_plain(&self, batch: &Batch, instructions: u64) -> bool {
        self.inside
            && self.selection.contexts.is_empty()
            && self.answer.0
            && self.answer.1 >= self.selection.end()
            && batch.first_instruction + instructions <= self.answer.1
    }

    fn select(&mut self, batch: &mut Batch) {
        let mut n = batch.first_instruction;
        let instructions = batch.instructions();
        let plain = self.is_plain(batch, instructions);
        batch.first_instruction = self.kept;
        if plain {
            (0..batch.states.len()).for_each(|state| renumber(batch, state, n, self.kept));
            self.kept += instructions;
            return;
        }
        self.events.clear();
        std::mem::swap(&mut self.events, &mut batch.events);
        for at in 0..self.events.len() {
            let event = self.events[at];
            let count = event.kind.instructions();
            if count > 0 {
                if n >= self.selection.end() {
                    self.done = true;
                    return;
                }
                let keeps = self.keeps(n);
                if keeps && !self.inside {
                    self.begin(batch, &event);
                }
                self.inside = keeps;
                if keeps {
                    self.last_pc = first_pc(&event.kind);
                }
            }
            self.machine.apply(batch, &event, n);
            if let EventKind::State(state) = event.kind {
                renumber(batch, state as usize, n, self.kept);
            }
            n += count;
            if self.inside {
                batch.events.push(event);
                self.kept += count;
            } else {
                self.left_out += count;
            }
        }
    }

    /// The state before `event`, the first of a stretch.
    fn begin(&mut self, batch: &mut Batch, event: &Event) {
        let to = first_pc(&event.kind);
        let left_out = std::mem::take(&mut self.left_out);
        if self.kept > 0 {
            let gap = Gap::new(GapReason::Filtered);
            batch.push_gap(event.offset, Gap { from: self.last_pc, to, instructions: Some(left_out), ..gap });
        }
        // A mode that has ended is not news at the start of a stretch.
        let unsupported = self.machine.context.unsupported.filter(|begins| *begins);
        let context = Context { change: None, unsupported, ..self.machine.context };
        if context != Context::default() {
            batch.push_context(event.offset, context);
        }
        if let Some(value) = self.machine.time.filter(|_| self.meta.timestamps) {
            let time = Time { kind: TimeKind::Timestamp, value: Some(value), clock: 0 };
            batch.push(event.offset, EventKind::Time(time));
        }
        if let Some(accesses) = add_known(&self.machine, batch) {
            batch.push_state(event.offset, State::Contents(accesses));
        }
    }
}

/// A page walk names an instruction by its number, which is `to` in the slice where it was `from`.
fn renumber(batch: &mut Batch, state: usize, from: u64, to: u64) {
    if let State::PageWalk(walk) = &mut batch.states[state] {
        walk.first_use = walk.first_use.saturating_sub(from) + to;
    }
}

fn first_pc(event: &EventKind) -> Option<u64> {
    match event {
        EventKind::Step(step) => step.pc,
        EventKind::Run(run) => Some(run.start),
        _ => None,
    }
}

impl Source for Window {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn inner(&self) -> Option<&dyn Source> {
        Some(&*self.inner)
    }

    fn inner_mut(&mut self) -> Option<&mut dyn Source> {
        Some(&mut *self.inner)
    }

    fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
        loop {
            if self.done {
                batch.clear();
                return Ok(false);
            }
            if !self.inner.fill(batch)? {
                return Ok(false);
            }
            self.select(batch);
            if !batch.events.is_empty() {
                return Ok(true);
            }
        }
    }

    fn context(&self) -> Context {
        self.machine.context
    }
}
