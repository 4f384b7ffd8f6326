//! Usual instructions, recorded while the core executes a stretch of them: they complete, and nothing is translated.
//!
//! They become the steps that [`instruction`](Recorder::instruction) records; everything else is left to it.

use trackway_core::*;
use trackway_isa::riscv::{Class, Inst, Op};

use super::guard::Guard;
use super::operands::{branch_taken, roles};
use super::push::{push_access, register};
use super::{Position, Recorder};
use crate::effects::{Access, List, Observe, Walk};
use crate::machine::RAM_BASE;
use crate::state::State;
use crate::target::Target;
use crate::trap::Taken;

/// The parts of an operation that are recorded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// The register files of rs1, rs2 and rs3.
    sources: [Option<RegClass>; 3],
    /// rs1 and rs2 are integer registers, and there is no other source.
    is_int: [bool; 2],
    is_branch: bool,
    is_jump: bool,
}

impl Shape {
    pub(super) fn of(op: Op) -> Self {
        let [_, sources @ ..] = roles(op);
        let is_jump = matches!(op.class(), Class::Jal | Class::Jalr);
        let has_float = sources.contains(&Some(RegClass::Float));
        let is_int = [0, 1].map(|n| sources[n].is_some() && !has_float);
        let sources = if has_float { sources } else { [None; 3] };
        Shape { sources, is_int, is_branch: op.class() == Class::Branch, is_jump }
    }
}

/// Records the instructions of a stretch.
struct Usual<'r> {
    batch: &'r mut Batch,
    shapes: &'r [Shape],
    guard: &'r mut Guard,
    is_rv32: bool,
    /// Devices are below; they end what the guard knows.
    devices: u64,
    /// The recording ends before this address; odd if there is none.
    until: u64,
    /// Number of the next instruction.
    number: u64,
    /// The step that is executing.
    step: Step,
    /// Register accesses of the steps that completed.
    regs: usize,
    csrs: List<(u16, u64), 6>,
    /// It accessed a device.
    is_device: bool,
}

impl Usual<'_> {
    /// The sources of an instruction that has floating-point ones, or none.
    fn sources(&mut self, sources: [Option<RegClass>; 3], inst: &Inst, state: &State) {
        for (class, n) in sources.into_iter().zip([inst.rs1, inst.rs2, inst.rs3]) {
            match class {
                Some(RegClass::Int) if n != 0 => {
                    self.push(RegClass::Int, n.into(), RegRole::Source, state.x[usize::from(n & 31)]);
                }
                Some(RegClass::Float) => {
                    self.push(RegClass::Float, n.into(), RegRole::Source, state.f[usize::from(n & 31)]);
                }
                _ => {}
            }
        }
    }

    #[inline(always)]
    fn push(&mut self, class: RegClass, number: u16, role: RegRole, value: u64) {
        self.batch.regs.push(register(class, number, role, Value::Word(value)));
    }
}

impl Observe for Usual<'_> {
    #[inline(always)]
    fn instruction(&mut self, pc: u64, _: u64, inst: &Inst, state: &State) -> bool {
        self.step = Step::new(pc, inst.word, inst.length);
        self.step.accesses = self.batch.begin_accesses();
        let shape = &self.shapes[inst.op as usize];
        let (is_branch, is_jump) = (shape.is_branch, shape.is_jump);
        let [first, second] = shape.is_int;
        if !(first | second) {
            self.sources(shape.sources, inst, state);
        }
        if first & (inst.rs1 != 0) {
            self.push(RegClass::Int, inst.rs1.into(), RegRole::Source, state.x[usize::from(inst.rs1 & 31)]);
        }
        if second & (inst.rs2 != 0) {
            self.push(RegClass::Int, inst.rs2.into(), RegRole::Source, state.x[usize::from(inst.rs2 & 31)]);
        }
        if is_branch {
            let held = |n: u8| state.x[usize::from(n & 31)];
            self.step.taken = Some(branch_taken(inst, (held(inst.rs1), held(inst.rs2)), self.is_rv32));
        } else if is_jump {
            self.step.taken = Some(true);
        }
        true
    }

    #[inline(always)]
    fn x(&mut self, number: u8, _: u64, value: u64) {
        self.push(RegClass::Int, number.into(), RegRole::Destination, value);
    }

    #[inline(always)]
    fn f(&mut self, number: u8, _: u64, value: u64) {
        self.push(RegClass::Float, number.into(), RegRole::Destination, value);
    }

    fn csr(&mut self, number: u16, value: u64) {
        self.csrs.push((number, value));
    }

    #[inline(always)]
    fn memory(&mut self, access: Access) {
        push_access(self.batch, &access);
        self.is_device |= access.physical < self.devices;
        self.guard.access(&access);
    }

    #[inline(always)]
    fn completed(&mut self, next: u64) -> bool {
        if !self.csrs.is_empty() {
            for (number, value) in self.csrs.iter() {
                self.batch.regs.push(register(
                    RegClass::Csr,
                    number,
                    RegRole::Destination,
                    Value::Word(value),
                ));
            }
            self.csrs.clear();
        }
        let mut step = self.step;
        let accesses = &mut step.accesses;
        accesses.mem_len = (self.batch.mem.len() - accesses.mem_start as usize) as u16;
        accesses.regs_len = (self.batch.regs.len() - accesses.regs_start as usize) as u16;
        if step.taken == Some(true) {
            step.extra = self.batch.add_extra(StepExtra { target: Some(next), ..StepExtra::default() });
        }
        self.batch.push(8 * self.number, EventKind::Step(step));
        self.number += 1;
        self.regs = self.batch.regs.len();
        let is_closed = !std::mem::take(&mut self.is_device);
        self.guard.passes(next, is_closed) | (next == self.until)
    }

    // These do not happen in a stretch without translation.
    fn illegal(&mut self, _: u64, _: u64, _: u32, _: u8) {}
    fn csr_read(&mut self, _: u16, _: u64) {}
    fn walk(&mut self, _: &Walk) {}
    fn trap(&mut self, _: Taken) {}
}

impl Recorder {
    /// Records usual instructions until another one comes, or the batch is full; returns how many.
    pub(super) fn usual(&mut self, batch: &mut Batch) -> u64 {
        if !self.is_usual || batch.is_eager || self.target.hart().translates() {
            return 0;
        }
        let room = Batch::FULL.saturating_sub(batch.events.len()) as u64;
        let mut limit = room.min(self.options.limit - self.executed);
        let mut until = u64::MAX;
        match self.options.to {
            Some(Position::Instruction(number)) => limit = limit.min(number.saturating_sub(self.executed)),
            Some(Position::Pc(pc)) => until = pc,
            None => {}
        }
        let devices = match self.target {
            Target::Process(_) => 0,
            Target::Machine(_) => RAM_BASE,
        };
        let mut usual = Usual {
            step: Step::new(0, 0, 0),
            regs: batch.regs.len(),
            batch,
            shapes: &self.shapes,
            guard: &mut self.guard,
            is_rv32: self.meta.isa == Isa::Rv32,
            devices,
            until,
            number: self.recorded,
            csrs: List::new(),
            is_device: false,
        };
        let count = match &mut self.target {
            Target::Process(process) => process.stretch(limit, &mut usual),
            Target::Machine(machine) => machine.stretch(limit, &mut usual),
        };
        // Sources of an instruction that did not complete.
        usual.batch.regs.truncate(usual.regs);
        self.executed += count;
        self.recorded += count;
        self.repeats = count > 0 && self.guard.is_due(&self.target);
        count
    }
}
