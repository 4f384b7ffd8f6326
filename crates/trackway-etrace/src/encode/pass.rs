//! One pass per retired instruction: the decisions of figure 8.1, first "yes" wins.

use super::Encoder;
use super::row::{Inst, Leave, Past, What, Why};
use crate::config::ResyncMode;
use crate::port::Itype;

impl Encoder {
    pub(super) fn pass(&mut self) {
        let cur = self.cur;
        if !self.recover() {
            return self.send_data(cur.data_end);
        }
        let exact = self.config.encoder.exact;
        if exact && !self.stretch.runs.is_empty() {
            self.avoid_overlap(cur.from, cur.address);
        }
        let mut failed = false;
        let is_branch = cur.itype.is_branch();
        if is_branch {
            failed = self.add_branch(&cur);
        }
        if cur.imprecise {
            self.context_pending = true;
        }

        // A decoder that starts here does not know the instruction before, which a pair needs.
        let fresh = self.first || self.restart || self.past.trap.is_some() || cur.discontinuous;
        // 2 and 3 of the figure: what needs a synchronisation packet.
        let mut reported = false;
        if self.past.trap.is_some() {
            self.report_handler(&cur);
            reported = true;
        } else if self.first || self.restart || self.sync_next || cur.changes() || cur.discontinuous {
            self.report_start(&cur);
            reported = true;
        }
        if self.lost {
            return self.send_data(cur.data_end);
        }
        let synced = reported;
        self.send_data(cur.data_end);
        if self.lost {
            return;
        }

        let leave = self.leave(&cur, fresh);
        let next = self.next;
        let due = !synced && self.is_due(&cur, leave);
        let restart = exact && self.must_restart(&cur, &next, leave);
        let format_3 =
            !restart && (next.what == What::Trap || (next.what == What::Retire && next.changes()) || due);
        // For an Off the codes of the support packet tell the same.
        let after_updiscon = self.past.updiscon();
        // Chapter 11 takes a depth in the packet after a twofold report for that of the first place.
        let twofold_next = exact
            && self.options.implicit_return
            && matches!(leave, Leave::Updiscon | Leave::Mispredicted)
            && next.what == What::Retire
            && self.stretch.has_passed(next.from, cur.address);
        if !reported {
            let pending = self.branches > 0;
            let gate = self.config.dialect.privilege_gates_sync() && next.privilege_changed;
            let wants = after_updiscon
                || cur.notify
                || (due && (pending || leave == Leave::Updiscon))
                || matches!(next.what, What::Trap | What::Off)
                || restart
                || (next.what == What::Retire && next.discontinuous)
                || (next.changes() && pending)
                || (exact && self.twofold && (due || next.changes()))
                || twofold_next
                || (exact && next.changes() && leave == Leave::Updiscon && !gate)
                || (exact && leave == Leave::Mispredicted);
            let full = is_branch && self.predicted >= 31 && self.count_is_full();
            if wants || full {
                // Chapter 11 stops behind a jump of these classes only if asked to.
                let odd = matches!(self.past.leave, Leave::InferredPair | Leave::InferredReturn);
                let asked = cur.notify
                    || full
                    || (exact && odd)
                    || (twofold_next && !format_3 && !restart)
                    || (exact
                        && leave == Leave::Mispredicted
                        && !format_3
                        && !restart
                        && next.what != What::Off);
                let why = if asked { Why::Notify } else { Why::Flow };
                self.report(cur.address, why, format_3, is_branch && failed);
                reported = true;
            }
        }
        if self.lost {
            return;
        }
        // Where a block of the port begins or ends, so that blocks and single instructions agree.
        let is_edge = cur.imprecise || cur.itype.0 != 0;
        if !reported && !self.report_branches(failed) && self.context_pending && is_edge {
            self.send_context(&cur);
        }
        // A report right at a synchronisation cannot be made; another synchronisation can.
        self.sync_next = (due || (cur.cut && synced)) && next.what == What::Retire;
        self.restart = restart && next.what == What::Retire;
        self.count_resync(&cur, synced);
        self.follow(&cur, leave, reported);
        self.calm = !(self.sync_next || self.restart || self.past.updiscon());
    }

