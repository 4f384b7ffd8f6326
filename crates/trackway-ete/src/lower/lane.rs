//! One source: execution as events describe it, for its trace unit.

use std::sync::Arc;

use trackway_core::*;
use trackway_image::{Image, Memory};
use trackway_isa::Control;

use super::code::{Code, space_of};
use crate::config::ID;
use crate::encode::{Emitted, Instruction, Registers, Unit};
use crate::transport::output::WrittenSource;
use crate::wire::context::ContextState;
use crate::wire::exception_type;

/// TSB CSYNC and TCOMMIT.
const TSB_CSYNC: u32 = 0xd503_225f;
const TCOMMIT: u32 = 0xd503_307f;

/// The address of the next instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Expected {
    /// Unknown.
    Any,
    /// This one, unless the flow breaks.
    At(u64),
}

/// An event after a branch whose outcome is not known yet.
#[derive(Clone, Copy, Debug)]
enum Deferred {
    Context(ContextState),
    Timestamp(u64, Option<u64>),
    Cycles(Option<u64>),
    Mark(MarkKind, Option<u64>),
}

/// Numbers of what the events have; the unit counts what a decoder finds of it.
#[derive(Clone, Copy, Debug, Default)]
struct Given {
    instructions: u64,
    exceptions: u64,
    returns: u64,
    halts: u64,
    timestamps: u64,
    offsets: u64,
    cycles: u64,
    marks: u64,
}

/// One source.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) unit: Unit,
    name: String,
    core: String,
    image: Arc<Image>,
    memory: Arc<Memory>,
    /// The context so far.
    context: Context,
    isa: Isa,
    expected: Expected,
    /// A branch whose outcome is not known yet.
    pending: Option<Instruction>,
    deferred: Vec<Deferred>,
    /// Address of an instruction that was attempted and not executed.
    attempted: Option<u64>,
    /// The address after the last instruction, if that was a system call.
    call: Option<u64>,
    /// Number of nested transactions.
    transactions: u32,
    /// A timestamp that may have a cycle count after it.
    timestamp: Option<u64>,
    /// The unit traces every address, so that tracing is active wherever there are events.
    is_active: bool,
    given: Given,
    code: Code,
}

impl Lane {
    pub(super) fn new(unit: Unit, name: String, core: String, image: Arc<Image>, isa: Isa) -> Self {
        let registers = unit.registers();
        let is_active = registers.get("TRCVIIECTLR") == 0 && registers.get("TRCVISSCTLR") == 0;
        let mut lane = Lane {
            unit,
            name,
            core,
            memory: image.memory(&Context::default()),
            image,
            context: Context::default(),
            isa,
            expected: Expected::Any,
            pending: None,
            deferred: Vec::new(),
            attempted: None,
            call: None,
            transactions: 0,
            timestamp: None,
            is_active,
            given: Given::default(),
            code: Code::default(),
        };
        lane.activate();
        lane
    }

    /// Tracing is active here although no instruction was executed yet.
    fn activate(&mut self) {
        if self.is_active {
            self.unit.set_active();
        }
    }

    pub(super) fn event(&mut self, kind: &EventKind, batch: &Batch, format: FormatId, losses: &mut Losses) {
        if let Some(value) = self.timestamp.take() {
            let offset = match kind {
                EventKind::Time(Time { kind: TimeKind::Offset, value, .. }) => *value,
                _ => None,
            };
            self.between(Deferred::Timestamp(value, offset), losses);
        }
        match kind {
            EventKind::Step(step) => self.step(step, batch, losses),
            EventKind::Run(run) if !run.withdrawn => self.run(run, losses),
            EventKind::Run(_) => losses.add(Fate::Dropped, "withdrawn runs", 1),
            EventKind::Trap(n) => self.trap(&batch.traps[*n as usize], format, losses),
            EventKind::Context(n) => self.change_context(&batch.contexts[*n as usize], losses),
            EventKind::Time(time) => self.time(time, losses),
            EventKind::Mark(mark) => {
                self.given.marks += 1;
                self.between(Deferred::Mark(mark.kind, mark.value), losses);
            }
            EventKind::Gap(n) => self.gap(&batch.gaps[*n as usize], losses),
            EventKind::State(_) => losses.add(Fate::Dropped, "state outside instructions", 1),
            EventKind::Foreign(_) => losses.add(Fate::Dropped, "foreign items", 1),
        }
    }

