//! Formats 3/0 and 3/1: starts, synchronisations and traps.

use super::Encoder;
use super::row::{Changes, Departure, PortTrap, Previous, Row};
use crate::port::{Itype, privilege_of};
use crate::wire::instruction::{Packet, Start, Trap};

impl Encoder {
    /// Sends format 3/0 for this instruction.
    #[cold]
    pub(super) fn report_start(&mut self) {
        let cur = self.row;
        self.enable();
        if self.restart {
            self.send_end(true);
        }
        if cur.changes.any(Changes::DISCONTINUOUS)
            && !self.first
            && !self.restart
            && cur.changes.any(Changes::CONTEXT)
            && self.config.dialect.discontinuity_is_trap()
        {
            // As for an exception (table 4.4).
            let packet = self.trap_packet(&cur, PortTrap::default(), true, cur.address);
            self.synchronise(&packet);
            return;
        }
        let packet = Packet::Start(Start {
            branch: cur.itype != Itype::TAKEN_BRANCH,
            privilege: cur.privilege,
            time: cur.time,
            context: cur.context,
            address: self.address_field(cur.address),
        });
        self.synchronise(&packet);
    }

    pub(super) fn address_field(&self, address: u64) -> u64 {
        trackway_core::mask(address >> self.config.params.iaddress_lsb, self.writer.layout().address)
    }

    /// Sends a synchronisation packet and resets all state that refers to earlier packets.
    pub(super) fn synchronise(&mut self, packet: &Packet) {
        self.send(packet);
        self.count_sync();
        self.first = false;
        self.sync_next = false;
        self.restart = false;
        self.context_pending = false;
        self.ended_by_updiscon = false;
        self.ambiguous = false;
        self.last_address = self.row.address;
        self.clear_branches();
        self.data.clear_history();
        self.predictor.reset();
        self.cache.reset();
        self.stack.reset();
        self.returned = false;
        self.branched = false;
    }

    /// Reports the first instruction of a handler (2 of the figure).
    #[cold]
    pub(super) fn report_handler(&mut self) {
        self.enable();
        let cur = self.row;
        let previous = self.previous;
        let Some(trap) = previous.trap else { return };
        let v2 = self.config.dialect.has_thaddr();
        if previous.trap_reported {
            if previous.departure == Departure::Mispredicted && self.config.encoder.exact {
                // A decoder that walked on from the return would follow the return stack.
                self.send_end(true);
            }
            return self.report_start();
        }
        let implied = !self.options.implicit_exception
            || self.config.handler(privilege_of(cur.privilege), trap.interrupt, trap.cause)
                == Some(cur.address);
        if self.first && !implied {
            // Tracing begins with the handler: there is no trace to end before it.
            return self.report_start();
        }
        if v2 && (!implied || (previous.trap_chained && self.config.encoder.exact)) {
            self.report_trap_only(trap, previous.privilege);
            self.send_end(true);
            if !self.lost {
                self.report_start();
            }
            return;
        }
        if !implied {
            // The draft has no packet for it; only the handler's address is reported.
            self.send_end(true);
            return self.report_start();
        }
        let packet = self.trap_packet(&cur, trap, true, cur.address);
        self.tally.held = None;
        self.synchronise(&packet);
        let is_stated = !v2 && trap.cause == 2 && !trap.interrupt && trap.epc.is_some();
        let hit = if is_stated { Some((trap.epc, trap.attempted)) } else { previous.hit };
        self.count_trap(&trap, hit, Some(cur.address));
    }

    pub(super) fn trap_packet(&self, at: &Row, trap: PortTrap, thaddr: bool, address: u64) -> Packet {
        let is_illegal = trap.cause == 2 && !trap.interrupt;
        let epc_instead = self.config.dialect.has_tvalepc() && is_illegal;
        Packet::Trap(Trap {
            branch: !(thaddr && at.itype == Itype::TAKEN_BRANCH),
            privilege: at.privilege,
            time: at.time,
            context: at.context,
            ecause: trackway_core::mask(trap.cause, self.config.params.ecause_width),
            interrupt: trap.interrupt,
            thaddr,
            address: self.address_field(address),
            tval: trackway_core::mask(
                if epc_instead { trap.epc.unwrap_or(0) } else { trap.tval },
                self.config.params.iaddress_width,
            ),
        })
    }

    /// Sends a trap packet without a handler (version 2).
    pub(super) fn report_trap_only(&mut self, trap: PortTrap, privilege: u32) {
        self.enable();
        let at = Row { privilege, ..self.row };
        let packet = self.trap_packet(&at, trap, false, trap.epc.unwrap_or(0));
        self.send(&packet);
        self.count_trap(&trap, Some((trap.epc, trap.attempted)), None);
        if !self.lost {
            self.count_context(privilege, at.context, 2, true);
        }
        self.data.clear_history();
        self.predictor.reset();
        self.cache.reset();
        self.stack.reset();
        self.ended_by_updiscon = false;
    }

    /// The pass of a trap with which nothing retires. It stops after the trap decisions of figure 8.1: falling
    /// through would send a second flow packet when one trap follows another.
    pub(super) fn trap_pass(&mut self) {
        let ready = self.recover();
        self.send_data(self.row.data_end);
        if !ready || self.lost {
            return;
        }
        if self.row.untraced {
            self.can_join = false;
            self.previous =
                Previous { trap: Some(self.trap), privilege: self.row.privilege, ..Previous::default() };
            return;
        }
        let v2 = self.config.dialect.has_thaddr();
        let previous = self.previous;
        let mut now = Previous {
            trap: Some(self.trap),
            hit: self.inferred_hit(&previous),
            privilege: self.row.privilege,
            ..Previous::default()
        };
        if let Some(before) = previous.trap {
            now.trap_chained = true;
            // The draft has no packet for it.
            if !previous.trap_reported && v2 {
                self.report_trap_only(before, previous.privilege);
            }
        } else if v2 && (self.first || previous.updiscon()) && self.trap.epc.is_some() {
            self.report_trap_only(self.trap, self.row.privilege);
            now.trap_reported = true;
            now.departure = previous.departure;
        }
        // The draft reports a trap with its handler only.
        self.first &= !v2;
        self.can_join = false;
        self.previous = now;
        self.stretch.runs.clear();
        self.stretch.transfer = None;
    }
}
