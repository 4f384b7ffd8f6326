//! Pictures of a trace over time: one self-contained SVG each, without scripts.
//!
//! The horizontal axis counts instructions. A gap of the trace is a dashed line: nothing is known of what it hides, and
//! curves are not drawn across it. Names come from programs and traces, so every text is escaped.

mod branches;
mod canvas;
mod curves;
mod density;
mod scale;

use std::collections::BTreeMap;
use std::sync::Arc;

use trackway_image::{Image, program};

use crate::series::{KINDS, Timeline, kind_name};
use crate::stats::{LINE, PAGE};
use canvas::Canvas;
use curves::{Curve, Panel};

pub use scale::number;

/// The pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Picture {
    /// Lines and pages of memory touched in each interval.
    WorkingSet,
    /// Instructions by class.
    Mix,
    /// Instructions per cycle, or per tick of the clock.
    Ipc,
    /// Addresses of instructions.
    Pc,
    /// Addresses of data.
    Data,
    /// Outcomes of conditional branches.
    Branches,
}

impl Picture {
    /// All of them.
    pub const ALL: [Picture; 6] =
        [Picture::WorkingSet, Picture::Mix, Picture::Ipc, Picture::Pc, Picture::Data, Picture::Branches];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Picture::WorkingSet => "working-set",
            Picture::Mix => "mix",
            Picture::Ipc => "ipc",
            Picture::Pc => "pc",
            Picture::Data => "data",
            Picture::Branches => "branches",
        }
    }

    /// The picture in a few words.
    pub fn about(self) -> &'static str {
        match self {
            Picture::WorkingSet => "Lines and pages of memory touched in each interval",
            Picture::Mix => "Instructions by class",
            Picture::Ipc => "Instructions per cycle, or per tick of the clock of time stamps",
            Picture::Pc => "Addresses of instructions",
            Picture::Data => "Addresses of data",
            Picture::Branches => "Share of branches taken, and the outcomes of those executed most",
        }
    }

    /// The heading of the picture.
    pub fn heading(self) -> &'static str {
        match self {
            Picture::WorkingSet => "Working set",
            Picture::Mix => "Instruction mix",
            Picture::Ipc => "Instructions per cycle",
            Picture::Pc => "Code over time",
            Picture::Data => "Data over time",
            Picture::Branches => "Branches",
        }
    }

    /// Data that a trace has to hold for it.
    pub fn needs(self) -> &'static str {
        match self {
            Picture::WorkingSet | Picture::Data => "memory accesses with their addresses",
            Picture::Mix => "instructions",
            Picture::Ipc => "cycle counts or time stamps between instructions",
            Picture::Pc => "addresses of instructions",
            Picture::Branches => "outcomes of conditional branches",
        }
    }
}

/// One source to draw.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The name of the source; `None` if there is only one.
    pub source: Option<&'a str>,
    /// Number of its first instruction in the whole trace, if the timeline is that of a part.
    pub first: u64,
    /// Its timeline.
    pub timeline: &'a Timeline,
    /// The name of an address: function and offset.
    pub place: &'a dyn Fn(u64) -> Option<String>,
}

