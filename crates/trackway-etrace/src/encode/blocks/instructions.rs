//! Steps and straight runs of the events, one instruction or block at a time.

use std::sync::Arc;

use trackway_core::*;
use trackway_isa::{Control, Flow, flow};

use super::BlockBuilder;
use super::pending::{LARGEST_BLOCK, Pending, PlainHalves, Target, plain_length};
use crate::encode::accesses::Recorded;
use crate::encode::{Encoder, Single};
use crate::port::{control_of, sequential_target};

/// Does a reader of a run see whether the instruction was taken?
pub(super) fn is_taken_or_not(control: Control) -> bool {
    use Exit::*;
    matches!(control.exit(), Branch | Jump | Call | IndirectJump | IndirectCall | Return | TrapReturn)
}

impl BlockBuilder {
    /// Fast path: plain instructions after a plain one extend the pending run; returns their number. A function of
    /// its own keeps its state in registers.
    #[inline(never)]
    pub(super) fn extend(&mut self, events: &[Event]) -> usize {
        let Some(pending) = self.pending.as_mut().filter(|pending| pending.open) else { return 0 };
        let (mut end, mut length, mut number) = (pending.end, pending.length, 0);
        let plain = PlainHalves::of(self.isa);
        while let Some(Event { kind: EventKind::Step(step), .. }) = events.get(number) {
            let is_known = (step.length > 0) & step.extra.is_none() & (step.outcome == Outcome::Retired);
            let is_long = end.wrapping_sub(pending.start) >= u64::from(LARGEST_BLOCK);
            if step.pc != Some(end) || !is_known || is_long || !plain.has(step.encoding) {
                break;
            }
            if let Some(executed) = &mut self.executed {
                pending.altered += u64::from(executed.note(end, step.encoding, step.length));
            }
            if self.sijump {
                self.last = Some((end, step.encoding));
            }
            length = plain_length(step.encoding);
            end = end.wrapping_add(length.into());
            number += 1;
        }
        if number > 0 {
            (pending.end, pending.length) = (end, length);
            pending.instructions += number as u64;
            self.taken.0 += number as u64;
            self.after_trap = false;
        }
        number
    }

    #[inline]
    pub(super) fn step(&mut self, step: &Step, batch: &Batch, encoder: &mut Encoder) {
        let extra = batch.extra_of(step);
        if extra.is_some_and(|extra| extra.placeholder) {
            return;
        }
        let attempted = step.outcome == Outcome::Attempted;
        let has_target = extra.is_some_and(|extra| extra.target.is_some());
        if self.data.is_none() {
            let taken = &mut encoder.tally.taken;
            self.taken.0 += 1;
            self.taken.1 += u64::from(step.length == 0);
            taken[Fact::Attempted] += u64::from(attempted);
            taken[Fact::Outcomes] += u64::from(step.taken.is_some());
            taken[Fact::Targets] += u64::from(has_target);
        }
        let Some(pc) = step.pc else { return };
        let encoding = if step.length > 0 { Some(step.encoding) } else { self.fetch(pc) };
        let Some(encoding) = encoding else {
            self.interrupt_flow(encoder);
            return;
        };
        let executed = self.executed.as_mut().filter(|_| step.length > 0);
        let is_altered = executed.is_some_and(|executed| executed.note(pc, encoding, step.length));
        let recorded = Recorded { batch, accesses: step.accesses };
        let flow = self.flow(pc, encoding);
        self.instruction(pc, pc, 1, &flow, encoding, step.taken, attempted, Some(recorded), encoder);
        self.recorded_target = extra.and_then(|extra| extra.target);
        if let Some(pending) = self.pending.as_mut().filter(|_| is_altered) {
            pending.altered += 1;
        }
    }

    /// Takes a straight run, block by block.
    pub(super) fn run(&mut self, run: &Run, batch: &Batch, encoder: &mut Encoder) {
        let mut at = run.start;
        let accesses = batch.accesses_of(run);
        while at < run.end {
            let Some(block) = self.image.as_mut().and_then(|image| image.at(at)) else {
                return self.interrupt_flow(encoder);
            };
            let (mut last, mut end) = (block.last, block.end);
            if block.end > run.end {
                // The run ends inside the block.
                end = run.end;
                last = self.last_before(at, end);
            }
            let is_last = end == run.end;
            let attempted = is_last && run.attempted;
            // Inside a run branches are not taken.
            let taken = if is_last { run.taken } else { Some(false) };
            let recorded = is_last.then_some(Recorded { batch, accesses });
            if end == block.end && !attempted && block.control.retires() && !self.wants_encodings() {
                // The table knows all of it.
                let (control, target) = (block.control, block.target);
                let flow = Flow { control, target, ..Flow::sequential((end - last) as u8) };
                self.instruction(at, last, block.count.into(), &flow, 0, taken, false, recorded, encoder);
                at = end;
                continue;
            }
            let Some(encoding) = self.fetch(last) else { return self.interrupt_flow(encoder) };
            if attempted && last > at {
                // The instructions before it retire.
                let previous = self.last_before(at, last);
                if let Some(encoding) = self.fetch(previous) {
                    let (own, flow) = (self.count_to(at, previous), self.flow(previous, encoding));
                    self.instruction(at, previous, own, &flow, encoding, None, false, None, encoder);
                }
                at = last;
            }
            let (own, flow) = (self.count_to(at, last), self.flow(last, encoding));
            self.instruction(at, last, own, &flow, encoding, taken, attempted, recorded, encoder);
            at = end;
        }
    }