    fn step(&mut self, step: &Step, batch: &Batch, losses: &mut Losses) {
        losses.add(Fate::Dropped, "memory accesses", step.accesses.mem_len.into());
        losses.add(Fate::Dropped, "register accesses", step.accesses.regs_len.into());
        let Some(pc) = step.pc else {
            return losses.add(Fate::Dropped, "instructions without an address", 1);
        };
        if let Some(extra) = batch.extra_of(step) {
            if extra.placeholder {
                return losses.add(Fate::Dropped, "placeholder instructions", 1);
            }
            losses.add(Fate::Dropped, "SME indices", extra.sme_index.is_some().into());
            losses.add(Fate::Dropped, "micro-ops", (extra.micro_ops.len > 0).into());
            losses.add(Fate::Dropped, "physical instruction addresses", extra.physical_pc.is_some().into());
        }
        let known = if step.length > 0 {
            Some((step.encoding, step.length))
        } else {
            self.memory.fetch(self.isa, pc)
        };
        let Some((encoding, length)) = known else {
            losses.add(Fate::Dropped, "instructions without an encoding", 1);
            return self.interrupt(losses);
        };
        // The length distinguishes A32 and T32 if the source does not.
        if length == 2 && self.isa == Isa::A32 {
            self.isa = Isa::T32;
        }
        let target = batch.extra_of(step).and_then(|extra| extra.target);
        self.one((pc, encoding, length), (step.taken, target), step.outcome == Outcome::Attempted, losses);
    }

    /// A run, instruction by instruction.
    fn run(&mut self, run: &Run, losses: &mut Losses) {
        self.isa = run.isa;
        let mut pc = run.start;
        for n in 0..run.count {
            let Some((encoding, length)) = self.memory.fetch(run.isa, pc) else {
                losses.add(Fate::Dropped, "instructions without code", (run.count - n).into());
                return self.interrupt(losses);
            };
            let last = n + 1 == run.count;
            let taken = if last { run.taken } else { Some(false) };
            self.one((pc, encoding, length), (taken, None), last && run.attempted, losses);
            pc = pc.wrapping_add(length.into());
        }
    }

    /// One instruction: address, encoding and length; whether it was taken, and where to.
    fn one(
        &mut self,
        (pc, encoding, length): (u64, u32, u8),
        (taken, target): (Option<bool>, Option<u64>),
        attempted: bool,
        losses: &mut Losses,
    ) {
        self.given.instructions += 1;
        self.settle(Some(pc), losses);
        if !self.code.execute(space_of(&self.state()), pc, encoding, length) {
            // A snapshot has one instruction for each place.
            losses.add(Fate::Dropped, "instructions where other code was before", 1);
            return self.interrupt(losses);
        }
        let mut instruction = Instruction::new(self.isa, pc, encoding, true);
        let flow = instruction.flow;
        self.call = None;
        if flow.control == Control::SystemCall {
            self.call = Some(instruction.end());
        } else if attempted || !flow.retires() {
            // Its exception has its address, but a decoder does not show it.
            self.attempted = Some(pc);
            self.expected = Expected::At(pc);
            return;
        }
        // An instruction in an IT block is conditional without a sign of it in its encoding.
        let certain = !flow.control.is_transfer() || !flow.conditional && self.isa != Isa::T32;
        match taken {
            Some(taken) => instruction.taken = taken || certain,
            None if certain => {}
            None => {
                self.pending = Some(instruction);
                return;
            }
        }
        self.execute(instruction);
        if let (Expected::Any, Some(target)) = (self.expected, target) {
            self.expected = Expected::At(target);
        }
        match encoding {
            TSB_CSYNC if self.isa == Isa::A64 => self.unit.tsb_csync(),
            TCOMMIT if self.isa == Isa::A64 && self.transactions > 0 => {
                self.transactions -= 1;
                if self.transactions == 0 {
                    self.unit.transaction_commit();
                }
            }
            _ if flow.control == Control::TransactionStart => {
                self.transactions += 1;
                self.unit.transaction_start();
            }
            _ => {}
        }
    }

