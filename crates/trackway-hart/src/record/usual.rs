//! Usual instructions in few tests: they complete, change registers and memory at most, and nothing is translated.
//!
//! They become the step that [`instruction`](Recorder::instruction) records; everything else is left to it.

use trackway_core::*;
use trackway_isa::riscv::{Class, Op};

use super::Recorder;
use super::operands::{branch_taken, roles};
use super::push::register;
use crate::effects::AccessKind;

/// The parts of an operation that are recorded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// The register files of rs1, rs2 and rs3.
    sources: [Option<RegClass>; 3],
    /// Its sources are more than these.
    is_rare: bool,
    is_branch: bool,
    is_jump: bool,
}

impl Shape {
    pub(super) fn of(op: Op) -> Self {
        let [_, sources @ ..] = roles(op);
        let is_compare_swap =
            matches!(op, Op::AmocasB | Op::AmocasH | Op::AmocasW | Op::AmocasD | Op::AmocasQ);
        Shape {
            sources,
            is_rare: is_compare_swap,
            is_branch: op.class() == Class::Branch,
            is_jump: matches!(op.class(), Class::Jal | Class::Jalr),
        }
    }
}

impl Recorder {
    /// Records the step of a usual instruction that did not trap; false if it is not usual, and nothing was recorded.
    #[inline(always)]
    pub(super) fn usual(&mut self, batch: &mut Batch) -> bool {
        let fx = &self.effects;
        let (Some(pc), Some(inst)) = (fx.pc, &fx.inst) else { return false };
        let shape = &self.shapes[inst.op as usize];
        let is_odd = !self.is_usual | shape.is_rare | fx.upper_x.is_some() | fx.csr_read.is_some();
        if is_odd | !(fx.csrs.is_empty() & fx.walks.is_empty()) || fx.physical_pc != pc {
            return false;
        }
        let access = match (fx.memory.first(), fx.memory.len()) {
            (None, _) => None,
            (Some(access), 1) if access.kind != AccessKind::Amo && access.physical == access.address => {
                let kind = if access.kind == AccessKind::Load { MemKind::Read } else { MemKind::Write };
                let data = Value::Word(access.data);
                Some(MemAccess::new(kind, access.address, access.size.into(), data))
            }
            _ => return false,
        };
        let mut accesses = batch.begin_accesses();
        if let Some(access) = access {
            batch.mem.push(access);
            accesses.mem_len = 1;
        }
        let (x, f) = (fx.x.map_or(u8::MAX, |(n, _)| n), fx.f.map_or(u8::MAX, |(n, _)| n));
        let state = self.target.hart().state();
        let held = |n: u8| if n == x { fx.old_x } else { state.x[usize::from(n & 31)] };
        for (class, n) in shape.sources.into_iter().zip([inst.rs1, inst.rs2, inst.rs3]) {
            let value = match class {
                Some(RegClass::Int) if n != 0 => held(n),
                Some(RegClass::Float) if n == f => fx.old_f,
                Some(RegClass::Float) => state.f[usize::from(n & 31)],
                _ => continue,
            };
            let class = class.unwrap_or(RegClass::Int);
            batch.regs.push(register(class, n.into(), RegRole::Source, Value::Word(value)));
        }
        let mut step = Step::new(pc, fx.encoding, fx.length);
        if shape.is_branch {
            let taken = branch_taken(inst, (held(inst.rs1), held(inst.rs2)), self.meta.isa == Isa::Rv32);
            step.taken = Some(taken);
        } else if shape.is_jump {
            step.taken = Some(true);
        }
        if let Some((n, value)) = fx.x {
            batch.regs.push(register(RegClass::Int, n.into(), RegRole::Destination, Value::Word(value)));
        }
        if let Some((n, value)) = fx.f {
            batch.regs.push(register(RegClass::Float, n.into(), RegRole::Destination, Value::Word(value)));
        }
        accesses.regs_len = (batch.regs.len() - accesses.regs_start as usize) as u16;
        step.accesses = accesses;
        if step.taken == Some(true) {
            step.extra = batch.add_extra(StepExtra { target: Some(fx.next_pc), ..StepExtra::default() });
        }
        batch.push(8 * self.recorded, EventKind::Step(step));
        self.executed += 1;
        self.recorded += 1;
        true
    }
}
