//! One step of trace and model, side by side (tandem spec 3.1).

use trackway_core::{MemKind, Reg, RegClass, TrapKind};
use trackway_hart::{Level, Taken, cause, csr};
use trackway_isa::riscv::Class;

use super::decode::{Decoded, Decoder};
use super::history::Executed;
use super::lacks::Lack;
use super::report::Element;
use super::traced::{TracedRegister, TracedStep};
use super::verifier::{Unknown, UnknownBefore, Verifier, resolve};
use super::worlds::{Prior, Subject};

/// Causes that do not depend on operands.
const ALWAYS_TRAP: [u8; 5] =
    [cause::ILLEGAL, cause::BREAKPOINT, cause::ECALL_U, cause::ECALL_S, cause::ECALL_M];

impl Verifier {
    /// Verifies an instruction or trap.
    pub(super) fn step(&mut self, traced: &TracedStep) {
        if self.report.stopped {
            return;
        }
        match traced.instruction {
            None => self.verify(traced, None),
            Some(_) if self.verify_usual(traced) => {}
            Some(instruction) => {
                let mut decoder = self.take_decoder();
                self.verify(traced, Some(decoder.decode(instruction.encoding)));
                self.decoder = Some(decoder);
            }
        }
    }

    /// The decoder, taken out so that it can be borrowed while all else changes.
    pub(super) fn take_decoder(&mut self) -> Decoder {
        let taken = self.decoder.take();
        taken.unwrap_or_else(|| Decoder::new(self.isa(), self.options.core.extensions))
    }

    fn verify(&mut self, traced: &TracedStep, decoded: Option<&Decoded>) {
        if let (Some(need), Some(instruction)) =
            (decoded.and_then(|decoded| decoded.need), traced.instruction)
            && traced.trap.is_none()
            && !traced.attempted
        {
            let pc = traced.pc.unwrap_or(self.model.state().pc);
            self.refuse(need, traced.offset, trackway_isa::text(self.isa(), pc, instruction.encoding));
            if self.report.stopped {
                return;
            }
        }
        let traced_pc = traced.pc.or(traced.trap.as_ref().and_then(|trap| trap.from));
        self.begin(traced_pc);
        if let Some(pc) = traced_pc
            && (self.unknown.pc || self.model.state().pc != pc)
        {
            // The step before did not record where control went.
            self.set_pc(pc);
        }
        if std::mem::take(&mut self.stale) {
            self.model.flush();
        }
        self.memory.begin();
        (self.lost, self.is_damaged) = (self.is_lost(), false);
        self.before = UnknownBefore { x: self.unknown.x, f: self.unknown.f };
        self.report.instructions += u64::from(traced.instruction.is_some());
        if !self.fresh.is_empty() {
            self.learn_fresh(traced, decoded);
        }
        let mut prior = self.prior(traced);
        let doubtful_reads = self.compare_reads(traced);
        let blind = self.must_adopt(traced, decoded) && !self.retires_illegally(traced, decoded);
        let pc = self.model.state().pc;
        let level = self.model.state().level;
        if blind && !self.traps_regardless(traced) {
            self.adopt_compared(traced, decoded, traced_pc);
            return;
        }
        if let Some(decoded) = decoded {
            self.copy_in(traced, decoded);
        }
        if prior.is_some() && !self.suspects.memory.is_empty() && self.translates() {
            // Every translation has to report the entries that it depends on.
            self.model.flush_translations();
        }
        let subject = Subject { traced, decoded, pc, level };
        // A walk through entries that are not known proves nothing.
        let is_plain = level == Level::M && self.model.state().csr.mstatus & csr::status::MPRV == 0;
        let walks = self.translates() && !self.lost && !is_plain;
        let saved =
            walks.then(|| (self.model.state().clone(), self.report.exceptions, self.report.interrupts));
        let taken = self.execute(traced);
        if let Some((state, exceptions, interrupts)) = saved.filter(|_| self.memory.lost) {
            (self.report.exceptions, self.report.interrupts) = (exceptions, interrupts);
            if let Some(doubt) = prior.take()
                && self.judge_lost(doubt, subject)
            {
                self.remember(traced, decoded, pc);
                return;
            }
            self.memory.revert();
            self.memory.begin();
            self.model.set_state(state);
            self.model.flush_translations();
            self.adopt_compared(traced, decoded, traced_pc);
            return;
        }
        self.judge_step(subject, prior, doubtful_reads, taken);
    }