    fn execute(&mut self, instruction: Instruction) {
        self.unit.instruction(&instruction);
        let flow = &instruction.flow;
        self.expected = match flow.target {
            _ if !(instruction.taken && flow.control.is_transfer()) => Expected::At(instruction.end()),
            Some(target) => {
                if let trackway_isa::Switch::To(isa) = flow.switch {
                    self.isa = isa;
                }
                Expected::At(if self.isa == Isa::A64 { target } else { target & 0xffff_ffff })
            }
            None => Expected::Any,
        };
    }

    /// Resolves the last branch with the address of the next instruction, and breaks the flow if that is not expected.
    fn settle(&mut self, next: Option<u64>, losses: &mut Losses) {
        if let Some(mut instruction) = self.pending.take() {
            let end = instruction.end();
            instruction.taken = match next {
                Some(next) => next != end,
                None => {
                    losses.add(Fate::Invented, "outcome of the last branch", 1);
                    !instruction.flow.conditional
                }
            };
            self.execute(instruction);
            for event in std::mem::take(&mut self.deferred) {
                self.apply(event, losses);
            }
        }
        if let (Some(next), Expected::At(expected)) = (next, self.expected)
            && next != expected
        {
            self.break_flow(expected, losses);
        }
        self.attempted = None;
    }

    /// Execution does not continue at the address that was expected.
    fn break_flow(&mut self, expected: u64, losses: &mut Losses) {
        losses.add(Fate::Invented, "gaps where the flow breaks", 1);
        self.unit.break_flow(Some((expected, self.isa)));
        self.activate();
    }

    /// An event between instructions; it waits for an unresolved branch.
    fn between(&mut self, event: Deferred, losses: &mut Losses) {
        if self.pending.is_some() {
            self.deferred.push(event);
        } else {
            self.apply(event, losses);
        }
    }

    fn apply(&mut self, event: Deferred, losses: &mut Losses) {
        match event {
            Deferred::Context(context) => self.unit.set_context(context),
            Deferred::Timestamp(value, offset) => self.unit.set_timestamp(value, offset),
            Deferred::Cycles(count) => self.unit.set_cycles(count),
            Deferred::Mark(kind, value) => self.mark(kind, value, losses),
        }
    }

    fn time(&mut self, time: &Time, losses: &mut Losses) {
        match (time.kind, time.value) {
            (TimeKind::Timestamp, Some(value)) => {
                self.given.timestamps += 1;
                self.timestamp = Some(value);
            }
            (TimeKind::Cycles, count) => {
                self.given.cycles += 1;
                self.between(Deferred::Cycles(count), losses);
            }
            // With the timestamp before it.
            (TimeKind::Offset, _) => self.given.offsets += 1,
            (TimeKind::Timestamp, None) => losses.add(Fate::Dropped, "unknown times", 1),
        }
    }

    fn mark(&mut self, kind: MarkKind, value: Option<u64>, losses: &mut Losses) {
        match (kind, value) {
            (MarkKind::TraceEvent, Some(number @ 0..=3)) => self.unit.events(1 << number),
            (MarkKind::Instrumentation, Some(value)) => self.unit.instrumentation(value),
            (MarkKind::TransactionStart, _) => {
                self.transactions = self.transactions.max(1);
                self.unit.transaction_start();
            }
            (MarkKind::TransactionCommit, _) => {
                self.transactions = 0;
                self.unit.transaction_commit();
            }
            (MarkKind::TransactionFail, _) => {
                self.transactions = 0;
                self.unit.transaction_fail();
                self.expected = Expected::Any;
            }
            (MarkKind::TraceOn | MarkKind::TimestampMarker, _) => {
                self.given.marks -= 1;
                losses.add(Fate::Derived, "marks of the trace unit", 1);
            }
            _ => {}
        }
    }

