//! The event of one instruction.

use trackway_core::*;
use trackway_isa::riscv::Class;

use super::Recorder;
use super::operands::branch_taken;
use super::push::{push_access, push_walk, register};
use crate::target::Target;

impl Recorder {
    /// The step of an instruction that was fetched.
    #[inline]
    pub(super) fn instruction(&mut self, batch: &mut Batch, before: u64, trapped: bool) {
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
                    _ if fx.upper_x.is_some_and(|(written, _)| written == number) => fx.old_upper_x,
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
                if inst.is_compare_swap() {
                    // The compared value, and the upper halves of pairs.
                    let pairs = inst.has_pairs();
                    for (number, has) in [
                        (inst.rd, true),
                        (inst.rd + 1, pairs && inst.rd != 0),
                        (inst.rs2 + 1, pairs && inst.rs2 != 0),
                    ] {
                        if has && number != 0 {
                            let value = Value::Word(old(RegClass::Int, number));
                            batch.regs.push(register(RegClass::Int, number.into(), RegRole::Source, value));
                        }
                    }
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
            for (number, value) in fx.written_x() {
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
}
