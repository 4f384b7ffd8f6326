//! From events to the port: forms retirement blocks and cycles from any RISC-V execution.

use std::sync::Arc;

use trackway_core::*;
use trackway_image::{Cursor, Image, Waypoints};
use trackway_isa::riscv::is_plain;
use trackway_isa::{Control, Flow, flow};

use super::accesses::{AccessBuilder, Recorded};
use super::data_queue::DataItem;
use super::executed::Executed;
use super::tally::OwnMark;
use super::{Encoder, PortTrap, Progress, Single};
use crate::config::Config;
use crate::port::{Block, Cycle, Itype, Trigger, control_of, privilege_code, sequential_target};

/// An instruction that retired, or a straight run that ends with it; its successor is not known yet.
#[derive(Clone, Copy, Debug)]
struct Pending {
    /// First instruction of the run.
    start: u64,
    /// The address after it.
    end: u64,
    /// Length of the last instruction in bytes.
    length: u8,
    /// A plain instruction at `end` can be joined to it.
    open: bool,
    control: Control,
    taken: Option<bool>,
    sijump: bool,
    notify: bool,
    /// Where the last instruction leads, by its encoding.
    target: Target,
    /// Instructions in the run, those at the target of a jump, and those that are other ones in the program.
    instructions: u64,
    targets: u64,
    altered: u64,
    /// The last instruction alone.
    last: Single,
}

/// Where an instruction leads by its encoding, unless it is a branch that is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    /// The next instruction.
    Next,
    Address(u64),
    /// Known at run time only.
    Unknown,
}

impl Target {
    #[inline(always)]
    fn new(flow: &Flow) -> Target {
        match flow.target {
            Some(target) => Target::Address(target),
            None if flow.control.is_indirect() => Target::Unknown,
            None => Target::Next,
        }
    }
}

impl Pending {
    /// Address of the last instruction.
    #[inline(always)]
    fn address(&self) -> u64 {
        self.end.wrapping_sub(u64::from(self.length))
    }

    /// Can an instruction at `pc` be joined to it?
    #[inline(always)]
    fn takes(&self, pc: u64) -> bool {
        self.open & (self.end == pc) && pc.wrapping_sub(self.start) < u64::from(LARGEST_BLOCK)
    }

    #[inline(always)]
    fn halfwords(&self) -> u32 {
        (self.end.wrapping_sub(self.start) / 2) as u32
    }

    #[inline(always)]
    fn progress(&self) -> Progress {
        Progress {
            instructions: self.instructions,
            transfers: self.last.transfers.into(),
            outcomes: self.last.outcomes.into(),
            targets: self.targets,
            altered: self.altered,
        }
    }

    /// The next instruction, if it is known already; `taken` is for branches.
    #[inline(always)]
    fn successor(&self, taken: Option<bool>) -> Option<u64> {
        match (self.target, self.control) {
            (Target::Address(target), Control::Branch) => {
                taken.map(|taken| if taken { target } else { self.end })
            }
            (Target::Address(target), _) => Some(target),
            (Target::Unknown, _) => None,
            (Target::Next, _) => Some(self.end),
        }
    }
}

/// Most instructions in a block: no limit, unless filters look at blocks.
fn max_block(config: &Config) -> u32 {
    match config.encoder.block {
        0 if config.filters.ifilters | config.filters.dfilters != 0 => config.params.retires,
        0 => LARGEST_BLOCK,
        block => block,
    }
}

/// Does a reader of a run see whether the instruction was taken?
fn is_taken_or_not(control: Control) -> bool {
    use Exit::*;
    matches!(control.exit(), Branch | Jump | Call | IndirectJump | IndirectCall | Return | TrapReturn)
}

/// A quick look: true says that the next instruction in memory follows.
#[inline(always)]
fn is_sequential(isa: Isa, encoding: u32) -> bool {
    // C.ADDIW of RV64 is C.JAL of RV32.
    is_plain(encoding) || (isa == Isa::Rv64 && encoding & 0xe003 == 0x2001)
}

