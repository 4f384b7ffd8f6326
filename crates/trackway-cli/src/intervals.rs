//! `trackway stats --every N`: counts for each interval.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use serde_json::{Value as Json, json};
use trackway_core::Meta;
use trackway_tools::series::{Interval, MOST_FIXED, Timeline, Width, kind_name};

use crate::analyse::Input;
use crate::args::Common;
use crate::exit::Failure;
use crate::json::{Object, hex, key};
use crate::plot::series;

/// Intervals are counted in order, beside counts that are made on all cores.
pub(crate) fn check(every: Option<u64>, file: &Path) -> Result<(), Failure> {
    if every.is_some() && file.as_os_str() == "-" {
        return Err(Failure::Usage("--every reads the trace twice: name a file instead of -".into()));
    }
    Ok(())
}

/// The intervals of `every` instructions, as a list.
pub(crate) fn intervals(common: &Common, file: &Path, every: u64) -> Result<Json, Failure> {
    let input = Input { file: file.into(), from: None, to: None, common: common.clone() };
    let counted = series(&input, Width::Fixed(every))?;
    if counted.result.values().any(|timeline| timeline.is_cut) {
        let text =
            format!("--every {every}: these would be more than {MOST_FIXED} intervals; take a larger number");
        return Err(Failure::Usage(text));
    }
    Ok(list(&counted.result, &counted.meta))
}

fn list(timelines: &BTreeMap<u16, Timeline>, meta: &Meta) -> Json {
    let source = |source: &u16| match meta.sources.get(usize::from(*source)) {
        Some(name) if timelines.len() > 1 => json!(name),
        _ => Json::Null,
    };
    let of = |(number, timeline): (&u16, &Timeline)| {
        let source = source(number);
        let known = Known::of(timeline);
        timeline.intervals.iter().map(|interval| entry(&source, interval, &known)).collect::<Vec<_>>()
    };
    timelines.iter().flat_map(of).collect()
}

/// Things that a source records at all: others are unknown, not 0.
struct Known {
    memory: bool,
    outcomes: bool,
}

impl Known {
    fn of(timeline: &Timeline) -> Self {
        let outcomes = timeline.intervals.iter().fold([0; 3], |mut all, interval| {
            all.iter_mut().zip(interval.branches).for_each(|(to, from)| *to += from);
            all
        });
        Known { memory: timeline.accesses > 0, outcomes: outcomes[0] + outcomes[1] > 0 || outcomes[2] == 0 }
    }
}

fn entry(source: &Json, interval: &Interval, known: &Known) -> Json {
    let memory = |count: u64| if known.memory { json!(count) } else { Json::Null };
    let outcome = |count: u64| if known.outcomes { json!(count) } else { Json::Null };
    let kinds = interval.kinds.iter().enumerate().filter(|(_, count)| **count > 0);
    let classes: Object = kinds.map(|(kind, count)| (key(kind_name(kind)), json!(count))).collect();
    let [taken, not_taken, unknown] = interval.branches;
    json!({
        "source": source,
        "from": interval.from,
        "instructions": interval.instructions,
        "attempted_only": interval.attempted,
        "classes": classes,
        "taken": outcome(taken),
        "not_taken": outcome(not_taken),
        "unknown": unknown,
        "loads": memory(interval.loads),
        "stores": memory(interval.stores),
        "atomics": memory(interval.atomics),
        "lines": memory(interval.lines()),
        "new_lines": memory(interval.new_lines()),
        "pages": memory(interval.pages()),
        "traps": interval.traps,
        "gaps": interval.gaps,
        "first_time": interval.times.map(|times| hex(times.first.1)),
        "last_time": interval.times.map(|times| hex(times.last.1)),
        "cycles": interval.cycles,
    })
}

/// Columns of the table: the key and the heading.
const COLUMNS: [(&str, &str); 13] = [
    ("from", "from"),
    ("instructions", "instr."),
    ("taken", "taken"),
    ("not_taken", "not taken"),
    ("loads", "loads"),
    ("stores", "stores"),
    ("atomics", "atomics"),
    ("lines", "lines"),
    ("new_lines", "new lines"),
    ("pages", "pages"),
    ("traps", "traps"),
    ("gaps", "gaps"),
    ("cycles", "cycles"),
];

/// Prints the list as a table; `-` is what the trace does not hold.
pub(crate) fn print(out: &mut impl Write, list: &[Json]) -> std::io::Result<()> {
    writeln!(out, "intervals")?;
    let mut source = &Json::Null;
    for (n, entry) in list.iter().enumerate() {
        if n == 0 || entry["source"] != *source {
            source = &entry["source"];
            if let Some(name) = source.as_str() {
                writeln!(out, "  {}", crate::plain::plain(name))?;
            }
            line(out, COLUMNS.map(|(_, heading)| heading.to_string()))?;
        }
        line(out, COLUMNS.map(|(key, _)| entry[key].as_u64().map_or("-".into(), |n| n.to_string())))?;
    }
    Ok(())
}

fn line(out: &mut impl Write, [from, rest @ ..]: [String; COLUMNS.len()]) -> std::io::Result<()> {
    write!(out, "  {from:>12}")?;
    rest.iter().try_for_each(|cell| write!(out, " {cell:>9}"))?;
    writeln!(out)
}
