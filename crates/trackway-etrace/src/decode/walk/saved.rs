//! The state of a walk, to be continued later.

use serde::{Deserialize, Serialize};
use trackway_core::Privilege;
use trackway_isa::Control;

use super::leave::MAX_BLOCKS;
use super::{NOWHERE, Outcomes, Walker};
use crate::mirrored::SavedPredictor;
use crate::modes::Options;

/// Deeper return stacks are not saved.
const DEEPEST: u32 = 128;

/// All of a [`Walker`] that its settings and the program do not determine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SavedWalk {
    pub(crate) options: Options,
    pc: u64,
    start: u64,
    before: Option<u64>,
    /// A trap return led to `start`.
    after_return: bool,
    lo: u64,
    blocks: u32,
    /// Where there are `blocks`.
    mark: Option<(u64, Vec<u64>)>,
    outcomes: Outcomes,
    stack: Vec<u64>,
    predictor: SavedPredictor,
    cache: Vec<u64>,
    inferred: bool,
    target_branch: bool,
    offset: u64,
    emitted: bool,
    privilege: Option<Privilege>,
    context: Option<u64>,
}

impl Walker {
    /// The state between two batches, unless it is large.
    pub(crate) fn save(&self) -> Option<SavedWalk> {
        let mark = || (self.mark.0, self.mark.1.save());
        let mark = (self.blocks > 0).then(mark).filter(|_| self.mark.1.depth() <= DEEPEST);
        if self.stack.depth() > DEEPEST || self.instructions > 0 || mark.is_none() && self.blocks > 0 {
            return None;
        }
        Some(SavedWalk {
            options: self.options,
            pc: self.pc,
            start: self.start,
            before: self.before,
            after_return: self.via == Control::TrapReturn,
            lo: self.lo,
            blocks: self.blocks,
            mark,
            outcomes: self.outcomes,
            stack: self.stack.save(),
            predictor: self.predictor.save(),
            cache: self.cache.save(),
            inferred: self.inferred,
            target_branch: self.target_branch,
            offset: self.offset,
            emitted: self.emitted,
            privilege: self.privilege,
            context: self.context,
        })
    }

    /// Continues from a state; false if it is not one of these settings. `bound`: see [`Outcomes`].
    pub(crate) fn restore(&mut self, saved: &SavedWalk, bound: u64) -> bool {
        if saved.blocks > MAX_BLOCKS
            || !saved.outcomes.is_possible(bound)
            || !self.predictor.restore(&saved.predictor)
        {
            return false;
        }
        let (place, links) = saved.mark.as_ref().map_or((NOWHERE, &[][..]), |(place, links)| (*place, links));
        self.mark.0 = place;
        self.mark.1.restore(links);
        self.stack.restore(&saved.stack);
        self.cache.restore(&saved.cache);
        self.options = saved.options;
        (self.pc, self.start, self.before, self.lo) = (saved.pc, saved.start, saved.before, saved.lo);
        self.via = if saved.after_return { Control::TrapReturn } else { Control::Sequential };
        (self.blocks, self.outcomes, self.offset) = (saved.blocks, saved.outcomes, saved.offset);
        (self.inferred, self.emitted) = (saved.inferred, saved.emitted);
        (self.target_branch, self.is_plain) =
            (saved.target_branch, !(saved.options.implicit_return | saved.options.branch_prediction));
        self.see(saved.privilege, saved.context);
        true
    }
}
