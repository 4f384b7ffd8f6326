//! Recording: a running program as a [`Source`] of events, which any format's sink can write.
//!
//! - Every attempted instruction is a `Step` with its registers (sources as they were, destinations as they
//!   became, CSRs included) and its memory accesses with data.
//! - A trap is a `Trap` behind the step that took it, followed by the new `Context`. CSRs that an exception
//!   wrote are destinations of the step; those of an interrupt follow it as `State`.
//! - In Linux user mode the kernel is not in the recording: a system call is a `Trap` without a target, and
//!   what the kernel changed in registers and memory follows as `State`. Where the flow then goes on elsewhere
//!   (a signal) a `Gap` stands between.
//! - Page walks are `State` in front of the step that needed them.

use trackway_core::*;
use trackway_isa::riscv::{Class, INSTRUCTIONS, Inst, Op, Operand};

use crate::csr;
use crate::effects::{AccessKind, Effects, Walk};
use crate::hart::Hart;
use crate::linux::{self, Kernel, Process};
use crate::machine::{self, Machine};
use crate::state::Level;
use crate::trap::{Taken, cause};

/// A place in an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// Before the instruction with this number, counted from 0.
    Instruction(u64),
    /// Before the first instruction at this address.
    Pc(u64),
}

/// What to record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordOptions {
    /// With registers.
    pub registers: bool,
    /// With memory accesses.
    pub memory: bool,
    /// Where to begin.
    pub from: Option<Position>,
    /// Where to end: this instruction is left out.
    pub to: Option<Position>,
    /// Instructions to execute at most, recorded or not.
    pub limit: u64,
}

impl Default for RecordOptions {
    fn default() -> Self {
        Self { registers: true, memory: true, from: None, to: None, limit: u64::MAX }
    }
}

/// What runs.
#[derive(Debug)]
pub enum Target {
    /// A Linux program.
    Process(Box<Process>),
    /// A bare-metal program.
    Machine(Box<Machine>),
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It did not: a limit was reached.
    Unfinished,
    /// It ended well.
    Passed,
    /// It reported failure with this code.
    Failed(u64),
    /// A signal ended it.
    Killed(u8),
}

impl Target {
    /// The core.
    pub fn hart(&self) -> &Hart {
        match self {
            Self::Process(process) => &process.hart,
            Self::Machine(machine) => &machine.hart,
        }
    }

    /// How it stands.
    pub fn end(&self) -> End {
        match self {
            Self::Process(process) => match process.status() {
                linux::Status::Running => End::Unfinished,
                linux::Status::Exited(0) => End::Passed,
                linux::Status::Exited(code) => End::Failed(code.into()),
                linux::Status::Killed(signal) => End::Killed(signal),
            },
            Self::Machine(machine) => match machine.status() {
                machine::Status::Running => End::Unfinished,
                machine::Status::Passed => End::Passed,
                machine::Status::Failed(code) => End::Failed(code),
            },
        }
    }

    /// What it printed since the last call: standard output (or console), standard error.
    pub fn take_output(&mut self) -> (Vec<u8>, Vec<u8>) {
        match self {
            Self::Process(process) => process.take_output(),
            Self::Machine(machine) => (machine.take_output(), Vec::new()),
        }
    }

    /// One step without effects; true where an instruction was attempted.
    fn step(&mut self) -> bool {
        match self {
            Self::Process(process) => {
                process.step_observed(&mut ());
                true
            }
            Self::Machine(machine) => !machine.step_observed(&mut ()).is_some_and(|taken| taken.interrupt),
        }
    }
}

/// Which register files the fields of an operation name: rd, rs1, rs2, rs3.
type Roles = [Option<RegClass>; 4];

fn roles(op: Op) -> Roles {
    let mut roles = [None; 4];
    for operand in op.encoding().operands {
        match operand {
            Operand::Rd => roles[0] = Some(RegClass::Int),
            Operand::FRd => roles[0] = Some(RegClass::Float),
            Operand::Rs1 | Operand::Base | Operand::MemI | Operand::MemS => roles[1] = Some(RegClass::Int),
            Operand::Rs2 => roles[2] = Some(RegClass::Int),
            Operand::FRs1 => roles[1] = Some(RegClass::Float),
            Operand::FRs2 => roles[2] = Some(RegClass::Float),
            Operand::FRs3 => roles[3] = Some(RegClass::Float),
            _ => {}
        }
    }
    roles
}