/// Shows `draw` all sources with their names, and the names of addresses in them. `first` is the number of the first
/// instruction of the part that the timelines are of.
pub fn with_subjects<T>(
    timelines: &BTreeMap<u16, Timeline>,
    first: u64,
    sources: &[String],
    programs: &[Arc<Image>],
    draw: impl FnOnce(&[Subject<'_>]) -> T,
) -> T {
    let images: Vec<Arc<Image>> = timelines.keys().map(|source| program(programs, *source)).collect();
    let places: Vec<_> = images.iter().map(|image| |address: u64| image.place(address)).collect();
    let subjects = timelines.iter().zip(&places).map(|((source, timeline), place)| Subject {
        source: sources.get(usize::from(*source)).filter(|_| timelines.len() > 1).map(String::as_str),
        first,
        timeline,
        place,
    });
    draw(&subjects.collect::<Vec<_>>())
}

/// The picture, under a title if it is to have one; `None` if the trace does not hold what it [needs](Picture::needs).
pub fn svg(what: Picture, subjects: &[Subject<'_>], title: Option<&str>) -> Option<String> {
    let mut canvas = Canvas::new(what.heading(), title);
    let mut is_drawn = false;
    for subject in subjects {
        if subject.timeline.instructions() == 0 {
            continue;
        }
        is_drawn |= match what {
            Picture::Pc => density::draw(&mut canvas, subject, &subject.timeline.pcs, "instructions"),
            Picture::Data => density::draw(&mut canvas, subject, &subject.timeline.data, "accesses"),
            Picture::WorkingSet => curves::draw(&mut canvas, subject, working_set(subject.timeline)),
            Picture::Mix => curves::draw(&mut canvas, subject, mix(subject.timeline)),
            Picture::Ipc => curves::draw(&mut canvas, subject, ipc(subject.timeline)),
            Picture::Branches => {
                let panel = curves::draw(&mut canvas, subject, taken(subject.timeline));
                if panel {
                    branches::draw(&mut canvas, subject);
                }
                panel
            }
        };
    }
    is_drawn.then(|| canvas.finish())
}

fn working_set(timeline: &Timeline) -> Vec<Panel> {
    if timeline.accesses == 0 {
        return Vec::new();
    }
    let of = |count: fn(&crate::series::Interval) -> u64| {
        timeline.intervals.iter().map(|interval| Some(count(interval) as f64)).collect::<Vec<_>>()
    };
    let at_least = if timeline.long_accesses > 0 { ", at least" } else { "" };
    vec![
        Panel {
            heading: format!("Lines of {LINE} bytes touched per interval{at_least}"),
            curves: vec![
                Curve::new("lines touched", of(|interval| interval.lines())),
                Curve::new("of them new", of(|interval| interval.new_lines())),
            ],
            least_step: 1.0,
            ..Panel::default()
        },
        Panel {
            heading: format!("Pages of {PAGE} bytes touched per interval{at_least}"),
            curves: vec![Curve::new("pages touched", of(|interval| interval.pages()))],
            height: 140.0,
            least_step: 1.0,
            ..Panel::default()
        },
    ]
}

/// Kinds of instructions that have a colour of their own.
const SHOWN: usize = 9;

fn mix(timeline: &Timeline) -> Vec<Panel> {
    let mut totals = [0u64; KINDS];
    for interval in &timeline.intervals {
        totals.iter_mut().zip(interval.kinds).for_each(|(to, from)| *to += from);
    }
    let mut kinds: Vec<usize> = (0..KINDS).filter(|kind| totals[*kind] > 0).collect();
    kinds.sort_by_key(|kind| (std::cmp::Reverse(totals[*kind]), *kind));
    let all: u64 = totals.iter().sum();
    let share = |kinds: &[usize]| {
        let shares = timeline.intervals.iter().map(|interval| {
            let count: u64 = kinds.iter().map(|kind| interval.kinds[*kind]).sum();
            Some(100.0 * count as f64 / interval.instructions.max(1) as f64)
        });
        shares.collect::<Vec<_>>()
    };
    let percent = |kinds: &[usize]| {
        let count: u64 = kinds.iter().map(|kind| totals[*kind]).sum();
        100.0 * count as f64 / all.max(1) as f64
    };
    let (shown, rest) = kinds.split_at(kinds.len().min(SHOWN));
    let mut curves: Vec<Curve> = shown
        .iter()
        .map(|kind| Curve::new(format!("{} {:.1} %", kind_name(*kind), percent(&[*kind])), share(&[*kind])))
        .collect();
    if !rest.is_empty() {
        curves.push(Curve::new(format!("others {:.1} %", percent(rest)), share(rest)));
    }
    vec![Panel {
        heading: "Share of instructions by class, in per cent".into(),
        curves,
        is_stacked: true,
        highest: Some(100.0),
        height: 320.0,
        least_step: 1.0,
    }]
}

fn ipc(timeline: &Timeline) -> Vec<Panel> {
    let by_cycle = timeline.per_cycle();
    let (name, rates) = if by_cycle.iter().any(Option::is_some) {
        ("Instructions per cycle", by_cycle)
    } else {
        ("Instructions per tick of the clock of time stamps", timeline.per_tick())
    };
    if rates.iter().all(Option::is_none) {
        return Vec::new();
    }
    vec![Panel { heading: name.into(), curves: vec![Curve::new("rate", rates)], ..Panel::default() }]
}

fn taken(timeline: &Timeline) -> Vec<Panel> {
    let shares: Vec<Option<f64>> = timeline
        .intervals
        .iter()
        .map(|interval| {
            let [taken, not_taken, _] = interval.branches;
            (taken + not_taken > 0).then(|| 100.0 * taken as f64 / (taken + not_taken) as f64)
        })
        .collect();
    if shares.iter().all(Option::is_none) {
        return Vec::new();
    }
    vec![Panel {
        heading: "Conditional branches that were taken, in per cent of those with a known outcome".into(),
        curves: vec![Curve::new("taken", shares)],
        highest: Some(100.0),
        ..Panel::default()
    }]
}
