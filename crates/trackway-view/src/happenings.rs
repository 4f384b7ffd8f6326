//! Traps, marks, gaps, contexts and clocks of a trace, in bounded memory.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use trackway::format::Format;
use trackway::trap_name;
use trackway_core::{Batch, Context, Event, EventKind, Mark, Meta, Time, TimeKind, Trap, TrapKind};
use trackway_tools::contexts;

use crate::tables::{self, Instant, Span, Stretch, Timeline};
use crate::wire::Hex;

/// Events of a kind that are kept; more are only counted.
const KEPT: usize = 1 << 16;

/// Points of a clock that are kept, at most.
const POINTS: usize = 1 << 13;

/// Events of one answer that are listed one by one.
const LISTED: usize = 2000;

/// Stretches of a source in which events are counted.
const STRETCHES: u64 = 4096;

/// The events of a kind, in order.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Instants {
    /// The number of the next instruction, and a name.
    list: Vec<(u64, u32)>,
    /// All of them, by stretch.
    counts: Vec<u64>,
    all: u64,
}

/// A place where a clock is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Point {
    number: u64,
    time: Option<u64>,
    cycles: Option<u64>,
}

/// Everything of one source that is not an instruction. Stored ones are to be [restored](Happenings::restore): nothing
/// is added to them.
#[derive(Serialize, Deserialize)]
pub(crate) struct Happenings {
    /// The names that events have in this trace.
    #[serde(skip)]
    named: Option<(&'static dyn Format, Meta)>,
    /// Instructions of a stretch.
    stretch: u64,
    traps: Instants,
    marks: Instants,
    gaps: Instants,
    contexts: Instants,
    #[serde(skip)]
    context: Context,
    clock: Vec<Point>,
    /// One in this many points is kept.
    every: u64,
    points: u64,
    #[serde(skip)]
    cycles: Option<u64>,
    names: Vec<String>,
    #[serde(skip)]
    numbers: HashMap<String, u32>,
}

impl std::fmt::Debug for Happenings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Happenings({} traps, {} marks, {} gaps)", self.traps.all, self.marks.all, self.gaps.all)
    }
}

impl Happenings {
    /// For a source with that many instructions.
    pub(crate) fn new(format: &'static dyn Format, meta: &Meta, instructions: u64) -> Self {
        Happenings {
            named: Some((format, meta.clone())),
            stretch: instructions.div_ceil(STRETCHES).max(1),
            traps: Instants::default(),
            marks: Instants::default(),
            gaps: Instants::default(),
            contexts: Instants::default(),
            context: Context::default(),
            clock: Vec::new(),
            every: 1,
            points: 0,
            cycles: None,
            names: Vec::new(),
            numbers: HashMap::new(),
        }
    }

    /// As it was stored; `None` if the page could not show it.
    pub(crate) fn restore(self) -> Option<Self> {
        let kinds = [&self.traps, &self.marks, &self.gaps, &self.contexts];
        let is_known = |one: &(u64, u32)| (one.1 as usize) < self.names.len();
        let is_sound =
            |kind: &Instants| kind.list.iter().all(is_known) && kind.list.is_sorted_by_key(|one| one.0);
        (self.stretch > 0 && kinds.into_iter().all(is_sound)).then_some(self)
    }

    /// The state where a window begins.
    pub(crate) fn begin(&mut self, number: u64, machine: &trackway::machine::Machine) {
        self.context = machine.context;
        self.cycles = machine.cycles;
        self.enter(number);
        if machine.time.is_some() || machine.cycles.is_some() {
            self.point(Point { number, time: machine.time, cycles: machine.cycles });
        }
    }

    fn name(&mut self, name: String) -> u32 {
        let next = self.names.len() as u32;
        *self.numbers.entry(name).or_insert_with_key(|name| {
            self.names.push(name.clone());
            next
        })
    }

    fn enter(&mut self, number: u64) {
        let name = self.named.as_ref().and_then(|(_, meta)| contexts::named(&self.context, meta));
        let name = name.unwrap_or_else(|| "unknown".into());
        let name = self.name(name);
        if self.contexts.list.last().is_none_or(|last| last.1 != name) {
            self.contexts.put(number, name, self.stretch);
        }
    }

    /// Takes in a batch of the source.
    pub(crate) fn take(&mut self, batch: &Batch) {
        let mut number = batch.first_instruction;
        for event in &batch.events {
            self.event(batch, event, number);
            number += event.kind.instructions();
        }
    }

    #[inline]
    fn event(&mut self, batch: &Batch, event: &Event, number: u64) {
        match &event.kind {
            EventKind::Trap(n) => {
                let trap = &batch.traps[*n as usize];
                if trap.kind != TrapKind::Return {
                    let name = self.trap(trap);
                    let name = self.name(name);
                    self.traps.put(number, name, self.stretch);
                }
            }
            EventKind::Mark(mark) => {
                let name = mark_name(batch, mark);
                let name = self.name(name);
                self.marks.put(number, name, self.stretch);
            }
            EventKind::Gap(n) => {
                let gap = &batch.gaps[*n as usize];
                let lost = gap.instructions.map_or(String::new(), |count| format!(", {count} instructions"));
                let bytes = gap.bytes.map_or(String::new(), |count| format!(", {count} bytes skipped"));
                let name = self.name(format!("gap: {}{lost}{bytes}", gap.reason));
                self.gaps.put(number, name, self.stretch);
            }
            EventKind::Context(n) => {
                self.context.update(&batch.contexts[*n as usize]);
                self.enter(number);
            }
            EventKind::Time(time) => self.time(number, time),
            _ => {}
        }
    }

