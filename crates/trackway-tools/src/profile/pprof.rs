//! The profile.proto of pprof, not compressed.

use std::collections::HashMap;

use trackway_image::program;

use crate::calls::{FunctionId, NodeId};

use super::Profiled;
use super::protobuf::Message;
use super::stacks::{label, stacks};
use super::strings::Strings;

/// The profile as a message of type `perftools.profiles.Profile`: one sample for each stack, whose locations are the
/// functions of its frames.
pub fn pprof(profiled: &Profiled<'_>) -> Vec<u8> {
    let mut strings = Strings::default();
    // The first is empty.
    strings.number("");
    let mut out = Message::default();
    let mut value_type = Message::default();
    value_type.number(1, strings.number("instructions") as u64);
    value_type.number(2, strings.number("count") as u64);
    out.bytes(1, &value_type.0);
    let tree = &profiled.called.tree;
    // Locations and functions are numbered from 1, by label.
    let mut locations: Vec<(String, Option<FunctionId>)> = Vec::new();
    let mut numbers: HashMap<String, u64> = HashMap::new();
    let mut location = |id: NodeId| {
        let label = label(profiled, id)?;
        Some(*numbers.entry(label.clone()).or_insert_with(|| {
            locations.push((label, tree.nodes()[id as usize].kind.function()));
            locations.len() as u64
        }))
    };
    for stack in stacks(profiled) {
        let mut sample = Message::default();
        // The innermost frame comes first.
        let path: Vec<u64> = tree.path(stack.node).into_iter().rev().filter_map(&mut location).collect();
        sample.packed(1, path);
        sample.packed(2, [stack.instructions]);
        out.bytes(2, &sample.0);
    }
    let mut mapping = Message::default();
    mapping.number(1, 1);
    mapping.number(5, strings.number(profiled.name) as u64);
    mapping.number(7, 1);
    out.bytes(3, &mapping.0);
    for (n, (label, function)) in (1..).zip(&locations) {
        let known = function.map(|id| profiled.called.functions.get(id));
        let line = known.and_then(|known| program(profiled.programs, known.source).line(known.address));
        let mut place = Message::default();
        place.number(1, n);
        place.number(2, 1);
        place.number(3, known.map_or(0, |known| known.address));
        let mut at = Message::default();
        at.number(1, n);
        at.number(2, line.as_ref().map_or(0, |line| line.line.into()));
        place.bytes(4, &at.0);
        out.bytes(4, &place.0);
        let mut function = Message::default();
        function.number(1, n);
        function.number(2, strings.number(label) as u64);
        let symbol = known.and_then(|known| known.symbol.clone()).unwrap_or_else(|| label.clone());
        function.number(3, strings.number(&symbol) as u64);
        function.number(4, strings.number(line.as_ref().map_or("", |line| &line.file)) as u64);
        function.number(5, line.as_ref().map_or(0, |line| line.line.into()));
        out.bytes(5, &function.0);
    }
    let mut period_type = Message::default();
    period_type.number(1, strings.number("instructions") as u64);
    period_type.number(2, strings.number("count") as u64);
    for text in &strings.list {
        out.bytes(6, text.as_bytes());
    }
    out.bytes(11, &period_type.0);
    out.number(12, 1);
    out.0
}
