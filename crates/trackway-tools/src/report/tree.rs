//! The call tree, to be folded.

use std::fmt::Write;

use trackway_core::Meta;

use crate::calls::{Called, NodeId, NodeKind};
use crate::flame::thread_label;
use crate::markup::escape;

use super::table::count;

/// Levels and nodes at most: a page should open at once.
const DEEPEST: usize = 48;
const MOST: usize = 4000;
/// Levels that are unfolded at first.
const OPEN: usize = 4;

/// The tree as markup.
pub(super) fn tree(called: &Called, meta: &Meta) -> String {
    let sums = called.tree.inclusive();
    let total: u64 = called.tree.nodes().iter().map(|node| node.instructions).sum();
    let mut drawing = Drawing {
        called,
        meta,
        children: called.tree.sorted_children(),
        sums,
        total: total.max(1),
        drawn: 0,
        left_out: 0,
        out: String::from("<div class=\"tree\">\n"),
    };
    for (id, node) in (0..).zip(called.tree.nodes()) {
        // A source runs on a thread without ids until its first context.
        if node.parent.is_none() && drawing.sums[id as usize] > 0 {
            drawing.node(id, 0);
        }
    }
    drawing.out += "</div>\n";
    if drawing.left_out > 0 {
        // Writing to a string cannot fail.
        let _ = writeln!(
            drawing.out,
            "<p class=\"counts\">{} subtrees are left out: they have less than 0.1 % of all instructions, are too deep, or would be too many.</p>",
            count(drawing.left_out)
        );
    }
    drawing.out
}

struct Drawing<'a> {
    called: &'a Called,
    meta: &'a Meta,
    children: Vec<Vec<NodeId>>,
    sums: Vec<u64>,
    total: u64,
    drawn: usize,
    left_out: u64,
    out: String,
}

impl Drawing<'_> {
    fn node(&mut self, id: NodeId, level: usize) {
        self.drawn += 1;
        let node = &self.called.tree.nodes()[id as usize];
        let name = match node.kind {
            NodeKind::Thread(n) => thread_label(self.called, n, self.meta),
            NodeKind::Function(id) => self.called.functions.get(id).label(),
            NodeKind::Handler(id) => format!("{} [trap]", self.called.functions.get(id).label()),
        };
        let sum = self.sums[id as usize];
        let mut text = format!(
            "{} <span class=\"counts\">{:.2} %, {} instructions, {} in itself",
            escape(&name),
            100.0 * sum as f64 / self.total as f64,
            count(sum),
            count(node.instructions)
        );
        // Writing to a string cannot fail.
        let _ = match (node.calls, node.guesses) {
            (0, 0) => Ok(()),
            (calls, 0) => write!(text, ", {} calls", count(calls)),
            (calls, guesses) => write!(text, ", {} calls, {} guesses", count(calls), count(guesses)),
        };
        text += "</span>";
        let below = std::mem::take(&mut self.children[id as usize]);
        let shown = |id: &&NodeId| level < DEEPEST && self.sums[**id as usize] * 1000 >= self.total;
        let below_shown: Vec<NodeId> = below.iter().filter(shown).copied().collect();
        self.left_out += (below.len() - below_shown.len()) as u64;
        if below_shown.is_empty() || self.drawn + below_shown.len() > MOST {
            self.left_out += below_shown.len() as u64;
            let _ = writeln!(self.out, "<div class=\"leaf\">{text}</div>");
            return;
        }
        let open = if level < OPEN { " open" } else { "" };
        let _ = writeln!(self.out, "<details{open}><summary>{text}</summary>");
        below_shown.iter().for_each(|id| self.node(*id, level + 1));
        self.out += "</details>\n";
    }
}