    /// Compares what the model did with the trace, and concludes the step.
    pub(super) fn judge_step(
        &mut self,
        subject: Subject<'_>,
        prior: Option<Prior>,
        doubtful_reads: Vec<Element>,
        taken: Option<Taken>,
    ) {
        let Subject { traced, decoded, pc, level } = subject;
        if self.memory.learned {
            self.lack(Lack::Memory, traced);
        }
        if self.memory.learned_code || self.lost {
            self.lack(Lack::Code, traced);
        }
        if self.options.coverage {
            self.coverage.observe(&self.effects, taken.as_ref(), &self.shadow, level);
        }
        self.settle(traced, decoded);
        let mut elements = self.compare(traced, taken.as_ref());
        elements.extend(doubtful_reads);
        if prior.is_some() || !elements.is_empty() {
            self.conclude(prior, subject, taken.is_some(), elements);
        }
        self.remember(traced, decoded, pc);
    }

    /// Adds the step to the history.
    pub(super) fn remember(&mut self, traced: &TracedStep, decoded: Option<&Decoded>, pc: u64) {
        let Some(instruction) = traced.instruction else { return };
        let TracedStep { number, group, .. } = *traced;
        let (x, f) = decoded.map_or((0, 0), |decoded| (decoded.x_written, decoded.f_written));
        self.history.push(Executed { number, group, pc, encoding: instruction.encoding }, x, f);
    }

    /// Are the sources unknown, so that the model cannot execute it?
    fn must_adopt(&self, traced: &TracedStep, decoded: Option<&Decoded>) -> bool {
        let Some(decoded) = decoded else {
            let unrecorded = traced.trap.as_ref().is_none_or(|trap| trap.kind == TrapKind::Unknown);
            let is_followed = !self.options.absent.csr || self.options.absent.implied;
            return self.unknown.pc || self.unknown.csr || unrecorded && !is_followed;
        };
        let Unknown { x, f, csr, pc, .. } = self.unknown;
        let rounds = decoded.float && decoded.inst.is_some_and(|inst| inst.rm == 7);
        pc || decoded.x_sources & x != 0
            || decoded.f_sources & f != 0
            || decoded.memory && self.lost
            || self.unknown.reservation && !self.shows_conditional(traced, decoded)
            || csr
                && (traced.trap.is_some()
                    || decoded.system && !self.knows_operands(decoded)
                    || rounds && !self.knows_csr(csr::FRM))
    }

    /// Does it complete although the core does not have it? No source excuses that.
    fn retires_illegally(&self, traced: &TracedStep, decoded: Option<&Decoded>) -> bool {
        let is_known = !self.unknown.pc && !self.unknown.csr && !self.lost;
        decoded.is_some_and(|decoded| decoded.illegal)
            && is_known
            && traced.trap.is_none()
            && !traced.attempted
    }

    /// Is it not a store-conditional, or one whose outcome the trace shows?
    fn shows_conditional(&self, traced: &TracedStep, decoded: &Decoded) -> bool {
        let class = decoded.inst.map(|inst| inst.op.class());
        !matches!(class, Some(Class::StoreConditional(_)))
            || traced.writes.iter().any(|write| write.reg.class == RegClass::Int && self.says_value(write))
    }

    /// Does a system instruction need no control register but those that are known?
    fn knows_operands(&self, decoded: &Decoded) -> bool {
        let Some(inst) = decoded.inst else { return false };
        match inst.op.class() {
            Class::Csr => {
                let number = inst.imm as u16 & 0xfff;
                let mask = self.options.masks.of(number);
                let is_free = self.options.flat || self.model.state().level == Level::M;
                let is_copied = mask.copy | mask.ignore == u64::MAX && is_free;
                !self.unknown.level && (self.knows_csr(number) || is_copied)
            }
            Class::Fence => true,
            _ => false,
        }
    }

    /// Does it trap whatever its sources hold: illegal, a breakpoint, a call?
    fn traps_regardless(&mut self, traced: &TracedStep) -> bool {
        if traced.trap.is_none() || traced.instruction.is_none() || self.unknown.pc || self.unknown.csr {
            return false;
        }
        let (saved, counted) = (self.model.state().clone(), self.report.exceptions);
        let taken = self.execute(traced);
        self.report.exceptions = counted;
        self.memory.revert();
        self.memory.begin();
        self.model.set_state(saved);
        taken.is_some_and(|taken| ALWAYS_TRAP.contains(&taken.cause))
    }

