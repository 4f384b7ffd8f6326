//! Synchronisation packets: the approach to them, traps, and the beginning of execution.

use trackway_core::*;
use trackway_isa::Control;

use super::{Decoder, FlowState, Stage};
use crate::decode::fault::Fault;
use crate::decode::markers::{self, emit_marker};
use crate::decode::walk::Goal;
use crate::port::privilege_of;
use crate::wire::instruction::{self as packet, Packet, Start};

impl Decoder {
    pub(super) fn approach_start(&mut self, start: &Start, out: &mut Batch) -> Result<(), Fault> {
        let target = self.address_of(start.address);
        if self.flow.state != FlowState::On {
            self.emit_held_trap(Some(target), out);
            self.emit_resumption(target, out);
            self.flow.stage = Stage::Begin;
            return Ok(());
        }
        let context = self.context_field(start.context, false);
        let direct = self.walker.successor() == Some(target);
        let known = self.walker.control().is_some_and(|control| !control.is_indirect());
        if self.flow.sync_follows && !direct && known && context != self.flow.context {
            // The context changed as an asynchronous discontinuity (table 4.4).
            self.walker.emit_through(Exit::End, false, out);
            self.flow.state = FlowState::Trapped;
            self.flow.stage = Stage::Begin;
            return Ok(());
        }
        let branch = self.walker.is_branch_seen(target, Some(start.privilege), context);
        if branch {
            self.walker.outcomes.add_sync(start.branch);
        }
        let other = self.flow.privilege.is_some_and(|privilege| privilege != start.privilege);
        let gated = self.config.dialect.privilege_gates_sync() && other;
        self.walker.inferred = false;
        self.walker.begin_walk(branch);
        self.flow.stage = Stage::Walk(Goal::Sync { target, gated });
        Ok(())
    }

    pub(super) fn approach_trap(&mut self, packet: &packet::Trap, out: &mut Batch) -> Result<(), Fault> {
        let at = self.address_of(packet.address);
        let epc = self.epc(packet, at);
        let handler = if !packet.thaddr {
            None
        } else if self.walker.options.implicit_exception {
            self.config.handler(privilege_of(packet.privilege), packet.interrupt, packet.ecause)
        } else {
            Some(at)
        };
        // An instruction that could not be fetched was not attempted: instruction access and page faults.
        let attempted = epc.filter(|_| !packet.interrupt && !matches!(packet.ecause, 1 | 12 | 20));
        match (self.flow.state, attempted) {
            (FlowState::On, Some(epc)) => self.walker.emit_attempted(epc, out),
            (FlowState::On, None) => self.walker.emit_through(Exit::Trap, false, out),
            (_, attempted) => {
                self.emit_held_trap(epc, out);
                self.emit_resumption(epc.or(handler).unwrap_or(at), out);
                if !packet.thaddr {
                    self.note_before_trap(packet, out);
                }
                if let Some(epc) = attempted {
                    self.walker.emit_lone_attempt(epc, out);
                }
            }
        }
        if !packet.thaddr {
            self.note_before_trap(packet, out);
        }
        let trap = Trap { to: handler, ..self.trap_event(packet, epc) };
        if !packet.thaddr {
            self.held = Some((self.walker.offset, trap));
            self.flow.state = FlowState::Trapped;
            self.flow.stage = Stage::Idle;
            return Ok(());
        }
        out.push_trap(self.walker.offset, trap);
        self.flow.state = FlowState::Trapped;
        if handler.is_none() {
            return Err(Fault::NoHandler { cause: packet.ecause });
        }
        self.flow.stage = Stage::Begin;
        Ok(())
    }

    /// The trap of a packet, less its handler.
    pub(super) fn trap_event(&self, packet: &packet::Trap, epc: Option<u64>) -> Trap {
        let is_illegal = packet.ecause == 2 && !packet.interrupt;
        let has_value = if self.config.dialect.has_tvalepc() { !is_illegal } else { !packet.interrupt };
        Trap {
            cause: Some(packet.ecause),
            value: has_value.then_some(packet.tval),
            from: epc,
            return_address: epc,
            syscall: call_of(packet.interrupt, packet.ecause),
            ..Trap::new(if packet.interrupt { TrapKind::Interrupt } else { TrapKind::Exception })
        }
    }

    /// Updates privilege and context from a trap packet without a handler: those before the trap.
    pub(super) fn note_before_trap(&mut self, packet: &packet::Trap, out: &mut Batch) {
        let context = self.context_field(packet.context, false);
        self.note_context(Some(packet.privilege), context, 2, out);
    }

    /// Address of the instruction that trapped, if it is known.
    pub(super) fn epc(&mut self, packet: &packet::Trap, at: u64) -> Option<u64> {
        if self.config.dialect.has_tvalepc() && packet.ecause == 2 && !packet.interrupt {
            return Some(packet.tval);
        }
        if self.flow.state != FlowState::On {
            // The first instruction traced, or a trap directly after another.
            return (!packet.thaddr).then_some(at);
        }
        match self.walker.control()? {
            Control::SystemCall | Control::Breakpoint => Some(self.walker.pc),
            control if control.is_indirect() && !packet.thaddr => Some(at),
            // Without thaddr it is unknown whether a return went to the address on the stack.
            control if control.is_indirect() && !self.config.dialect.has_thaddr() => None,
            _ => self.walker.successor(),
        }
    }

    /// Execution continues at the packet's instruction.
    pub(super) fn begin(&mut self, out: &mut Batch) {
        self.flow.stage = Stage::Idle;
        let (branch, privilege, time, context, target) = match self.packet {
            Packet::Start(start) => {
                (start.branch, start.privilege, start.time, start.context, self.address_of(start.address))
            }
            Packet::Trap(trap) => {
                let implied = self.walker.options.implicit_exception;
                let handler = if implied {
                    self.config.handler(privilege_of(trap.privilege), trap.interrupt, trap.ecause)
                } else {
                    Some(self.address_of(trap.address))
                };
                let Some(handler) = handler else { return };
                (trap.branch, trap.privilege, trap.time, trap.context, handler)
            }
            _ => return,
        };
        if self.config.data.enable {
            emit_marker(self.walker.offset, markers::BEGIN, &[], out);
        }
        let before = match self.packet {
            Packet::Start(_) if self.flow.state == FlowState::On && self.walker.options.sijump => {
                if self.walker.start == target {
                    self.walker.before()
                } else {
                    self.walker.predecessor(target)
                }
            }
            _ => None,
        };
        self.note_time(time, out);
        self.note_context(Some(privilege), self.context_field(context, false), 2, out);
        self.walker.place(target, before);
        self.walker.outcomes.clear();
        if self.walker.is_branch(target) {
            self.walker.outcomes.add_sync(branch);
        }
        self.flow.address = target;
        self.flow.sync_follows = false;
        self.flow.state = FlowState::On;
        self.flow.skipped = 0;
        self.synchronised.0 += 1;
        self.synchronised.1 += u64::from(self.walker.lacks_code());
    }
}

/// The instruction that makes an environment call (privileged spec, table of causes).
pub(crate) fn call_of(interrupt: bool, cause: u64) -> Option<Syscall> {
    (!interrupt && (8..=11).contains(&cause)).then_some(Syscall::Ecall)
}
