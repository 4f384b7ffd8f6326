//! `trackway info`: what a trace is.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

use serde_json::{Map, Value as Json, json};
use trackway::Health;
use trackway_core::{Batch, Census, EventKind, Meta, Observer, Outcome, TimeKind};
use trackway_tools::contexts::{self, Contexts};

use crate::cli::InfoArgs;
use crate::exit::{Exit, Failure};
use crate::open::open;
use crate::report::{self, exit_of, print_damage};
use crate::walk::observe;

/// Counts and bounds of the events.
#[derive(Debug, Default)]
struct Summary {
    attempted: u64,
    /// Runs that contradict the program.
    doubtful: u64,
    memory: u64,
    registers: u64,
    traps: u64,
    first_pc: Option<u64>,
    last_pc: Option<u64>,
    first_time: Option<u64>,
    last_time: Option<u64>,
    contexts: Contexts,
}

impl Observer for Summary {
    fn observe(&mut self, batch: &Batch) {
        self.contexts.enter(batch.source);
        self.memory += batch.mem.len() as u64;
        self.registers += batch.regs.len() as u64;
        self.traps += batch.traps.len() as u64;
        for event in &batch.events {
            match &event.kind {
                EventKind::Step(step) => {
                    self.attempted += u64::from(step.outcome == Outcome::Attempted);
                    self.first_pc = self.first_pc.or(step.pc);
                    self.last_pc = step.pc.or(self.last_pc);
                }
                EventKind::Run(run) if !run.withdrawn => {
                    self.attempted += u64::from(run.attempted);
                    self.doubtful += u64::from(run.doubtful);
                    self.first_pc = self.first_pc.or(Some(run.start));
                    self.last_pc = Some(run.end);
                }
                EventKind::Context(n) => self.contexts.change(&batch.contexts[*n as usize]),
                EventKind::Time(time) if time.kind == TimeKind::Timestamp => {
                    self.first_time = self.first_time.or(time.value);
                    self.last_time = time.value.or(self.last_time);
                }
                _ => {}
            }
        }
    }

    fn fork(&self) -> Box<dyn Observer> {
        Box::new(Summary::default())
    }

    fn merge(&mut self, later: Box<dyn Observer>) {
        let later = later.downcast::<Self>();
        self.attempted += later.attempted;
        self.doubtful += later.doubtful;
        self.memory += later.memory;
        self.registers += later.registers;
        self.traps += later.traps;
        self.first_pc = self.first_pc.or(later.first_pc);
        self.last_pc = later.last_pc.or(self.last_pc);
        self.first_time = self.first_time.or(later.first_time);
        self.last_time = later.last_time.or(self.last_time);
        self.contexts.merge(later.contexts);
    }
}

pub(crate) fn run(args: &InfoArgs) -> Result<Exit, Failure> {
    let mut worst = Exit::Fine;
    let several = args.files.len() > 1;
    for path in &args.files {
        match one(path, args) {
            Ok(exit) => worst = worst.max(exit),
            // One file that fails does not keep the others from being shown.
            Err(failure @ Failure::Input { .. }) if several => {
                worst = worst.max(report::failure(&failure, ""))
            }
            Err(failure) => return Err(failure),
        }
    }
    Ok(worst)
}

fn one(path: &Path, args: &InfoArgs) -> Result<Exit, Failure> {
    let mut trace = open(&args.common, path)?;
    let (meta, title) = (trace.meta().clone(), trace.format().title());
    let mut container = trace.facts();
    if let Some(compression) = trace.compression() {
        container.push(("compression", compression.as_str().to_string()));
    }
    let mut source = trace.events().map_err(|error| report::placed(&args.common, path, error))?;
    let mut summary = Summary::default();
    // A damaged trace is described as far as it was read.
    let (health, walked) = observe(&args.common, path, &mut *source, &mut summary);
    let facts = facts(path, title, &meta, &container, &summary, &health, &source.census());
    let mut out = std::io::stdout().lock();
    if args.json {
        let mut object = Map::from_iter([("trackway".to_string(), json!({ "schema": 1, "kind": "info" }))]);
        object.extend(facts.into_iter().map(|(name, value)| (name.to_string(), value)));
        writeln!(out, "{}", Json::Object(object))?;
    } else {
        for (name, value) in &facts {
            print_fact(&mut out, name, value)?;
        }
        writeln!(out, "{}", health.line())?;
        let path = path.display();
        for next in [
            format!("dump {path} --limit 20"),
            format!("check {path}"),
            format!("dump --raw {path} --limit 20"),
        ] {
            writeln!(out, "  trackway {next}")?;
        }
    }
    print_damage(&health);
    walked.map(|()| exit_of(&health, &args.common))
}

