//! Sending: support and context packets, start and end of the trace, and a buffer that may be full.

use super::Encoder;
use super::row::{Previous, Row};
use super::stretch::Stretch;
use crate::wire::instruction::{Context, Packet, Support, qual_status};

impl Encoder {
    /// True unless trace is being lost. Once the buffer has room again, reports the loss and starts over.
    pub(super) fn recover(&mut self) -> bool {
        if !self.lost {
            return true;
        }
        if !self.buffer.has_room(self.row.cycle + self.stalled, 48) {
            return false;
        }
        self.lost = false;
        self.data.clear_history();
        self.send_support(true, qual_status::TRACE_LOST);
        self.begin();
        true
    }

    /// Resets the state: the next instruction is the first.
    pub(super) fn begin(&mut self) {
        self.first = true;
        self.can_join = false;
        self.tally.stop();
        self.previous = Previous::default();
        self.sync_next = false;
        self.restart = false;
        self.stretch = Stretch::default();
        self.clear_branches();
    }

    /// Sends the support packet before the first packet of a trace, or after a change of modes.
    pub(super) fn enable(&mut self) {
        if !self.enabled {
            self.enabled = true;
            self.writer.set_options(self.options);
            self.send_support(!self.qualifier.disabled, qual_status::NO_CHANGE);
        }
    }

    /// The pass at the end of tracing.
    pub(super) fn off_pass(&mut self) {
        let ready = self.recover();
        self.send_data(self.row.data_end);
        if !ready || self.lost {
            return;
        }
        // The draft has no packet for it.
        let unreported = self.previous.trap.filter(|_| !self.previous.trap_reported);
        if let Some(trap) = unreported.filter(|_| self.config.dialect.has_thaddr()) {
            self.report_trap_only(trap, self.previous.privilege);
        }
        if self.enabled && !self.first {
            self.send_end(false);
        }
        self.begin();
    }

    pub(super) fn send_end(&mut self, enable: bool) {
        let code = if self.ended_by_updiscon { qual_status::ENDED_UPD } else { qual_status::ENDED_REP };
        self.send_support(enable, code);
        self.ended_by_updiscon = false;
    }

    pub(super) fn send_support(&mut self, enable: bool, qual_status: u32) {
        let (ioptions, doptions) = self.config.support.bits(self.options);
        let denable = self.data.on;
        let dloss = denable && std::mem::take(&mut self.data.lost);
        let packet =
            Support { enable, qual_status, ioptions, doptions, denable, dloss, ..Support::default() };
        self.send(&Packet::Support(packet));
        self.count_support(enable, qual_status, dloss);
    }

    pub(super) fn send_context(&mut self) {
        let Row { privilege, time, context, .. } = self.row;
        let packet = Context { privilege, time, context };
        self.context_pending = false;
        self.send(&Packet::Context(packet));
        if !self.lost {
            self.count_context(privilege, context, 1, false);
            self.count_time();
        }
    }

    /// Sends a packet, or loses it if the buffer is full.
    pub(super) fn send(&mut self, packet: &Packet) {
        self.send_here(packet);
    }

    /// As [`send`](Encoder::send), inlined where the kind of packet is known.
    #[inline(always)]
    pub(super) fn send_here(&mut self, packet: &Packet) {
        if self.lost || self.error.is_err() {
            return;
        }
        let encoder = &self.config.encoder;
        if encoder.buffer > 0 {
            let bytes = packet.write(self.writer.layout(), encoder.compress).bytes().len() as u64 + 1;
            if !self.admit(bytes) {
                return;
            }
        }
        let time = self.config.encoder.stamps.then_some(self.row.time);
        if let Err(error) = self.writer.write(packet, time) {
            self.error = Err(error);
        }
        if time.is_some() {
            self.count_frame_stamp();
        }
    }

    /// The frame of a packet may have the time of the current row.
    fn count_frame_stamp(&mut self) {
        let bits = self.config.framing.stamp_bits();
        if bits > 0 {
            self.count_stamp(bits);
            // The encapsulation has a clock of its own.
            self.tally.kept[trackway_core::Fact::Clocks] += 1;
        }
    }

    /// Takes a packet of `bytes` bytes into the buffer. If it is full, the core waits or trace is lost.
    pub(super) fn admit(&mut self, bytes: u64) -> bool {
        let has_room = self.make_room(bytes);
        if has_room {
            self.buffer.put(bytes);
        }
        has_room
    }

    /// Waits for room in the buffer, or loses trace.
    pub(super) fn make_room(&mut self, bytes: u64) -> bool {
        let cycle = self.row.cycle + self.stalled;
        if !self.buffer.has_room(cycle, bytes) {
            if !self.config.encoder.stall {
                self.lost = true;
                self.begin();
                return false;
            }
            let wait = self.buffer.wait(bytes);
            self.stalled += wait;
            self.buffer.has_room(cycle + wait, bytes);
        }
        true
    }
}
