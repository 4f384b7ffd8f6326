//! Speculation: elements that are traced before they are known to be executed, and their commits and cancels.

use trackway_core::Isa;
use trackway_image::{Block, Cursor};
use trackway_isa::{Control, Switch};

use super::account::Element;
use super::filter::Now;
use super::instruction::{Instruction, entry};
use super::unit::{Need, Past, Unit};
use crate::wire::address::{Entry, SubIsa};

impl Unit {
    /// Keeps the state after a P0 element while it may be cancelled.
    pub(super) fn keep_past(&mut self, indirect: bool, taken: bool) {
        let most = self.config.max_spec as usize;
        if most > 0 {
            self.past.push_back(Past { need: self.need, context: self.traced_context, indirect, taken });
            if self.past.len() > most + 1 {
                self.past.pop_front();
            }
        }
    }

    /// The core executed the last instructions speculatively, and they did not happen: the youngest `count` P0 elements
    /// and everything after them. With `mispredict` the branch before them has the opposite outcome.
    pub fn cancel(&mut self, count: u64, mispredict: bool) {
        if !self.tracing || self.lost {
            return;
        }
        self.settle();
        self.q = None;
        self.drop_block();
        let count = count.min(self.packer.depth);
        self.packer.cancel(count, mispredict);
        self.counts.cancelled += count;
        self.counts.mispredicted += u64::from(mispredict);
        if self.packer.p0s < self.transaction_p0 {
            // Its start did not happen either (table K10-19).
            self.packer.in_transaction = false;
        }
        self.past.truncate(self.past.len().saturating_sub(count as usize));
        (self.need, self.traced_context) = match self.past.back() {
            None => (Need::Yes, None),
            Some(past) if !mispredict => (past.need, past.context),
            Some(past) if past.indirect && !past.taken => (Need::Yes, past.context),
            Some(past) => (Need::No, past.context),
        };
        self.stack.clear();
        self.may_push = false;
        self.checkpoint();
    }

    /// Everything so far happened.
    pub fn commit(&mut self) {
        if self.tracing && !self.lost {
            self.settle();
            self.commit_all();
            self.packer.flush();
            self.checkpoint();
        }
    }

    /// After an executed P0 element: commits, with a cycle count if one is due.
    pub(super) fn resolve(&mut self) {
        let depth = self.packer.depth;
        let every = u64::from(self.model.commit_every);
        let commit = if depth > 0 && every > 0 && self.random.below(every) == 0 {
            // The youngest may still be speculative.
            1 + self.random.below(depth)
        } else {
            0
        };
        // Cycles are counted from commit to commit; without speculation every P0 element is committed at once.
        if commit > 0 || self.config.max_spec == 0 {
            self.settle_cycles(commit);
        }
    }

    fn settle_cycles(&mut self, commit: u64) {
        match self.take_cycles() {
            Some(count) => {
                self.settle();
                // An N atom that was just settled is a P0 element too.
                self.packer.cycles(commit, count, true);
            }
            None => self.packer.commit(commit),
        }
    }

    /// Commits all elements.
    pub(super) fn commit_all(&mut self) {
        let depth = self.packer.depth;
        if depth > 0 {
            self.settle_cycles(depth);
        }
    }

    /// Maximum number of P0 elements on a mispredicted path; with `branch`, the branch before it needs one.
    fn room(&self, branch: bool) -> u64 {
        let most = u64::from(self.config.max_spec);
        let most = if branch && !self.model.late_mispredict { most.saturating_sub(1) } else { most };
        most.min(u64::from(self.model.run_ahead))
    }

    /// The core mispredicts here.
    fn mispredicts(&mut self) -> bool {
        self.config.max_spec > 0 && self.image.is_some() && self.random.chance(self.model.mispredict)
    }

    /// A conditional branch may be mispredicted: its atom is traced with the opposite outcome, then elements of the wrong
    /// path, then all of that is cancelled. Returns the first outcome traced; `None` without a misprediction.
    pub(super) fn mispredict(&mut self, instruction: &Instruction, element: Element) -> Option<bool> {
        let flow = &instruction.flow;
        if !flow.conditional || !flow.control.is_transfer() || !self.mispredicts() {
            return None;
        }
        let first = !instruction.taken;
        self.settle();
        self.packer.content = element;
        self.packer.atom(first);
        self.counts.mispredicted += 1;
        let wrong = match (first, flow.target) {
            (false, _) => Some(entry(instruction.end(), instruction.isa)),
            (true, Some(target)) => {
                let isa = match flow.switch {
                    Switch::To(isa) => isa,
                    _ => instruction.isa,
                };
                Some(entry(target, isa))
            }
            // The target of an indirect branch that was not taken is unknown.
            (true, None) => None,
        };
        let most = self.random.below(self.room(true) + 1);
        let count = wrong.map_or(0, |wrong| self.wrong_path(wrong, most));
        self.packer.cancel(count, true);
        self.counts.cancelled += count;
        Some(first)
    }