fn facts(
    path: &Path,
    title: &str,
    meta: &Meta,
    container: &[(&'static str, String)],
    summary: &Summary,
    health: &Health,
    census: &Census,
) -> Vec<(&'static str, Json)> {
    let mut facts: Vec<(&'static str, Json)> = vec![
        ("file", json!(path.display().to_string())),
        ("format", json!(meta.format.as_str())),
        ("title", json!(title)),
        ("version", json!(meta.version)),
    ];
    facts.extend(container.iter().map(|(name, value)| (*name, json!(value))));
    let mut put = |name, value: Option<Json>| facts.extend(value.map(|value| (name, value)));
    let list = |texts: &[String]| (!texts.is_empty()).then(|| json!(texts));
    let hex = |value: Option<u64>| value.map(|value| json!(format!("{value:#x}")));
    put("level", meta.level.as_ref().map(|level| json!(level)));
    put("isa", Some(json!(meta.isa.as_str())));
    put("isa string", meta.isa_string.as_ref().map(|text| json!(text)));
    put("vector bits", meta.vector_bits.map(|bits| json!(bits)));
    let producers: Vec<String> = meta
        .producers
        .iter()
        .map(|producer| {
            format!("{} {} {}", producer.name, producer.version, producer.comment).trim_end().to_string()
        })
        .collect();
    put("producers", list(&producers));
    put("comments", list(&meta.comments));
    put("features", list(&meta.features));
    put("sources", list(&meta.sources));
    put("note", list(&meta.notes.iter().map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>()));
    put("start pc", hex(meta.start_pc));
    put("first pc", hex(summary.first_pc));
    put("last pc", hex(summary.last_pc));
    put("items", health.items.map(|items| json!(items)));
    let kinds: Map<String, Json> = census.entries().map(|(name, n)| (name.to_string(), json!(n))).collect();
    put("item kinds", (!kinds.is_empty()).then_some(Json::Object(kinds)));
    put("instructions", Some(json!(health.counts.instructions)));
    put("attempted only", (summary.attempted > 0).then(|| json!(summary.attempted)));
    put("doubtful runs", (summary.doubtful > 0).then(|| json!(summary.doubtful)));
    put("memory accesses", Some(json!(summary.memory)));
    put("register accesses", Some(json!(summary.registers)));
    put("traps", Some(json!(summary.traps)));
    let span = summary.first_time.zip(summary.last_time);
    put("time span", span.map(|(first, last)| json!(format!("{first} to {last}"))));
    let contexts: BTreeSet<String> =
        summary.contexts.met().filter_map(|(context, _)| contexts::name(context)).collect();
    put("contexts", list(&Vec::from_iter(contexts)));
    put("gaps", Some(json!(health.counts.gaps)));
    put("bytes skipped", Some(json!(health.counts.skipped)));
    facts
}

/// Text of a trace for a terminal, with control characters escaped.
fn on_one_line(text: &str) -> String {
    let plain =
        |letter: char| if letter.is_control() { letter.escape_default().to_string() } else { letter.into() };
    text.chars().map(plain).collect()
}

fn print_fact(out: &mut impl Write, name: &str, value: &Json) -> std::io::Result<()> {
    match value {
        Json::Array(values) => {
            for value in values {
                print_fact(out, name, value)?;
            }
            Ok(())
        }
        Json::Object(entries) => {
            writeln!(out, "{:<18}", format!("{name}:"))?;
            entries.iter().try_for_each(|(name, n)| writeln!(out, "  {name:<22} {:>12}", n.to_string()))
        }
        Json::String(text) => writeln!(out, "{:<18} {}", format!("{name}:"), on_one_line(text)),
        other => writeln!(out, "{:<18} {other}", format!("{name}:")),
    }
}
