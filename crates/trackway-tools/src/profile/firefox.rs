//! The processed profile of the Firefox profiler, version 58 of its format.
//!
//! Samples are in the order of the trace, with instructions as their weight. One nanosecond is one instruction of the
//! source. The trace is cut into spans of equal length; the instructions of a stack in a span are one sample.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value as Json, json};
use trackway_image::program;

use super::Profiled;
use super::stacks::label;
use super::strings::Strings;
use crate::calls::{NodeId, NodeKind, Place, Watch};
use crate::executed::Pass;
use crate::flame::thread_label;

/// `meta.preprocessedProfileVersion`: the format of the tables.
const VERSION: u32 = 58;
/// `meta.version`: that of the format which Firefox itself writes, of the same time.
const GECKO_VERSION: u32 = 31;
/// Samples of all threads: where there are more, spans become twice as long.
const MOST: usize = 1 << 18;

/// Functions over time, for the Firefox profiler.
#[derive(Debug, Default)]
pub struct Samples {
    /// Spans have 2 to the power of this instructions.
    shift: u32,
    /// Instructions of each source so far.
    now: HashMap<u16, u64>,
    /// Instructions by thread, span and node.
    counts: BTreeMap<(u32, u64, NodeId), u64>,
    /// The entry that is being added to.
    last: Option<((u32, u64, NodeId), u64)>,
}

impl Watch for Samples {
    fn pass(&mut self, pass: &Pass<'_>, place: &Place<'_>) {
        let now = self.now.entry(pass.source).or_default();
        let key = (place.thread, *now >> self.shift, place.node);
        let count = pass.block.code.count();
        *now += count;
        match &mut self.last {
            Some((last, sum)) if *last == key => *sum += count,
            _ => {
                self.flush();
                self.last = Some((key, count));
            }
        }
    }
}

impl Samples {
    fn flush(&mut self) {
        let Some((key, count)) = self.last.take() else { return };
        *self.counts.entry(key).or_default() += count;
        while self.counts.len() > MOST {
            self.shift += 1;
            let counts = std::mem::take(&mut self.counts);
            for ((thread, span, node), count) in counts {
                *self.counts.entry((thread, span >> 1, node)).or_default() += count;
            }
            if self.shift >= 63 {
                return;
            }
        }
    }

    /// The profile as one JSON object; `profiled` has the calls that were watched.
    pub fn firefox(mut self, profiled: &Profiled<'_>) -> Json {
        self.flush();
        let mut strings = Strings::default();
        let mut sources = Strings::default();
        let threads: Vec<Json> = (0..)
            .zip(&profiled.called.threads)
            .filter_map(|(number, _)| self.thread(profiled, number, &mut strings, &mut sources))
            .collect();
        let files: Vec<usize> = sources.list.iter().map(|file| strings.number(file)).collect();
        let span = milliseconds(1 << self.shift);
        json!({
            "meta": {
                "interval": span,
                "startTime": 0,
                "processType": 0,
                "categories": [{ "name": "Other", "color": "grey", "subcategories": ["Other"] }],
                "product": profiled.name,
                "stackwalk": 1,
                "version": GECKO_VERSION,
                "preprocessedProfileVersion": VERSION,
                "symbolicated": true,
                "markerSchema": [],
                "importedFrom": concat!("trackway ", env!("CARGO_PKG_VERSION")),
                "usesOnlyOneStackType": true,
                "sourceCodeIsNotOnSearchfox": true,
                "keepProfileThreadOrder": true,
            },
            "libs": [],
            "shared": {
                "stringArray": strings.list,
                "sources": { "length": files.len(), "uuid": vec![Json::Null; files.len()], "filename": files },
            },
            "threads": threads,
        })
    }

