//! One pass per row: the decisions of figure 8.1, of which the first that applies wins.

use super::Encoder;
use super::row::{Ahead, Changes, Departure, Previous, ReportReason, Row, RowKind};
use crate::config::ResyncMode;
use crate::port::Itype;

impl Encoder {
    /// The pass of the current row.
    #[inline(always)]
    pub(super) fn pass(&mut self, next: Ahead) {
        if self.lost {
            // The data of a row whose first instructions are lost cannot be assigned.
            let is_mixed = self.data.on && self.row.from != self.row.address;
            if is_mixed || !self.recover() {
                return self.send_data(self.row.data_end);
            }
        }
        let Row { from, address, itype, notify, changes, .. } = self.row;
        if from != address && !self.row.is_plain() {
            // The plain instructions that it was joined to come before it.
            self.previous.departure = Departure::Plain;
        }
        if !self.stretch.runs.is_empty() {
            self.avoid_overlap(from, address);
        }
        // Most rows add at most a branch.
        let is_quiet = self.can_join
            && next.is(RowKind::Retire)
            && next.changes.0 | changes.0 == 0
            && !(notify | self.ambiguous | self.context_pending | self.data.on);
        if itype.is_branch() {
            let failed = self.add_branch(address, itype == Itype::TAKEN_BRANCH);
            let full = self.predicted >= 31 && self.count_is_full();
            if is_quiet && !full && !self.is_due(next, Departure::Branch) {
                self.report_branches(failed);
                self.count(false);
                self.previous.departure = Departure::Branch;
                self.stretch.begin(next.start());
            } else {
                self.decide(next, failed, full);
            }
            return;
        }
        if is_quiet {
            let departure = self.departure(next, false);
            let is_silent = match departure {
                Departure::Plain | Departure::Inferred => true,
                Departure::Updiscon => !self.keeps_apart(),
                _ => false,
            };
            if is_silent && !self.is_due(next, departure) {
                self.count(false);
                self.follow(next, departure, false);
                self.can_join = departure != Departure::Updiscon;
                return;
            }
        }
        self.decide(next, false, false);
    }

    /// The decisions on a row whose branch is in the map already.
    fn decide(&mut self, next: Ahead, failed: bool, full: bool) {
        let Row { address, itype, notify, changes, cut, .. } = self.row;
        let exact = self.config.encoder.exact;
        self.context_pending |= changes.any(Changes::IMPRECISE);

        // A decoder that starts here does not know the instruction before, which a sequential jump needs.
        let fresh =
            self.first || self.restart || self.previous.trap.is_some() || changes.any(Changes::DISCONTINUOUS);
        // 2 and 3 of the figure: reasons for a synchronisation packet.
        let is_changed = changes.0 & !Changes::IMPRECISE.0 != 0;
        let mut reported = false;
        if self.previous.trap.is_some() {
            self.report_handler();
            reported = true;
        } else if self.first || self.restart || self.sync_next || is_changed {
            self.report_start();
            reported = true;
        }
        if reported && notify {
            self.tally.miss_notify();
        }
        let notify = self.reserve_data() || notify;
        self.send_data(self.row.data_end);
        if self.lost {
            return;
        }
        let synced = reported;

        let departure = self.departure(next, fresh);
        let due = !synced && self.is_due(next, departure);
        let restart = exact && self.must_restart(itype, next, departure);
        let next_changes = next.changes.any(Changes::REPORTED);
        let format_3 = !restart && (next.is(RowKind::Trap) || next_changes || due);
        // At the end of tracing the codes of the support packet express the same.
        let after_updiscon = self.previous.updiscon();
        let ambiguous_next = exact
            && self.keeps_apart()
            && matches!(departure, Departure::Updiscon | Departure::Mispredicted)
            && next.is(RowKind::Retire)
            && self.stretch.has_passed(next.start(), address);
        if !reported {
            let pending = self.branches > 0;
            let gate = self.config.dialect.privilege_gates_sync() && next.changes.any(Changes::PRIVILEGE);
            let wants = after_updiscon
                || notify
                || (due && (pending || departure == Departure::Updiscon))
                || next.is(RowKind::Trap)
                || next.is(RowKind::Off)
                || restart
                || next.changes.any(Changes::DISCONTINUOUS)
                || (next_changes && pending)
                || (exact && self.ambiguous && (due || next_changes))
                || ambiguous_next
                || (exact && next_changes && departure == Departure::Updiscon && !gate)
                || (exact && departure == Departure::Mispredicted);
            if wants || full {
                // Chapter 11 stops after a jump of these classes only if `notify` asks for it.
                let odd =
                    matches!(self.previous.departure, Departure::InferredPair | Departure::InferredReturn);
                let asked = notify
                    || full
                    || (exact && odd)
                    || (ambiguous_next && !format_3 && !restart)
                    || (exact
                        && departure == Departure::Mispredicted
                        && !format_3
                        && !restart
                        && !next.is(RowKind::Off));
                let why = if asked { ReportReason::Notify } else { ReportReason::Flow };
                self.report(address, why, format_3, failed);
                reported = true;
            }
        }
        if self.lost {
            return;
        }
        // Only where a block begins or ends, so that blocks and single instructions yield the same packets.
        let is_edge = changes.any(Changes::IMPRECISE) || itype.0 != 0;
        if !reported && !self.report_branches(failed) && self.context_pending && is_edge {
            self.send_context();
        }
        // A synchronisation cannot be followed by a report of the same instruction, but by another one.
        self.sync_next = (due || (cut && synced)) && next.is(RowKind::Retire);
        self.restart = restart && next.is(RowKind::Retire);
        self.count(synced);
        self.follow(next, departure, reported);
        self.can_join = !(self.sync_next || self.restart || self.previous.updiscon());
    }

