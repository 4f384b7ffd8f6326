//! `trackway stats`: what a trace is made of.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value as Json, json};
use trackway::Health;
use trackway_core::{Isa, Meta, Observer, Saved};
use trackway_image::Image;
use trackway_tools::asked::{Analysis, Answers, Asked};
use trackway_tools::stats::{By, LINE, PAGE, Row, Summary};

use crate::address::{at, place};
use crate::args::{Common, StatsArgs};
use crate::exit::{Exit, Failure};
use crate::info::{shown, sources};
use crate::intervals::intervals;
use crate::json::{Object, hex, key, object, program, put_errors};
use crate::open::open;
use crate::report::{exit_of, placed, print_damage};
use crate::stats_asked;
use crate::walk::{Checked, CheckedProgram, checked_program, observe};

/// Counts a whole trace.
pub(crate) fn run_file(
    args: &StatsArgs,
    common: &Common,
    file: &Path,
    asked: Vec<Analysis>,
) -> Result<Exit, Failure> {
    crate::intervals::check(args.every, file)?;
    let mut trace = open(common, file)?;
    let failed = |error: trackway::Error| placed(common, file, error);
    let programs = trace.programs().map_err(failed)?;
    let isa = trace.meta().isa;
    let mut both = Both::new(isa, &programs, &asked);
    let mut source = trace.events().map_err(failed)?;
    let in_parts = programs.iter().all(|program| program.is_everywhere());
    // A damaged trace is counted as far as it was read.
    let (mut health, mut ended) = observe(common, file, &mut *source, in_parts, &mut both);
    if !both.analysis.is_exact() {
        // Some part was decoded with the wrong instruction set: once more, in order.
        both = Both::new(isa, &programs, &asked);
        source = open(common, file)?.events().map_err(failed)?;
        (health, ended) = observe(common, file, &mut *source, false, &mut both);
    }
    health.doubt(&trace.facts());
    show(args, file, Counted::new(both, asked), source.meta(), &health, ended)
}

/// The counts of a trace, and what was asked for besides.
pub(crate) struct Counted {
    summary: Summary,
    asked: Vec<Analysis>,
    answers: Answers,
    checked: CheckedProgram,
}

impl Counted {
    pub(crate) fn new(both: Both, asked: Vec<Analysis>) -> Self {
        let (summary, answers) = both.analysis.finish();
        Counted { summary, asked, answers, checked: both.program }
    }
}

/// Prints the counts of a trace.
pub(crate) fn show(
    args: &StatsArgs,
    file: &Path,
    counted: Counted,
    meta: &Meta,
    health: &Health,
    ended: Result<(), Failure>,
) -> Result<Exit, Failure> {
    let Counted { summary, asked, answers, checked } = counted;
    let mut groups = groups(&summary, args, meta, health);
    groups.extend(stats_asked::groups(&summary, &asked, &answers, args.top, &meta.sources));
    if let Some(every) = args.every {
        groups.push(("intervals", intervals(&args.common, file, every)?));
    }
    if args.json {
        let mut object = object("stats");
        object.insert("file".into(), json!(file.display().to_string()));
        object.extend(groups.into_iter().map(|(heading, group)| (heading.to_string(), group)));
        object.extend(checked.verdict().map(|verdict| ("program".to_string(), program(&verdict))));
        object.insert("doubtful_runs".into(), json!(health.counts.doubtful));
        object.insert("bytes_skipped".into(), json!(health.counts.skipped));
        put_errors(&mut object, health, ended.as_ref().err());
        crate::json::print(object)?;
    } else {
        print(&mut std::io::stdout().lock(), &groups, health)?;
    }
    print_damage(health);
    checked.warn();
    ended.map(|()| exit_of(health, &args.common))
}

/// The counts, and the comparison with the program.
pub(crate) type Both = Checked<Asked>;

impl Both {
    pub(crate) fn new(isa: Isa, programs: &[Arc<Image>], asked: &[Analysis]) -> Self {
        Checked { analysis: Asked::new(isa, programs, asked), program: checked_program(isa, programs) }
    }

