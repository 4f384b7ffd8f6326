//! Analyses that follow the flow block by block, in order.

use trackway_core::{Gap, Time, Trap};

use super::block::{Block, BlockId};
use super::spaces::Space;

/// An analysis that needs the order of things: call stacks, predictors, intervals. It sees them on one thread: as they are
/// read, or as parts that a [`FlowLog`](super::FlowLog) kept are merged.
pub trait Follow {
    /// Control passed through a block, to its end.
    fn pass(&mut self, pass: &Pass<'_>);

    /// The first pass of a part begins, or has ended. It may continue one of the part before, so it is not shown.
    fn head(&mut self, source: u16, ended: bool) {
        let _ = (source, ended);
    }

    /// A trap, or a return from one.
    fn trap(&mut self, source: u16, trap: &Trap) {
        let _ = (source, trap);
    }

    /// Something is missing from the trace here.
    fn gap(&mut self, source: u16, gap: &Gap) {
        let _ = (source, gap);
    }

    /// Blocks of a source run in this space from now on.
    fn enter(&mut self, space: &Space) {
        let _ = space;
    }

    /// An instruction of which not even the address is known.
    fn unplaced(&mut self, source: u16) {
        let _ = source;
    }

    /// Timestamp or cycle count.
    fn time(&mut self, source: u16, time: &Time) {
        let _ = (source, time);
    }
}

/// One pass through a block.
#[derive(Clone, Copy, Debug)]
pub struct Pass<'a> {
    /// The source.
    pub source: u16,
    /// Number of the block.
    pub id: BlockId,
    /// The block.
    pub block: &'a Block,
    /// Outcome of the branch at its end.
    pub taken: Option<bool>,
}

/// Nobody follows.
impl Follow for () {
    fn pass(&mut self, _: &Pass<'_>) {}
}