/// Length of a plain instruction in bytes.
fn plain_length(encoding: u32) -> u8 {
    if encoding & 3 == 3 { 4 } else { 2 }
}

/// Most instructions in a block without another limit, and most bytes of a straight run that steps are joined to.
const LARGEST_BLOCK: u32 = 1 << 20;

/// Signals of the port that hold from an instruction on.
#[derive(Clone, Copy, Debug)]
struct Incoming {
    privilege: Privilege,
    context: u64,
    ctype: u8,
    impdef: u32,
}

/// Forms blocks and cycles and passes them to the encoder.
#[derive(Debug)]
pub(crate) struct BlockBuilder {
    isa: Isa,
    itype_width: u32,
    x1_only: bool,
    sijump: bool,
    default_ctype: u8,
    has_context: bool,
    max_block: u32,
    max_blocks: usize,
    image: Option<Cursor>,
    pending: Option<Pending>,
    /// Blocks have no limit and no data: straight runs can be joined.
    joins: bool,
    /// The block that is being formed, and the number of instructions in it.
    block: Block,
    count: u32,
    instructions: Progress,
    last_of_block: Single,
    /// The block begins at the target of a jump that is in the events.
    at_target: bool,
    /// The target of the last instruction, where it is in the events.
    recorded_target: Option<u64>,
    /// Blocks that wait for their cycle, with their instructions, the last alone, and their data accesses.
    blocks: Vec<(Block, Progress, Single, bool, Vec<DataItem>)>,
    privilege: Privilege,
    /// Signals of the port besides blocks; `ctype` is for the next one.
    port: Cycle<'static>,
    /// An instruction that was attempted and whose trap has not come yet: address, encoding, and whether the events
    /// mark it so.
    attempted: Option<(u64, u32, bool)>,
    attempted_at_target: bool,
    /// Address and encoding of the instruction that retired last, for pairs.
    last: Option<(u64, u32)>,
    after_trap: bool,
    /// Instructions in the events, and those without an encoding.
    taken: (u64, u64),
    contexts: Contexts,
    /// Code that the program does not have, where it is asked for.
    pub(crate) executed: Option<Executed>,
    /// Data trace, if it is on.
    data: Option<AccessBuilder>,
    /// Items of the pending instruction.
    pending_items: Vec<DataItem>,
    /// Items of the block.
    items: Vec<DataItem>,
    /// The last instruction that joined the block.
    joined: Option<u64>,
    /// Signals of the port from the next instruction on.
    incoming: Option<Incoming>,
}

impl BlockBuilder {
    pub(crate) fn new(config: &Config, isa: Isa, image: Option<&Image>) -> Self {
        BlockBuilder {
            isa,
            itype_width: config.params.itype_width,
            x1_only: config.calls_x1_only,
            sijump: config.params.sijump == 1,
            default_ctype: if config.params.ctype_width >= 2 { 2 } else { 1 },
            has_context: config.params.nocontext == 0,
            max_block: max_block(config),
            max_blocks: config.params.taken_branches.max(1) as usize,
            image: image.map(|image| image.blocks(&Context::default(), isa, Waypoints::ETRACE).cursor()),
            pending: None,
            joins: max_block(config) == LARGEST_BLOCK && !config.data.enable,
            block: Block::default(),
            count: 0,
            instructions: Progress::default(),
            last_of_block: Single::default(),
            at_target: false,
            recorded_target: None,
            blocks: Vec::new(),
            privilege: config.encoder.privilege,
            port: Cycle {
                privilege: privilege_code(config.encoder.privilege).unwrap_or(0),
                ..Cycle::default()
            },
            attempted: None,
            attempted_at_target: false,
            last: None,
            after_trap: false,
            taken: (0, 0),
            contexts: Contexts::default(),
            executed: None,
            data: config.data.enable.then(|| AccessBuilder::new(config, isa)),
            pending_items: Vec::new(),
            items: Vec::new(),
            joined: None,
            incoming: None,
        }
    }