    /// Before the first batch: the part begins at this place.
    pub(crate) fn enter(&mut self, saved: &Saved) {
        self.analysis.enter(saved.source, &saved.context);
        self.program.enter(saved.source, &saved.context);
    }

    /// The counts of a part, and the comparison of it; for [`add`](Both::add).
    pub(crate) fn pack(&self) -> Option<[Vec<u8>; 2]> {
        Some([self.analysis.pack()?, self.program.pack()?])
    }

    /// Adds those of the part that follows; `None` if the bytes are not those of one.
    pub(crate) fn add(&mut self, [stats, program]: &[Vec<u8>; 2]) -> Option<()> {
        let later =
            Checked { analysis: self.analysis.unpack(stats)?, program: self.program.unpack(program)? };
        self.merge(Box::new(later));
        Some(())
    }
}

/// Gaps taint all counts, and blocks and functions in particular.
const TAINTED: &str = "no count has what a gap hides; after one, a block may be entered in its middle";

/// Prints the groups: an object is a list of numbers, an array one line per entry.
fn print(out: &mut impl Write, groups: &[(&'static str, Json)], health: &Health) -> std::io::Result<()> {
    for (heading, group) in groups {
        match group {
            Json::Null => writeln!(out, "{}: not in this trace", heading.replace('_', " "))?,
            Json::Object(facts) if Analysis::ALL.iter().any(|analysis| analysis.as_str() == *heading) => {
                writeln!(out, "{heading}")?;
                stats_asked::print(out, heading, facts)?;
            }
            Json::Object(facts) => {
                writeln!(out, "{}", heading.replace('_', " "))?;
                for (name, value) in facts {
                    match value {
                        Json::Array(entries) => print_entries(out, entries)?,
                        value => line(out, &name.replace('_', " ").replace("csr", "CSR"), &shown(value))?,
                    }
                }
            }
            Json::Array(entries) if *heading == "intervals" => crate::intervals::print(out, entries)?,
            Json::Array(entries) if !entries.is_empty() => {
                writeln!(out, "{}", heading.replace('_', " "))?;
                print_entries(out, entries)?;
                if *heading == "gaps" {
                    writeln!(out, "  {TAINTED}")?;
                }
            }
            _ => {}
        }
    }
    writeln!(out, "{}", health.line())
}

fn line(out: &mut impl Write, name: &str, value: &str) -> std::io::Result<()> {
    writeln!(out, "  {name:<32} {value:>14}")
}

/// Entries of a list: the name of each and its counts.
fn print_entries(out: &mut impl Write, entries: &[Json]) -> std::io::Result<()> {
    for entry in entries {
        let field = |name: &str| entry.get(name).filter(|value| !value.is_null()).map(shown);
        let count = field("count").or(field("instructions")).unwrap_or_default();
        let address = field("start").or(field("pc"));
        let name = match (field("name"), field("bytes"), address, field("kind")) {
            (Some(name), ..) => name,
            (_, Some(bytes), ..) => format!("of {bytes} bytes"),
            (.., Some(_), _) => place(entry),
            (.., Some(kind)) => {
                let number = |name: &str| entry.get(name).and_then(Json::as_u64);
                let cause = number("cause").map_or(String::new(), |cause| format!(" {cause}"));
                let class = number("class").map_or(String::new(), |class| format!(" class {class:#x}"));
                format!("{kind}{cause}{class}")
            }
            _ => "unknown".to_string(),
        };
        let gaps = field("gaps").map_or(String::new(), |gaps| format!(", {gaps} gaps in it"));
        let share = |name: &str| entry.get(name).and_then(Json::as_f64).map(|share| share / 1000.0);
        if let Some((bias, entropy)) = share("bias_per_mille").zip(share("entropy_per_mille")) {
            let [taken, not_taken] = ["taken", "not_taken"].map(|name| field(name).unwrap_or_default());
            writeln!(
                out,
                "  {name:<32} {taken} taken, {not_taken} not, bias {bias:.3}, entropy {entropy:.3}"
            )?;
        } else if let Some(entries) = field("entries") {
            let cycles = field("cycles").map_or(String::new(), |cycles| format!(", {cycles} cycles"));
            let time = field("time").map_or(String::new(), |time| format!(", time {time}"));
            writeln!(out, "  {name:<32} {entries} entries, {count} instructions{cycles}{time}{gaps}")?;
        } else if entry.get("taken").is_some() {
            line(out, &name, &field("unknown").unwrap_or_default())?;
        } else {
            line(out, &name, &format!("{count}{gaps}"))?;
        }
    }
    Ok(())
}

/// Numbers by name, as an object.
fn numbers<'n>(entries: impl IntoIterator<Item = (&'n str, u64)>) -> Json {
    entries.into_iter().map(|(name, count)| (key(name), json!(count))).collect::<Object>().into()
}