    /// A thread with its tables; `None` where nothing ran.
    fn thread(
        &self,
        profiled: &Profiled<'_>,
        number: u32,
        strings: &mut Strings,
        sources: &mut Strings,
    ) -> Option<Json> {
        let space = profiled.called.threads.get(number as usize)?;
        let counts = self.counts.range((number, 0, 0)..=(number, u64::MAX, NodeId::MAX));
        // Time passes inside a span, from stack to stack.
        let (mut times, mut weights, mut stacks) = (Vec::new(), Vec::new(), Vec::new());
        let (mut current, mut time) = (0, 0);
        let mut tables = Tables::default();
        for ((_, span, node), count) in counts {
            if *span != current {
                (current, time) = (*span, span << self.shift);
            }
            times.push(milliseconds(time));
            weights.push(*count);
            stacks.push(tables.stack(profiled, *node, strings, sources));
            time += count;
        }
        let end = milliseconds(time);
        let length = times.len();
        if length == 0 {
            return None;
        }
        let Tables { stack_frames, stack_prefixes, functions, lines, .. } = tables;
        let (count, all) = (functions.len(), |value: Json| vec![value; functions.len()]);
        Some(json!({
            "processType": "default",
            "processName": profiled.name,
            "processStartupTime": 0,
            "processShutdownTime": null,
            "registerTime": 0,
            "unregisterTime": end,
            "pausedRanges": [],
            "name": thread_label(profiled.called, number, profiled.meta),
            "isMainThread": number == 0,
            "pid": space.source.to_string(),
            "tid": number,
            "samples": {
                "stack": stacks, "time": times, "weight": weights, "weightType": "samples", "length": length,
            },
            "markers": {
                "data": [], "name": [], "startTime": [], "endTime": [], "phase": [], "category": [], "length": 0,
            },
            "stackTable": {
                "frame": stack_frames, "prefix": stack_prefixes, "length": stack_frames.len(),
            },
            // A frame for each function.
            "frameTable": {
                "address": all(json!(-1)), "inlineDepth": all(json!(0)), "category": all(json!(0)),
                "subcategory": all(json!(0)), "func": (0..count).collect::<Vec<_>>(),
                "nativeSymbol": all(Json::Null), "innerWindowID": all(json!(0)), "line": all(Json::Null),
                "column": all(Json::Null), "length": count,
            },
            "funcTable": {
                "name": functions.iter().map(|(name, _)| *name).collect::<Vec<_>>(), "isJS": all(json!(false)), "relevantForJS": all(json!(false)),
                "resource": all(json!(-1)), "source": functions.iter().map(|(_, file)| *file).collect::<Vec<_>>(),
                "lineNumber": lines, "columnNumber": all(Json::Null), "length": count,
            },
            "resourceTable": { "lib": [], "name": [], "host": [], "type": [], "length": 0 },
            "nativeSymbols": { "libIndex": [], "address": [], "name": [], "functionSize": [], "length": 0 },
        }))
    }
}

/// One instruction is one nanosecond.
fn milliseconds(instructions: u64) -> f64 {
    instructions as f64 / 1e6
}

/// The stacks and functions of a thread.
#[derive(Debug, Default)]
struct Tables {
    stack_frames: Vec<usize>,
    stack_prefixes: Vec<Option<usize>>,
    stacks: HashMap<NodeId, usize>,
    /// Number of the name and of the source file.
    functions: Vec<(usize, Option<usize>)>,
    lines: Vec<Option<u32>>,
    frames: HashMap<NodeKind, usize>,
}

impl Tables {
    /// The stack of a node; `None` for the thread itself.
    fn stack(
        &mut self,
        profiled: &Profiled<'_>,
        node: NodeId,
        strings: &mut Strings,
        sources: &mut Strings,
    ) -> Option<usize> {
        let called = profiled.called;
        let mut above = None;
        for id in called.tree.path(node) {
            if let Some(stack) = self.stacks.get(&id) {
                above = Some(*stack);
                continue;
            }
            let kind = called.tree.nodes()[id as usize].kind;
            let Some(function) = kind.function().map(|id| called.functions.get(id)) else { continue };
            let frame = match self.frames.get(&kind) {
                Some(frame) => *frame,
                None => {
                    let line = program(profiled.programs, function.source).line(function.address);
                    let file = line.as_ref().map(|line| sources.number(&line.file));
                    self.functions.push((strings.number(&label(profiled, id)?), file));
                    self.lines.push(line.map(|line| line.line).filter(|line| *line > 0));
                    self.frames.insert(kind, self.functions.len() - 1);
                    self.functions.len() - 1
                }
            };
            self.stack_frames.push(frame);
            self.stack_prefixes.push(above);
            above = Some(self.stack_frames.len() - 1);
            self.stacks.insert(id, self.stack_frames.len() - 1);
        }
        above
    }
}
