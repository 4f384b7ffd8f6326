//! The way out of a block.

use trackway_core::Batch;
use trackway_image::Block;
use trackway_isa::Control;

use super::{Goal, Walker};
use crate::decode::fault::Fault;
use crate::port::{control_of, sequential_target};

/// Blocks that may be walked without using the outcome of a branch.
pub(super) const MAX_BLOCKS: u32 = 1 << 16;

impl Walker {
    /// Leaves the block by its last instruction; true if that arrives at the goal.
    #[inline(always)]
    pub(super) fn leave(
        &mut self,
        goal: &Goal,
        block: &Block,
        left: u64,
        out: &mut Batch,
    ) -> Result<bool, Fault> {
        match block.control {
            Control::Branch => {
                let Some(taken) = self.outcome(block.last) else {
                    return Err(Fault::NoOutcome { pc: block.last });
                };
                self.blocks = 0;
                self.emit_block(block, Some(taken), out);
                let target = block.target.ok_or(Fault::NoCode { pc: block.last })?;
                self.move_to(if taken { target } else { block.end }, Control::Branch);
                Ok(false)
            }
            Control::Jump | Control::Call | Control::OtherJump => {
                self.emit_block(block, None, out);
                if block.control == Control::Call && self.options.implicit_return && self.is_call(block) {
                    self.stack.push(block.end);
                }
                self.move_to(block.target.ok_or(Fault::NoCode { pc: block.last })?, block.control);
                self.count_block(goal)
            }
            control if control.is_indirect() => self.leave_indirect(goal, block, left, out),
            _ => {
                // A long run, or an instruction that usually traps and did not.
                self.emit_block(block, None, out);
                let before = block.last;
                self.move_to(block.end, Control::Sequential);
                self.before = Some(before);
                self.count_block(goal)
            }
        }
    }

    #[inline]
    fn count_block(&mut self, goal: &Goal) -> Result<bool, Fault> {
        let is_mark = self.blocks > 0
            && self.start == self.mark.0
            && (!self.options.implicit_return || self.stack == self.mark.1);
        self.blocks += 1;
        if self.blocks.is_power_of_two() {
            self.mark.0 = self.start;
            if self.options.implicit_return {
                self.mark.1.clone_from(&self.stack);
            }
        }
        if is_mark || self.blocks > MAX_BLOCKS {
            return Err(Fault::Endless { pc: self.pc, target: goal.target().unwrap_or(0) });
        }
        Ok(false)
    }

    #[inline]
    pub(super) fn move_to(&mut self, to: u64, via: Control) {
        self.start = to;
        self.via = via;
        self.before = None;
    }

    fn leave_indirect(
        &mut self,
        goal: &Goal,
        block: &Block,
        left: u64,
        out: &mut Batch,
    ) -> Result<bool, Fault> {
        let control = self.refined(block);
        let is_call = control == Control::IndirectCall;
        // The order of chapter 11: sequential jumps, then returns, then jumps that need an address.
        if let Some(to) = self.pair_target(block) {
            self.emit_block(block, None, out);
            if is_call && self.options.implicit_return {
                self.stack.push(block.end);
            }
            self.move_to(to, block.control);
            return self.count_block(goal);
        }
        if let Some(to) = self.implicit_return(control, goal, left) {
            self.stack.pop();
            self.emit_block(block, None, out);
            self.move_to(to, block.control);
            return self.count_block(goal);
        }
        let Some(target) = goal.target() else { return Err(Fault::NoTarget { pc: block.last }) };
        // Outcomes of a later packet do not count.
        if left != u64::from(self.target_branch) && !matches!(goal, Goal::Again { .. }) {
            return Err(Fault::BranchesLeft { pc: block.last, left });
        }
        self.emit_block(block, None, out);
        if is_call && self.options.implicit_return {
            self.stack.push(block.end);
        }
        if self.options.jump_target_cache && !matches!(goal, Goal::Sync { .. }) {
            self.cache.insert(target);
        }
        self.move_to(target, block.control);
        self.pc = target;
        if self.target_branch {
            self.settle();
        }
        self.inferred = false;
        if let Goal::Address { notify: true, .. } = goal {
            self.emit_watchpoint(out);
        }
        Ok(true)
    }

    /// Is this the call depth, in the width of the field? A counter that reaches 2^n does not fit.
    pub(super) fn is_depth(&self, depth: u32) -> bool {
        depth == self.stack.depth() & self.depth_mask
    }

    /// The return's target, if the stack determines it. A return at the depth that the packet reports, with no more
    /// branches to come, is the mispredicted one.
    fn implicit_return(&mut self, control: Control, goal: &Goal, left: u64) -> Option<u64> {
        if control != Control::Return || !self.options.implicit_return {
            return None;
        }
        if let Goal::Address { depth: Some(depth), .. } = *goal
            && self.is_depth(depth)
            && left == u64::from(self.target_branch)
        {
            return None;
        }
        self.stack.top()
    }

    /// The class of a block's last instruction, by chapter 11 if the settings ask for it.
    pub(super) fn refined(&self, block: &Block) -> Control {
        if !self.x1_only {
            return block.control;
        }
        match self.fetch(block.last) {
            Some(encoding) => control_of(self.isa, block.last, encoding, true),
            None => block.control,
        }
    }

    fn is_call(&self, block: &Block) -> bool {
        !self.x1_only || self.refined(block) == Control::Call
    }

    fn fetch(&self, pc: u64) -> Option<u32> {
        self.cursor.blocks().memory().fetch(self.isa, pc).map(|(encoding, _)| encoding)
    }

    /// Target of the jump at the block's end, if it is sequentially inferable.
    pub(super) fn pair_target(&mut self, block: &Block) -> Option<u64> {
        if !self.options.sijump || block.control == Control::TrapReturn {
            return None;
        }
        let before = if block.last == self.start { self.before? } else { self.predecessor(block.last)? };
        sequential_target(self.isa, before, self.fetch(before)?, self.fetch(block.last)?)
    }

    /// The instruction before `pc` in the run from `start`.
    pub(crate) fn predecessor(&mut self, pc: u64) -> Option<u64> {
        let position = self.cursor.position(self.start, pc)?.checked_sub(1)?;
        [2, 4].into_iter().map(|size| pc.wrapping_sub(size)).find(|before| {
            *before == self.start && position == 0
                || self.cursor.position(self.start, *before) == Some(position)
        })
    }
}
