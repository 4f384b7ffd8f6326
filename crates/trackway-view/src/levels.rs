//! The whole run at every level of detail, from one pass: which function ran in each bucket of instructions.
//!
//! A bucket has the node of the call tree with most of its instructions, and the innermost node that was open for all of
//! it. Buckets of the next level are pairs, so that a window of any width has as many as it has columns.

use serde::{Deserialize, Serialize};
use trackway_core::Gap;
use trackway_tools::calls::{NodeId, NodeKind, Place, Tree, Watch};
use trackway_tools::executed::Pass;

use crate::tables::{Drawn, Name};
use crate::wire::Long;

/// Buckets of the finest level at most.
const FINEST: u64 = 1 << 18;

/// Instructions of a bucket at least.
const NARROWEST: u64 = 16;

/// No node: nothing ran, or several threads.
const NONE: NodeId = NodeId::MAX;

/// A node of the call tree, for drawing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) parent: Option<NodeId>,
    pub(crate) kind: NodeKind,
    pub(crate) depth: u32,
}

/// The nodes of a call tree.
pub(crate) fn frames(tree: &Tree) -> Vec<Frame> {
    let frame = |node: &trackway_tools::calls::Node| Frame {
        parent: node.parent,
        kind: node.kind,
        depth: node.depth,
    };
    tree.nodes().iter().map(frame).collect()
}

/// Who ran in a stretch of instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bucket {
    /// The node with most instructions.
    leaf: NodeId,
    /// How many.
    weight: u64,
    /// The innermost node that was open for all of it.
    common: NodeId,
}

const EMPTY: Bucket = Bucket { leaf: NONE, weight: 0, common: NONE };

/// The levels of one source. Stored ones are to be [restored](Levels::restore).
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Levels {
    /// Instructions of a bucket of the finest level.
    pub(crate) width: u64,
    /// The finest first; the others after the end.
    #[serde(with = "finest")]
    levels: Vec<Vec<Bucket>>,
    /// The open bucket.
    #[serde(skip)]
    tally: Vec<(NodeId, u64)>,
    #[serde(skip)]
    common: Option<NodeId>,
    /// Number of the next instruction.
    now: u64,
}

impl Levels {
    /// For a source with that many instructions.
    pub(crate) fn new(instructions: u64) -> Self {
        let width = instructions.div_ceil(FINEST).next_power_of_two().max(NARROWEST);
        Levels { width, levels: vec![Vec::new()], tally: Vec::new(), common: None, now: 0 }
    }

    /// Instructions so far.
    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    fn add(&mut self, node: NodeId, mut count: u64, tree: &Tree) {
        while count > 0 {
            let room = self.width - self.now % self.width;
            let part = room.min(count);
            match self.tally.iter_mut().find(|(known, _)| *known == node) {
                Some((_, weight)) => *weight += part,
                None => self.tally.push((node, part)),
            }
            self.common = Some(match self.common {
                Some(common) => shared(common, node, |id| {
                    let node = &tree.nodes()[id as usize];
                    (node.parent, node.depth)
                }),
                None => node,
            });
            (self.now, count) = (self.now + part, count - part);
            if part == room {
                self.close();
            }
        }
    }

    fn close(&mut self) {
        let most = self.tally.iter().max_by_key(|(_, weight)| *weight);
        let (leaf, weight) = most.copied().unwrap_or((NONE, 0));
        self.levels[0].push(Bucket { leaf, weight, common: self.common.unwrap_or(NONE) });
        self.tally.clear();
        self.common = None;
    }

    /// Puts back what is not stored; `None` if these are not levels of these nodes.
    pub(crate) fn restore(self, frames: &[Frame]) -> Option<Self> {
        let is_known = |node: NodeId| node == NONE || (node as usize) < frames.len();
        let buckets = &self.levels[0];
        let is_whole = self.width.is_power_of_two()
            && self.now.div_ceil(self.width) == buckets.len() as u64
            && buckets.len() as u64 <= FINEST
            && buckets.iter().all(|bucket| is_known(bucket.leaf) && is_known(bucket.common));
        is_whole.then(|| self.finish(frames))
    }