    pub(crate) fn put(&mut self, batch: &Batch, encoder: &mut Encoder) {
        let mut rest = &batch.events[..];
        loop {
            rest = &rest[self.extend(rest)..];
            let Some((event, others)) = rest.split_first() else { return };
            self.event(event, batch, encoder);
            rest = others;
        }
    }

    fn event(&mut self, event: &Event, batch: &Batch, encoder: &mut Encoder) {
        // With a data trace, steps are counted in full; otherwise only facts that E-Trace can hold.
        if self.data.is_some() || !matches!(event.kind, EventKind::Step(_)) {
            encoder.tally.taken.add_event(batch, &event.kind, &mut self.contexts);
        }
        match &event.kind {
            EventKind::Step(step) => self.step(step, batch, encoder),
            EventKind::Run(run) if !run.withdrawn => self.run(run, batch, encoder),
            EventKind::Run(_) => {}
            EventKind::Trap(n) => self.trap(&batch.traps[*n as usize], encoder),
            EventKind::Context(n) => {
                let context = &batch.contexts[*n as usize];
                if context.privilege.is_some() && !encoder.privilege_stated {
                    // Blocks so far have the one that was assumed.
                    self.close(encoder);
                    self.flush(encoder);
                    encoder.privilege_stated = true;
                }
                encoder.tally.take_change(context);
                self.context(context);
            }
            EventKind::Time(time) => self.time(time),
            EventKind::Mark(mark) => self.mark(mark, encoder),
            EventKind::Gap(n) => self.gap(&batch.gaps[*n as usize], encoder),
            EventKind::Foreign(item) => self.foreign(item, batch),
            EventKind::State(_) => {}
        }
    }

    /// Collects the instructions that the program does not have.
    pub(crate) fn keep_code(&mut self) {
        let memory = self.image.as_ref().map(|image| Arc::clone(image.blocks().memory()));
        self.executed = Some(Executed::new(self.isa, memory));
    }

    pub(crate) fn finish(&mut self, encoder: &mut Encoder) -> Result<()> {
        self.settle(None, encoder);
        self.invent_trap(encoder);
        self.close(encoder);
        self.flush(encoder);
        if let Some(data) = &mut self.data {
            encoder.respond(data.drain());
        }
        encoder.finish(self.port.cycle)?;
        let tally = &mut encoder.tally;
        tally.taken[Fact::Instructions] += self.taken.0;
        tally.taken[Fact::Encodings] += self.taken.0 - self.taken.1;
        tally.settle(&mut encoder.account);
        Ok(())
    }

