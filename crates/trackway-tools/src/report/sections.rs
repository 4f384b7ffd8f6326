//! The sections of a page.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::Report;
use super::page::Section;
use super::table::{Cell, Column, count, table};
use super::tree::tree;
use crate::flame::{self, Frames};
use crate::markup::escape;
use crate::plot::{self, Picture};
use crate::stats::{Address, By, LINE, PAGE};

/// Rows of a table at most.
const MOST: usize = 1000;

/// All sections, in order.
pub(super) fn all(report: &Report<'_>) -> Vec<Section> {
    let section = |id, heading, body| Section { id, heading, body };
    vec![
        section("summary", "Summary", summary(report)),
        section("health", "Health", health(report)),
        section("mix", "Instruction mix", mix(report)),
        section("functions", "Functions", functions(report)),
        section("calls", "Call tree", tree(report.called, report.meta)),
        section("flame", "Flame graph", flame(report)),
        section("branches", "Branches", branches(report)),
        section("memory", "Memory", memory(report)),
        section("code", "Code over time", picture(report, Picture::Pc)),
        section("time", "Time", picture(report, Picture::Ipc)),
        section("events", "Traps and contexts", events(report)),
    ]
}

/// Names and values.
fn facts(facts: &[(&str, String)]) -> String {
    let mut out = String::from("<dl>\n");
    for (name, value) in facts {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "<dt>{}</dt><dd>{}</dd>", escape(name), escape(value));
    }
    out + "</dl>\n"
}

/// Sentences as a list.
fn list(lines: &[String], class: &str) -> String {
    let items = lines.iter().map(|line| format!("<li class=\"{class}\">{}</li>\n", escape(line)));
    format!("<ul>\n{}</ul>\n", items.collect::<String>())
}

/// A picture, or what is missing for it.
fn picture(report: &Report<'_>, what: Picture) -> String {
    match plot::svg(what, report.subjects, None) {
        Some(svg) => format!("<div class=\"picture\">{svg}</div>\n"),
        None => format!("<p>No picture: the trace does not hold {}.</p>\n", what.needs()),
    }
}

fn summary(report: &Report<'_>) -> String {
    let Report { meta, summary, called, programs, .. } = report;
    let mut list = vec![("Format", format!("{} {}", meta.format, meta.version))];
    list.push(("Instruction set", meta.isa_string.clone().unwrap_or_else(|| meta.isa.as_str().into())));
    list.extend(meta.producers.iter().map(|producer| {
        let text = [&*producer.name, &*producer.version, &*producer.comment].join(" ");
        ("Producer", text.trim().to_string())
    }));
    list.extend(meta.comments.iter().map(|comment| ("Comment", comment.clone())));
    if !meta.sources.is_empty() {
        list.push(("Sources", meta.sources.join(", ")));
    }
    let files = programs.iter().flat_map(|program| program.parts()).filter(|part| part.elf.is_some());
    let files = files.count() as u64;
    list.push(("Programs", if files > 0 { count(files) } else { "none is named".into() }));
    list.push(("Instructions retired", count(summary.retired)));
    list.push(("Instructions only attempted", count(summary.attempted)));
    list.push(("Functions executed", count(called.tree.by_function().len() as u64)));
    list.push(("Distinct blocks", count(summary.block_count())));
    if let Some((first, last)) = summary.times {
        list.push(("Time stamps", format!("{first} to {last}")));
    }
    facts(&list)
}

/// How the trace was read, what it lacks, and what a gap taints.
fn health(report: &Report<'_>) -> String {
    let Report { health, summary, .. } = report;
    let mut out = format!("<p>{}</p>\n", escape(&health.line()));
    let mut warnings = report.warnings.clone();
    warnings.extend(
        health
            .first_errors
            .iter()
            .map(|passed| format!("after {} instructions: {}", count(passed.instruction), passed.error)),
    );
    warnings.extend(health.doubts.iter().cloned());
    if !warnings.is_empty() {
        out += &list(&warnings, "warn");
    }
    out += "<h3>Not in this trace</h3>\n";
    let missing = missing(report);
    out +=
        &if missing.is_empty() { "<p>Nothing is missing.</p>\n".into() } else { list(&missing, "missing") };
    out += "<h3>Results that gaps taint</h3>\n";
    let gaps: u64 = summary.gaps.values().sum();
    if gaps == 0 {
        return out + "<p>None: the trace has no gaps.</p>\n";
    }
    let rows = summary.gaps.iter().map(|(reason, n)| vec![reason.as_str().into(), (*n).into()]);
    out += &table("Gaps by reason", &[("Reason", false), ("Gaps", true)], &rows.collect::<Vec<_>>(), MOST);
    let guesses: u64 = report.called.tree.nodes().iter().map(|node| node.guesses).sum();
    let guessed = match guesses {
        0 => "no function had to be guessed".to_string(),
        guesses => format!("{} times only a guess says how a function was reached", count(guesses)),
    };
    let intervals = || report.subjects.iter().flat_map(|subject| &subject.timeline.intervals);
    let broken = intervals().filter(|interval| interval.gaps > 0).count();
    out += &list(
        &[
            "All counts are those of what was seen: instructions, branches and accesses inside a gap are in none of them.".into(),
            format!("Call tree and flame graph: {guessed}."),
            format!("Plots: {broken} of {} intervals end at or have a gap; curves are not drawn across it.", intervals().count()),
        ],
        "taint",
    );
    let rows = summary.by(By::Function, &report.meta.sources).unwrap_or_default();
    let rows = rows.into_iter().filter(|row| row.gaps > 0).map(|row| {
        let name = row.name.unwrap_or_else(|| "without a name".into());
        vec![Cell::Text(name), row.gaps.into(), row.instructions.into()]
    });
    let columns = [("Function", false), ("Gaps", true), ("Instructions seen", true)];
    out + &table("Functions in which a gap begins or ends", &columns, &rows.collect::<Vec<_>>(), MOST)
}