    /// The context for packets; unknown fields are those of a user program.
    pub(super) fn state(&self) -> ContextState {
        ContextState {
            context_id: self.context.context_id.and_then(|id| u32::try_from(id).ok()),
            vmid: self.context.vmid.and_then(|id| u32::try_from(id).ok()),
            el: match self.context.privilege {
                Some(Privilege::El1) => 1,
                Some(Privilege::El2) => 2,
                Some(Privilege::El3) => 3,
                _ => 0,
            },
            security: match self.context.security {
                Some(Security::Secure) => 0,
                Some(Security::Root) => 2,
                Some(Security::Realm) => 3,
                _ => 1,
            },
            sixty_four_bit: self.isa == Isa::A64,
        }
    }

    fn change_context(&mut self, change: &Context, losses: &mut Losses) {
        if change.unsupported == Some(true) {
            self.given.halts += 1;
            self.settle_open(losses);
            self.unit.halt(self.next());
            self.expected = Expected::Any;
            self.activate();
        }
        self.context.update(change);
        if let Some(isa) = change.isa.filter(|isa| matches!(isa, Isa::A64 | Isa::A32 | Isa::T32)) {
            self.isa = isa;
        }
        losses.add(Fate::Kept, "contexts", 1);
        losses.drop_context(&Context {
            privilege: None,
            security: None,
            context_id: None,
            vmid: None,
            isa: None,
            unsupported: None,
            ..*change
        });
        self.memory = self.image.memory(&self.context);
        self.between(Deferred::Context(self.state()), losses);
    }

    /// The exception type of a trap (K10.5.2.13).
    fn exception_type(trap: &Trap, format: FormatId) -> u16 {
        // Causes of ETE traces are exception types.
        if let (ID, Some(cause @ 0..=31)) = (format, trap.cause) {
            return cause as u16;
        }
        match (trap.kind, trap.class) {
            (TrapKind::Reset, _) => exception_type::PE_RESET,
            (TrapKind::Interrupt, Some(0x2f)) => exception_type::SYSTEM_ERROR,
            // Causes of ASTF traces, and of those converted from them.
            (TrapKind::Interrupt, _) => match trap.cause {
                Some(1) => exception_type::SYSTEM_ERROR,
                Some(3) => exception_type::FIQ,
                _ => exception_type::IRQ,
            },
            _ if trap.syscall.is_some() => exception_type::CALL,
            (_, Some(class)) => match class {
                0x11..=0x13 | 0x15..=0x17 => exception_type::CALL,
                0x20 | 0x21 => exception_type::INSTRUCTION_FAULT,
                0x22 | 0x26 => exception_type::ALIGNMENT,
                0x24 | 0x25 => exception_type::DATA_FAULT,
                0x2f => exception_type::SYSTEM_ERROR,
                0x30..=0x33 | 0x38 | 0x3c => exception_type::INSTRUCTION_DEBUG,
                0x34 | 0x35 => exception_type::DATA_DEBUG,
                _ => exception_type::TRAP,
            },
            _ => exception_type::TRAP,
        }
    }

    fn trap(&mut self, trap: &Trap, format: FormatId, losses: &mut Losses) {
        if trap.kind == TrapKind::Return {
            self.given.returns += 1;
            if let (Expected::Any, Some(to)) = (self.expected, trap.to) {
                self.expected = Expected::At(to);
            }
            return;
        }
        self.given.exceptions += 1;
        losses.add(Fate::Dropped, "marks of virtual interrupts", trap.is_virtual.into());
        losses.add(Fate::Dropped, "exception classes", trap.class.is_some().into());
        let number = Self::exception_type(trap, format);
        let attempted = self.attempted;
        let after_call = if number == exception_type::CALL { self.call } else { None };
        let told = trap.return_address.or(after_call).or(attempted);
        if self.pending.is_some() {
            self.settle(told.or(trap.from), losses);
        }
        let here = self.next().map(|(address, _)| address);
        let place = told.or(here).or(trap.from);
        if let Some(address) = place {
            if let Expected::At(expected) = self.expected
                && expected != address
                && attempted.is_none()
            {
                self.break_flow(expected, losses);
            }
            self.unit.exception(number, Some((address, self.isa)));
        } else if number == exception_type::PE_RESET {
            self.unit.exception(number, None);
        } else {
            self.unit.break_flow(None);
        }
        (self.attempted, self.call) = (None, None);
        self.expected = match trap.to {
            Some(to) => Expected::At(to),
            None => {
                // The handler is not in the events: it was not traced.
                self.unit.break_flow(None);
                self.activate();
                Expected::Any
            }
        };
    }

