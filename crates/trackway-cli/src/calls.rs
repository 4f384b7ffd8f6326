//! `trackway calls`: the call tree of a trace.

use std::io::Write;

use serde_json::{Value as Json, json};
use trackway_core::Meta;
use trackway_tools::calls::{Called, FunctionId, NodeId, NodeKind};
use trackway_tools::flame::thread_label;

use crate::analyse::{Analysed, Input};
use crate::exit::{Exit, Failure};
use crate::json::{hex, object, put_errors};

/// Arguments of `calls`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
A line has the instructions of a function with those it called, without them, the calls, and its name.
Instructions belong to the function that the program says; where only a guess says how it was reached
(after a gap, or by a return that fits no call), the line says how often.")]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) input: Input,
    /// Functions with their callers instead of threads with their calls
    #[arg(long)]
    pub(crate) bottom_up: bool,
    /// Show inlined functions too, by the program's debug information, with the calls from them
    #[arg(long)]
    pub(crate) inlined: bool,
    /// Leave out what has a smaller share of all instructions, in per cent
    #[arg(long, value_name = "PERCENT", default_value_t = 0.5)]
    pub(crate) least: f64,
    /// Show at most N levels
    #[arg(long, value_name = "N", default_value_t = 32)]
    pub(crate) depth: usize,
    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Shows the call tree of a trace.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let analysed = args.input.called(args.inlined)?;
    let shown = Shown::new(&analysed, args);
    if args.json {
        let mut object = object("calls");
        object.insert("file".into(), json!(args.input.file.display().to_string()));
        object.insert("instructions".into(), json!(shown.total));
        let roots = if args.bottom_up { shown.bottom_up() } else { shown.top_down() };
        let mut list = Vec::new();
        roots.iter().for_each(|line| line.json(0, &mut list));
        object.insert("calls".into(), list.into());
        put_errors(&mut object, &analysed.health, analysed.ended.as_ref().err());
        crate::json::print(object)?;
    } else {
        let mut out = std::io::stdout().lock();
        writeln!(out, "{:>14} {:>14} {:>10}  function", "inclusive", "exclusive", "calls")?;
        let roots = if args.bottom_up { shown.bottom_up() } else { shown.top_down() };
        roots.iter().try_for_each(|line| line.print(&mut out, 0))?;
        writeln!(out, "{}", analysed.health.line())?;
    }
    analysed.end(&args.input.common)
}

/// A line of the tree, and those below it.
struct Line {
    name: String,
    address: Option<u64>,
    inclusive: u64,
    exclusive: u64,
    calls: u64,
    guesses: u64,
    below: Vec<Line>,
}

impl Line {
    /// The line and those below it.
    fn json(&self, level: usize, list: &mut Vec<Json>) {
        list.push(json!({
            "level": level, "name": self.name, "address": self.address.map(hex), "inclusive": self.inclusive,
            "exclusive": self.exclusive, "calls": self.calls, "guesses": self.guesses,
        }));
        self.below.iter().for_each(|line| line.json(level + 1, list));
    }

    fn print(&self, out: &mut impl Write, level: usize) -> std::io::Result<()> {
        let guessed = if self.guesses > 0 { format!("  ({} guesses)", self.guesses) } else { String::new() };
        writeln!(
            out,
            "{:>14} {:>14} {:>10}  {:indent$}{}{guessed}",
            self.inclusive,
            self.exclusive,
            self.calls,
            "",
            crate::plain::plain(&self.name),
            indent = 2 * level
        )?;
        self.below.iter().try_for_each(|line| line.print(out, level + 1))
    }
}

/// The tree as it is shown.
struct Shown<'a> {
    called: &'a Called,
    meta: &'a Meta,
    inclusive: Vec<u64>,
    total: u64,
    least: u64,
    depth: usize,
}

impl<'a> Shown<'a> {
    fn new(analysed: &'a Analysed<Called>, args: &Args) -> Self {
        let called = &analysed.result;
        let total = called.tree.nodes().iter().map(|node| node.instructions).sum();
        Shown {
            called,
            meta: &analysed.meta,
            inclusive: called.tree.inclusive(),
            total,
            least: (args.least.max(0.0) / 100.0 * total as f64) as u64,
            depth: args.depth,
        }
    }