/// Names with counts, as an array.
fn named<'n, N: ToString>(entries: impl IntoIterator<Item = (N, &'n u64)>) -> Json {
    entries.into_iter().map(|(name, count)| json!({ "name": name.to_string(), "count": count })).collect()
}

fn groups(stats: &Summary, args: &StatsArgs, meta: &Meta, health: &Health) -> Vec<(&'static str, Json)> {
    let mut instructions = vec![
        ("total", stats.retired + stats.attempted),
        ("retired", stats.retired),
        ("attempted only", stats.attempted),
    ];
    instructions.extend((stats.unknown > 0).then_some(("without an address", stats.unknown)));
    let [reads, writes] = stats.registers;
    let registers =
        [("reads", reads), ("writes", writes), ("csr reads", stats.csrs[0]), ("csr writes", stats.csrs[1])];
    let hottest = stats.hottest(args.top).into_iter().map(|(start, block)| {
        let mut entry = at("start", start, stats, &meta.sources);
        entry.insert("entries".into(), json!(block.entries));
        entry.insert("instructions".into(), json!(block.instructions));
        Json::Object(entry)
    });
    let traps = stats.traps.iter().map(|((kind, cause, class), count)| {
        json!({ "kind": kind.as_str(), "cause": cause, "class": class, "count": count })
    });
    let classes = stats.mix.classes.iter().map(|(name, count)| (*name, *count));
    let mut groups = vec![
        ("instructions", numbers(instructions)),
        ("sources", sources(meta, health).unwrap_or_else(|| json!([]))),
        ("classes", numbers(classes)),
        ("extensions", named(&stats.mix.extensions)),
        ("mnemonics", named(most(&stats.mix.mnemonics, args.top))),
        ("branches", branches(stats, args.top, &meta.sources)),
        ("memory", memory(stats)),
        // Nothing recorded is not the same as none executed.
        ("registers", if reads + writes > 0 { numbers(registers) } else { Json::Null }),
        ("traps", traps.collect()),
        ("contexts", named(&stats.contexts)),
        ("gaps", named(stats.gaps.iter().map(|(reason, count)| (reason.as_str(), count)))),
        ("blocks", json!({ "distinct_blocks": stats.block_count(), "hottest": hottest.collect::<Vec<_>>() })),
        ("events", numbers(stats.events.iter().map(|(name, count)| (*name, *count)))),
    ];
    let has_symbols =
        stats.executed.programs().iter().any(|program| program.parts().iter().any(|part| part.elf.is_some()));
    for (heading, property) in [
        ("functions", By::Function),
        ("lines", By::Line),
        ("by_context", By::Context),
        ("by_source", By::Source),
    ] {
        let asked = args.by.iter().any(|asked| asked.property() == property);
        if asked || (property == By::Function && args.by.is_empty() && has_symbols) {
            let rows = stats.by(property, &meta.sources);
            groups.push((
                heading,
                rows.map_or(Json::Null, |rows| self::rows(&rows, args.top, stats, &meta.sources)),
            ));
        }
    }
    if let Some((first, last)) = stats.times {
        groups.push(("time", json!({ "first": hex(first), "last": hex(last) })));
    }
    groups
}

