//! Callgrind's file format: instructions by function and line, and calls with what they cost.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use trackway_image::{Line, program};

use crate::calls::{FunctionId, Tree};

use super::Profiled;
use super::names::one_line;

/// The profile as `callgrind_annotate` and KCachegrind read it.
pub fn callgrind(profiled: &Profiled<'_>) -> String {
    let called = profiled.called;
    let (tree, functions) = (&called.tree, &called.functions);
    let nodes = tree.nodes();
    let costs = costs_of_calls(tree);
    let line = |source: u16, pc: u64| program(profiled.programs, source).line(pc);
    // Instructions by function, file and line.
    let mut own: BTreeMap<FunctionId, BTreeMap<(String, u32), u64>> = BTreeMap::new();
    let mut lines: HashMap<(u16, u64), Option<Line>> = HashMap::new();
    for (node, block, passes) in tree.passes() {
        let Some(function) = nodes[node as usize].kind.function() else { continue };
        let code = &called.executed.blocks()[block as usize].code;
        let source = functions.get(function).source;
        let costs = own.entry(function).or_default();
        let mut add = |pc: u64, count: u64| {
            let place = lines.entry((source, pc)).or_insert_with(|| line(source, pc)).clone();
            let place = place.map_or((String::new(), 0), |line| (line.file, line.line));
            *costs.entry(place).or_default() += count;
        };
        if code.opaque.is_some() {
            add(code.start, passes * code.count());
        }
        code.insts().for_each(|(pc, _)| add(pc, passes));
    }
    // Calls between functions, with what they cost.
    let mut calls: BTreeMap<FunctionId, BTreeMap<FunctionId, (u64, u64)>> = BTreeMap::new();
    for (id, node) in nodes.iter().enumerate() {
        let caller = node.parent.and_then(|parent| nodes[parent as usize].kind.function());
        if let (Some(caller), Some(callee)) = (caller, node.kind.function()) {
            let entry = calls.entry(caller).or_default().entry(callee).or_default();
            entry.0 += node.calls;
            entry.1 += costs[id];
            own.entry(caller).or_default();
        }
    }
    let mut out = format!(
        "# callgrind format\nversion: 1\ncreator: trackway {}\ncmd: {}\npositions: line\nevents: Ir\n",
        env!("CARGO_PKG_VERSION"),
        plain(profiled.name)
    );
    let file_of = |id: FunctionId| {
        let function = functions.get(id);
        line(function.source, function.address).map_or(("???".to_string(), 0), |line| (line.file, line.line))
    };
    // Writing to a string cannot fail.
    for (function, costs) in &own {
        let (file, first) = file_of(*function);
        let _ = writeln!(out, "\nfl={}\nfn={}", plain(&file), plain(&functions.get(*function).label()));
        let mut current = file.clone();
        for ((place, number), count) in costs {
            let place = if place.is_empty() { &file } else { place };
            if *place != current {
                let _ = writeln!(out, "fi={}", plain(place));
                current.clone_from(place);
            }
            let _ = writeln!(out, "{number} {count}");
        }
        if current != file {
            let _ = writeln!(out, "fe={}", plain(&file));
        }
        for (callee, (count, cost)) in calls.get(function).into_iter().flatten() {
            let (callee_file, callee_line) = file_of(*callee);
            let name = plain(&functions.get(*callee).label());
            // A function that was reached by a jump or after a gap may have no calls, but callgrind_annotate takes the cost
            // after `calls=0` for the caller's own.
            let count = (*count).max(1);
            let _ = writeln!(
                out,
                "cfi={}\ncfn={name}\ncalls={count} {callee_line}\n{first} {cost}",
                plain(&callee_file)
            );
        }
    }
    let total: u64 = nodes.iter().map(|node| node.instructions).sum();
    let _ = writeln!(out, "\ntotals: {total}");
    out
}

/// Instructions that each call costs its caller: those below it, without those that the caller itself executes there, in a
/// recursion however long, and without the calls it makes then. So the own instructions of a function and its calls are
/// together all instructions that were executed while it was on the stack, each counted once.
fn costs_of_calls(tree: &Tree) -> Vec<u64> {
    let nodes = tree.nodes();
    let inclusive = tree.inclusive();
    let mut costs = inclusive.clone();
    for (id, node) in nodes.iter().enumerate() {
        let Some(function) = node.kind.function() else { continue };
        let (mut below, mut above) = (id, node.parent);
        while let Some(parent) = above {
            if nodes[parent as usize].kind.function() == Some(function) {
                costs[below] -= inclusive[id];
                break;
            }
            (below, above) = (parent as usize, nodes[parent as usize].parent);
        }
    }
    costs
}

/// A name in one line, which a number in brackets at its start does not abbreviate.
fn plain(name: &str) -> String {
    let name = one_line(name);
    if name.starts_with('(') { name.replacen('(', "[", 1) } else { name }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use trackway_testkit::random::Numbers;

    use super::*;
    use crate::calls::{NodeId, NodeKind};

    /// Own instructions and calls of a function are those while it is on the stack, also where functions call each other.
    #[test]
    fn recursion_is_counted_once() {
        for seed in 0..50 {
            let numbers = &mut Numbers(seed);
            let mut tree = Tree::default();
            let mut all: Vec<NodeId> = vec![tree.child(None, NodeKind::Thread(0))];
            for _ in 0..200 {
                let parent = all[numbers.below(all.len() as u64) as usize];
                all.push(tree.child(Some(parent), NodeKind::Function(numbers.below(4) as FunctionId)));
            }
            for id in BTreeSet::from_iter(&all) {
                tree.node(*id).instructions = numbers.below(100);
            }
            let (nodes, costs) = (tree.nodes(), costs_of_calls(&tree));
            let function = |id: NodeId| nodes[id as usize].kind.function();
            for wanted in (0..4).map(Some) {
                let (mut counted, mut on_stack) = (0, 0);
                for (id, node) in nodes.iter().enumerate() {
                    let mut stack =
                        std::iter::successors(Some(id as NodeId), |id| nodes[*id as usize].parent);
                    on_stack += if stack.any(|id| function(id) == wanted) { node.instructions } else { 0 };
                    counted += if node.kind.function() == wanted { node.instructions } else { 0 };
                    counted += if node.parent.and_then(function) == wanted { costs[id] } else { 0 };
                }
                assert_eq!(counted, on_stack, "{seed} {wanted:?}");
            }
        }
    }
}
