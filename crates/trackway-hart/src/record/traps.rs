//! The events of traps, of returns from them, and of what the kernel did.

use trackway_core::*;
use trackway_isa::riscv::{Class, Op};

use super::Recorder;
use super::push::{all_registers, privilege, push_contents, push_kernel_write, register};
use crate::csr;
use crate::linux::Kernel;
use crate::state::Level;
use crate::target::Target;
use crate::trap::{Taken, cause};

impl Recorder {
    /// A trap of the machine, and the context that it leads to.
    #[cold]
    pub(super) fn trap(&mut self, batch: &mut Batch, taken: Taken, alone: bool) {
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
    pub(super) fn follow(&mut self, batch: &mut Batch, before: Level) {
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

    /// The events of a system call or signal.
    #[cold]
    pub(super) fn kernel(&mut self, batch: &mut Batch, pc: u64, kernel: Kernel) {
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