    fn gap(&mut self, gap: &Gap, losses: &mut Losses) {
        self.settle_open(losses);
        match gap.reason {
            GapReason::Overflow => self.unit.overflow(),
            GapReason::Discarded => self.unit.discard(),
            _ => self.interrupt(losses),
        }
        self.expected = Expected::Any;
        self.activate();
        losses.add(Fate::Kept, "gaps", 1);
    }

    /// Resolves a branch whose outcome nothing follows.
    fn settle_open(&mut self, losses: &mut Losses) {
        if self.pending.is_some() {
            self.settle(None, losses);
        }
    }

    /// The next instruction, if it is known.
    fn next(&self) -> Option<(u64, Isa)> {
        match self.expected {
            Expected::At(address) => Some((address, self.isa)),
            Expected::Any => None,
        }
    }

    /// Execution does not continue from here.
    fn interrupt(&mut self, losses: &mut Losses) {
        self.settle_open(losses);
        self.unit.break_flow(self.next());
        self.expected = Expected::Any;
        self.activate();
    }

    pub(super) fn end(&mut self, losses: &mut Losses) {
        if let Some(value) = self.timestamp.take() {
            self.between(Deferred::Timestamp(value, None), losses);
        }
        self.interrupt(losses);
        self.call = None;
    }

    /// Adds what a decoder finds of the events, and what the unit added.
    pub(super) fn account(&self, losses: &mut Losses) {
        let (found, given) = (self.unit.found(), &self.given);
        let of = |kinds: &[Emitted]| kinds.iter().map(|kind| found.of(*kind)).sum::<u64>();
        use Emitted::*;
        let marks = [Event, Instrumentation, TransactionStart, TransactionCommit, TransactionFailure];
        for (what, given, found) in [
            ("instructions", given.instructions, found.instructions),
            ("exceptions", given.exceptions, of(&[Exception])),
            ("debug halts", given.halts, of(&[Halt])),
            ("timestamps", given.timestamps, of(&[Timestamp])),
            ("cycle offsets of timestamps", given.offsets, of(&[Offset])),
            ("cycle counts", given.cycles, of(&[Cycles])),
            ("marks", given.marks, of(&marks)),
        ] {
            losses.add(Fate::Kept, what, found);
            losses.add(Fate::Dropped, what, given.saturating_sub(found));
        }
        let returns = of(&[Return]);
        losses.add(Fate::Derived, "returns from exceptions", given.returns.min(returns));
        losses.add(Fate::Dropped, "returns from exceptions", given.returns.saturating_sub(returns));
        for (what, kind) in [
            ("debug halts", OwnHalt),
            ("timestamps", OwnTimestamp),
            ("cycle counts", OwnCycles),
            ("trace events", OwnEvent),
        ] {
            losses.add(Fate::Invented, what, found.of(kind));
        }
    }

    pub(super) fn written(&self) -> Result<WrittenSource> {
        let mut config = self.unit.config().clone();
        (config.name, config.core) = (self.name.clone(), self.core.clone());
        config.registers = Registers::clone(self.unit.registers()).0;
        let memory = self.image.memory(&Context::default());
        let bad = |_| ErrorKind::Impossible { found: 0 }.at(0, "program", "", "");
        let image = self.code.complete(&self.image, &memory).map_err(bad)?;
        Ok(WrittenSource { config, image })
    }
}