    /// Fast path: plain instructions after a plain one extend the pending run; returns their number. A function of
    /// its own keeps its state in registers.
    #[inline(never)]
    fn extend(&mut self, events: &[Event]) -> usize {
        let Some(pending) = self.pending.as_mut().filter(|pending| pending.open) else { return 0 };
        let (mut end, mut length, mut number) = (pending.end, pending.length, 0);
        while let Some(Event { kind: EventKind::Step(step), .. }) = events.get(number) {
            let is_known = (step.length > 0) & step.extra.is_none() & (step.outcome == Outcome::Retired);
            let is_long = end.wrapping_sub(pending.start) >= u64::from(LARGEST_BLOCK);
            if step.pc != Some(end) || !is_known || is_long || !is_sequential(self.isa, step.encoding) {
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
    fn step(&mut self, step: &Step, batch: &Batch, encoder: &mut Encoder) {
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
    fn run(&mut self, run: &Run, batch: &Batch, encoder: &mut Encoder) {
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

    /// The instruction that ends at `end`, of two or four bytes, in the straight run from `start`.
    fn last_before(&mut self, start: u64, end: u64) -> u64 {
        let mut position = |at| self.image.as_mut().and_then(|image| image.position(start, at));
        match (position(end.wrapping_sub(2)), position(end.wrapping_sub(4))) {
            (Some(narrow), Some(wide)) if narrow == wide + 1 => end - 2,
            (_, Some(_)) => end - 4,
            _ => end.wrapping_sub(2),
        }
    }

    fn fetch(&self, pc: u64) -> Option<u32> {
        let memory = self.image.as_ref()?.blocks().memory();
        memory.fetch(self.isa, pc).map(|(encoding, _)| encoding).or_else(|| memory.word(pc))
    }

    /// Are there questions that the table of blocks does not answer?
    fn wants_encodings(&self) -> bool {
        self.x1_only || self.sijump || self.data.is_some()
    }

    #[inline(always)]
    fn flow(&self, pc: u64, encoding: u32) -> Flow {
        if is_sequential(self.isa, encoding) {
            Flow::sequential(plain_length(encoding))
        } else {
            flow(self.isa, pc, encoding)
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

    /// Number of instructions from `start` through `pc`.
    fn count_to(&mut self, start: u64, pc: u64) -> u64 {
        if start == pc {
            return 1;
        }
        let position = self.image.as_mut().and_then(|image| image.position(start, pc));
        position.map_or(1, |position| u64::from(position) + 1)
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

    /// The instruction before `pc` in a run from `start`.
    fn before(&mut self, start: u64, pc: u64) -> Option<(u64, u32)> {
        let image = self.image.as_mut()?;
        let position = image.position(start, pc)?.checked_sub(1)?;
        let narrow = image.position(start, pc.wrapping_sub(2)) == Some(position);
        let at = pc.wrapping_sub(if narrow { 2 } else { 4 });
        self.fetch(at).map(|encoding| (at, encoding))
    }

    /// Adds the pending instruction to a block, now that its successor is known.
    #[inline]
    fn settle(&mut self, next: Option<u64>, encoder: &mut Encoder) {
        let Some(pending) = &self.pending else { return };
        let mut taken = false;
        if pending.control == Control::Branch {
            taken = match (pending.taken, next) {
                // A branch to the next instruction may be taken or not; only the recording knows.
                (Some(taken), _) => taken,
                (None, Some(next)) => next != pending.end,
                (None, None) => false,
            };
        }
        let itype = Itype::new(pending.control, taken, self.itype_width);
        let successor = pending.successor(Some(taken));
        let is_transfer = pending.last.transfers > 0;
        if self.count == 0
            && itype.0 != 0
            && pending.length <= 4
            && self.max_blocks == 1
            && self.data.is_none()
        {
            // Most runs are a block.
            let block = Block {
                itype,
                iaddr: pending.start,
                iretire: pending.halfwords(),
                ilastsize: u8::from(pending.length > 2),
                sijump: pending.sijump,
                trigger: Trigger { notify: pending.notify, ..Trigger::default() },
            };
            encoder.tally.enter(pending.progress(), pending.last, pending.targets > 0);
            self.pending = None;
            self.after_trap = false;
            encoder.block(&block, &self.port);
            self.port.cycle += 1;
            self.port.ctype = 0;
        } else if let Some(pending) = self.pending.take() {
            self.join(&pending, itype, encoder);
        }
        if let Some(next) = next {
            if successor.is_some_and(|expected| expected != next) {
                self.interrupt_flow(encoder);
            } else if is_transfer && itype.0 == 0 {
                self.close(encoder);
            }
        }
    }

    /// Adds a run to the block.
    fn join(&mut self, run: &Pending, itype: Itype, encoder: &mut Encoder) {
        let Pending { start, length, notify, .. } = *run;
        let (halfwords, address, count) = (run.halfwords(), run.address(), run.progress());
        let runs_on = self.count > 0
            && start == self.block.iaddr.wrapping_add(u64::from(self.block.iretire) * 2)
            && self.count < self.max_block;
        if !runs_on {
            self.close(encoder);
            self.block.iaddr = start;
            self.at_target = count.targets > 0;
        }
        if !self.pending_items.is_empty() {
            let (joined, number) = (self.joined, self.instructions.instructions);
            self.items.extend(self.pending_items.drain(..).map(|item| DataItem {
                before: if start == address { joined } else { item.before },
                number: number + item.number,
                ..item
            }));
        }
        self.joined = Some(address);
        self.after_trap = false;
        self.count += 1;
        self.instructions = self.instructions.plus(count);
        self.last_of_block = run.last;
        self.block.iretire += halfwords;
        self.block.ilastsize = u8::from(length > 2);
        if itype.0 != 0 || notify || length > 4 {
            self.block.itype = itype;
            self.block.sijump = run.sijump;
            self.block.trigger = Trigger { notify, ..Trigger::default() };
            self.close(encoder);
        }
    }

    /// Completes the block.
    #[inline(always)]
    fn close(&mut self, encoder: &mut Encoder) {
        if self.count == 0 {
            return;
        }
        let block = std::mem::take(&mut self.block);
        let instructions = std::mem::take(&mut self.instructions);
        self.count = 0;
        self.joined = None;
        if self.max_blocks == 1 {
            encoder.tally.enter(instructions, self.last_of_block, self.at_target);
            if self.items.is_empty() {
                encoder.block(&block, &self.port);
            } else {
                encoder.block_with(&block, &self.port, &self.items);
                self.items.clear();
            }
            self.port.cycle += 1;
            self.port.ctype = 0;
        } else {
            let items = std::mem::take(&mut self.items);
            self.blocks.push((block, instructions, self.last_of_block, self.at_target, items));
            if self.blocks.len() == self.max_blocks {
                self.flush(encoder);
            }
        }
    }

    /// Completes the cycle.
    fn flush(&mut self, encoder: &mut Encoder) {
        if self.blocks.is_empty() {
            return;
        }
        for (block, instructions, last, at_target, items) in self.blocks.drain(..) {
            encoder.tally.enter(instructions, last, at_target);
            encoder.block_with(&block, &self.port, &items);
        }
        self.port.cycle += 1;
        self.port.ctype = 0;
    }

    /// Ends the known flow: the next instruction does not follow from it.
    fn interrupt_flow(&mut self, encoder: &mut Encoder) {
        self.settle(None, encoder);
        self.close(encoder);
        self.flush(encoder);
        encoder.stop(self.port.cycle);
        self.last = None;
        self.recorded_target = None;
    }

    fn trap(&mut self, trap: &Trap, encoder: &mut Encoder) {
        match trap.kind {
            TrapKind::Exception | TrapKind::Interrupt | TrapKind::Unknown => {}
            TrapKind::Return => return, // the return instruction implies it
            TrapKind::Reset => return self.interrupt_flow(encoder),
        }
        let attempted = self.attempted.take();
        let known = attempted.map(|(pc, ..)| pc).or(trap.from).or(trap.return_address);
        let epc = known.or_else(|| self.pending.and_then(|pending| pending.successor(pending.taken)));
        self.settle(epc, encoder);
        self.enter_context(encoder);
        let interrupt = trap.kind == TrapKind::Interrupt;
        let invented = attempted.map_or(0, |(_, encoding, _)| self.usual_cause(encoding));
        let (cause, tval) = (trap.cause.unwrap_or(invented), trap.value.unwrap_or(0));
        let attempted = attempted.map(|(.., marked)| marked);
        let (at_target, recorded) = (std::mem::take(&mut self.attempted_at_target), Some(*trap));
        self.recorded_target = None;
        self.send_trap(PortTrap { interrupt, cause, tval, epc, attempted, at_target, recorded }, encoder);
    }

    fn send_trap(&mut self, trap: PortTrap, encoder: &mut Encoder) {
        self.close(encoder);
        self.flush(encoder);
        encoder.trap(trap, &self.port);
        self.port.cycle += 1;
        self.last = None;
        self.after_trap = true;
    }

    /// Adds the trap of an attempted instruction where the recording has none.
    #[inline]
    fn invent_trap(&mut self, encoder: &mut Encoder) {
        let Some((pc, encoding, marked)) = self.attempted.take() else { return };
        self.settle(Some(pc), encoder);
        let (cause, attempted) = (self.usual_cause(encoding), Some(marked));
        let at_target = std::mem::take(&mut self.attempted_at_target);
        self.send_trap(
            PortTrap { cause, epc: Some(pc), attempted, at_target, ..PortTrap::default() },
            encoder,
        );
    }

    /// The cause of the exception that an instruction raises (privileged spec, table of causes).
    fn usual_cause(&self, encoding: u32) -> u64 {
        match flow(self.isa, 0, encoding).control {
            Control::SystemCall => match self.privilege {
                Privilege::S | Privilege::H => 9,
                Privilege::VS => 10,
                Privilege::M => 11,
                _ => 8,
            },
            Control::Breakpoint => 3,
            Control::Undefined => 2,
            _ => 13,
        }
    }

    fn context(&mut self, context: &Context) {
        let privilege = context.privilege.filter(|privilege| privilege_code(*privilege).is_some());
        let id = context.context_id.filter(|_| self.has_context);
        let mut next = self.next_signals();
        let changes_id = id.is_some_and(|id| id != next.context);
        if privilege.is_none_or(|privilege| privilege == next.privilege) && !changes_id {
            return;
        }
        if changes_id {
            next.ctype = context.change.unwrap_or(self.default_ctype).min(3);
        }
        next.privilege = privilege.unwrap_or(next.privilege);
        next.context = id.unwrap_or(next.context);
        self.announce(next);
    }

    /// Enters a context that was announced.
    #[inline]
    fn enter_context(&mut self, encoder: &mut Encoder) {
        if let Some(Incoming { privilege, context, ctype, impdef }) = self.incoming.take() {
            self.close(encoder);
            self.flush(encoder);
            self.privilege = privilege;
            self.port.privilege = privilege_code(privilege).unwrap_or(0);
            self.port.context = context;
            self.port.ctype = ctype;
            self.port.impdef = impdef;
        }
    }

    fn time(&mut self, time: &Time) {
        match (time.kind, time.value) {
            (TimeKind::Timestamp, Some(value)) => self.port.time = value,
            (TimeKind::Cycles, Some(value)) => self.port.cycle += value,
            _ => {}
        }
    }

    /// The implementation-defined signal of the port, four little-endian bytes ([`IMPDEF`](crate::IMPDEF)).
    fn foreign(&mut self, item: &Foreign, batch: &Batch) {
        let bytes = batch.bytes_of(item.data).try_into().map(u32::from_le_bytes);
        if let (true, crate::IMPDEF, Ok(impdef)) = (item.format == crate::ID, item.code, bytes) {
            self.announce(Incoming { impdef, ..self.next_signals() });
        }
    }

    /// The signals of the next instruction.
    fn next_signals(&self) -> Incoming {
        let Cycle { context, ctype, impdef, .. } = self.port;
        self.incoming.unwrap_or(Incoming { privilege: self.privilege, context, ctype, impdef })
    }

    /// The pending instruction still belongs to the old signals, and the next one settles it.
    fn announce(&mut self, incoming: Incoming) {
        self.incoming = Some(incoming);
        self.keep_apart();
    }

    /// Nothing is joined to the pending run.
    fn keep_apart(&mut self) {
        if let Some(pending) = &mut self.pending {
            pending.open = false;
        }
    }

    fn mark(&mut self, mark: &Mark, encoder: &mut Encoder) {
        let own = match mark.kind {
            MarkKind::Notify => match &mut self.pending {
                Some(pending) => {
                    (pending.notify, pending.open) = (true, false);
                    OwnMark::Notify
                }
                None => return,
            },
            MarkKind::TraceOff => {
                self.interrupt_flow(encoder);
                OwnMark::Off
            }
            MarkKind::TraceOn => OwnMark::On,
            MarkKind::Halt | MarkKind::Suspended => return self.interrupt_flow(encoder),
            _ => return,
        };
        encoder.tally.take_mark(own);
    }

    fn gap(&mut self, gap: &Gap, encoder: &mut Encoder) {
        // After a trap the handler may be anywhere: this is not a gap.
        if self.after_trap && matches!(gap.reason, GapReason::Unexplained | GapReason::Filtered) {
            return;
        }
        self.invent_trap(encoder);
        self.interrupt_flow(encoder);
        encoder.gap(self.port.cycle);
    }
}