    fn top_down(&self) -> Vec<Line> {
        let children = self.called.tree.sorted_children();
        let roots = (0..).zip(self.called.tree.nodes()).filter(|(_, node)| node.parent.is_none());
        // Nothing ran before the first context.
        let ran = |id: &NodeId| self.total == 0 || self.inclusive[*id as usize] > 0;
        roots.map(|(id, _)| id).filter(ran).map(|id| self.line(id, &children, 1)).collect()
    }

    fn line(&self, id: NodeId, children: &[Vec<NodeId>], level: usize) -> Line {
        let node = &self.called.tree.nodes()[id as usize];
        let below = children[id as usize].iter().filter(|id| self.inclusive[**id as usize] > self.least);
        let (name, address) = match node.kind {
            NodeKind::Thread(n) => (thread_label(self.called, n, self.meta), None),
            NodeKind::Function(id) => self.name(id),
            NodeKind::Handler(id) => {
                let (name, address) = self.name(id);
                (format!("{name} [trap]"), address)
            }
        };
        Line {
            name,
            address,
            inclusive: self.inclusive[id as usize],
            exclusive: node.instructions,
            calls: node.calls,
            guesses: node.guesses,
            below: if level < self.depth {
                below.map(|id| self.line(*id, children, level + 1)).collect()
            } else {
                Vec::new()
            },
        }
    }

    fn name(&self, id: FunctionId) -> (String, Option<u64>) {
        let function = self.called.functions.get(id);
        (function.label(), Some(function.address))
    }

    /// Functions, and below each its callers with what it executed for them.
    fn bottom_up(&self) -> Vec<Line> {
        let totals = self.called.tree.by_function();
        let mut functions: Vec<_> = totals.into_iter().collect();
        functions.sort_by_key(|(id, totals)| (std::cmp::Reverse(totals.exclusive), *id));
        functions.retain(|(_, totals)| totals.exclusive > self.least);
        let lines = functions.into_iter().map(|(id, totals)| {
            let nodes: Vec<NodeId> = (0..)
                .zip(self.called.tree.nodes())
                .filter(|(_, node)| node.kind.function() == Some(id))
                .map(|(id, _)| id)
                .collect();
            let (name, address) = self.name(id);
            let pairs = nodes.iter().map(|id| (*id, *id)).collect::<Vec<_>>();
            Line {
                name,
                address,
                inclusive: totals.inclusive,
                exclusive: totals.exclusive,
                calls: totals.calls,
                guesses: totals.guesses,
                below: self.callers(&pairs, 2),
            }
        });
        lines.collect()
    }

    /// The callers of nodes; each pair has the node whose instructions count, and how far up it was followed.
    fn callers(&self, pairs: &[(NodeId, NodeId)], level: usize) -> Vec<Line> {
        let nodes = self.called.tree.nodes();
        let mut groups: std::collections::BTreeMap<FunctionId, Vec<(NodeId, NodeId)>> = Default::default();
        for (leaf, at) in pairs {
            let parent = nodes[*at as usize].parent;
            if let Some((parent, function)) =
                parent.and_then(|id| nodes[id as usize].kind.function().map(|function| (id, function)))
            {
                groups.entry(function).or_default().push((*leaf, parent));
            }
        }
        let mut lines: Vec<Line> = groups
            .into_iter()
            .map(|(id, pairs)| {
                let sum = |of: &dyn Fn(NodeId) -> u64| pairs.iter().map(|(leaf, _)| of(*leaf)).sum::<u64>();
                let (name, address) = self.name(id);
                let leaves = pairs.iter().map(|(leaf, _)| *leaf).collect();
                Line {
                    name,
                    address,
                    inclusive: self.called.tree.inclusive_of(&self.inclusive, &leaves),
                    exclusive: sum(&|id| nodes[id as usize].instructions),
                    calls: sum(&|id| nodes[id as usize].calls),
                    guesses: sum(&|id| nodes[id as usize].guesses),
                    below: if level < self.depth { self.callers(&pairs, level + 1) } else { Vec::new() },
                }
            })
            .filter(|line| line.exclusive > self.least)
            .collect();
        lines.sort_by(|a, b| b.exclusive.cmp(&a.exclusive).then_with(|| a.name.cmp(&b.name)));
        lines
    }
}
