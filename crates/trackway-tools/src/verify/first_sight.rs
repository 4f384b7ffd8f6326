//! What a step shows of control registers that nobody knows since the reset.

use trackway_core::{Privilege, RegClass, TrapKind};
use trackway_hart::cause;
use trackway_hart::csr::{self, status};
use trackway_isa::riscv::{Class, Op};

use super::decode::Decoded;
use super::fresh::visible;
use super::suspects::canonical;
use super::traced::TracedStep;
use super::verifier::{Verifier, level_of, resolve};

impl Verifier {
    /// What the step shows of control registers that nobody knows yet goes into both states before it.
    pub(super) fn learn_fresh(&mut self, traced: &TracedStep, decoded: Option<&Decoded>) {
        let inst = decoded.and_then(|decoded| decoded.inst);
        let class = inst.map(|inst| inst.op.class());
        let trapped = traced.trap.is_some() || traced.instruction.is_none();
        let shows = trapped || decoded.is_some_and(|decoded| decoded.system || decoded.float);
        if !shows && traced.writes.iter().all(|write| write.reg.class != RegClass::Csr) {
            return;
        }
        if trapped {
            self.learn_trap(traced);
        } else if let Some(inst) = inst {
            match inst.op {
                Op::Mret | Op::Sret => self.learn_return(traced, inst.op == Op::Mret),
                _ if class == Some(Class::Csr) => {
                    let is_result = |number: u16| number == u16::from(inst.rd) && number != 0;
                    let mut results = traced.writes.iter().filter(|write| write.reg.class == RegClass::Int);
                    let result = results.find(|write| is_result(write.reg.number) && self.says_value(write));
                    if let Some(value) = result.map(|write| resolve(&self.shadow, write)) {
                        self.show(inst.imm as u16 & 0xfff, value, u64::MAX);
                    }
                }
                _ => {}
            }
            let off = self.model.state().csr.mstatus & status::FS == 0;
            if decoded.is_some_and(|decoded| decoded.float)
                && off
                && self.fresh.of(csr::MSTATUS) & status::FS != 0
            {
                // It did not trap, so it is on.
                let value = self.model.state().csr.mstatus | 1 << status::FS.trailing_zeros();
                self.model.set_csr(csr::MSTATUS, value);
                self.shadow.set_csr(csr::MSTATUS, value);
            }
        }
        for write in traced.writes.iter().filter(|write| write.reg.class == RegClass::Csr) {
            if self.says_value(write) {
                let value = resolve(&self.shadow, write);
                self.show(write.reg.number, value, u64::MAX);
            }
        }
        if let Some(inst) = inst.filter(|inst| matches!(inst.op, Op::Csrrw | Op::Csrrwi) && !trapped) {
            // Whatever it held, it is written now.
            let number = inst.imm as u16 & 0xfff;
            self.fresh.forget(canonical(number), visible(number));
            if number == csr::FCSR {
                self.fresh.forget(csr::FRM, u64::MAX);
            }
        }
    }

    /// A register, or a view of one, has this value: bits of it that nobody knew are known.
    fn show(&mut self, number: u16, value: u64, bits: u64) {
        if number == csr::FCSR {
            self.show(csr::FFLAGS, value & 31, bits);
            return self.show(csr::FRM, value >> 5 & 7, bits);
        }
        let held = canonical(number);
        let bits = self.fresh.of(held) & visible(number) & bits;
        let (Some(old), true) = (self.model.read_csr(held), bits != 0) else { return };
        let value = old & !bits | value & bits;
        self.model.set_csr(held, value);
        self.shadow.set_csr(held, value);
        self.fresh.forget(held, bits);
    }

    /// A trap shows its vector, and that it is enabled or delegated.
    fn learn_trap(&mut self, traced: &TracedStep) {
        let Some(trap) = traced.trap.as_ref() else { return };
        let is_interrupt = trap.kind == TrapKind::Interrupt;
        let code = trap.cause.map(|cause| cause & 63);
        let to_s = traced.privilege == Some(Privilege::S);
        let (vector, status_bits) = match to_s {
            true => (csr::STVEC, (status::SPIE, status::SIE)),
            false => (csr::MTVEC, (status::MPIE, status::MIE)),
        };
        if let Some(to) = traced.next_pc {
            // The mode of an interrupt is taken to be direct.
            self.show(vector, to & !3, u64::MAX);
        }
        if let Some(code) = code {
            let bit = 1 << code;
            match (is_interrupt, to_s) {
                (true, _) => {
                    self.show(csr::MIE, bit, bit);
                    self.show(csr::MIDELEG, if to_s { bit } else { 0 }, bit);
                }
                (false, _) if code != u64::from(cause::ECALL_M) => {
                    self.show(csr::MEDELEG, if to_s { bit } else { 0 }, bit);
                }
                _ => {}
            }
        }
        // The trap keeps the enable bit of before.
        if let Some(value) = self.traced_status(traced) {
            let (kept, enable) = status_bits;
            let was = if value & kept != 0 { enable } else { 0 };
            self.show(csr::MSTATUS, was, enable);
            self.fresh.forget(csr::MSTATUS, kept);
        }
    }

    /// A return shows where it leads, and in `mstatus` what it took back.
    fn learn_return(&mut self, traced: &TracedStep, is_mret: bool) {
        let (address, kept, enable) = match is_mret {
            true => (csr::MEPC, status::MPIE, status::MIE),
            false => (csr::SEPC, status::SPIE, status::SIE),
        };
        if let Some(to) = traced.next_pc {
            self.show(address, to, u64::MAX);
        }
        if let Some(level) = traced.privilege.and_then(level_of) {
            match is_mret {
                true => self.show(csr::MSTATUS, (level as u64) << status::MPP.trailing_zeros(), status::MPP),
                false => {
                    self.show(csr::MSTATUS, (level as u64 & 1) << status::SPP.trailing_zeros(), status::SPP)
                }
            }
        }
        if let Some(value) = self.traced_status(traced) {
            let was = if value & enable != 0 { kept } else { 0 };
            self.show(csr::MSTATUS, was, kept);
            self.fresh.forget(csr::MSTATUS, enable);
        }
    }

    /// The status register after the step, where the trace records it.
    fn traced_status(&self, traced: &TracedStep) -> Option<u64> {
        let mut status = traced
            .writes
            .iter()
            .filter(|write| write.reg.class == RegClass::Csr && canonical(write.reg.number) == csr::MSTATUS);
        status.find(|write| self.says_value(write)).map(|write| resolve(&self.shadow, write))
    }
}
