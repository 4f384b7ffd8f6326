//! One source: execution as events describe it, for its trace unit.

use std::collections::BTreeMap;
use std::sync::Arc;

use trackway_core::*;
use trackway_image::{Image, Memory, Space};
use trackway_isa::Control;

use crate::config::ID;
use crate::encode::{Instruction, Registers, Unit};
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
    Time(Time),
    Mark(MarkKind, Option<u64>),
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
    counts_cycles: bool,
    /// Encoding and length of code that the image does not have, by address.
    code: BTreeMap<u64, (u32, u8)>,
}

impl Lane {
    pub(super) fn new(unit: Unit, name: String, core: String, image: Arc<Image>, isa: Isa) -> Self {
        Lane {
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
            counts_cycles: false,
            code: BTreeMap::new(),
        }
    }

    pub(super) fn event(&mut self, kind: &EventKind, batch: &Batch, format: FormatId, losses: &mut Losses) {
        match kind {
            EventKind::Step(step) => self.step(step, batch, losses),
            EventKind::Run(run) if !run.withdrawn => self.run(run, losses),
            EventKind::Run(_) => losses.add(Fate::Dropped, "withdrawn runs", 1),
            EventKind::Trap(n) => self.trap(&batch.traps[*n as usize], format, losses),
            EventKind::Context(n) => self.change_context(&batch.contexts[*n as usize], losses),
            EventKind::Time(time) => self.between(Deferred::Time(*time), losses),
            EventKind::Mark(mark) => self.between(Deferred::Mark(mark.kind, mark.value), losses),
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
        self.keep_code(pc, encoding, length);
        self.one(pc, encoding, step.taken, step.outcome == Outcome::Attempted, losses);
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
            self.one(pc, encoding, taken, last && run.attempted, losses);
            pc = pc.wrapping_add(length.into());
        }
    }

    /// Keeps code that the program does not have.
    fn keep_code(&mut self, pc: u64, encoding: u32, length: u8) {
        if self.memory.fetch(self.isa, pc) != Some((encoding, length)) {
            self.code.insert(pc, (encoding, length));
        }
    }

