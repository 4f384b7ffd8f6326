//! The frames of a flame graph: nodes by label, the same labels under one parent put together.

use std::collections::BTreeMap;

use trackway_core::Meta;

use crate::calls::{Called, NodeKind};
use crate::contexts;
use crate::executed::Space;

/// One frame with those above it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frames {
    /// Instructions in it, without those above.
    pub own: u64,
    /// Instructions in it with those above.
    pub total: u64,
    /// The same in the trace that it is compared with; `None` without one.
    pub before: Option<u64>,
    /// Times that control got here by a guess.
    pub guesses: u64,
    /// Are the frames above threads?
    pub has_threads: bool,
    /// The frames above, by label.
    pub above: BTreeMap<String, Frames>,
}

impl Frames {
    /// The frames of a call tree; threads are frames where several ran.
    pub fn new(called: &Called, meta: &Meta) -> Self {
        let nodes = called.tree.nodes();
        let mut root = Frames { has_threads: called.has_threads(), ..Frames::default() };
        let has_threads = root.has_threads;
        for (id, node) in nodes.iter().enumerate() {
            let mut at = &mut root;
            at.total += node.instructions;
            for id in called.tree.path(id as u32) {
                let label = match nodes[id as usize].kind {
                    NodeKind::Thread(_) if !has_threads => continue,
                    NodeKind::Thread(n) => thread_label(called, n, meta),
                    NodeKind::Function(id) => called.functions.get(id).label(),
                    NodeKind::Handler(id) => format!("{} [trap]", called.functions.get(id).label()),
                };
                at = at.above.entry(label).or_default();
                at.total += node.instructions;
            }
            at.own += node.instructions;
            at.guesses += node.guesses;
        }
        root
    }

    /// Levels above this one.
    pub fn depth(&self) -> usize {
        // Trees can be thousands of calls deep: no recursion.
        let (mut level, mut depth) = (vec![self], 0);
        loop {
            level = level.iter().flat_map(|frame| frame.above.values()).collect();
            if level.is_empty() {
                return depth;
            }
            depth += 1;
        }
    }
}

/// The name of a thread: its source and the ids of its context.
pub fn thread_label(called: &Called, number: u32, meta: &Meta) -> String {
    let thread = called.threads.get(number as usize);
    thread.map_or_else(|| "thread".into(), |space| thread_name(space, meta))
}

/// The name of a thread by what identifies it.
pub fn thread_name(space: &Space, meta: &Meta) -> String {
    let source = meta.sources.get(usize::from(space.source)).filter(|_| meta.sources.len() > 1).cloned();
    let ids = contexts::named(&space.context, meta);
    match (source, ids) {
        (Some(source), Some(ids)) => format!("{source} {ids}"),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => "thread".into(),
    }
}

/// Puts what `other` has beside each frame, and adds the frames that only `other` has.
pub fn compare(frames: &mut Frames, mut other: Frames) {
    if frames.has_threads && other.has_threads {
        // Ids differ from run to run: threads without a namesake are the same in order.
        let alone = |of: &Frames, among: &Frames| -> Vec<String> {
            of.above.keys().filter(|label| !among.above.contains_key(*label)).cloned().collect()
        };
        for (label, theirs) in alone(frames, &other).into_iter().zip(alone(&other, frames)) {
            let thread = other.above.remove(&theirs).unwrap_or_default();
            other.above.insert(label, thread);
        }
    }
    let mut pairs: Vec<(&mut Frames, Option<&Frames>)> = vec![(frames, Some(&other))];
    while let Some((frame, other)) = pairs.pop() {
        frame.before = Some(other.map_or(0, |other| other.total));
        for label in other.into_iter().flat_map(|other| other.above.keys()) {
            frame.above.entry(label.clone()).or_default();
        }
        for (label, above) in &mut frame.above {
            pairs.push((above, other.and_then(|other| other.above.get(label))));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two runs of a program have other process ids, and are compared all the same.
    #[test]
    fn threads_of_two_runs_are_the_same() {
        let run = |threads: [(&str, u64); 2]| {
            let thread = |(label, total): (&str, u64)| {
                let main = Frames { own: total, total, ..Frames::default() };
                let above = BTreeMap::from([("main".to_string(), main)]);
                (label.to_string(), Frames { total, above, ..Frames::default() })
            };
            let total = threads[0].1 + threads[1].1;
            Frames { total, has_threads: true, above: threads.map(thread).into(), ..Frames::default() }
        };
        let mut frames = run([("pid 0x10", 7), ("pid 0x11", 5)]);
        compare(&mut frames, run([("pid 0x2", 6), ("pid 0x3", 4)]));
        let before: Vec<_> =
            frames.above.values().map(|one| (one.before, one.above["main"].before)).collect();
        assert_eq!(before, [(Some(6), Some(6)), (Some(4), Some(4))]);
    }
}