    /// Adds an outcome to the map; was the prediction wrong?
    #[inline]
    pub(super) fn add_branch(&mut self, cur: &Inst) -> bool {
        let taken = cur.itype == Itype::TAKEN_BRANCH;
        let mut failed = false;
        if self.options.branch_prediction {
            failed = self.predictor.predict(cur.address) != taken;
            self.predictor.train(cur.address, taken);
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

    /// How control leaves, as the decoder will see it; after any synchronisation at this instruction.
    #[inline]
    pub(super) fn leave(&self, cur: &Inst, fresh: bool) -> Leave {
        let itype = cur.itype;
        if itype.0 == 0 {
            let next = &self.next;
            let straight =
                next.what != What::Retire || next.from == cur.address.wrapping_add(u64::from(cur.size));
            return if straight || cur.size == 0 { Leave::Plain } else { Leave::Inferred };
        }
        if itype.is_branch() {
            return Leave::Branch;
        }
        if !itype.is_uninferable() {
            return Leave::Inferred;
        }
        if cur.sijump && self.options.sijump && !fresh {
            return Leave::InferredPair;
        }
        if itype == Itype::RETURN && self.options.implicit_return && self.stack.depth() > 0 {
            let checked = self.config.encoder.exact || self.config.params.return_stack_size > 0;
            let to = match self.next.what {
                What::Retire => Some(self.next.from),
                What::Trap => self.next_trap.epc,
                _ => None,
            };
            return match to {
                Some(to) if checked && self.stack.top() != Some(to) => Leave::Mispredicted,
                _ => Leave::InferredReturn,
            };
        }
        Leave::Updiscon
    }

    /// Is a resynchronisation due behind this instruction (8.2)? It is sent where a block of the port ends,
    /// so that blocks and single instructions agree, and never at the target of a mispredicted return,
    /// which 3/0 cannot tell.
    #[inline]
    pub(super) fn is_due(&self, cur: &Inst, leave: Leave) -> bool {
        let Some(interval) = self.config.encoder.interval() else { return false };
        if cur.itype.0 == 0
            || leave == Leave::Mispredicted
            || self.next.what != What::Retire
            || self.next.discontinuous
        {
            return false;
        }
        let count = match self.config.encoder.resync_mode {
            ResyncMode::Off => return false,
            ResyncMode::Packets => self.writer.packets.saturating_sub(self.resync),
            ResyncMode::Cycles => (cur.cycle + self.stalled).saturating_sub(self.resync),
            ResyncMode::Halfwords => self.resync + u64::from(cur.halfwords),
        };
        count >= interval
    }

    #[inline]
    pub(super) fn count_resync(&mut self, cur: &Inst, synced: bool) {
        match self.config.encoder.resync_mode {
            ResyncMode::Halfwords => {
                self.resync = if synced { 0 } else { self.resync } + u64::from(cur.halfwords);
            }
            ResyncMode::Packets if synced => self.resync = self.writer.packets,
            ResyncMode::Cycles if synced => self.resync = cur.cycle + self.stalled,
            _ => {}
        }
    }

    /// Things that no packet can say to a decoder that goes on: tracing ends and starts again instead.
    pub(super) fn must_restart(&self, cur: &Inst, next: &Inst, leave: Leave) -> bool {
        if next.what != What::Retire {
            return false;
        }
        let gate = self.config.dialect.privilege_gates_sync();
        next.discontinuous
            || (next.changes() && leave == Leave::Mispredicted)
            || (gate && next.privilege_changed && cur.itype != Itype::TRAP_RETURN)
    }

    /// Keeps call stack, stretch and `past` for the next pass.
    #[inline]
    pub(super) fn follow(&mut self, cur: &Inst, leave: Leave, reported: bool) {
        let depth = self.stack.depth();
        if self.options.implicit_return && cur.itype.0 >= 8 {
            if cur.itype.is_call() {
                self.stack.push(cur.address.wrapping_add(u64::from(cur.size)));
                self.returned = false;
            } else if leave == Leave::InferredReturn {
                self.stack.pop();
                self.returned = true;
                self.branched = false;
            }
        }
        self.past = Past { leave, depth, ..Past::default() };
        if !self.config.encoder.exact {
            return;
        }
        let stretch = &mut self.stretch;
        if reported {
            stretch.runs.clear();
            stretch.transfer = None;
            // The decoder stands on it: to come here again is to come here first.
            stretch.start = cur.address.wrapping_add(1);
        }
        match leave {
            Leave::Plain => {}
            Leave::Branch | Leave::Updiscon | Leave::Mispredicted => {
                self.past.target_passed =
                    leave != Leave::Branch && stretch.has_passed(self.next.from, cur.address);
                stretch.runs.clear();
                stretch.transfer = None;
                stretch.start = self.next.from;
            }
            Leave::Inferred | Leave::InferredPair | Leave::InferredReturn => {
                if stretch.start <= cur.address {
                    stretch.runs.push((stretch.start, cur.address));
                }
                stretch.transfer = Some(cur.address);
                stretch.start = self.next.from;
            }
        }
    }
}
