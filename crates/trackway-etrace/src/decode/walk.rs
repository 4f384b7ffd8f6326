//! Following the program: from the last known instruction to the one that a packet names (chapter 11).
//!
//! The walk moves from block to block of the image's table. It stops when a batch is full and continues with the
//! next one: a packet can represent billions of predicted branches.

mod emit;
mod leave;
mod outcomes;
mod pieces;
mod saved;
mod stride;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trackway_core::*;
use trackway_image::{Block, Cursor, Image, Waypoints};
use trackway_isa::Control;

use super::fault::Fault;
use crate::config::Config;
use crate::mirrored::{JumpCache, Predictor, ReturnStack};
use crate::modes::Options;
use crate::port::privilege_of;
pub(crate) use outcomes::Outcomes;
pub(crate) use pieces::Pieces;
pub(crate) use saved::SavedWalk;
pub(crate) use stride::Landing;

/// The end of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Goal {
    /// The address of a format 0, 1 or 2 packet.
    Address { target: u64, notify: bool, updiscon: bool, depth: Option<u32> },
    /// The last branch reported.
    LastBranch,
    /// The address of a 3/0 packet; if `gated`, only as the target of a trap return.
    Sync { target: u64, gated: bool },
    /// The next uninferable jump, which leads to the address reported before.
    Again { target: u64 },
}

impl Goal {
    #[inline]
    fn target(&self) -> Option<u64> {
        match *self {
            Goal::Address { target, .. } | Goal::Sync { target, .. } | Goal::Again { target } => Some(target),
            Goal::LastBranch => None,
        }
    }
}

/// Most blocks in a loop that is recognised as repeating itself.
const LONGEST_LOOP: usize = 1 << 10;

/// An address where no instruction starts.
const NOWHERE: u64 = 1;

/// The walker: the position of execution, and all state that decides where it continues.
#[derive(Debug)]
pub(crate) struct Walker {
    image: Arc<Image>,
    isa: Isa,
    x1_only: bool,
    depth_mask: u32,
    pub(crate) cursor: Cursor,
    pub(crate) options: Options,
    /// The last instruction known to have retired.
    pub(crate) pc: u64,
    /// Start of the run that holds `pc` and was not emitted yet; after `pc` if everything was.
    pub(crate) start: u64,
    /// The instruction before `start`, if the run was cut there and no jump led to it.
    before: Option<u64>,
    /// Class of the instruction that led to `start`.
    via: Control,
    /// Position in the current block: lower addresses have been passed.
    lo: u64,
    blocks: u32,
    /// State after a power of two of `blocks`: where it comes back, the walk is endless.
    mark: (u64, ReturnStack),
    pub(crate) outcomes: Outcomes,
    pub(crate) stack: ReturnStack,
    pub(crate) predictor: Predictor,
    pub(crate) cache: JumpCache,
    /// The address of the last packet was reached, and not as the target of an uninferable jump.
    pub(crate) inferred: bool,
    /// The target of the walk is a branch, whose own outcome is reported too.
    target_branch: bool,
    /// The program contradicts the trace.
    pub(crate) doubtful: bool,
    /// Offset of the packet, for the events.
    pub(crate) offset: u64,
    /// Instructions emitted.
    pub(crate) instructions: u64,
    /// Neither the predictor nor the return stack is in use.
    is_plain: bool,
    /// The block at `start` was emitted before it was left.
    emitted: bool,
    privilege: Option<Privilege>,
    context: Option<u64>,
    pub(crate) pieces: Pieces,
}

/// Result of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// It reached its goal.
    Arrived,
    /// The batch is full; continue with the next one.
    Full,
}

impl Walker {
    pub(crate) fn new(config: &Config, image: &Arc<Image>, isa: Isa) -> Self {
        Walker {
            image: Arc::clone(image),
            isa,
            x1_only: config.calls_x1_only,
            depth_mask: crate::wire::instruction::ones(config.params.irdepth_bits()),
            cursor: image.blocks(&Context::default(), isa, Waypoints::ETRACE).cursor(),
            options: config.options,
            pc: 0,
            start: 0,
            before: None,
            via: Control::Sequential,
            lo: 0,
            blocks: 0,
            mark: (NOWHERE, ReturnStack::new(config)),
            outcomes: Outcomes::default(),
            stack: ReturnStack::new(config),
            predictor: Predictor::new(config),
            cache: JumpCache::new(config),
            inferred: false,
            target_branch: false,
            doubtful: false,
            offset: 0,
            instructions: 0,
            is_plain: false,
            emitted: false,
            privilege: None,
            context: None,
            pieces: Pieces::default(),
        }
    }