    /// Must a report alone fit one place? Chapter 11 applies a depth in the packet after an ambiguous report to
    /// the first place, and a packet that would settle it may be lost.
    #[inline]
    fn keeps_apart(&self) -> bool {
        self.options.implicit_return || self.config.encoder.buffer > 0
    }

    /// Adds an outcome to the map; true if it was mispredicted.
    #[inline]
    fn add_branch(&mut self, address: u64, taken: bool) -> bool {
        let mut failed = false;
        if self.options.branch_prediction {
            failed = self.predictor.predict(address) != taken;
            self.predictor.train(address, taken);
            self.predicted += u64::from(!failed);
        }
        if self.branches < 31 {
            self.map |= u32::from(!taken) << self.branches;
        }
        self.branches += 1;
        self.branched = true;
        failed
    }

    pub(super) fn count_is_full(&self) -> bool {
        self.predicted - 31 >= u64::from(self.config.encoder.branch_count_max)
    }

    pub(super) fn clear_branches(&mut self) {
        self.map = 0;
        self.branches = 0;
        self.predicted = 0;
    }

    /// How control leaves the row, as the decoder will see it, after any synchronisation at this instruction.
    #[inline]
    fn departure(&self, next: Ahead, fresh: bool) -> Departure {
        let itype = self.row.itype;
        if itype.0 == 0 {
            let straight = !next.is(RowKind::Retire) || next.start() == self.row.next();
            return if straight || self.row.size == 0 { Departure::Plain } else { Departure::Inferred };
        }
        if itype.is_branch() {
            return Departure::Branch;
        }
        if !itype.is_uninferable() {
            return Departure::Inferred;
        }
        if self.row.sijump && self.options.sijump && !fresh {
            return Departure::InferredPair;
        }
        if itype == Itype::RETURN && self.options.implicit_return && self.stack.depth() > 0 {
            let checked = self.config.encoder.exact || self.config.params.return_stack_size > 0;
            return match next.from() {
                Some(to) if checked && self.stack.top() != Some(to) => Departure::Mispredicted,
                _ => Departure::InferredReturn,
            };
        }
        Departure::Updiscon
    }

    /// Is a resynchronisation due after this instruction (8.2)? It is sent where a block of the port ends, so that
    /// blocks and single instructions yield the same packets, and never at the target of a mispredicted return,
    /// which 3/0 cannot express.
    #[inline]
    fn is_due(&self, next: Ahead, departure: Departure) -> bool {
        self.row.itype.0 != 0
            && departure != Departure::Mispredicted
            && next.is(RowKind::Retire)
            && !next.changes.any(Changes::DISCONTINUOUS)
            && self.progress(self.halfwords + u64::from(self.row.halfwords)) >= self.due
    }

    /// The count that resynchronisation compares with `due`.
    #[inline]
    pub(super) fn progress(&self, halfwords: u64) -> u64 {
        match self.config.encoder.resync_mode {
            ResyncMode::Packets => self.writer.packets,
            ResyncMode::Cycles => self.row.cycle + self.stalled,
            ResyncMode::Halfwords => halfwords,
            ResyncMode::Off => 0,
        }
    }

    /// Counts the row; if it was synchronised, the next resynchronisation is due an interval later.
    #[inline]
    fn count(&mut self, synced: bool) {
        if synced {
            self.due = self.progress(self.halfwords).saturating_add(self.interval);
        }
        self.halfwords += u64::from(self.row.halfwords);
    }

    /// Is this a change that no packet can express to a running decoder? Then the trace ends and starts again.
    fn must_restart(&self, itype: Itype, next: Ahead, departure: Departure) -> bool {
        let gate = self.config.dialect.privilege_gates_sync();
        next.changes.any(Changes::DISCONTINUOUS)
            || (next.changes.any(Changes::REPORTED) && departure == Departure::Mispredicted)
            || (gate && next.changes.any(Changes::PRIVILEGE) && itype != Itype::TRAP_RETURN)
    }

    /// Updates call stack, stretch and `previous` for the next pass.
    #[inline]
    fn follow(&mut self, next: Ahead, departure: Departure, reported: bool) {
        let Row { address, itype, .. } = self.row;
        let depth = self.stack.depth();
        if self.options.implicit_return && itype.0 >= 8 {
            if itype.is_call() {
                self.stack.push(self.row.next());
                self.returned = false;
            } else if departure == Departure::InferredReturn {
                self.stack.pop();
                self.returned = true;
                self.branched = false;
            }
        }
        if self.previous.trap.is_some() {
            self.previous = Previous::default();
        }
        (self.previous.departure, self.previous.depth) = (departure, depth);
        let start = next.start();
        if reported {
            // The decoder is here: the next time it reaches this address is the first one after the report.
            self.stretch.begin(address.wrapping_add(1));
        }
        match departure {
            Departure::Plain => {}
            Departure::Branch => self.stretch.begin(start),
            Departure::Updiscon | Departure::Mispredicted => {
                let passed = self.stretch.has_passed(start, address);
                self.previous.target_passed = passed && self.config.encoder.exact;
                self.stretch.begin(start);
            }
            Departure::Inferred | Departure::InferredPair | Departure::InferredReturn
                if self.config.encoder.exact =>
            {
                self.stretch.transfer(address, self.row.end, start);
            }
            Departure::Inferred | Departure::InferredPair | Departure::InferredReturn => {}
        }
    }
}