    /// The end of the trace, or the state so far: the coarser levels.
    pub(crate) fn finish(mut self, frames: &[Frame]) -> Self {
        if !self.tally.is_empty() {
            self.close();
        }
        while let Some(last) = self.levels.last().filter(|last| last.len() > 1) {
            let join = |pair: &[Bucket]| match *pair {
                [one, other] => joined(one, other, frames),
                [one] => one,
                _ => EMPTY,
            };
            let next = last.chunks(2).map(join).collect();
            self.levels.push(next);
        }
        self
    }

    /// The slices of instructions `[from, to)`, with about as many steps as there are columns.
    pub(crate) fn slices(&self, from: u64, to: u64, columns: u64, frames: &[Frame]) -> Vec<Slice> {
        let fits = |level: usize| (to - from) / (self.width << level) <= columns.max(1);
        let level = (0..self.levels.len()).find(|level| fits(*level)).unwrap_or(self.levels.len() - 1);
        let width = self.width << level;
        let buckets = &self.levels[level];
        let mut drawn = Drawing::default();
        let first = (from / width) as usize;
        let last = (to.div_ceil(width) as usize).min(buckets.len());
        for (n, bucket) in buckets.iter().enumerate().take(last).skip(first) {
            let start = n as u64 * width;
            if bucket.leaf == NONE {
                drawn.leave(start);
                continue;
            }
            let solid = if bucket.common == NONE { 0 } else { frames[bucket.common as usize].depth };
            drawn.show(path(bucket.leaf, frames), solid, start, None);
        }
        drawn.leave((last as u64 * width).min(self.now));
        drawn.done
    }
}

/// Stores the finest level: the others follow from it.
mod finest {
    use super::{Bucket, Deserialize, Serialize};
    use serde::{Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(levels: &[Vec<Bucket>], serializer: S) -> Result<S::Ok, S::Error> {
        levels.first().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<Vec<Bucket>>, D::Error> {
        Ok(vec![Option::<Vec<Bucket>>::deserialize(deserializer)?.unwrap_or_default()])
    }
}

/// The nodes from the thread down to this one.
fn path(id: NodeId, frames: &[Frame]) -> Vec<NodeId> {
    let mut path: Vec<NodeId> = std::iter::successors(Some(id), |id| frames[*id as usize].parent).collect();
    path.reverse();
    path
}

/// The innermost node that two have in common; none for two threads.
fn shared(mut one: NodeId, mut other: NodeId, of: impl Fn(NodeId) -> (Option<NodeId>, u32)) -> NodeId {
    if one == NONE || other == NONE {
        return NONE;
    }
    while one != other {
        let (a, b) = (of(one), of(other));
        let up = if a.1 >= b.1 { &mut one } else { &mut other };
        let Some(parent) = (if a.1 >= b.1 { a.0 } else { b.0 }) else { return NONE };
        *up = parent;
    }
    one
}

fn joined(one: Bucket, other: Bucket, frames: &[Frame]) -> Bucket {
    if one.leaf == NONE || other.leaf == NONE {
        return if one.leaf == NONE { other } else { one };
    }
    let of = |id: NodeId| (frames[id as usize].parent, frames[id as usize].depth);
    let common = shared(one.common, other.common, of);
    if one.leaf == other.leaf {
        return Bucket { weight: one.weight + other.weight, common, ..one };
    }
    let most = if one.weight >= other.weight { one } else { other };
    Bucket { common, ..most }
}

/// A function or handler that is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slice {
    pub(crate) node: NodeId,
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// It was open for all of it; else it is the one that was open for most.
    pub(crate) solid: bool,
}

/// Slices that are open, and those that are closed.
#[derive(Debug, Default)]
struct Drawing {
    open: Vec<(Slice, u64)>,
    done: Vec<Slice>,
}

impl Drawing {
    /// These nodes are open from `at` on. `entered` counts the calls of each node, where they are distinguished.
    fn show(&mut self, path: Vec<NodeId>, solid: u32, at: u64, entered: Option<&dyn Fn(NodeId) -> u64>) {
        let calls = |id: NodeId| entered.map_or(0, |entered| entered(id));
        let is_same = |depth: usize, id: NodeId, (slice, entered): &(Slice, u64)| {
            slice.node == id && slice.solid == (depth as u32 <= solid) && *entered == calls(id)
        };
        let same = path
            .iter()
            .enumerate()
            .zip(&self.open)
            .take_while(|((depth, id), open)| is_same(*depth, **id, open));
        let same = same.count();
        self.close_to(same, at);
        for (depth, id) in path.iter().enumerate().skip(same) {
            let slice = Slice { node: *id, start: at, end: at, solid: depth as u32 <= solid };
            self.open.push((slice, calls(*id)));
        }
    }