    /// Selects the code that this privilege and context see.
    pub(crate) fn select_code(&mut self, privilege: Option<u32>, context: Option<u64>) {
        self.see(privilege.and_then(privilege_of), context);
    }

    fn see(&mut self, privilege: Option<Privilege>, context: Option<u64>) {
        if (privilege, context) != (self.privilege, self.context) {
            (self.privilege, self.context) = (privilege, context);
            let seen = Context { privilege, context_id: context, ..Context::default() };
            let blocks = self.image.blocks(&seen, self.isa, Waypoints::ETRACE);
            if !Arc::ptr_eq(&blocks, self.cursor.blocks()) {
                self.cursor = blocks.cursor();
            }
        }
    }

    /// Sets the position to `pc`. `before` is the instruction that retired just before it.
    pub(crate) fn place(&mut self, pc: u64, before: Option<u64>) {
        self.pc = pc;
        self.start = pc;
        self.before = before;
        self.via = Control::Sequential;
        self.inferred = false;
        self.emitted = false;
        self.predictor.reset();
        self.cache.reset();
        self.stack.reset();
    }

    /// The instruction before the current run, if no jump led there.
    pub(crate) fn before(&self) -> Option<u64> {
        self.before
    }

    pub(crate) fn is_branch(&mut self, pc: u64) -> bool {
        self.cursor.at(pc).is_some_and(|block| block.last == pc && block.control == Control::Branch)
    }

    /// As `is_branch`, in the code that another privilege and context see.
    pub(crate) fn is_branch_seen(&mut self, pc: u64, privilege: Option<u32>, context: Option<u64>) -> bool {
        let privilege = privilege.and_then(privilege_of);
        if (privilege, context) == (self.privilege, self.context) {
            return self.is_branch(pc);
        }
        let seen = Context { privilege, context_id: context, ..Context::default() };
        let mut cursor = self.image.blocks(&seen, self.isa, Waypoints::ETRACE).cursor();
        cursor.at(pc).is_some_and(|block| block.last == pc && block.control == Control::Branch)
    }

    /// Prepares a walk.
    #[inline]
    pub(crate) fn begin_walk(&mut self, target_branch: bool) {
        self.lo = self.pc.wrapping_add(1);
        self.blocks = 0;
        self.target_branch = target_branch;
        self.is_plain = !(self.options.implicit_return | self.options.branch_prediction);
    }

    /// The walk leads to an address, whose own outcome is reported too if it is a branch.
    #[inline]
    pub(crate) fn aim_at(&mut self, target: u64) {
        self.target_branch = self.is_branch(target);
    }

    /// Walks towards the goal until it is reached or the batch is full.
    pub(crate) fn walk(&mut self, goal: Goal, out: &mut Batch) -> Result<Progress, Fault> {
        if self.can_stride() {
            if self.stride(&goal, out) {
                return Ok(Progress::Arrived);
            }
            if out.is_full() {
                return Ok(Progress::Full);
            }
        }
        loop {
            let Some(block) = self.cursor.at(self.start) else {
                return Err(Fault::NoCode { pc: self.start });
            };
            if self.outcomes.predicted == self.outcomes.doubted && self.outcomes.doubted > 0 {
                self.shorten(&goal, out)?;
                continue;
            }
            let left = self.outcomes.left();
            if left < 2 && self.arrives(&goal, &block, left, out) {
                return Ok(Progress::Arrived);
            }
            self.pc = block.last;
            if self.leave(&goal, &block, left, out)? {
                return Ok(Progress::Arrived);
            }
            self.lo = self.start;
            if out.is_full() {
                return Ok(Progress::Full);
            }
        }
    }

    /// Passes the rest of the predicted branches if they are those of a loop that repeats itself: a gap has the number
    /// of instructions. A damaged count could otherwise be four thousand million branches.
    #[cold]
    fn shorten(&mut self, goal: &Goal, out: &mut Batch) -> Result<(), Fault> {
        let (start, predicted, instructions) = (self.start, self.outcomes.predicted, self.instructions);
        let (predictor, stack) = (self.predictor.clone(), self.stack.clone());
        self.outcomes.doubted = 0;
        for _ in 0..LONGEST_LOOP {
            let Some(block) = self.cursor.at(self.start) else {
                return Err(Fault::NoCode { pc: self.start });
            };
            self.pc = block.last;
            self.leave(goal, &block, self.outcomes.left(), out)?;
            self.lo = self.start;
            let branches = predicted - self.outcomes.predicted;
            if branches > 0 && self.start == start && self.predictor == predictor && self.stack == stack {
                // One round and the way out are still to be shown.
                let rounds = self.outcomes.predicted.saturating_sub(1) / branches;
                self.outcomes.predicted -= rounds * branches;
                let instructions = Some(rounds * (self.instructions - instructions));
                let gap =
                    Gap { from: Some(self.pc), to: Some(start), instructions, ..Gap::new(GapReason::NoPath) };
                out.push_gap(self.offset, gap);
                return Ok(());
            }
            if self.outcomes.predicted == 0 {
                return Ok(());
            }
        }
        Err(Fault::TooMany { pc: self.pc })
    }

