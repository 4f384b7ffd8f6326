//! Stacks with the instructions executed at their top.

use crate::calls::{NodeId, NodeKind};
use crate::flame::thread_label;

use super::Profiled;

/// Labels from the outermost frame in, and the instructions in the innermost.
pub(super) struct Stack {
    pub(super) node: NodeId,
    pub(super) labels: Vec<String>,
    pub(super) instructions: u64,
}

/// The label of a node; `None` for the only thread that ran.
pub(super) fn label(profiled: &Profiled<'_>, id: NodeId) -> Option<String> {
    let called = profiled.called;
    match called.tree.nodes()[id as usize].kind {
        NodeKind::Thread(_) if !called.has_threads() => None,
        NodeKind::Thread(n) => Some(thread_label(called, n, profiled.meta)),
        NodeKind::Function(id) => Some(called.functions.get(id).label()),
        NodeKind::Handler(id) => Some(format!("{} [trap]", called.functions.get(id).label())),
    }
}

/// All stacks in which something was executed, in the order of their labels.
pub(super) fn stacks(profiled: &Profiled<'_>) -> Vec<Stack> {
    let tree = &profiled.called.tree;
    let labels: Vec<Option<String>> =
        (0..tree.nodes().len() as NodeId).map(|id| label(profiled, id)).collect();
    let executed = (0..).zip(tree.nodes()).filter(|(_, node)| node.instructions > 0);
    let mut stacks: Vec<Stack> = executed
        .map(|(node, of)| Stack {
            node,
            labels: tree.path(node).into_iter().filter_map(|id| labels[id as usize].clone()).collect(),
            instructions: of.instructions,
        })
        .collect();
    stacks.sort_by(|a, b| a.labels.cmp(&b.labels));
    stacks
}