/// The entries with the highest counts.
fn most(counts: &BTreeMap<String, u64>, top: usize) -> impl Iterator<Item = (&String, &u64)> {
    let mut entries: Vec<_> = counts.iter().collect();
    entries.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), *name));
    entries.into_iter().take(top)
}

/// The rows with most instructions.
fn rows(rows: &[Row], top: usize, stats: &Summary, sources: &[String]) -> Json {
    let row = |row: &Row| {
        let mut entry = Object::new();
        entry.insert("name".into(), json!(row.name));
        entry.extend(row.address.map(|address| ("address".to_string(), hex(address.pc))));
        let source = row.address.and_then(|address| stats.program(address, sources));
        entry.extend(source.map(|source| ("source".to_string(), json!(source))));
        entry.insert("instructions".into(), json!(row.instructions));
        if let Some(entries) = row.entries {
            entry.insert("entries".into(), json!(entries));
            entry.insert("cycles".into(), json!(row.cycles));
            entry.insert("time".into(), json!(row.time));
        }
        entry.extend((row.gaps > 0).then(|| ("gaps".to_string(), json!(row.gaps))));
        Json::Object(entry)
    };
    rows.iter().take(top).map(row).collect()
}

/// Outcomes that no branch of the trace has are unknown, not 0.
fn branches(stats: &Summary, top: usize, sources: &[String]) -> Json {
    let [taken, not_taken, unknown] = stats.branches.outcomes;
    let known = |count: u64| if taken + not_taken > 0 || unknown == 0 { json!(count) } else { Json::Null };
    let mut places: Vec<_> = stats.branches.places.iter().collect();
    places.sort_by_key(|(pc, branch)| (std::cmp::Reverse(branch.outcomes.iter().sum::<u64>()), **pc));
    let places = places.into_iter().take(top).map(|(pc, branch)| {
        let [taken, not_taken, unknown] = branch.outcomes;
        let mut entry = at("pc", *pc, stats, sources);
        for (name, value) in [
            ("taken", json!(taken)),
            ("not_taken", json!(not_taken)),
            ("unknown", json!(unknown)),
            ("bias_per_mille", json!(branch.bias().map(thousandths))),
            ("entropy_per_mille", json!(branch.entropy().map(thousandths))),
        ] {
            entry.insert(name.into(), value);
        }
        Json::Object(entry)
    });
    json!({
        "taken": known(taken), "not_taken": known(not_taken), "unknown": unknown,
        "distinct": stats.branches.distinct(), "most_executed": places.collect::<Vec<_>>(),
    })
}

/// Three digits are enough for a share; numbers of JSON are whole.
fn thousandths(share: f64) -> u64 {
    (share * 1000.0).round() as u64
}

fn memory(stats: &Summary) -> Json {
    let memory = &stats.memory;
    if memory.loads + memory.stores + memory.atomics + memory.others == 0 {
        return Json::Null;
    }
    let sizes = memory.sizes();
    let sizes: Vec<Json> =
        sizes.iter().map(|(size, count)| json!({ "bytes": size, "count": count })).collect();
    let mut group = Object::new();
    let lines = (format!("lines of {LINE} bytes touched"), memory.lines());
    let pages = (format!("pages of {PAGE} bytes touched"), memory.pages());
    for (name, count) in [
        ("loads", memory.loads),
        ("stores", memory.stores),
        ("atomics", memory.atomics),
        ("others", memory.others),
        ("bytes read", memory.bytes_read),
        ("bytes written", memory.bytes_written),
        ("with data", memory.with_data),
        ("without an address", memory.unplaced),
        (&lines.0, lines.1),
        (&pages.0, pages.1),
    ] {
        group.insert(key(name), json!(count));
    }
    group.insert("sizes".into(), json!(sizes));
    group.into()
}