    /// Moves to the goal if it is in this block, ahead of the walk.
    #[inline]
    fn arrives(&mut self, goal: &Goal, block: &Block, left: u64, out: &mut Batch) -> bool {
        let (target, notify, gated) = match *goal {
            Goal::LastBranch => {
                if left == 1 && block.control == Control::Branch && block.last >= self.lo {
                    self.pc = block.last;
                    self.settle();
                    return true;
                }
                return false;
            }
            Goal::Again { .. } => return false,
            Goal::Address { target, notify, updiscon, depth } => {
                if !notify && (updiscon || depth.is_some_and(|depth| !self.is_depth(depth))) {
                    return false;
                }
                (target, notify, false)
            }
            Goal::Sync { target, gated } => (target, false, gated),
        };
        if target < self.lo || target > block.last {
            return false;
        }
        let at_branch = target == block.last && block.control == Control::Branch;
        if left != u64::from(at_branch) {
            return false;
        }
        if target != self.start && self.cursor.position(self.start, target).is_none() {
            return false;
        }
        let via = if target == self.start { self.via } else { Control::Sequential };
        if gated && via != Control::TrapReturn {
            return false;
        }
        self.pc = target;
        self.settle();
        if notify {
            self.emit_watchpoint(out);
        }
        // The last branch reported can only be this one.
        self.inferred = matches!(goal, Goal::Address { .. }) && !notify && !at_branch;
        true
    }

    /// Turns the prediction for the branch at `pc` into an outcome: the table may be cleared before it is used.
    fn settle(&mut self) {
        if self.outcomes.count == 0 && self.outcomes.left() == 1 {
            let taken = self.predictor.predict(self.pc) != self.outcomes.missed;
            let trained = Outcomes { bits: u64::from(!taken), count: 1, ..Outcomes::default() };
            self.outcomes = trained;
        }
    }

    /// Takes the next outcome and trains the predictor.
    #[inline]
    fn outcome(&mut self, pc: u64) -> Option<bool> {
        let outcomes = &mut self.outcomes;
        let taken = if outcomes.count > 0 {
            let taken = outcomes.bits & 1 == 0;
            outcomes.bits >>= 1;
            outcomes.count -= 1;
            if std::mem::take(&mut outcomes.untrained) {
                return Some(taken);
            }
            taken
        } else if outcomes.predicted > 0 {
            outcomes.predicted -= 1;
            self.predictor.predict(pc)
        } else if std::mem::take(&mut outcomes.missed) {
            !self.predictor.predict(pc)
        } else {
            return None;
        };
        if self.options.branch_prediction {
            self.predictor.train(pc, taken);
        }
        Some(taken)
    }

    /// The instruction after `pc`, if it is known without another packet.
    pub(crate) fn successor(&mut self) -> Option<u64> {
        let at = if self.start <= self.pc { self.start } else { self.pc };
        let block = self.cursor.at(at)?;
        if block.last != self.pc {
            let length = self.cursor.blocks().memory().fetch(self.isa, self.pc)?.1;
            return Some(self.pc.wrapping_add(u64::from(length)));
        }
        match block.control {
            Control::Branch => {
                let taken = match self.outcomes.count {
                    0 => return None,
                    _ => self.outcomes.bits & 1 == 0,
                };
                if taken { block.target } else { Some(block.end) }
            }
            Control::Jump | Control::Call | Control::OtherJump => block.target,
            control if control.is_indirect() => self.pair_target(&block).or_else(|| {
                let is_return = self.refined(&block) == Control::Return && self.options.implicit_return;
                if is_return { self.stack.top() } else { None }
            }),
            _ => Some(block.end),
        }
    }

    /// Class of the instruction at `pc`.
    pub(crate) fn control(&mut self) -> Option<Control> {
        let at = if self.start <= self.pc { self.start } else { self.pc };
        let block = self.cursor.at(at)?;
        Some(if block.last == self.pc { block.control } else { Control::Sequential })
    }
}