    fn trap(&self, trap: &Trap) -> String {
        match (self.named.as_ref().and_then(|(format, _)| trap_name(*format, trap)), trap.cause) {
            (Some(name), _) => name.into(),
            (None, Some(cause)) => format!("{} {cause}", trap.kind),
            (None, None) => trap.kind.to_string(),
        }
    }

    fn time(&mut self, number: u64, time: &Time) {
        match (time.kind, time.value) {
            (TimeKind::Timestamp, Some(value)) => {
                self.point(Point { number, time: Some(value), cycles: self.cycles });
            }
            (TimeKind::Cycles, Some(value)) => {
                let cycles = self.cycles.unwrap_or(0).saturating_add(value);
                self.cycles = Some(cycles);
                self.point(Point { number, time: None, cycles: Some(cycles) });
            }
            _ => {}
        }
    }

    fn point(&mut self, point: Point) {
        self.points += 1;
        if !self.points.is_multiple_of(self.every) && self.points > 1 {
            return;
        }
        if self.clock.len() == POINTS {
            let mut keep = false;
            self.clock.retain(|_| {
                keep = !keep;
                keep
            });
            self.every *= 2;
        }
        self.clock.push(point);
    }

    /// Counts of all kinds.
    pub(crate) fn counts(&self) -> Json {
        json!({
            "traps": self.traps.all,
            "marks": self.marks.all,
            "gaps": self.gaps.all,
            "contexts": self.contexts.all,
            "times": self.clock.iter().any(|point| point.time.is_some()),
            "cycles": self.clock.iter().any(|point| point.cycles.is_some()),
        })
    }

    /// The part of a timeline in `[from, to)`: listed, or counted where there is too much.
    pub(crate) fn timeline(&self, from: u64, to: u64, columns: u64) -> Timeline {
        let kinds = [("traps", &self.traps), ("marks", &self.marks), ("gaps", &self.gaps)];
        let mut out = Timeline::default();
        for (kind, instants) in kinds {
            match instants.listed(from, to) {
                Some(listed) => out.instants.extend(listed.iter().map(|(at, name)| Instant {
                    kind: kind.into(),
                    at: *at,
                    name: self.names[*name as usize].clone(),
                })),
                None => {
                    let counted = instants.counted(from, to, columns, self.stretch).into_iter();
                    let stretch = |(start, end, count)| Stretch { kind: kind.into(), start, end, count };
                    out.stretches.extend(counted.map(stretch));
                }
            }
        }
        let begun = self.contexts.list.partition_point(|one| one.0 <= from).saturating_sub(1);
        let spans = self.contexts.list.iter().skip(begun).take_while(|one| one.0 < to);
        let mut spans: Vec<(u64, u32)> = spans.copied().collect();
        // A column has one context: the last that begins in it.
        let width = (to - from).div_ceil(columns.max(1)).max(1);
        spans.reverse();
        spans.dedup_by_key(|one| one.0.max(from) / width);
        spans.reverse();
        let span = |(start, name): (u64, u32)| Span { start, name: self.names[name as usize].clone() };
        out.contexts = spans.into_iter().map(span).collect();
        let first = self.clock.partition_point(|point| point.number <= from).saturating_sub(1);
        let last = (self.clock.partition_point(|point| point.number < to) + 1).min(self.clock.len());
        let points = self.clock.get(first..last).unwrap_or_default();
        let step = points.len().div_ceil(1024).max(1);
        let point = |point: &Point| tables::Point {
            at: point.number,
            time: point.time.map(Hex::Word),
            cycles: point.cycles.map(Hex::Word),
        };
        out.clock = points.iter().step_by(step).chain(points.last()).map(point).collect();
        out
    }
}

fn mark_name(batch: &Batch, mark: &Mark) -> String {
    let text = batch.text_of(mark.text);
    let value = mark.value.map_or(String::new(), |value| format!(" {value:#x}"));
    let text = if text.is_empty() { String::new() } else { format!(" {text}") };
    format!("{}{value}{text}", mark.kind)
}

impl Instants {
    fn put(&mut self, number: u64, name: u32, stretch: u64) {
        self.all += 1;
        if self.list.len() < KEPT {
            self.list.push((number, name));
        }
        let place = (number / stretch) as usize;
        if self.counts.len() <= place {
            self.counts.resize(place + 1, 0);
        }
        self.counts[place] += 1;
    }

    /// Numbers and names of those in `[from, to)`; none if there are too many.
    fn listed(&self, from: u64, to: u64) -> Option<&[(u64, u32)]> {
        let inside = self.inside(from, to);
        (self.is_whole() && inside.len() <= LISTED).then_some(inside)
    }

    fn inside(&self, from: u64, to: u64) -> &[(u64, u32)] {
        let first = self.list.partition_point(|one| one.0 < from);
        let last = self.list.partition_point(|one| one.0 < to);
        &self.list[first..last]
    }

    fn is_whole(&self) -> bool {
        self.all == self.list.len() as u64
    }

    /// Beginnings, ends and counts of stretches.
    fn counted(&self, from: u64, to: u64, columns: u64, stretch: u64) -> Vec<(u64, u64, u64)> {
        let mut found: Vec<(u64, u64, u64)> = Vec::new();
        let mut add = |start: u64, end: u64, count: u64| match found.last_mut() {
            Some(known) if known.0 == start => known.2 += count,
            _ => found.push((start, end, count)),
        };
        if self.is_whole() {
            let width = (to - from).div_ceil(columns.max(1)).max(1);
            for (number, _) in self.inside(from, to) {
                let start = number / width * width;
                add(start, start + width, 1);
            }
        } else {
            let inside = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
            for (n, count) in inside {
                let start = n as u64 * stretch;
                if start < to && start + stretch > from {
                    add(start, start + stretch, *count);
                }
            }
        }
        found
    }
}
