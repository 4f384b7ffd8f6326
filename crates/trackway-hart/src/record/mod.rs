//! Recording: a running program as a [`Source`] of events, which any format's sink can write.
//!
//! - Every attempted instruction is a `Step` with its registers (sources as they were, destinations as they
//!   became, CSRs included) and its memory accesses with data.
//! - A trap is a `Trap` after the step that took it, followed by the new `Context`. CSRs that an exception
//!   wrote are destinations of the step; those of an interrupt follow it as `State`.
//! - In Linux user mode the kernel is not in the recording: a system call is a `Trap` without a target, and
//!   what the kernel changed in registers and memory follows as `State`. Where execution then continues elsewhere
//!   (a signal) a `Gap` comes between.
//! - Page walks are `State` in front of the step that needed them.

mod guard;
mod instruction;
mod operands;
mod push;
mod traps;
mod usual;

use trackway_core::*;
use trackway_isa::riscv::INSTRUCTIONS;

use crate::csr;
use crate::effects::Effects;
use crate::target::{End, Target};
use guard::Guard;
use operands::{Roles, roles};
use push::{all_registers, privilege, push_contents, push_kernel_write, register};
use usual::Shape;

/// Where recorded events come from: the golden model, not a file.
pub const MODEL: FormatId = FormatId::new("model");

/// A place in an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// Before the instruction with this number, counted from 0.
    Instruction(u64),
    /// Before the first instruction at this address.
    Pc(u64),
}

/// Which part of an execution to record, and in which detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordOptions {
    /// Record registers read and written.
    pub registers: bool,
    /// Record memory accesses.
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

/// A running program as a source of events.
#[derive(Debug)]
pub struct Recorder {
    /// The running program.
    pub target: Target,
    options: RecordOptions,
    meta: Meta,
    effects: Effects,
    roles: Vec<Roles>,
    shapes: Vec<Shape>,
    /// Registers and memory are recorded, and usual instructions as such; tests compare with the way of all others.
    is_usual: bool,
    /// Instructions attempted, recorded or not.
    executed: u64,
    /// Instructions recorded.
    recorded: u64,
    started: bool,
    ended: bool,
    guard: Guard,
    /// The program repeats itself for ever.
    repeats: bool,
}

/// Steps between two looks whether a program that is not recorded repeats itself, and the length of such a look.
const UNWATCHED: u64 = 1 << 20;
const WATCHED: u64 = 1 << 16;

impl Recorder {
    /// Records from a program that has not started yet.
    pub fn new(target: Target, options: RecordOptions) -> Self {
        let config = *target.hart().config();
        let mut meta = Meta::new(MODEL, if config.is_rv32() { Isa::Rv32 } else { Isa::Rv64 });
        meta.producers.push(Producer {
            name: "trackway record".to_string(),
            version: env!("CARGO_PKG_VERSION").to_string(),
            comment: match target {
                Target::Process(_) => "golden model, Linux user mode".to_string(),
                Target::Machine(_) => "golden model, bare metal".to_string(),
            },
        });
        meta.isa_string = Some(config.extensions.isa_string(meta.isa));
        let mut recorder = Self {
            target,
            options,
            meta,
            effects: Effects::new(),
            roles: INSTRUCTIONS.iter().map(|encoding| roles(encoding.op)).collect(),
            shapes: INSTRUCTIONS.iter().map(|encoding| Shape::of(encoding.op)).collect(),
            is_usual: options.registers && options.memory,
            executed: 0,
            recorded: 0,
            started: false,
            ended: false,
            guard: Guard::default(),
            repeats: false,
        };
        recorder.skip();
        recorder.meta.start_pc = Some(recorder.target.hart().state().pc);
        recorder
    }

    /// Records every instruction in the way of the rare ones, for tests: the same events result.
    #[doc(hidden)]
    pub fn without_shortcuts(mut self) -> Self {
        self.is_usual = false;
        self
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
            self.unrecorded();
        }
        if self.repeats { End::Repeats } else { self.target.end() }
    }

    /// A step that is not recorded.
    fn unrecorded(&mut self) {
        if self.executed % UNWATCHED >= WATCHED {
            self.executed += u64::from(self.target.step());
            return;
        }
        if self.executed.is_multiple_of(UNWATCHED) {
            self.guard = Guard::default();
        }
        let (attempted, is_outside) = match &mut self.target {
            Target::Process(process) => (true, process.step(&mut self.effects).is_some()),
            Target::Machine(machine) => {
                (!machine.step(&mut self.effects).is_some_and(|taken| taken.interrupt), false)
            }
        };
        self.executed += u64::from(attempted);
        self.repeats = self.guard.repeats(&self.effects, &self.target, is_outside);
    }

    /// Goes on without recording until the window begins.
    fn skip(&mut self) {
        let Some(from) = self.options.from else { return };
        while self.running() && !self.at(from) {
            self.unrecorded();
        }
        self.ended = !self.running();
    }

    fn running(&self) -> bool {
        self.executed < self.options.limit && !self.repeats && self.target.end() == End::Unfinished
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
            for number in std::iter::once(csr::FCSR).chain(csr::TRAP_AND_TRANSLATION) {
                if let Some(value) = hart.read_csr(number) {
                    batch.regs.push(register(RegClass::Csr, number, RegRole::State, Value::Word(value)));
                }
            }
        }
        if let Target::Process(process) = &mut self.target
            && self.options.memory
            && self.executed == 0
        {
            for (address, length) in process.kernel_writes().to_vec() {
                push_kernel_write(batch, process, address, length);
            }
        }
        push_contents(batch, begun);
    }

    /// One instruction, or one interrupt.
    fn step(&mut self, batch: &mut Batch) {
        match &mut self.target {
            Target::Process(process) => {
                let pc = process.hart.state().pc;
                let kernel = process.step(&mut self.effects);
                self.instruction(batch, pc, kernel.is_some());
                let is_outside = kernel.is_some();
                if let Some(kernel) = kernel {
                    self.kernel(batch, pc, kernel);
                }
                self.repeats = self.guard.repeats(&self.effects, &self.target, is_outside);
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
                self.repeats = self.guard.repeats(&self.effects, &self.target, false);
            }
        }
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
            // A window may begin at the address that ends it.
            let may_end = |to| self.recorded > 0 || matches!(to, Position::Instruction(_));
            let over = self.options.to.is_some_and(|to| may_end(to) && self.at(to));
            if over || !self.running() {
                self.ended = true;
                break;
            }
            if self.usual(batch) == 0 {
                self.step(batch);
            }
        }
        Ok(!batch.events.is_empty())
    }
}