    fn close_to(&mut self, depth: usize, at: u64) {
        while self.open.len() > depth {
            let Some((slice, _)) = self.open.pop() else { break };
            if at > slice.start {
                self.done.push(Slice { end: at, ..slice });
            }
        }
    }

    fn leave(&mut self, at: u64) {
        self.close_to(0, at);
    }
}

impl Watch for Levels {
    fn pass(&mut self, pass: &Pass<'_>, place: &Place<'_>) {
        self.add(place.node, pass.block.code.count(), place.tree);
    }

    fn unplaced(&mut self, _: u16, _: u32) {
        let room = self.width - self.now % self.width;
        self.now += 1;
        if room == 1 {
            self.close();
        }
    }
}

/// The slices of a window, one for each call.
#[derive(Debug)]
pub(crate) struct Slices {
    drawing: Drawing,
    now: u64,
    last: Option<(NodeId, u64)>,
}

impl Slices {
    /// From this instruction on.
    pub(crate) fn new(from: u64) -> Self {
        Slices { drawing: Drawing::default(), now: from, last: None }
    }

    /// The end of the window.
    pub(crate) fn finish(mut self) -> Vec<Slice> {
        self.drawing.leave(self.now);
        self.drawing.done
    }
}

impl Watch for Slices {
    fn pass(&mut self, pass: &Pass<'_>, place: &Place<'_>) {
        let nodes = place.tree.nodes();
        let now = (place.node, nodes[place.node as usize].calls);
        if self.last.replace(now) != Some(now) {
            let calls = |id: NodeId| nodes[id as usize].calls;
            self.drawing.show(place.tree.path(place.node), u32::MAX, self.now, Some(&calls));
        }
        self.now += pass.block.code.count();
    }

    fn unplaced(&mut self, _: u16, _: u32) {
        self.drawing.leave(self.now);
        self.last = None;
        self.now += 1;
    }

