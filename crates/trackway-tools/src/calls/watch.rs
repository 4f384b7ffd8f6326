//! Analyses that follow calls in the order of the trace.

use trackway_core::{Gap, Trap};

use super::functions::Functions;
use super::tree::{NodeId, Tree};
use crate::executed::{Pass, Space};

/// Where control is.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The tree so far.
    pub tree: &'a Tree,
    /// The functions that its nodes name by number.
    pub functions: &'a Functions,
    /// The threads that its nodes name by number.
    pub threads: &'a [Space],
    /// Number of the thread that runs.
    pub thread: u32,
    /// The node that the block belongs to.
    pub node: NodeId,
}

/// An analysis that needs the order of calls: timelines.
pub trait Watch {
    /// Control passed through a block.
    fn pass(&mut self, pass: &Pass<'_>, place: &Place<'_>);

    /// A trap, or a return from one, on the thread of that number.
    fn trap(&mut self, source: u16, thread: u32, trap: &Trap) {
        let _ = (source, thread, trap);
    }

    /// Something is missing from the trace here.
    fn gap(&mut self, source: u16, thread: u32, gap: &Gap) {
        let _ = (source, thread, gap);
    }

    /// An instruction of which not even the address is known, on the thread of that number.
    fn unplaced(&mut self, source: u16, thread: u32) {
        let _ = (source, thread);
    }

    /// Blocks of a source run in this space and on this thread from now on.
    fn enter(&mut self, space: &Space, thread: u32) {
        let _ = (space, thread);
    }
}

/// Without a watcher.
impl Watch for () {
    fn pass(&mut self, _: &Pass<'_>, _: &Place<'_>) {}
}
