//! One source: execution as events describe it, for its trace unit.

use std::sync::Arc;

use trackway_core::*;
use trackway_image::{Image, Memory};
use trackway_isa::Control;

use super::code::{Code, TCOMMIT, TSB_CSYNC, space_of};
use super::stretch::{Place, Stretch, Stretches};
use crate::config::ID;
use crate::encode::{Instruction, Known, KnownTrap, Registers, Unit};
use crate::profile::Profile;
use crate::transport::output::WrittenSource;
use crate::wire::context::ContextState;
use crate::wire::exception_type;

/// The facts of a context.
const CONTEXT: [Fact; 6] =
    [Fact::Privileges, Fact::Securities, Fact::ContextIds, Fact::Vmids, Fact::Isas, Fact::Unsupporteds];

/// The address of the next instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Expected {
    /// Unknown.
    Any,
    /// This one, unless the flow breaks.
    At(u64),
}

impl Expected {
    #[inline(always)]
    pub(super) fn permits(self, address: u64) -> bool {
        self == Expected::Any || self == Expected::At(address)
    }
}

/// An event after a branch whose outcome is not known yet.
#[derive(Clone, Copy, Debug)]
enum Deferred {
    /// The context; whether its exception level, and its security state, are assumed.
    Context(ContextState, bool, bool),
    Timestamp(u64, Option<u64>),
    Cycles(Option<u64>),
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
    pub(super) isa: Isa,
    pub(super) expected: Expected,
    /// A branch whose outcome is not known yet.
    pub(super) pending: Option<Instruction>,
    deferred: Vec<Deferred>,
    /// Address of an instruction that was attempted and not executed.
    pub(super) attempted: Option<u64>,
    /// The address after the last instruction, if that was a system call.
    pub(super) call: Option<u64>,
    /// Number of instructions that were attempted and not executed.
    pub(super) attempts: u64,
    /// Changes of context in the events.
    pub(super) given: Counts,
    /// Number of marks that the unit has too: starts and timestamps.
    pub(super) marks: (u64, u64),
    /// Number of nested transactions.
    transactions: u32,
    /// A timestamp that may have a cycle count after it.
    pub(super) timestamp: Option<u64>,
    /// The unit traces every address, so that tracing is active wherever there are events.
    is_active: bool,
    pub(super) code: Code,
    /// The memory space of the context.
    pub(super) space: u8,
    pub(super) stretches: Stretches,
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
            attempts: 0,
            given: Counts::default(),
            marks: (0, 0),
            transactions: 0,
            timestamp: None,
            is_active,
            code: Code::default(),
            space: 0,
            stretches: Stretches::new(),
        };
        lane.space = space_of(&lane.state());
        lane.stretches.enter(&lane.memory);
        lane.unit.assume(true, true);
        lane.activate();
        lane
    }

    /// Tracing is active here although no instruction was executed yet.
    fn activate(&mut self) {
        if self.is_active {
            self.unit.set_active();
        }
    }

    pub(super) fn event(&mut self, kind: &EventKind, batch: &Batch, format: FormatId) {
        if let Some(value) = self.timestamp.take() {
            let offset = match kind {
                EventKind::Time(Time { kind: TimeKind::Offset, value, .. }) => *value,
                _ => None,
            };
            self.between(Deferred::Timestamp(value, offset));
        }
        match kind {
            EventKind::Step(step) => self.step(step, batch),
            EventKind::Run(run) if !run.withdrawn => self.run(run),
            EventKind::Trap(n) => self.trap(&batch.traps[*n as usize], format),
            EventKind::Context(n) => self.change_context(&batch.contexts[*n as usize]),
            EventKind::Time(time) => self.time(time),
            EventKind::Mark(mark) => self.between(Deferred::Mark(mark.kind, mark.value)),
            EventKind::Gap(n) => self.gap(&batch.gaps[*n as usize]),
            // Not in ETE.
            EventKind::Run(_) | EventKind::State(_) | EventKind::Foreign(_) => {}
        }
    }

    fn step(&mut self, step: &Step, batch: &Batch) {
        let extra = batch.extra_of(step);
        let Some(pc) = step.pc.filter(|_| !extra.is_some_and(|extra| extra.placeholder)) else { return };
        let known = if step.length > 0 {
            Some((step.encoding, step.length))
        } else {
            self.memory.fetch(self.isa, pc)
        };
        let Some((encoding, length)) = known else { return self.interrupt() };
        // The length distinguishes A32 and T32 if the source does not.
        if length == 2 && self.isa == Isa::A32 {
            self.isa = Isa::T32;
        }
        let known = Known {
            encoding: step.length > 0,
            outcome: step.taken.is_some(),
            attempted: step.outcome == Outcome::Attempted,
            target: extra.and_then(|extra| extra.target),
            trap: None,
        };
        self.one((pc, encoding, length), step.taken, known);
    }

    /// A run: at once if nothing but its last instruction matters, else one by one.
    fn run(&mut self, run: &Run) {
        self.isa = run.isa;
        let (mut done, mut pc) = (0, run.start);
        let place = Place::of(run, self.space);
        if self.unit.is_plain()
            && (self.stretches.find(place).is_some() || self.learn(run))
            && let Some(&stretch) = self.stretches.find(place)
        {
            self.settle(Some(pc));
            self.call = None;
            let last = stretch.last(run);
            if run.count > 1 {
                let first = stretch.first(run);
                self.execute(first);
                (done, pc) = (1, first.end());
            }
            if done + 1 >= run.count || self.unit.continue_block(run.count - done - 1) {
                self.attempts += u64::from(run.attempted);
                return self.retire(last, stretch.encoding, run.taken);
            }
        }
        for n in done..run.count {
            let Some((encoding, length)) = self.memory.fetch(run.isa, pc) else { return self.interrupt() };
            let last = n + 1 == run.count;
            let taken = if last { run.taken } else { Some(false) };
            // The source has none of these for a run.
            let known = Known { attempted: last && run.attempted, ..Known::default() };
            self.one((pc, encoding, length), taken, known);
            pc = pc.wrapping_add(length.into());
        }
    }

    /// Looks at the code of a run; false if it cannot be executed at once.
    #[cold]
    pub(super) fn learn(&mut self, run: &Run) -> bool {
        let place = Place::of(run, self.space);
        let (mut whole, mut pc) = (Stretch::new(place), run.start);
        for n in 0..run.count {
            let Some((encoding, length)) = self.memory.fetch(run.isa, pc) else { return false };
            if !self.code.execute(self.space, pc, encoding, length) {
                return false;
            }
            let instruction = Instruction::new(run.isa, pc, encoding, true);
            whole = whole.and_then(|whole| whole.with(instruction, encoding, n + 1 == run.count));
            pc = pc.wrapping_add(length.into());
        }
        if let Some(stretch) = whole {
            self.stretches.keep(place, stretch);
        }
        self.stretches.find(place).is_some()
    }

    /// One instruction: address, encoding and length.
    fn one(&mut self, (pc, encoding, length): (u64, u32, u8), taken: Option<bool>, known: Known) {
        self.attempts += u64::from(known.attempted);
        self.settle(Some(pc));
        if !self.code.execute(self.space, pc, encoding, length) {
            // A snapshot has one instruction for each place.
            return self.interrupt();
        }
        let instruction = Instruction { known, ..Instruction::new(self.isa, pc, encoding, true) };
        self.retire(instruction, encoding, taken);
    }

    /// Executes an instruction, or has it wait for its outcome.
    fn retire(&mut self, mut instruction: Instruction, encoding: u32, taken: Option<bool>) {
        let flow = instruction.flow;
        self.call = None;
        if flow.control == Control::SystemCall {
            self.call = Some(instruction.end());
        } else if instruction.known.attempted || !flow.retires() {
            // Its exception has its address, but a decoder does not show it.
            self.attempted = Some(instruction.address);
            self.expected = Expected::At(instruction.address);
            return;
        }
        // An instruction in an IT block is conditional without a sign of it in its encoding.
        let certain = !flow.control.is_transfer() || !flow.conditional && self.isa != Isa::T32;
        instruction.taken = !flow.control.is_transfer() || taken.unwrap_or(true);
        if taken.is_none() && !certain || flow.control == Control::TrapReturn {
            // The next event has the outcome, or the return of the trap.
            self.pending = Some(instruction);
            return;
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
        self.expect(&instruction);
    }

    /// The next instruction after one that was executed.
    fn expect(&mut self, instruction: &Instruction) {
        let flow = &instruction.flow;
        self.expected = match flow.target {
            _ if !(instruction.taken && flow.control.is_transfer()) => Expected::At(instruction.end()),
            Some(target) => {
                if let trackway_isa::Switch::To(isa) = flow.switch {
                    self.isa = isa;
                }
                Expected::At(if self.isa == Isa::A64 { target } else { target & 0xffff_ffff })
            }
            None => instruction.known.target.map_or(Expected::Any, Expected::At),
        };
    }

    /// Resolves the last branch with the address of the next instruction, and breaks the flow if that is not expected.
    #[inline]
    fn settle(&mut self, next: Option<u64>) {
        if self.pending.is_some() {
            self.resolve(next);
        }
        if let (Some(next), Expected::At(expected)) = (next, self.expected)
            && next != expected
        {
            self.break_flow(expected);
        }
        self.attempted = None;
    }

    /// Executes the branch that waits for its outcome.
    fn resolve(&mut self, next: Option<u64>) {
        if let Some(mut instruction) = self.pending.take() {
            let end = instruction.end();
            let certain = !instruction.flow.conditional && self.isa != Isa::T32;
            if !instruction.known.outcome && !certain {
                instruction.taken = next.map_or(!instruction.flow.conditional, |next| next != end);
            }
            self.execute(instruction);
            for event in std::mem::take(&mut self.deferred) {
                self.apply(event);
            }
        }
    }

    /// Execution does not continue at the address that was expected.
    fn break_flow(&mut self, expected: u64) {
        self.unit.break_flow(Some((expected, self.isa)));
        self.activate();
    }

    /// An event between instructions; it waits for an unresolved branch.
    fn between(&mut self, event: Deferred) {
        if self.pending.is_some() {
            self.deferred.push(event);
        } else {
            self.apply(event);
        }
    }

    fn apply(&mut self, event: Deferred) {
        match event {
            Deferred::Context(context, privilege, security) => {
                self.unit.set_context(context);
                self.unit.assume(privilege, security);
            }
            Deferred::Timestamp(value, offset) => self.unit.set_timestamp(value, offset),
            Deferred::Cycles(count) => self.unit.set_cycles(count),
            Deferred::Mark(kind, value) => self.mark(kind, value),
        }
    }

    fn time(&mut self, time: &Time) {
        match (time.kind, time.value) {
            (TimeKind::Timestamp, value) => self.timestamp = value,
            (TimeKind::Cycles, count) => self.between(Deferred::Cycles(count)),
            // With the timestamp before it.
            (TimeKind::Offset, _) => {}
        }
    }

    fn mark(&mut self, kind: MarkKind, value: Option<u64>) {
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
            // The unit has its own.
            (MarkKind::TraceOn, _) => self.marks.0 += 1,
            (MarkKind::TimestampMarker, _) => self.marks.1 += 1,
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

    fn change_context(&mut self, change: &Context) {
        if change.unsupported == Some(true) {
            self.settle_open();
            self.unit.halt(self.next());
            self.expected = Expected::Any;
            self.activate();
        }
        self.context.update(change);
        if let Some(isa) = change.isa.filter(|isa| matches!(isa, Isa::A64 | Isa::A32 | Isa::T32)) {
            self.isa = isa;
        }
        (self.memory, self.space) = (self.image.memory(&self.context), space_of(&self.state()));
        self.stretches.enter(&self.memory);
        let Context { privilege, security, .. } = self.context;
        self.between(Deferred::Context(self.state(), privilege.is_none(), security.is_none()));
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

    fn trap(&mut self, trap: &Trap, format: FormatId) {
        let number = Self::exception_type(trap, format);
        let known = KnownTrap {
            kind: trap.kind == Profile::A.trap_kind(number),
            cause: trap.cause == Some(number.into()),
            place: trap.from,
            to: trap.to,
            return_address: trap.return_address,
            syscall: trap.syscall.is_some(),
            syscall_index: trap.syscall_index.is_some(),
        };
        if trap.kind == TrapKind::Return {
            if let Some(instruction) = &mut self.pending
                && instruction.flow.control == Control::TrapReturn
            {
                instruction.known.trap = Some(known);
            }
            self.settle_open();
            if let (Expected::Any, Some(to)) = (self.expected, trap.to) {
                self.expected = Expected::At(to);
            }
            return;
        }
        let attempted = self.attempted;
        let after_call = if number == exception_type::CALL { self.call } else { None };
        let given = trap.return_address.or(after_call).or(attempted);
        if self.pending.is_some() {
            self.settle(given.or(trap.from));
        }
        let here = self.next().map(|(address, _)| address);
        let place = given.or(here).or(trap.from);
        if let Some(address) = place {
            if let Expected::At(expected) = self.expected
                && expected != address
                && attempted.is_none()
            {
                self.break_flow(expected);
            }
            self.unit.exception_with(number, Some((address, self.isa)), known);
        } else if number == exception_type::PE_RESET {
            self.unit.exception_with(number, None, known);
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

    fn gap(&mut self, gap: &Gap) {
        self.settle_open();
        if matches!(gap.reason, GapReason::Overflow | GapReason::Discarded) {
            // All that the source has before the gap happened: nothing of it is discarded.
            self.unit.commit();
        }
        self.unit.note_gap(gap.reason);
        match gap.reason {
            GapReason::Overflow => self.unit.overflow(),
            GapReason::Discarded => self.unit.discard(),
            _ => self.interrupt(),
        }
        self.expected = Expected::Any;
        self.activate();
    }

    /// Resolves a branch whose outcome nothing follows.
    fn settle_open(&mut self) {
        if self.pending.is_some() {
            self.settle(None);
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
    fn interrupt(&mut self) {
        self.settle_open();
        self.unit.break_flow(self.next());
        self.expected = Expected::Any;
        self.activate();
    }

    pub(super) fn end(&mut self) {
        if let Some(value) = self.timestamp.take() {
            self.between(Deferred::Timestamp(value, None));
        }
        self.interrupt();
        self.call = None;
    }

    /// Adds what a decoder finds; what it finds of a context beyond the events' is made up.
    pub(super) fn add_to(&self, account: &mut Account) {
        let mut given = self.given.clone();
        for &fact in Fact::ALL.iter().filter(|fact| !CONTEXT.contains(fact)) {
            given[fact] = u64::MAX;
        }
        let ledger = Ledger::new(&given, self.unit.account());
        for &fact in Fact::ALL {
            account.keep(fact, ledger.count(Fate::Kept, fact));
            account.invent(fact, ledger.count(Fate::Invented, fact));
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