    fn gap(&mut self, _: u16, _: u32, _: &Gap) {
        self.drawing.leave(self.now);
        self.last = None;
    }
}

/// Slices for the page.
pub(crate) fn drawn(
    slices: &[Slice],
    frames: &[Frame],
    names: &mut Names,
    label: &dyn Fn(u32) -> String,
) -> Long<Drawn> {
    let mut list = Vec::with_capacity(slices.len());
    for slice in slices {
        let frame = frames[slice.node as usize];
        let Some(function) = frame.kind.function() else { continue };
        let NodeKind::Thread(thread) = frames[root(slice.node, frames) as usize].kind else { continue };
        let is_handler = matches!(frame.kind, NodeKind::Handler(_));
        list.push(Drawn {
            thread: thread.into(),
            depth: u64::from(frame.depth) - 1,
            start: slice.start,
            end: slice.end,
            name: names.place(function, || label(function)),
            bits: u64::from(slice.solid) | u64::from(is_handler) << 1,
        });
    }
    Long(list)
}

/// The thread of a node.
fn root(mut id: NodeId, frames: &[Frame]) -> NodeId {
    while let Some(parent) = frames[id as usize].parent {
        id = parent;
    }
    id
}

/// Names that an answer has once.
#[derive(Debug, Default)]
pub(crate) struct Names {
    places: std::collections::HashMap<u32, u64>,
    pub(crate) list: Vec<Name>,
}

impl Names {
    fn place(&mut self, key: u32, name: impl FnOnce() -> String) -> u64 {
        *self.places.entry(key).or_insert_with(|| {
            self.list.push(Name { text: name() });
            self.list.len() as u64 - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trackway_core::{Batch, EventKind, Isa, Step};
    use trackway_tools::calls::CallTree;

    const CALLS: u64 = 2000;
    /// jal, 30 instructions and the return of the function, and the jump back.
    const LOOP: u64 = 33;

    /// A loop that calls a function.
    fn trace() -> Batch {
        let mut batch = Batch::default();
        let mut step = |pc, encoding, length| batch.push(0, EventKind::Step(Step::new(pc, encoding, length)));
        for _ in 0..CALLS {
            step(0x1000, 0x0000_10ef, 4); // jal ra, .+0x1000
            (0..30).for_each(|n| step(0x2000 + 2 * n, 0x0001, 2)); // c.nop
            step(0x203c, 0x8082, 2); // ret
            step(0x1004, 0xffdf_f06f, 4); // j .-4
        }
        batch
    }

    fn followed<W: Watch>(mut watch: W) -> (W, Vec<Frame>) {
        let mut tree = CallTree::new(Isa::Rv64, &[]);
        tree.observe_with(&trace(), &mut watch);
        let called = tree.finish_with(&mut watch);
        (watch, frames(&called.tree))
    }

    /// Slices of the functions at a depth.
    fn at(slices: &[Slice], frames: &[Frame], depth: u32) -> Vec<Slice> {
        slices.iter().copied().filter(|slice| frames[slice.node as usize].depth == depth).collect()
    }

    #[test]
    fn a_window_has_every_call() {
        let (slices, frames) = followed(Slices::new(0));
        let slices = slices.finish();
        let outer = at(&slices, &frames, 1);
        assert_eq!((outer.len(), outer[0].start, outer[0].end), (1, 0, CALLS * LOOP));
        let inner = at(&slices, &frames, 2);
        assert_eq!(inner.len() as u64, CALLS);
        for (n, slice) in inner.iter().enumerate() {
            assert_eq!((slice.start, slice.end), (n as u64 * LOOP + 1, n as u64 * LOOP + 32));
        }
    }

    #[test]
    fn levels_cover_the_run_and_say_what_is_not_solid() {
        let total = CALLS * LOOP;
        let (levels, frames) = followed(Levels::new(total));
        let levels = levels.finish(&frames);
        assert_eq!((levels.now(), levels.width), (total, NARROWEST));
        for columns in [1, 7, 500, total] {
            let slices = levels.slices(0, total, columns, &frames);
            let outer = at(&slices, &frames, 1);
            assert_eq!(outer.iter().map(|slice| slice.end - slice.start).sum::<u64>(), total, "{columns}");
            assert!(outer.iter().all(|slice| slice.solid || columns == total), "{columns}");
        }
        // From far away the function ran most of the time, but not all of it.
        let inner = at(&levels.slices(0, total, 1, &frames), &frames, 2);
        assert_eq!((inner.len(), inner[0].solid), (1, false));
        // A part of the run.
        let part = levels.slices(total / 2, total / 2 + 1000, 10, &frames);
        assert!(part.iter().all(|slice| slice.end > total / 2 && slice.start < total / 2 + 1200), "{part:?}");
    }
}
