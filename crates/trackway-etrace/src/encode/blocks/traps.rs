//! Traps of the events, and those that an attempted instruction implies.

use trackway_core::*;
use trackway_isa::{Control, flow};

use super::BlockBuilder;
use crate::encode::{Encoder, PortTrap};

impl BlockBuilder {
    pub(super) fn trap(&mut self, trap: &Trap, encoder: &mut Encoder) {
        match trap.kind {
            TrapKind::Exception | TrapKind::Interrupt | TrapKind::Unknown => {}
            TrapKind::Return => return, // the return instruction implies it
            TrapKind::Reset => return self.interrupt_flow(encoder),
        }
        let attempted = self.attempted.take();
        let known = attempted.map(|(pc, ..)| pc).or(trap.from).or(trap.return_address);
        let epc = known.or_else(|| self.pending.and_then(|pending| pending.successor(pending.taken)));
        self.settle(epc, encoder);
        self.enter_context(encoder);
        // A trap of an unknown kind and without an instruction is sent as an interrupt: an exception implies one.
        let unsaid = trap.kind == TrapKind::Unknown && attempted.is_none();
        let interrupt = trap.kind == TrapKind::Interrupt || unsaid;
        let invented = attempted.map_or(0, |(_, encoding, _)| self.usual_cause(encoding));
        let (cause, tval) = (trap.cause.unwrap_or(invented), trap.value.unwrap_or(0));
        let attempted = attempted.map(|(.., marked)| marked);
        let (at_target, recorded) = (std::mem::take(&mut self.attempted_at_target), Some(*trap));
        self.recorded_target = None;
        self.send_trap(PortTrap { interrupt, cause, tval, epc, attempted, at_target, recorded }, encoder);
    }

    fn send_trap(&mut self, trap: PortTrap, encoder: &mut Encoder) {
        self.close(encoder);
        self.flush(encoder);
        encoder.trap(trap, &self.port);
        self.port.cycle += 1;
        self.last = None;
        self.after_trap = true;
    }

    /// Adds the trap of an attempted instruction where the recording has none.
    #[inline]
    pub(super) fn invent_trap(&mut self, encoder: &mut Encoder) {
        let Some((pc, encoding, marked)) = self.attempted.take() else { return };
        self.settle(Some(pc), encoder);
        let (cause, attempted) = (self.usual_cause(encoding), Some(marked));
        let at_target = std::mem::take(&mut self.attempted_at_target);
        self.send_trap(
            PortTrap { cause, epc: Some(pc), attempted, at_target, ..PortTrap::default() },
            encoder,
        );
    }

    /// The cause of the exception that an instruction raises (privileged spec, table of causes).
    fn usual_cause(&self, encoding: u32) -> u64 {
        match flow(self.isa, 0, encoding).control {
            Control::SystemCall => match self.privilege {
                Privilege::S | Privilege::H => 9,
                Privilege::VS => 10,
                Privilege::M => 11,
                _ => 8,
            },
            Control::Breakpoint => 3,
            Control::Undefined => 2,
            _ => 13,
        }
    }
}