/// CSRs whose content is recorded at the start of a bare-metal recording.
const START_CSRS: [u16; 20] = [
    csr::FCSR,
    csr::MSTATUS,
    csr::MEDELEG,
    csr::MIDELEG,
    csr::MIE,
    csr::MTVEC,
    csr::MCOUNTEREN,
    csr::MCOUNTINHIBIT,
    csr::MSCRATCH,
    csr::MEPC,
    csr::MCAUSE,
    csr::MTVAL,
    csr::STVEC,
    csr::SCOUNTEREN,
    csr::SSCRATCH,
    csr::SEPC,
    csr::SCAUSE,
    csr::STVAL,
    csr::SATP,
    csr::MENVCFG,
];

/// A running program as a source of events.
#[derive(Debug)]
pub struct Recorder {
    /// What runs.
    pub target: Target,
    options: RecordOptions,
    meta: Meta,
    effects: Effects,
    roles: Vec<Roles>,
    /// Instructions attempted, recorded or not.
    executed: u64,
    /// Instructions recorded.
    recorded: u64,
    started: bool,
    ended: bool,
}

impl Recorder {
    /// Records from a program that has not started yet.
    pub fn new(target: Target, options: RecordOptions) -> Self {
        let config = *target.hart().config();
        let mut meta = Meta::new(FormatId::Stf, if config.is_rv32() { Isa::Rv32 } else { Isa::Rv64 });
        meta.producers.push(Producer {
            name: "trackway record".to_string(),
            version: env!("CARGO_PKG_VERSION").to_string(),
            comment: match target {
                Target::Process(_) => "golden model, Linux user mode".to_string(),
                Target::Machine(_) => "golden model, bare metal".to_string(),
            },
        });
        let mut recorder = Self {
            target,
            options,
            meta,
            effects: Effects::new(),
            roles: INSTRUCTIONS.iter().map(|encoding| roles(encoding.op)).collect(),
            executed: 0,
            recorded: 0,
            started: false,
            ended: false,
        };
        recorder.skip();
        recorder.meta.start_pc = Some(recorder.target.hart().state().pc);
        recorder
    }

    /// Instructions attempted so far, recorded or not.
    pub fn executed(&self) -> u64 {
        self.executed
    }

    /// Instructions recorded so far.
    pub fn recorded(&self) -> u64 {
        self.recorded
    }

    /// Was the beginning of the window reached?
    pub fn started(&self) -> bool {
        self.recorded > 0 || self.started
    }

    /// Runs the program to its end without recording.
    pub fn run_out(&mut self) -> End {
        while self.running() {
            self.executed += u64::from(self.target.step());
        }
        self.target.end()
    }

    /// Goes on without recording until the window begins.
    fn skip(&mut self) {
        let Some(from) = self.options.from else { return };
        while self.running() && !self.at(from) {
            self.executed += u64::from(self.target.step());
        }
        self.ended = !self.running();
    }

    fn running(&self) -> bool {
        self.executed < self.options.limit && self.target.end() == End::Unfinished
    }

    fn at(&self, position: Position) -> bool {
        match position {
            Position::Instruction(number) => self.executed >= number,
            Position::Pc(pc) => self.target.hart().state().pc == pc,
        }
    }

    /// Context and registers at the start.
    fn start(&mut self, batch: &mut Batch) {
        self.started = true;
        let hart = self.target.hart();
        let state = hart.state();
        let context = Context {
            privilege: Some(privilege(state.level)),
            isa: Some(self.meta.isa),
            ..Context::default()
        };
        batch.push_context(0, context);
        if !self.options.registers {
            return;
        }
        let begun = batch.begin_accesses();
        all_registers(hart, batch);
        if matches!(self.target, Target::Machine(_)) {
            for number in START_CSRS {
                if let Some(value) = hart.read_csr(number) {
                    batch.regs.push(register(RegClass::Csr, number, RegRole::State, Value::Word(value)));
                }
            }
        }
        push_contents(batch, begun);
    }

