//! Traps of which a log shows only where control went.

use trackway_core::TrapKind;
use trackway_hart::csr::interrupt;
use trackway_hart::{Level, csr};

use super::traced::TracedStep;
use super::verifier::Verifier;

/// Interrupts in the order in which they are taken (privileged 3.1.9).
const BY_PRIORITY: [u8; 6] = [11, 3, 7, 9, 1, 5];

impl Verifier {
    /// The interrupt that leads where the trace does, if no exception of the next instruction does. Of several the one
    /// that comes first; the trace names it when it reads the cause.
    pub(super) fn unsaid_interrupt(&mut self, traced: &TracedStep) -> Option<u8> {
        let to = traced.next_pc.or(traced.trap.as_ref().and_then(|trap| trap.to));
        let pending = self.model.pending_interrupt();
        let Some(to) = to else { return pending };
        let pending = pending.filter(|cause| self.handler(*cause) == to);
        let is_open = traced.trap.as_ref().is_some_and(|trap| trap.kind == TrapKind::Unknown);
        if pending.is_none() && is_open && self.raises(traced, Some(to)) {
            return None;
        }
        let possible: Vec<u8> = BY_PRIORITY.into_iter().filter(|cause| self.is_enabled(*cause)).collect();
        let mut leading: Vec<u8> = possible.into_iter().filter(|cause| self.handler(*cause) == to).collect();
        let first = pending.or(leading.first().copied())?;
        leading.retain(|cause| *cause != first);
        // Which interrupts are pending is the environment's affair: the model knows some of them at most.
        if !leading.is_empty() {
            self.guessed = Some(if self.goes_to_s(first) { csr::SCAUSE } else { csr::MCAUSE });
        }
        Some(first)
    }

    /// Is a trap that the trace does not name an access fault? So it is where no memory map was given, and the
    /// instruction would complete otherwise.
    pub(super) fn unsaid_fault(&mut self, traced: &TracedStep) -> bool {
        let unnamed = traced.trap.as_ref().is_some_and(|trap| {
            trap.cause.is_none() && matches!(trap.kind, TrapKind::Unknown | TrapKind::Exception)
        });
        let (to, trace_decides) = (traced.next_pc, self.options.map.is_empty());
        if !unnamed || !trace_decides || to.is_none() || self.memory.fault_data || self.raises(traced, to) {
            return false;
        }
        self.memory.fault_data = true;
        let faults = self.raises(traced, to);
        self.memory.fault_data = false;
        faults
    }

    /// Does the next instruction trap, and lead there? Nothing changes.
    fn raises(&mut self, traced: &TracedStep, to: Option<u64>) -> bool {
        let (state, begun) = (self.model.state().clone(), self.memory.written_count());
        let fetched = traced.instruction.map(|fetched| (fetched.encoding, fetched.length));
        let (loaded, lost) = (self.memory.loaded, self.memory.lost);
        let (learned, learned_code, blind) =
            (self.memory.learned, self.memory.learned_code, self.memory.blind);
        self.memory.fetched = fetched;
        let taken = self.model.step(&mut self.memory, &mut self.effects);
        let leads = to.is_none_or(|to| self.model.state().pc == to);
        self.memory.revert_from(begun);
        self.model.set_state(state);
        (self.memory.fetched, self.memory.loaded, self.memory.lost) = (fetched, loaded, lost);
        (self.memory.learned, self.memory.learned_code, self.memory.blind) = (learned, learned_code, blind);
        taken.is_some() && leads
    }

    /// Where this interrupt would lead. Nothing changes.
    fn handler(&mut self, cause: u8) -> u64 {
        let state = self.model.state().clone();
        self.effects.begin();
        self.model.interrupt(cause, &mut self.effects);
        let to = self.model.state().pc;
        self.model.set_state(state);
        to
    }

    fn goes_to_s(&self, cause: u8) -> bool {
        let state = self.model.state();
        state.csr.mideleg >> cause & 1 != 0 && state.level != Level::M
    }

    /// Could the core take this interrupt now, were it pending?
    fn is_enabled(&self, cause: u8) -> bool {
        let state = self.model.state();
        let (level, enabled) = if state.csr.mideleg >> cause & 1 != 0 {
            (Level::S, state.csr.mstatus & csr::status::SIE != 0)
        } else {
            (Level::M, state.csr.mstatus & csr::status::MIE != 0)
        };
        state.csr.mie >> cause & 1 != 0 && (state.level < level || state.level == level && enabled)
    }

    /// The trace shows the cause of an interrupt that had to be guessed.
    pub(super) fn named_cause(&mut self, number: u16, value: u64) {
        self.guessed = None;
        let top = self.options.core.xlen() - 1;
        let code = value & !(1 << top);
        let was_enabled = code < 64 && interrupt::ALL & self.model.state().csr.mie & 1 << code != 0;
        if value >> top & 1 == 1 && was_enabled {
            self.model.set_csr(number, value);
            self.shadow.set_csr(number, value);
        }
    }
}