    /// Non-deterministic state goes from the trace to the model (step 2 of 3.1).
    pub(super) fn copy_in(&mut self, traced: &TracedStep, decoded: &Decoded) {
        let Some(inst) = decoded.inst else { return };
        let mut results = traced.writes.iter().filter(|write| self.says_value(write));
        let mut written = |number: u8| {
            results.find(|write| {
                write.reg.class == RegClass::Int && write.reg.number == u16::from(number) && number != 0
            })
        };
        match inst.op.class() {
            Class::Csr => {
                let number = inst.imm as u16 & 0xfff;
                let mask = self.options.masks.of(number);
                let mask = mask.copy | mask.ignore;
                if let Some(write) = written(inst.rd).filter(|_| self.guessed == Some(number)) {
                    let value = resolve(&self.shadow, write);
                    self.named_cause(number, value);
                    return;
                }
                if mask == 0 {
                    return;
                }
                let Some(write) = written(inst.rd) else { return };
                let value = resolve(&self.shadow, write);
                // SIP is a view of MIP.
                let (number, mask) = match number {
                    csr::SIP => (csr::MIP, mask & self.model.read_csr(csr::MIDELEG).unwrap_or(0)),
                    number => (number, mask),
                };
                let old = self.model.read_csr(number).unwrap_or(0);
                self.model.set_csr(number, old & !mask | value & mask);
                self.shadow.set_csr(number, old & !mask | value & mask);
            }
            Class::StoreConditional(_) => {
                // A core may fail where it likes, and may reserve more than the model does; success without any
                // reservation is wrong.
                let outcome = written(inst.rd).and_then(|write| match resolve(&self.shadow, write) {
                    0 => Some(true),
                    1 => Some(false),
                    _ => None,
                });
                let reserved = self.unknown.reservation || self.model.state().reservation.is_some();
                self.unknown.reservation = false;
                self.model.set_conditional(outcome.filter(|success| !success || reserved));
            }
            Class::LoadReserved(_) => self.unknown.reservation = false,
            _ => {}
        }
    }

    /// Could an interrupt of this cause be taken here, and does the instruction complete?
    fn completes(&mut self, cause: u8, traced: &TracedStep) -> bool {
        let enabled = 1u64.checked_shl(cause.into()).unwrap_or(0) & self.model.state().csr.mie != 0;
        if !enabled || traced.trap.is_some_and(|trap| trap.value.is_some_and(|value| value != 0)) {
            return false;
        }
        let (state, begun) = (self.model.state().clone(), self.memory.written_count());
        let taken = self.model.step(&mut self.memory, &mut self.effects);
        self.memory.revert_from(begun);
        self.model.set_state(state);
        taken.is_none()
    }

    /// One step of the model (step 3 of 3.1).
    pub(super) fn execute(&mut self, traced: &TracedStep) -> Option<Taken> {
        let cause = traced.trap.as_ref().and_then(|trap| u8::try_from(trap.cause?).ok());
        if self.options.map.is_empty() {
            // No memory map was given, so the trace decides what faults.
            self.memory.fault_fetch = traced.instruction.is_none() && cause == Some(cause::FETCH_ACCESS);
            self.memory.fault_data = traced.instruction.is_some()
                && matches!(cause, Some(cause::LOAD_ACCESS | cause::STORE_ACCESS));
        }
        self.memory.fault_second = traced.instruction.is_none()
            && matches!(cause, Some(cause::FETCH_ACCESS | cause::FETCH_PAGE))
            && traced.trap.as_ref().and_then(|trap| trap.value)
                == Some(self.model.state().pc.wrapping_add(2));
        let interrupt = match (traced.instruction, &traced.trap) {
            (None, Some(trap)) if trap.kind == TrapKind::Interrupt => {
                trap.cause.map(|cause| cause as u8 & 63).or_else(|| self.unsaid_interrupt(traced))
            }
            (None, Some(trap)) if trap.kind == TrapKind::Unknown => self.unsaid_interrupt(traced),
            // An exception that nothing raises was an interrupt, and its cause is wrong.
            (None, Some(trap)) if trap.kind == TrapKind::Exception => {
                trap.cause.map(|cause| cause as u8 & 63).filter(|cause| self.completes(*cause, traced))
            }
            _ => None,
        };
        if let Some(cause) = interrupt {
            self.report.interrupts += 1;
            self.effects.begin();
            self.model.set_interrupts(1 << cause, 1 << cause);
            let taken = self.model.interrupt(cause, &mut self.effects);
            self.effects.next_pc = self.model.state().pc;
            return Some(taken);
        }
        self.memory.loaded = traced.accesses.iter().find_map(|access| match access.kind {
            MemKind::Read | MemKind::ReadWrite => access.data,
            _ => None,
        });
        let taken = match traced.instruction {
            Some(instruction) if self.lost => {
                // It is unknown what memory holds there.
                self.effects.begin();
                let attempt =
                    self.model.attempt_encoding(instruction.encoding, &mut self.memory, &mut self.effects);
                let taken = attempt.err().map(|exception| self.model.exception(exception, &mut self.effects));
                self.effects.next_pc = self.model.state().pc;
                taken
            }
            fetched => {
                self.memory.fetched = fetched.map(|fetched| (fetched.encoding, fetched.length));
                if self.unsaid_fault(traced) {
                    self.memory.fault_data = true;
                }
                self.model.step(&mut self.memory, &mut self.effects)
            }
        };
        self.model.set_conditional(None);
        self.report.exceptions += u64::from(taken.is_some());
        taken
    }