    /// The target of an indirect branch may be mispredicted: another one is traced first.
    pub(super) fn mispredict_target(&mut self, right: Entry) {
        if !self.mispredicts() {
            return;
        }
        let n = self.random.below(self.targets.len() as u64) as usize;
        let wrong = self.targets[n];
        // A prediction keeps the instruction set.
        if wrong == Entry::default() || wrong == right || wrong.sub_isa != right.sub_isa {
            return;
        }
        self.packer.target(wrong);
        let most = self.random.below(self.room(false) + 1);
        let count = self.wrong_path(wrong, most);
        self.packer.cancel(count, false);
        self.counts.cancelled += count;
    }

    /// Table K10-8: the core ran ahead of the place where an exception is taken.
    pub(super) fn run_ahead(&mut self, start: Entry) {
        if !self.mispredicts() {
            return;
        }
        self.settle();
        let most = self.random.below(self.room(false) + 1);
        let count = self.wrong_path(start, most);
        self.packer.cancel(count, false);
        self.counts.cancelled += count;
    }

    /// Table K10-18: unresolved elements of a failing transaction may be cancelled first.
    pub(super) fn cancel_transaction(&mut self) {
        let inside = self.packer.p0s.saturating_sub(self.transaction_p0);
        let most = inside.min(self.packer.depth);
        if most > 0 && self.mispredicts() {
            let count = 1 + self.random.below(most);
            self.packer.cancel(count, false);
            self.counts.cancelled += count;
        }
    }

    /// Traces up to `most` P0 elements of a random path from `at` on, and returns their number.
    fn wrong_path(&mut self, mut at: Entry, most: u64) -> u64 {
        let mut cursor: Option<(SubIsa, Cursor)> = None;
        let mut count = 0;
        while count < most {
            if cursor.as_ref().is_none_or(|(sub_isa, _)| *sub_isa != at.sub_isa) {
                cursor = self.cursor(at.sub_isa).map(|cursor| (at.sub_isa, cursor));
            }
            let Some((_, cursor)) = &mut cursor else { break };
            let Some(block) = cursor.at(at.address) else { break };
            // A transaction does not start speculatively.
            if matches!(block.control, Control::Sequential | Control::TransactionStart) {
                break;
            }
            let taken = !block.conditional || self.random.coin();
            self.packer.atom(taken);
            count += 1;
            match self.beyond(&block, at, taken) {
                Some((next, explicit)) => {
                    at = next;
                    if explicit {
                        self.packer.target(at);
                    }
                }
                None => break,
            }
        }
        count
    }

    /// The address after a block on a mispredicted path, and whether it must be traced.
    fn beyond(&mut self, block: &Block, at: Entry, taken: bool) -> Option<(Entry, bool)> {
        let isa = self.isa(at.sub_isa);
        if taken && block.control.is_indirect() {
            let n = self.random.below(self.targets.len() as u64) as usize;
            let guess = self.targets[n];
            let usable = guess != Entry::default() && guess.sub_isa == at.sub_isa;
            return usable.then_some((guess, true));
        }
        let target = block.target.filter(|_| taken);
        let switched = match block.switch {
            Switch::To(isa) if target.is_some() => isa,
            _ => isa,
        };
        let context = self.context;
        let now = Now { address: block.last, context: &context, inputs: 0 };
        let broadcasts = self.program.broadcast && target.is_some() && self.filter.broadcasts(&now);
        Some((entry(target.unwrap_or(block.end), switched), broadcasts))
    }

    fn isa(&self, sub_isa: SubIsa) -> Isa {
        match (self.context.sixty_four_bit, sub_isa) {
            (true, _) => Isa::A64,
            (false, SubIsa::Is0) => Isa::A32,
            (false, SubIsa::Is1) => Isa::T32,
        }
    }

    fn cursor(&self, sub_isa: SubIsa) -> Option<Cursor> {
        let image = self.image.as_ref()?;
        let blocks = image.blocks(&self.context.to_event(), self.isa(sub_isa), self.program.waypoints);
        Some(blocks.cursor())
    }
}