    /// One instruction, or one interrupt.
    #[inline]
    fn step(&mut self, batch: &mut Batch) {
        match &mut self.target {
            Target::Process(process) => {
                let pc = process.hart.state().pc;
                let kernel = process.step(&mut self.effects);
                self.instruction(batch, pc, kernel.is_some());
                if let Some(kernel) = kernel {
                    self.kernel(batch, pc, kernel);
                }
            }
            Target::Machine(machine) => {
                let (pc, level) = (machine.hart.state().pc, machine.hart.state().level);
                let taken = machine.step(&mut self.effects);
                match taken {
                    Some(taken) if taken.interrupt => self.trap(batch, taken, true),
                    taken => {
                        self.instruction(batch, pc, taken.is_some());
                        if let Some(taken) = taken {
                            self.trap(batch, taken, false);
                        } else if !self.effects.csrs.is_empty() {
                            self.follow(batch, level);
                        }
                    }
                }
            }
        }
    }

    /// The step of an instruction that was fetched.
    #[inline]
    fn instruction(&mut self, batch: &mut Batch, before: u64, trapped: bool) {
        let number = self.recorded;
        self.executed += 1;
        let fx = &self.effects;
        for walk in fx.walks.iter() {
            push_walk(batch, &walk, number);
        }
        // A fetch that faulted is a step without an encoding.
        let fetched = fx.pc.is_some();
        let pc = fx.pc.unwrap_or(before);
        self.recorded += 1;
        let begun = batch.begin_accesses();
        let mut step = Step::new(pc, fx.encoding, fx.length);
        if self.options.memory {
            for access in fx.memory.iter() {
                push_access(batch, &access);
            }
        }
        let state = self.target.hart().state();
        if let Some(inst) = &fx.inst {
            let roles = &self.roles[inst.op as usize];
            let old = |class: RegClass, number: u8| match class {
                RegClass::Int => match fx.x {
                    Some((written, _)) if written == number => fx.old_x,
                    _ => state.x[usize::from(number & 31)],
                },
                _ => match fx.f {
                    Some((written, _)) if written == number => fx.old_f,
                    _ => state.f[usize::from(number & 31)],
                },
            };
            if self.options.registers && !(trapped && matches!(self.target, Target::Process(_))) {
                for (role, number) in [(roles[1], inst.rs1), (roles[2], inst.rs2), (roles[3], inst.rs3)] {
                    let Some(class) = role else { continue };
                    if class == RegClass::Int && number == 0 {
                        continue;
                    }
                    let value = Value::Word(old(class, number));
                    batch.regs.push(register(class, number.into(), RegRole::Source, value));
                }
            }
            match inst.op.class() {
                Class::Branch if !trapped => {
                    let values = (old(RegClass::Int, inst.rs1), old(RegClass::Int, inst.rs2));
                    step.taken = Some(branch_taken(inst, values, self.meta.isa == Isa::Rv32));
                }
                Class::Jal | Class::Jalr if !trapped => step.taken = Some(true),
                _ => {}
            }
        }
        if let Some((number, value)) = fx.csr_read
            && self.options.registers
        {
            batch.regs.push(register(RegClass::Csr, number, RegRole::Source, Value::Word(value)));
        }
        if self.options.registers {
            if let Some((number, value)) = fx.x {
                let value = Value::Word(value);
                batch.regs.push(register(RegClass::Int, number.into(), RegRole::Destination, value));
            }
            if let Some((number, value)) = fx.f {
                let value = Value::Word(value);
                batch.regs.push(register(RegClass::Float, number.into(), RegRole::Destination, value));
            }
            for (number, value) in fx.csrs.iter() {
                let value = Value::Word(value);
                batch.regs.push(register(RegClass::Csr, number, RegRole::Destination, value));
            }
        }
        if trapped {
            step.outcome = Outcome::Attempted;
        }
        let translated = fetched && fx.physical_pc != pc;
        let target = if step.taken == Some(true) { Some(fx.next_pc) } else { None };
        if translated || target.is_some() || !fetched {
            let physical_pc = translated.then_some(fx.physical_pc);
            let extra = StepExtra { target, physical_pc, placeholder: !fetched, ..StepExtra::default() };
            step.extra = batch.add_extra(extra);
        }
        step.accesses = batch.end_accesses(begun).unwrap_or(begun);
        batch.push(8 * number, EventKind::Step(step));
    }