/// Things that the trace does not hold.
fn missing(report: &Report<'_>) -> Vec<String> {
    let Report { summary, subjects, programs, .. } = report;
    let parts = || programs.iter().flat_map(|program| program.parts());
    let classes = &summary.mix.classes;
    let unknown: u64 = ["unknown", "in runs"].iter().filter_map(|name| classes.get(name)).sum();
    let [taken, not_taken, unknown_outcomes] = summary.branches.outcomes;
    let accesses = subjects.iter().map(|subject| subject.timeline.accesses).sum::<u64>();
    let has_time = subjects.iter().any(|subject| {
        subject.timeline.per_cycle().iter().chain(&subject.timeline.per_tick()).any(Option::is_some)
    });
    let mut list = Vec::new();
    let mut say = |is_missing: bool, text: String| list.extend(is_missing.then_some(text));
    say(unknown > 0, format!("the code of {} instructions; their class is unknown", count(unknown)));
    say(
        unknown_outcomes > 0,
        format!("the outcomes of {} executions of conditional branches", count(unknown_outcomes)),
    );
    say(taken + not_taken + unknown_outcomes == 0, "conditional branches".into());
    say(accesses == 0, "memory accesses".into());
    say(summary.registers == [0, 0], "values of registers".into());
    say(!has_time, "cycle counts or time stamps between instructions".into());
    let has_symbols = parts().any(|part| part.elf.is_some());
    say(
        !has_symbols,
        "a program with symbols: functions are named by their addresses (--elf names one)".into(),
    );
    let has_lines = parts().any(|part| part.lines().is_some());
    say(has_symbols && !has_lines, "debug information of the program: there are no source lines".into());
    list
}

fn mix(report: &Report<'_>) -> String {
    let mix = &report.summary.mix;
    let total: u64 = mix.classes.values().sum();
    let rows = |entries: &mut dyn Iterator<Item = (&str, u64)>| {
        let mut rows: Vec<(String, u64)> = entries.map(|(name, n)| (name.to_string(), n)).collect();
        rows.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let row = |(name, n): (String, u64)| {
            vec![Cell::Text(name), n.into(), Cell::Share(n as f64 / total.max(1) as f64)]
        };
        rows.into_iter().map(row).collect::<Vec<_>>()
    };
    let one = |name: &'static str, entries: &mut dyn Iterator<Item = (&str, u64)>| {
        let columns: [Column; 3] = [(name, false), ("Instructions", true), ("Share", true)];
        table(&format!("Instructions by {}", name.to_lowercase()), &columns, &rows(entries), MOST)
    };
    format!(
        "{}<div class=\"columns\">\n{}{}{}</div>\n",
        picture(report, Picture::Mix),
        one("Class", &mut mix.classes.iter().map(|(name, n)| (*name, *n))),
        one("Extension", &mut mix.extensions.iter().map(|(name, n)| (*name, *n))),
        one("Mnemonic", &mut mix.mnemonics.iter().map(|(name, n)| (&**name, *n))),
    )
}

fn functions(report: &Report<'_>) -> String {
    let Report { called, summary, .. } = report;
    let total: u64 = called.tree.nodes().iter().map(|node| node.instructions).sum();
    let rows = summary.by(By::Function, &report.meta.sources).unwrap_or_default();
    let gaps: BTreeMap<Address, u64> =
        rows.into_iter().filter_map(|row| Some((row.address?, row.gaps))).collect();
    let mut totals: Vec<_> = called.tree.by_function().into_iter().collect();
    totals.sort_by_key(|(id, totals)| (std::cmp::Reverse(totals.exclusive), *id));
    let rows = totals.into_iter().map(|(id, totals)| {
        let function = called.functions.get(id);
        vec![
            Cell::Text(function.label()),
            Cell::Address(function.address),
            totals.exclusive.into(),
            Cell::Share(totals.exclusive as f64 / total.max(1) as f64),
            totals.inclusive.into(),
            totals.calls.into(),
            totals.guesses.into(),
            gaps.get(&summary.address(function.source, function.address)).copied().unwrap_or(0).into(),
        ]
    });
    let columns = [
        ("Function", false),
        ("Address", false),
        ("In itself", true),
        ("Share", true),
        ("With calls", true),
        ("Calls", true),
        ("Guesses", true),
        ("Gaps", true),
    ];
    table("Instructions by function", &columns, &rows.collect::<Vec<_>>(), MOST) + &lines(report)
}