    /// Results that depend on unknown values are taken from the trace, or become unknown.
    pub(super) fn settle(&mut self, traced: &TracedStep, decoded: Option<&Decoded>) {
        self.unrecorded = None;
        let Some(decoded) = decoded else { return };
        let masked = decoded.inst.filter(|inst| inst.op.class() == Class::Csr).map(|inst| {
            let mask = self.options.masks.of(inst.imm as u16 & 0xfff);
            (inst.rd, mask.copy | mask.ignore)
        });
        let before = self.before;
        let recorded =
            |reg: Reg| traced.writes.iter().find(|write| write.reg == reg && before.says_value(write));
        if let Some((rd, value)) = self.effects.x
            && value == self.effects.old_x
        {
            match recorded(Reg { class: RegClass::Int, number: rd.into() }) {
                Some(_) => self.unchanged.recorded = true,
                None => self.unchanged.omitted = true,
            }
        }
        // A trace that records writes which change nothing records all writes.
        let records_all = self.unchanged.recorded && !self.unchanged.omitted;
        if let Some((rd, mask @ 1..)) = masked
            && let Some((_, value)) = self.effects.x
            && let Some(write) = recorded(Reg { class: RegClass::Int, number: rd.into() })
        {
            let copied = resolve(&self.shadow, write);
            self.model.set_x(rd, value & !mask | copied & mask);
        }
        self.unknown.x &= !decoded.x_written;
        self.unknown.f &= !decoded.f_written;
        let unsaid = |write: &TracedRegister| write.reg.class == RegClass::Int && !before.says_value(write);
        if let Some((rd, 1..)) = masked
            && (self.options.absent.x || traced.writes.iter().any(unsaid))
        {
            // Only the trace knows the value, and does not say it.
            self.unknown.x |= decoded.x_written & 1 << rd;
        }
        if !self.memory.blind {
            return;
        }
        for (rd, _) in self.effects.written_x() {
            match recorded(Reg { class: RegClass::Int, number: rd.into() }) {
                Some(write) => self.model.set_x(rd, resolve(&self.shadow, write)),
                None => {
                    let unrecorded = Reg { class: RegClass::Int, number: rd.into() };
                    self.unrecorded = (records_all && !self.options.absent.x).then_some(unrecorded);
                    self.unknown.x |= 1 << rd;
                    self.shadow.set_x(rd, self.model.state().x[usize::from(rd)]);
                }
            }
        }
        if let Some((rd, _)) = self.effects.f {
            match recorded(Reg { class: RegClass::Float, number: rd.into() }) {
                Some(write) => self.model.set_f(rd, resolve(&self.shadow, write)),
                None => {
                    let unrecorded = Reg { class: RegClass::Float, number: rd.into() };
                    self.unrecorded = (records_all && !self.options.absent.f).then_some(unrecorded);
                    self.unknown.f |= 1 << rd;
                    self.shadow.set_f(rd, self.model.state().f[usize::from(rd)]);
                }
            }
        }
    }
}