    /// A trap of the machine, and the context that it leads to.
    #[cold]
    fn trap(&mut self, batch: &mut Batch, taken: Taken, alone: bool) {
        let offset = 8 * self.recorded;
        let hart = self.target.hart();
        let call =
            !taken.interrupt && matches!(taken.cause, cause::ECALL_U | cause::ECALL_S | cause::ECALL_M);
        let kind = if taken.interrupt { TrapKind::Interrupt } else { TrapKind::Exception };
        let trap = Trap {
            cause: Some(taken.cause.into()),
            value: Some(taken.value),
            from: Some(taken.from),
            to: Some(taken.to),
            syscall: call.then_some(Syscall::Ecall),
            syscall_index: call.then_some(hart.state().x[17]),
            ..Trap::new(kind)
        };
        batch.push_trap(offset, trap);
        if alone && self.options.registers {
            let begun = batch.begin_accesses();
            for (number, value) in self.effects.csrs.iter() {
                batch.regs.push(register(RegClass::Csr, number, RegRole::State, Value::Word(value)));
            }
            push_contents(batch, begun);
        }
        let context = Context { privilege: Some(privilege(taken.to_level)), ..Context::default() };
        batch.push_context(offset, context);
    }

    /// A return from a trap, or a new address space.
    #[cold]
    fn follow(&mut self, batch: &mut Batch, before: Level) {
        let offset = 8 * self.recorded;
        let state = self.target.hart().state();
        match self.effects.inst.map(|inst| inst.op) {
            Some(Op::Mret | Op::Sret) => {
                let trap = Trap {
                    from: self.effects.pc,
                    to: Some(self.effects.next_pc),
                    ..Trap::new(TrapKind::Return)
                };
                batch.push_trap(offset, trap);
                let context = Context { privilege: Some(privilege(state.level)), ..Context::default() };
                batch.push_context(offset, context);
            }
            _ if self.effects.csrs.iter().any(|(number, _)| number == csr::SATP) => {
                let satp = state.csr.satp;
                let asid = if self.meta.isa == Isa::Rv32 { satp >> 22 & 0x1ff } else { satp >> 44 & 0xffff };
                let context =
                    Context { privilege: Some(privilege(before)), asid: Some(asid), ..Context::default() };
                batch.push_context(offset, context);
            }
            _ => {}
        }
    }

    /// What the Linux kernel did.
    #[cold]
    fn kernel(&mut self, batch: &mut Batch, pc: u64, kernel: Kernel) {
        let offset = 8 * self.recorded;
        let Target::Process(process) = &mut self.target else { return };
        let pc = Some(pc);
        let call = self.effects.inst.is_some_and(|inst| inst.op == Op::Ecall);
        let number = process.hart.state().x[17];
        let (cause, value) = match self.effects.inst.map(|inst| inst.op) {
            Some(Op::Ecall) => (cause::ECALL_U.into(), 0),
            Some(Op::Ebreak) => (cause::BREAKPOINT.into(), 0),
            Some(op) if op.class().memory().is_some() => {
                let store = !matches!(op.class(), Class::Load(_) | Class::LoadReserved(_));
                let cause = if store { cause::STORE_PAGE } else { cause::LOAD_PAGE };
                (u64::from(cause), process.fault_address())
            }
            Some(_) | None if self.effects.length > 0 => {
                (cause::ILLEGAL.into(), self.effects.encoding.into())
            }
            _ => (cause::FETCH_PAGE.into(), process.fault_address()),
        };
        let trap = Trap {
            cause: Some(cause),
            value: Some(value),
            from: pc,
            syscall: call.then_some(Syscall::Ecall),
            syscall_index: call.then_some(number),
            ..Trap::new(TrapKind::Exception)
        };
        batch.push_trap(offset, trap);
        let elsewhere = matches!(kernel, Kernel::Signal { .. } | Kernel::Return);
        if elsewhere {
            let to = Some(process.hart.state().pc);
            batch.push_gap(offset, Gap { from: pc, to, ..Gap::new(GapReason::Filtered) });
        }
        let begun = batch.begin_accesses();
        if self.options.registers && kernel != Kernel::End {
            if elsewhere {
                all_registers(&process.hart, batch);
            } else {
                let value = Value::Word(process.hart.state().x[10]);
                batch.regs.push(register(RegClass::Int, 10, RegRole::State, value));
            }
        }
        if self.options.memory {
            for (address, length) in process.kernel_writes().to_vec() {
                push_kernel_write(batch, process, address, length);
            }
        }
        push_contents(batch, begun);
    }
}