/// Source lines, where the program has debug information.
fn lines(report: &Report<'_>) -> String {
    let rows = report.summary.by(By::Line, &report.meta.sources).unwrap_or_default();
    let rows = rows
        .into_iter()
        .filter_map(|row| Some(vec![Cell::Text(row.name?), row.instructions.into(), row.gaps.into()]));
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() {
        return String::new();
    }
    let columns = [("Line", false), ("Instructions", true), ("Gaps", true)];
    format!("<h3>Source lines</h3>\n{}", table("Instructions by source line", &columns, &rows, MOST))
}

fn flame(report: &Report<'_>) -> String {
    let frames = Frames::new(report.called, report.meta);
    format!("<div class=\"picture\">{}</div>\n", flame::svg(&frames, report.title))
}

fn branches(report: &Report<'_>) -> String {
    let mut places: Vec<_> = report.summary.branches.places.iter().collect();
    if places.is_empty() {
        return "<p>The trace has no conditional branches with a known address.</p>\n".into();
    }
    places.sort_by_key(|(pc, branch)| (std::cmp::Reverse(branch.outcomes.iter().sum::<u64>()), **pc));
    let rows = places.into_iter().map(|(address, branch)| {
        let [taken, not_taken, unknown] = branch.outcomes;
        let known = |n: u64| if taken + not_taken > 0 { Cell::Count(n) } else { Cell::Unknown };
        vec![
            Cell::Address(address.pc),
            Cell::Text(report.summary.symbol(*address).unwrap_or_default()),
            (taken + not_taken + unknown).into(),
            known(taken),
            known(not_taken),
            unknown.into(),
            branch.bias().map_or(Cell::Unknown, Cell::Ratio),
            branch.entropy().map_or(Cell::Unknown, Cell::Ratio),
        ]
    });
    let columns = [
        ("Address", false),
        ("Place", false),
        ("Executed", true),
        ("Taken", true),
        ("Not taken", true),
        ("Unknown", true),
        ("Bias", true),
        ("Entropy", true),
    ];
    picture(report, Picture::Branches)
        + &table("Conditional branches", &columns, &rows.collect::<Vec<_>>(), MOST)
}

fn memory(report: &Report<'_>) -> String {
    let memory = &report.summary.memory;
    if memory.loads + memory.stores + memory.atomics + memory.others == 0 {
        return "<p>The trace does not hold memory accesses.</p>\n".into();
    }
    let counts = facts(&[
        ("Loads", count(memory.loads)),
        ("Stores", count(memory.stores)),
        ("Atomics", count(memory.atomics)),
        ("Prefetches, maintenance and others", count(memory.others)),
        ("Bytes read", count(memory.bytes_read)),
        ("Bytes written", count(memory.bytes_written)),
        (
            "Footprint",
            format!(
                "{} lines of {LINE} bytes, {} pages of {PAGE} bytes",
                count(memory.lines()),
                count(memory.pages())
            ),
        ),
    ]);
    counts
        + &picture(report, Picture::WorkingSet)
        + "<h3>Data over time</h3>\n"
        + &picture(report, Picture::Data)
}

fn events(report: &Report<'_>) -> String {
    let summary = report.summary;
    let number = |n: Option<u64>| n.map_or(Cell::Text(String::new()), |n| Cell::Text(n.to_string()));
    let traps = summary.traps.iter().map(|((kind, cause, class), n)| {
        let class = class.map_or(String::new(), |class| format!("{class:#x}"));
        vec![kind.as_str().into(), number(*cause), Cell::Text(class), (*n).into()]
    });
    let traps: Vec<_> = traps.collect();
    let contexts = summary.contexts.iter().map(|(name, n)| vec![Cell::Text(name.clone()), (*n).into()]);
    let columns = [("Kind", false), ("Cause", false), ("Class", false), ("Times", true)];
    let traps = if traps.is_empty() {
        "<p>No traps were seen.</p>\n".into()
    } else {
        table("Traps", &columns, &traps, MOST)
    };
    let columns = [("Context", false), ("Instructions", true)];
    traps + &table("Instructions by context", &columns, &contexts.collect::<Vec<_>>(), MOST)
}