    /// One instruction.
    fn one(&mut self, pc: u64, encoding: u32, taken: Option<bool>, attempted: bool, losses: &mut Losses) {
        self.settle(Some(pc), losses);
        let mut instruction = Instruction::new(self.isa, pc, encoding, true);
        let flow = instruction.flow;
        self.call = None;
        if flow.control == Control::SystemCall {
            self.call = Some(instruction.end());
        } else if attempted || !flow.retires() {
            // The exception that it takes implies it.
            losses.add(Fate::Derived, "instructions that were only attempted", 1);
            self.attempted = Some(pc);
            self.expected = Expected::At(pc);
            return;
        }
        losses.add(Fate::Kept, "instructions", 1);
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
            losses.add(Fate::Kept, "breaks in the flow", 1);
            self.unit.break_flow(Some((expected, self.isa)));
        }
        self.attempted = None;
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
            Deferred::Time(time) => self.time(&time, losses),
            Deferred::Mark(kind, value) => self.mark(kind, value, losses),
        }
    }

    fn time(&mut self, time: &Time, losses: &mut Losses) {
        match (time.kind, time.value) {
            (TimeKind::Timestamp, Some(value)) => {
                losses.add(Fate::Kept, "timestamps", 1);
                self.unit.set_timestamp(value);
            }
            (TimeKind::Cycles, Some(cycles)) => {
                if !std::mem::replace(&mut self.counts_cycles, true) {
                    self.unit.set_cycles_per_instruction(0);
                }
                losses.add(Fate::Kept, "cycle counts", 1);
                self.unit.elapse(cycles);
            }
            (TimeKind::Offset, _) => losses.add(Fate::Derived, "cycle offsets of timestamps", 1),
            _ => losses.add(Fate::Dropped, "unknown times", 1),
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
                return losses.add(Fate::Derived, "marks of the trace unit", 1);
            }
            _ => return losses.add(Fate::Dropped, "marks of other kinds", 1),
        }
        losses.add(Fate::Kept, "marks", 1);
    }

    /// The context for packets; unknown fields are those of a user program.
    pub(super) fn state(&self) -> ContextState {
        ContextState {
            context_id: self.context.context_id.map(|id| id as u32),
            vmid: self.context.vmid.map(|id| id as u32),
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
            return losses.add(Fate::Derived, "returns from exceptions", 1);
        }
        losses.add(Fate::Dropped, "marks of virtual interrupts", trap.is_virtual.into());
        losses.add(Fate::Dropped, "exception classes", trap.class.is_some().into());
        let number = Self::exception_type(trap, format);
        let here = match self.expected {
            Expected::At(address) => Some(address),
            Expected::Any => None,
        };
        let after_call = if number == exception_type::CALL { self.call } else { None };
        let return_address = trap.return_address.or(after_call).or(self.attempted).or(match trap.kind {
            TrapKind::Interrupt => here,
            _ => here.or(trap.from),
        });
        let attempted = self.attempted;
        if self.pending.is_some() {
            self.settle(return_address, losses);
        }
        match (return_address, number) {
            (_, exception_type::PE_RESET) => self.unit.exception(number, None),
            (Some(address), _) => {
                if let Expected::At(expected) = self.expected
                    && expected != address
                    && attempted.is_none()
                {
                    losses.add(Fate::Kept, "breaks in the flow", 1);
                    self.unit.break_flow(Some((expected, self.isa)));
                }
                self.unit.exception(number, Some((address, self.isa)));
            }
            (None, _) => {
                losses.add(Fate::Dropped, "exceptions without a place", 1);
                self.unit.break_flow(None);
            }
        }
        losses.add(Fate::Kept, "exceptions", 1);
        (self.attempted, self.call) = (None, None);
        self.expected = match trap.to {
            Some(to) => Expected::At(to),
            None => {
                // The handler is not in the events: it was not traced.
                self.unit.break_flow(None);
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
        losses.add(Fate::Kept, "gaps", 1);
    }

    /// Resolves a branch whose outcome nothing follows.
    fn settle_open(&mut self, losses: &mut Losses) {
        if self.pending.is_some() {
            self.settle(None, losses);
        }
    }

    /// Execution does not continue from here.
    fn interrupt(&mut self, losses: &mut Losses) {
        self.settle_open(losses);
        let next = match self.expected {
            Expected::At(address) => Some((address, self.isa)),
            Expected::Any => None,
        };
        self.unit.break_flow(next);
        self.expected = Expected::Any;
    }

    pub(super) fn end(&mut self, losses: &mut Losses) {
        let unresolved = self.attempted.take().is_some();
        self.interrupt(losses);
        losses.add(Fate::Dropped, "attempted instructions at the end", u64::from(unresolved));
        self.call = None;
    }

    pub(super) fn written(&self) -> Result<WrittenSource> {
        let mut config = self.unit.config().clone();
        (config.name, config.core) = (self.name.clone(), self.core.clone());
        config.registers = Registers::clone(self.unit.registers()).0;
        let image =
            if self.code.is_empty() { Arc::clone(&self.image) } else { Arc::new(self.whole_image()?) };
        Ok(WrittenSource { config, image })
    }

    /// The program, with code that only the events have.
    fn whole_image(&self) -> Result<Image> {
        let mut image = Image::default();
        let bad = |_| ErrorKind::Impossible { found: 0 }.at(0, "program", "", "");
        for part in self.image.parts() {
            for segment in part.segments.iter().filter(|segment| segment.executable) {
                let bytes = Arc::new(segment.bytes().to_vec());
                image.add_raw(&part.name, segment.address, bytes, part.space.clone()).map_err(bad)?;
            }
        }
        let mut stretch: Option<(u64, Vec<u8>)> = None;
        let mut stretches = Vec::new();
        for (&address, &(encoding, length)) in &self.code {
            let bytes = &encoding.to_le_bytes()[..usize::from(length.min(4))];
            match &mut stretch {
                Some((start, code)) if *start + code.len() as u64 == address => code.extend_from_slice(bytes),
                _ => stretches.extend(stretch.replace((address, bytes.to_vec()))),
            }
        }
        stretches.extend(stretch);
        for (address, code) in stretches {
            image.add_raw("executed", address, Arc::new(code), Space::default()).map_err(bad)?;
        }
        Ok(image)
    }
}
