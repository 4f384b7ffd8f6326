//! The fast path of a walk.

use trackway_core::*;
use trackway_isa::Control;

use super::pieces::BRANCHES;
use super::{Goal, NOWHERE, Walker};

/// Blocks that the fast path may walk without using the outcome of a branch: it does not see loops.
const MOST_BLOCKS: u32 = 64;

/// Where a stride has led, once it passed a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Landing {
    pc: u64,
    start: u64,
    lo: u64,
    bits: u64,
    count: u32,
    blocks: u32,
    via: Control,
    /// Instructions on the way.
    pub(crate) instructions: u64,
}

impl Walker {
    /// The position after a stride.
    pub(crate) fn landing(&self, instructions: u64) -> Landing {
        let Walker { pc, start, lo, blocks, via, outcomes, .. } = *self;
        Landing { pc, start, lo, bits: outcomes.bits, count: outcomes.count, blocks, via, instructions }
    }

    /// Takes the position after a stride that led to an address or to a branch; its instructions are not counted.
    #[inline]
    pub(crate) fn land(&mut self, landing: &Landing) {
        let Landing { pc, start, lo, bits, count, blocks, via, .. } = *landing;
        self.move_to(start, via);
        (self.pc, self.lo, self.blocks, self.mark.0) = (pc, lo, blocks, NOWHERE);
        (self.outcomes.bits, self.outcomes.count) = (bits, count);
        (self.inferred, self.target_branch) = (false, false);
    }

    /// May [`stride`](Walker::stride) walk? Not with predictor or return stack, nor where a part of the block is emitted.
    #[inline]
    pub(crate) fn can_stride(&self) -> bool {
        self.is_plain && !self.emitted && self.outcomes.predicted == 0 && !self.outcomes.missed
    }

    /// Walks while blocks end in direct transfers, and to the goal if it is a plain address or the last branch; true if
    /// that is reached. Where something else comes, or the batch is full, the rest of the walk is left. A function of its
    /// own keeps its state in registers.
    #[inline(never)]
    pub(crate) fn stride(&mut self, goal: &Goal, out: &mut Batch) -> bool {
        out.events.reserve(Batch::FULL.saturating_sub(out.events.len()));
        let (mut bits, mut count, mut start, mut blocks) =
            (self.outcomes.bits, self.outcomes.count, self.start, self.blocks);
        // Address and control of the last instruction passed.
        let (mut past, mut instructions, mut lo) = (None, 0, self.lo);
        let (isa, offset, doubtful, code) = (self.isa, self.offset, self.doubtful, self.code());
        // Passes a run; where there is no room, the walk ends before it.
        macro_rules! pass {
            ($near:ident, $taken:expr, else $full:expr) => {{
                let run = Run {
                    start: $near.start(),
                    end: $near.end(),
                    count: $near.count(),
                    accesses: None,
                    isa,
                    exit: $near.control().exit(),
                    taken: $taken,
                    attempted: false,
                    doubtful,
                    withdrawn: false,
                };
                let event = Event { offset, kind: EventKind::Run(run) };
                if out.events.len() >= Batch::FULL || !push_within_capacity(&mut out.events, event) {
                    $full
                }
                instructions += u64::from($near.count());
                past = Some(($near.last(), $near.control()));
            }};
        }
        'walk: while count >= 2 {
            let mut way = None;
            if blocks == 0 {
                let mut known = self.pieces.way(start, code, bits, count);
                if let Some((last, next)) = self.pieces.follow(&mut known, &mut out.events, offset) {
                    (bits, count, start, lo) = (known.bits, known.count, next, next);
                    instructions += known.instructions;
                    past = Some((last, Control::Branch));
                    if count < 2 {
                        break;
                    }
                }
                way = Some(known);
            }
            let (first, left) = (out.events.len(), count.saturating_sub(BRANCHES).max(1));
            while count > left {
                let Some(near) = self.cursor.near(start).filter(|_| blocks < MOST_BLOCKS) else {
                    break 'walk;
                };
                let is_branch = near.control() == Control::Branch;
                let taken = bits & 1 == 0;
                pass!(near, if is_branch { Some(taken) } else { None }, else break 'walk);
                bits >>= u32::from(is_branch);
                count -= u32::from(is_branch);
                blocks = if is_branch { 0 } else { blocks + 1 };
                start = if is_branch & !taken { near.end() } else { near.target() };
                lo = start;
                if count == left
                    && let Some(way) = &way
                {
                    let last_length = near.end().wrapping_sub(near.last());
                    self.pieces.keep(way, start, last_length, &out.events[first..]);
                }
            }
        }
        // The end of the walk: `pc` and `inferred`.
        let mut arrived = None;
        let target = match *goal {
            Goal::LastBranch => Some(None),
            Goal::Address { target, notify: false, updiscon: false, depth: None } => Some(Some(target)),
            _ => None,
        };
        if let Some(target) = target.filter(|_| count < 2) {
            while blocks < MOST_BLOCKS
                && let Some(near) = self.cursor.peek(start)
            {
                let (control, last) = (near.control(), near.last());
                let is_branch = control == Control::Branch;
                match target {
                    None if count == 1 && is_branch && last >= lo => {
                        arrived = Some((last, self.inferred));
                        break;
                    }
                    Some(target) if (lo..=last).contains(&target) => {
                        let at_branch = is_branch && target == last;
                        if count == u32::from(at_branch)
                            && (target == start || self.cursor.position(start, target).is_some())
                        {
                            arrived = Some((target, !at_branch));
                            break;
                        }
                    }
                    _ => {}
                }
                match (control, target) {
                    (Control::Branch, _) if count == 1 => {
                        let taken = bits & 1 == 0;
                        pass!(near, Some(taken), else break);
                        (bits, count, blocks) = (bits >> 1, 0, 0);
                        start = if taken { near.target() } else { near.end() };
                    }
                    (Control::Jump | Control::Call | Control::OtherJump, _) => {
                        pass!(near, None, else break);
                        (start, blocks) = (near.target(), blocks + 1);
                    }
                    (control, Some(target)) if control.is_indirect() && self.jumps_are_plain() => {
                        // An outcome is left if the target is a branch, and only then.
                        if count == u32::from(self.is_branch(target)) {
                            pass!(near, None, else break);
                            start = target;
                            arrived = Some((target, false));
                        }
                        break;
                    }
                    _ => break,
                }
                lo = start;
            }
        }
        if let Some((last, control)) = past {
            self.outcomes.untrained &= self.outcomes.count == count;
            (self.outcomes.bits, self.outcomes.count, self.blocks) = (bits, count, blocks);
            self.mark.0 = NOWHERE;
            self.instructions += instructions;
            self.pc = last;
            self.move_to(start, control);
            self.lo = lo;
        }
        if let Some((pc, inferred)) = arrived {
            (self.pc, self.inferred) = (pc, inferred);
        }
        arrived.is_some()
    }

    /// Does an uninferable jump take its target from the packet, and leave nothing but the position?
    #[inline]
    pub(crate) fn jumps_are_plain(&self) -> bool {
        !self.options.sijump && !self.options.jump_target_cache
    }
}
