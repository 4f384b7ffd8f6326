//! Where execution ends or is lost, and what is emitted there.

use trackway_core::*;

use super::{Decoder, FlowState, Stage};
use crate::decode::fault::Fault;
use crate::decode::markers::{self, emit_marker};
use crate::wire::instruction::{Packet, Support, qual_status};

impl Decoder {
    pub(super) fn support(&mut self, support: &Support, out: &mut Batch) {
        self.flow.stage = Stage::Idle;
        self.walker.options =
            self.config.options_after(support.ioptions, support.doptions, self.walker.options);
        if self.config.data.enable {
            let options = &self.walker.options;
            let bits = u8::from(options.no_address) | u8::from(options.no_data) << 1;
            emit_marker(self.walker.offset, markers::MODES, &[bits], out);
        }
        if support.dloss && self.config.data.enable && support.qual_status != qual_status::TRACE_LOST {
            // Accesses are missing, and no instruction is.
            let on = self.flow.state == FlowState::On;
            if on {
                self.walker.emit_through(Exit::Next, false, out);
            }
            let (from, instructions) = (on.then_some(self.walker.pc), Some(0));
            out.push_gap(self.walker.offset, Gap { from, instructions, ..Gap::new(GapReason::Overflow) });
        }
        if support.qual_status == qual_status::NO_CHANGE {
            return;
        }
        if support.qual_status == qual_status::ENDED_UPD
            && self.walker.inferred
            && self.flow.state == FlowState::On
        {
            self.walker.begin_walk(false);
            self.flow.stage = Stage::Again;
            return;
        }
        self.end(support, out);
    }

    pub(super) fn end(&mut self, support: &Support, out: &mut Batch) {
        self.flow.stage = Stage::Idle;
        let from = (self.flow.state == FlowState::On).then_some(self.walker.pc);
        // An encoder that continues at once starts again at the handler of the last trap.
        let held = if support.enable { self.held.take() } else { None };
        self.finish(out);
        self.held = held;
        if support.qual_status == qual_status::TRACE_LOST {
            self.flow.state = FlowState::Lost;
            self.flow.lost = Some((from, GapReason::Overflow));
        } else {
            out.push(self.walker.offset, EventKind::Mark(Mark::new(MarkKind::TraceOff)));
        }
        self.flow.skipped = 0;
    }

    /// Ends the source, or the part.
    pub(crate) fn finish(&mut self, out: &mut Batch) {
        self.note_missing_code();
        if self.flow.state == FlowState::On {
            self.walker.emit_through(Exit::End, false, out);
        }
        self.emit_held_trap(None, out);
        self.emit_loss(None, out);
        self.flow.state = FlowState::Off;
    }

    /// If the instruction reported last is not in the program, execution is unknown until the next synchronisation.
    pub(super) fn note_missing_code(&mut self) {
        if self.flow.state == FlowState::On && self.walker.lacks_code() {
            self.lose_code(self.walker.start);
        }
    }

    pub(super) fn lose_code(&mut self, pc: u64) {
        self.flow.state = FlowState::Lost;
        self.flow.lost = Some((Some(pc), GapReason::NoCode));
        self.walker.outcomes.clear();
        self.walker.inferred = false;
    }

    /// A packet could not be read: execution is unknown until the next synchronisation.
    pub(crate) fn lose_track(&mut self, out: &mut Batch) {
        self.note_missing_code();
        if matches!(self.flow.state, FlowState::On | FlowState::Off | FlowState::Trapped) {
            let from = (self.flow.state == FlowState::On).then_some(self.walker.pc);
            self.finish(out);
            self.flow.lost = Some((from, GapReason::BadInput));
        }
        self.flow.state = FlowState::Lost;
        self.flow.lost.get_or_insert((None, GapReason::BadInput));
    }

    /// Counts bytes that were skipped to find a frame again, at `offset`.
    pub(crate) fn skip(&mut self, bytes: u64, offset: u64) {
        self.walker.offset = offset;
        self.flow.state = FlowState::Lost;
        self.flow.lost.get_or_insert((None, GapReason::BadInput));
        self.flow.skipped += bytes;
    }

    /// Emits that tracing continues at `to` after it was off or lost.
    pub(super) fn emit_resumption(&mut self, to: u64, out: &mut Batch) {
        self.emit_loss(Some(to), out);
        if self.flow.state == FlowState::Off {
            out.push(self.walker.offset, EventKind::Mark(Mark::new(MarkKind::TraceOn)));
        }
    }

    /// Emits a gap if instructions before `to` are lost.
    pub(super) fn emit_loss(&mut self, to: Option<u64>, out: &mut Batch) {
        if self.flow.state == FlowState::Lost
            || (self.flow.state == FlowState::Fresh && self.flow.skipped > 0)
        {
            self.emit_gap_to(to, out);
        }
    }

    pub(super) fn emit_gap(&mut self, out: &mut Batch) {
        let to = match self.packet {
            Packet::Start(start) => Some(self.address_of(start.address)),
            _ => None,
        };
        self.emit_gap_to(to, out);
    }

    pub(super) fn emit_gap_to(&mut self, to: Option<u64>, out: &mut Batch) {
        let (from, reason) = self.flow.lost.take().unwrap_or((None, GapReason::LostSync));
        let bytes = Some(std::mem::take(&mut self.flow.skipped)).filter(|bytes| *bytes > 0);
        out.push_gap(self.walker.offset, Gap { from, to, bytes, ..Gap::new(reason) });
    }

    pub(super) fn emit_held_trap(&mut self, to: Option<u64>, out: &mut Batch) {
        if let Some((offset, trap)) = self.held.take() {
            out.push_trap(offset, Trap { to: trap.to.or(to), ..trap });
        }
    }

    /// The packet cannot be followed: emits the reason, and waits for the next synchronisation.
    #[cold]
    pub(super) fn fail(&mut self, fault: Fault, out: &mut Batch) -> Result<()> {
        let on = self.flow.state == FlowState::On;
        self.flow.stage = match self.packet {
            Packet::Start(_) => Stage::Lost,
            _ => Stage::Idle,
        };
        if let Fault::NoCode { pc } = fault {
            // The trace may be right: the program is not all that ran.
            self.lose_code(pc);
            return Ok(());
        }
        if on {
            self.walker.doubtful = true;
            self.walker.emit_through(Exit::End, false, out);
            self.walker.doubtful = false;
        }
        self.emit_held_trap(None, out);
        let class = self.walker.control().filter(|_| fault.pc().is_some());
        let mut text =
            format!("{} at {:#x} cannot be followed: {fault}", self.packet.title(), self.walker.offset);
        if let Some(control) = class {
            text += &format!("; the walk reached {:#x}, which is {control:?} in the program", self.walker.pc);
        }
        let span = out.add_bytes(text.as_bytes());
        out.push(self.walker.offset, EventKind::Mark(Mark { text: span, ..Mark::new(MarkKind::Note) }));
        self.flow.lost = Some((on.then_some(self.walker.pc), GapReason::LostSync));
        self.flow.state = FlowState::Lost;
        self.walker.outcomes.clear();
        self.walker.inferred = false;
        Err(fault.kind().at(self.walker.offset, self.packet.title(), fault.field(), self.packet.section()))
    }
}
