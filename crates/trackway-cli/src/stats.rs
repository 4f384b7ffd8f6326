//! `trackway stats`: what a trace is made of.

use std::collections::BTreeMap;
use std::io::Write;
use std::ops::ControlFlow;

use serde_json::{Map, Value as Json, json};
use trackway::Health;
use trackway_core::{Observer, Source};
use trackway_tools::stats::{LINE, PAGE, Stats};

use crate::cli::StatsArgs;
use crate::exit::{Exit, Failure};
use crate::open::open;
use crate::progress::Progress;
use crate::report::{exit_of, placed, print_damage};
use crate::walk::{observe, walk};

/// A group of numbers under a heading.
type Group = (&'static str, Vec<(String, Json)>);

pub(crate) fn run(args: &StatsArgs) -> Result<Exit, Failure> {
    let mut trace = open(&args.common, &args.file)?;
    let failed = |error: trackway::Error| placed(&args.common, &args.file, error);
    let programs = trace.programs().map_err(failed)?;
    let isa = trace.meta().isa;
    let mut stats = Stats::new(isa, &programs);
    let mut source = trace.events().map_err(failed)?;
    let in_parts = programs.iter().all(|program| program.is_everywhere());
    // A damaged trace is counted as far as it was read.
    let (mut health, mut walked) = if in_parts {
        observe(&args.common, &args.file, &mut *source, &mut stats)
    } else {
        in_order(args, &mut *source, &mut stats)
    };
    if !stats.is_exact() {
        // Some part was decoded with the wrong instruction set: once more, in order.
        stats = Stats::new(isa, &programs);
        let mut trace = open(&args.common, &args.file)?;
        (health, walked) = in_order(args, &mut *trace.events().map_err(failed)?, &mut stats);
    }
    let name = |pc: u64| programs.first()?.place(pc);
    let groups = groups(&stats, args.top, &name);
    let mut out = std::io::stdout().lock();
    if args.json {
        let mut object = Map::from_iter([
            ("trackway".to_string(), json!({ "schema": 1, "kind": "stats" })),
            ("file".to_string(), json!(args.file.display().to_string())),
        ]);
        for (heading, facts) in groups {
            object.insert(heading.to_string(), Json::Object(facts.into_iter().collect()));
        }
        writeln!(out, "{}", Json::Object(object))?;
    } else {
        print(&mut out, &groups, &health)?;
    }
    print_damage(&health);
    walked.map(|()| exit_of(&health, &args.common))
}

/// Shows all events to `stats` on one thread.
fn in_order(args: &StatsArgs, source: &mut dyn Source, stats: &mut Stats) -> (Health, Result<(), Failure>) {
    walk(&args.common, &args.file, source, &Progress::new(args.common.quiet), |batch| {
        stats.observe(batch);
        Ok(ControlFlow::Continue(()))
    })
}

fn print(out: &mut impl Write, groups: &[Group], health: &Health) -> std::io::Result<()> {
    for (heading, facts) in groups.iter().filter(|(_, facts)| !facts.is_empty()) {
        writeln!(out, "{heading}")?;
        for (name, value) in facts {
            match value {
                Json::Object(parts) => {
                    let parts: Vec<_> = parts.iter().map(|(part, value)| format!("{value} {part}")).collect();
                    writeln!(out, "  {name:<32} {}", parts.join(", "))?;
                }
                value => writeln!(out, "  {name:<32} {:>14}", value.to_string().trim_matches('"'))?,
            }
        }
    }
    writeln!(out, "{}", health.line())
}

fn counts<K: ToString>(map: &BTreeMap<K, u64>) -> Vec<(String, Json)> {
    map.iter().map(|(name, count)| (name.to_string(), json!(count))).collect()
}

fn groups(stats: &Stats, top: usize, name: &dyn Fn(u64) -> Option<String>) -> Vec<Group> {
    let fact = |name: &str, value: u64| (name.to_string(), json!(value));
    let memory = &stats.memory;
    let [taken, not_taken, unknown] = stats.branches.outcomes;
    let mut instructions =
        vec![fact("total", stats.retired + stats.attempted), fact("retired", stats.retired)];
    instructions.push(fact("attempted only", stats.attempted));
    instructions.extend((stats.unknown > 0).then(|| fact("without an address", stats.unknown)));
    let mut accesses = vec![
        fact("loads", memory.loads),
        fact("stores", memory.stores),
        fact("atomics", memory.atomics),
        fact("others", memory.others),
        fact("bytes read", memory.bytes_read),
        fact("bytes written", memory.bytes_written),
        fact("with data", memory.with_data),
        fact("without an address", memory.unplaced),
        (format!("lines of {LINE} bytes touched"), json!(memory.lines())),
        (format!("pages of {PAGE} bytes touched"), json!(memory.pages())),
    ];
    accesses.extend(memory.sizes().iter().map(|(size, count)| (format!("of {size} bytes"), json!(count))));
    let hottest = stats.hottest(top).into_iter().map(|(start, block)| {
        let mut label = format!("{start:#x}");
        if let Some(place) = name(start) {
            label += &format!(" <{place}>");
        }
        (label, json!({ "instructions": block.instructions, "entries": block.entries }))
    });
    let mut hot = vec![fact("distinct blocks", stats.block_count())];
    hot.extend(hottest);
    let times =
        stats.times.map_or_else(Vec::new, |(first, last)| vec![fact("first", first), fact("last", last)]);
    vec![
        ("instructions", instructions),
        ("classes", counts(&stats.classes())),
        (
            "branches",
            vec![
                fact("taken", taken),
                fact("not taken", not_taken),
                fact("unknown", unknown),
                fact("distinct", stats.branches.distinct()),
            ],
        ),
        ("memory", accesses),
        (
            "registers",
            vec![
                fact("reads", stats.registers[0]),
                fact("writes", stats.registers[1]),
                fact("CSR reads", stats.csrs[0]),
                fact("CSR writes", stats.csrs[1]),
            ],
        ),
        ("traps", counts(&stats.traps())),
        ("contexts", counts(&stats.contexts())),
        ("gaps", counts(&stats.gaps())),
        ("time", times),
        ("blocks", hot),
        ("events", counts(&stats.events())),
    ]
}