    /// Takes an instruction, or a straight run of `own` instructions from `start` that ends with it.
    #[inline]
    #[allow(clippy::too_many_arguments)] // the facts of one instruction
    fn instruction(
        &mut self,
        start: u64,
        pc: u64,
        own: u64,
        flow: &Flow,
        encoding: u32,
        taken: Option<bool>,
        attempted: bool,
        recorded: Option<Recorded<'_>>,
        encoder: &mut Encoder,
    ) {
        if self.attempted.is_some() {
            self.invent_trap(encoder);
        }
        let retires = !attempted && flow.retires();
        // It either extends the pending run or settles it.
        let run = match &self.pending {
            Some(pending) if retires && pending.takes(start) => {
                Some((pending.start, pending.instructions, pending.targets, pending.altered))
            }
            _ => None,
        };
        if run.is_none() {
            self.settle(Some(start), encoder);
            if self.incoming.is_some() {
                self.enter_context(encoder);
            }
        }
        if !retires {
            self.attempted = Some((pc, encoding, attempted));
            self.attempted_at_target = self.recorded_target.take() == Some(pc);
            self.last = None;
            return;
        }
        self.after_trap &= run.is_none();
        let control = if self.x1_only { control_of(self.isa, pc, encoding, true) } else { flow.control };
        let mut sijump = false;
        if self.sijump {
            if control.is_indirect() && control != Control::TrapReturn {
                let before = if start == pc { self.last } else { self.before(start, pc) };
                sijump = before
                    .is_some_and(|(at, first)| sequential_target(self.isa, at, first, encoding).is_some());
            }
            self.last = Some((pc, encoding));
        }
        if self.data.is_some() {
            self.note_data(start, pc, encoding, recorded);
        }
        let at_target = self.recorded_target.take() == Some(start);
        let (start, instructions, targets, altered) = run.unwrap_or((start, 0, 0, 0));
        let is_transfer = is_taken_or_not(flow.control);
        self.pending = Some(Pending {
            start,
            end: pc.wrapping_add(flow.length.into()),
            length: flow.length,
            open: self.joins && flow.control == Control::Sequential && matches!(flow.length, 2 | 4),
            control,
            taken,
            sijump,
            notify: false,
            target: Target::new(flow),
            instructions: instructions + own,
            targets: targets + u64::from(at_target),
            altered,
            last: Single {
                instructions: 1,
                transfers: is_transfer.into(),
                outcomes: (is_transfer && taken.is_some()).into(),
                targets: 0,
            },
        });
    }

    #[inline(always)]
    fn flow(&self, pc: u64, encoding: u32) -> Flow {
        if PlainHalves::of(self.isa).has(encoding) {
            Flow::sequential(plain_length(encoding))
        } else {
            flow(self.isa, pc, encoding)
        }
    }

    /// Are there questions that the table of blocks does not answer?
    fn wants_encodings(&self) -> bool {
        self.x1_only || self.sijump || self.data.is_some()
    }

    /// Collects the accesses of the pending instruction and of the run that ends with it.
    fn note_data(&mut self, start: u64, pc: u64, encoding: u32, recorded: Option<Recorded<'_>>) {
        let (mut at, mut number) = (start, 0);
        while at != pc {
            let memory = self.image.as_ref().map(|image| Arc::clone(image.blocks().memory()));
            let Some((inside, length)) = memory.and_then(|memory| memory.fetch(self.isa, at)) else { break };
            if let Some(data) = &mut self.data {
                let first = self.pending_items.len();
                data.silent(at, inside, &mut self.pending_items);
                self.pending_items[first..].iter_mut().for_each(|item| item.number = number);
            }
            at = at.wrapping_add(length.into());
            number += 1;
        }
        let Some(data) = &mut self.data else { return };
        let first = self.pending_items.len();
        match recorded {
            Some(recorded) => data.instruction(pc, encoding, recorded, &mut self.pending_items),
            None => data.silent(pc, encoding, &mut self.pending_items),
        }
        self.pending_items[first..].iter_mut().for_each(|item| item.number = number);
        if start != pc && !self.pending_items.is_empty() {
            let before = self.before(start, pc).map(|(at, _)| at);
            for item in &mut self.pending_items {
                item.before = before.filter(|_| item.iaddr == pc);
            }
        }
    }

    fn fetch(&self, pc: u64) -> Option<u32> {
        let memory = self.image.as_ref()?.blocks().memory();
        memory.fetch(self.isa, pc).map(|(encoding, _)| encoding).or_else(|| memory.word(pc))
    }

    /// Number of instructions from `start` through `pc`.
    fn count_to(&mut self, start: u64, pc: u64) -> u64 {
        if start == pc {
            return 1;
        }
        let position = self.image.as_mut().and_then(|image| image.position(start, pc));
        position.map_or(1, |position| u64::from(position) + 1)
    }

    /// The instruction that ends at `end`, of two or four bytes, in the straight run from `start`.
    fn last_before(&mut self, start: u64, end: u64) -> u64 {
        let mut position = |at| self.image.as_mut().and_then(|image| image.position(start, at));
        match (position(end.wrapping_sub(2)), position(end.wrapping_sub(4))) {
            (Some(narrow), Some(wide)) if narrow == wide + 1 => end - 2,
            (_, Some(_)) => end - 4,
            _ => end.wrapping_sub(2),
        }
    }

    /// The instruction before `pc` in a run from `start`.
    fn before(&mut self, start: u64, pc: u64) -> Option<(u64, u32)> {
        let image = self.image.as_mut()?;
        let position = image.position(start, pc)?.checked_sub(1)?;
        let narrow = image.position(start, pc.wrapping_sub(2)) == Some(position);
        let at = pc.wrapping_sub(if narrow { 2 } else { 4 });
        self.fetch(at).map(|encoding| (at, encoding))
    }
}
