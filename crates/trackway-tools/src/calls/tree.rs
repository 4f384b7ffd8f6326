//! The tree itself, and what follows from it.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::executed::{BlockId, Executed};
use crate::table::Table;

use super::functions::FunctionId;

/// The number of a node in its tree.
pub type NodeId = u32;

/// How a node was entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum NodeKind {
    /// A thread of a source: the root of its calls. The number is that of its name.
    Thread(u32),
    /// A function, by a call or before the trace began.
    Function(FunctionId),
    /// A function that handles a trap.
    Handler(FunctionId),
}

impl NodeKind {
    /// The function; threads have none.
    pub fn function(self) -> Option<FunctionId> {
        match self {
            NodeKind::Thread(_) => None,
            NodeKind::Function(id) | NodeKind::Handler(id) => Some(id),
        }
    }
}

/// A function as called from where its parent was.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Node {
    /// The caller; `None` for threads.
    pub parent: Option<NodeId>,
    /// Thread, function or handler.
    pub kind: NodeKind,
    /// Calls from there.
    pub calls: u64,
    /// Times that control got here by a guess: after a gap, or by a return that fits no call.
    pub guesses: u64,
    /// Instructions executed in it, without those it called.
    pub instructions: u64,
    /// Its distance from the thread.
    pub depth: u32,
}

/// Deeper calls are counted where this depth is reached.
const DEEPEST: u32 = 4096;

/// Who called whom.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Tree {
    nodes: Vec<Node>,
    #[serde(skip)]
    children: HashMap<(Option<NodeId>, NodeKind), NodeId>,
    /// Passes through blocks, by node in the upper half and block in the lower.
    passes: Table<u64>,
}

/// Instructions of a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// In the function itself.
    pub exclusive: u64,
    /// With those it called; recursion is counted once.
    pub inclusive: u64,
    /// Calls.
    pub calls: u64,
    /// Guesses that concern it.
    pub guesses: u64,
}

impl Tree {
    /// Puts back what is not stored; `None` if it is not a tree of these threads, functions and blocks.
    pub(super) fn restore(&mut self, threads: usize, functions: usize, executed: &Executed) -> Option<()> {
        for (n, node) in self.nodes.iter().enumerate() {
            let parent = match node.parent {
                Some(parent) => Some(self.nodes[..n].get(parent as usize)?),
                None => None,
            };
            let is_known = match node.kind {
                NodeKind::Thread(thread) => parent.is_none() && (thread as usize) < threads,
                NodeKind::Function(id) | NodeKind::Handler(id) => {
                    parent.is_some() && (id as usize) < functions
                }
            };
            if !is_known || node.depth != parent.map_or(0, |parent| parent.depth.saturating_add(1)) {
                return None;
            }
        }
        let children = (0..).zip(&self.nodes).map(|(id, node)| ((node.parent, node.kind), id));
        self.children = children.collect();
        let blocks = executed.blocks().len();
        let mut passes = self.passes();
        let is_whole =
            passes.all(|(node, block, _)| (node as usize) < self.nodes.len() && (block as usize) < blocks);
        is_whole.then_some(())
    }

    /// The nodes; a parent comes before its children.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Passes through blocks in each node.
    pub fn passes(&self) -> impl Iterator<Item = (NodeId, BlockId, u64)> + '_ {
        let entries = self.passes.entries.iter();
        entries.map(|(key, count)| ((key >> 32) as NodeId, *key as BlockId, *count))
    }

    /// The child of a node, made if need be.
    pub(crate) fn child(&mut self, parent: Option<NodeId>, kind: NodeKind) -> NodeId {
        let depth = parent.map_or(0, |parent| self.nodes[parent as usize].depth + 1);
        if let Some(parent) = parent.filter(|_| depth > DEEPEST) {
            return parent;
        }
        *self.children.entry((parent, kind)).or_insert_with(|| {
            self.nodes.push(Node { parent, kind, calls: 0, guesses: 0, instructions: 0, depth });
            self.nodes.len() as NodeId - 1
        })
    }

    pub(crate) fn node(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id as usize]
    }

    pub(super) fn pass(&mut self, node: NodeId, block: BlockId, instructions: u64) {
        self.nodes[node as usize].instructions += instructions;
        *self.passes.at(u64::from(node) << 32 | u64::from(block)) += 1;
    }

    /// Instructions of a node belong to one below it.
    pub(super) fn shift(&mut self, from: NodeId, to: NodeId, instructions: u64) {
        if from == to {
            return;
        }
        let node = &mut self.nodes[from as usize].instructions;
        let instructions = instructions.min(*node);
        *node -= instructions;
        self.nodes[to as usize].instructions += instructions;
    }

    /// Nodes from the thread down to this one.
    pub fn path(&self, id: NodeId) -> Vec<NodeId> {
        let mut path: Vec<NodeId> = std::iter::successors(Some(id), |id| self.parent(*id)).collect();
        path.reverse();
        path
    }

    /// Instructions of each node with those of its children.
    pub fn inclusive(&self) -> Vec<u64> {
        let mut sums: Vec<u64> = self.nodes.iter().map(|node| node.instructions).collect();
        for (id, node) in self.nodes.iter().enumerate().rev() {
            if let Some(parent) = node.parent {
                sums[parent as usize] += sums[id];
            }
        }
        sums
    }

    /// Instructions of nodes with those below them, by the sums of [`Tree::inclusive`]; where one of them is below
    /// another, its instructions count once.
    pub fn inclusive_of(&self, sums: &[u64], nodes: &HashSet<NodeId>) -> u64 {
        let above = |id: NodeId| std::iter::successors(self.parent(id), |id| self.parent(*id));
        let is_outermost = |id: &&NodeId| !above(**id).any(|id| nodes.contains(&id));
        nodes.iter().filter(is_outermost).map(|id| sums[*id as usize]).sum()
    }

    fn parent(&self, id: NodeId) -> Option<NodeId> {
        self.nodes[id as usize].parent
    }

    /// Children of each node, the one with most instructions first.
    pub fn sorted_children(&self) -> Vec<Vec<NodeId>> {
        let sums = self.inclusive();
        let mut children = vec![Vec::new(); self.nodes.len()];
        for (id, node) in self.nodes.iter().enumerate() {
            if let Some(parent) = node.parent {
                children[parent as usize].push(id as NodeId);
            }
        }
        for list in &mut children {
            list.sort_by_key(|id| std::cmp::Reverse(sums[*id as usize]));
        }
        children
    }

    /// Totals by function.
    pub fn by_function(&self) -> HashMap<FunctionId, Totals> {
        let sums = self.inclusive();
        let mut totals: HashMap<FunctionId, Totals> = HashMap::new();
        for (id, node) in self.nodes.iter().enumerate() {
            let Some(function) = node.kind.function() else { continue };
            let total = totals.entry(function).or_default();
            total.exclusive += node.instructions;
            total.calls += node.calls;
            total.guesses += node.guesses;
            let mut above = std::iter::successors(node.parent, |id| self.parent(*id));
            if !above.any(|id| self.nodes[id as usize].kind.function() == Some(function)) {
                total.inclusive += sums[id];
            }
        }
        totals
    }

    /// Are the counts those of what was executed?
    pub fn agrees_with(&self, executed: &Executed) -> bool {
        let passed: u64 = executed.blocks().iter().map(|block| block.passes * block.code.count()).sum();
        self.nodes.iter().map(|node| node.instructions).sum::<u64>() == passed
    }
}