impl Source for Recorder {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
        batch.clear();
        batch.first_instruction = self.recorded;
        if self.ended {
            return Ok(false);
        }
        if !self.started {
            self.start(batch);
        }
        while !batch.is_full() {
            let over = self.options.to.is_some_and(|to| self.recorded > 0 && self.at(to));
            if over || !self.running() {
                self.ended = true;
                break;
            }
            self.step(batch);
        }
        Ok(!batch.events.is_empty())
    }
}

const fn privilege(level: Level) -> Privilege {
    match level {
        Level::U => Privilege::U,
        Level::S => Privilege::S,
        Level::M => Privilege::M,
    }
}

#[inline]
fn register(class: RegClass, number: u16, role: RegRole, value: Value) -> RegAccess {
    RegAccess { reg: Reg { class, number }, role, update: RegUpdate::Set, value, known: None }
}

/// The content of the integer registers, and of the floating-point ones where they are on.
fn all_registers(hart: &Hart, batch: &mut Batch) {
    let state = hart.state();
    for number in 1..32 {
        let value = Value::Word(state.x[number]);
        batch.regs.push(register(RegClass::Int, number as u16, RegRole::State, value));
    }
    if state.csr.mstatus & csr::status::FS != 0 {
        for number in 0..32 {
            let value = Value::Word(state.f[number]);
            batch.regs.push(register(RegClass::Float, number as u16, RegRole::State, value));
        }
    }
}

/// What was pushed since `begun`, as state; nothing where nothing was.
fn push_contents(batch: &mut Batch, begun: Accesses) {
    if let Some(accesses) = batch.end_accesses(begun)
        && (accesses.regs_len > 0 || accesses.mem_len > 0)
    {
        let offset = batch.events.last().map_or(0, |event| event.offset);
        batch.push_state(offset, State::Contents(accesses));
    }
}

/// At most this much of one kernel write is kept in one state.
const LARGEST: u64 = 1 << 18;

/// Memory that the kernel wrote, in aligned pieces of at most 8 bytes.
fn push_kernel_write(batch: &mut Batch, process: &mut Process, address: u64, length: u64) {
    let end = address + length.min(LARGEST);
    let mut at = address;
    while at < end {
        let mut size = 8;
        while !at.is_multiple_of(size) || at + size > end {
            size /= 2;
        }
        let mut bytes = [0; 8];
        process.memory.read_bytes(at, &mut bytes[..size as usize]);
        batch.mem.push(MemAccess::write(at, size, Value::Word(u64::from_le_bytes(bytes))));
        at += size;
    }
}

#[inline]
fn push_access(batch: &mut Batch, access: &crate::effects::Access) {
    let kind = match access.kind {
        AccessKind::Load => MemKind::Read,
        AccessKind::Store => MemKind::Write,
        AccessKind::Amo => MemKind::ReadWrite,
    };
    let mut event = MemAccess::new(kind, access.address, access.size.into(), Value::Word(access.data));
    let physical = (access.physical != access.address).then_some(access.physical);
    let atomic = access.kind == AccessKind::Amo;
    if physical.is_some() || atomic {
        let stored = if atomic { Value::Word(access.stored) } else { Value::Unknown };
        event.extra = batch.add_mem_extra(MemExtra { physical, stored, operation: None });
    }
    batch.mem.push(event);
}

#[cold]
fn push_walk(batch: &mut Batch, walk: &Walk, number: u64) {
    if walk.physical.is_none() {
        return;
    }
    let entries = batch.add_words(walk.entries.iter().flat_map(|(at, entry)| [at, entry]));
    let walk =
        PageWalk { virtual_address: walk.address, first_use: number, page_size: walk.page_size, entries };
    batch.push_state(8 * number, State::PageWalk(walk));
}

/// Does a branch change the flow? Asked of its operands: a branch to the next instruction can be taken too.
fn branch_taken(inst: &Inst, (a, b): (u64, u64), rv32: bool) -> bool {
    let signed = |value: u64| if rv32 { i64::from(value as i32) } else { value as i64 };
    match inst.op {
        Op::Beq => a == b,
        Op::Bne => a != b,
        Op::Blt => signed(a) < signed(b),
        Op::Bge => signed(a) >= signed(b),
        Op::Bltu => a < b,
        _ => a >= b,
    }
}
