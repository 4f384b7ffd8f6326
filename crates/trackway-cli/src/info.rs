//! `trackway info`: what a trace is.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value as Json, json};
use trackway::format::Excerpt;
use trackway::{Health, Options, Settings, Trace};
use trackway_core::{Batch, Census, EventKind, Meta, Observer, Outcome, TimeKind};
use trackway_image::Image;
use trackway_tools::attempted::Attempted;
use trackway_tools::contexts::{self, Contexts};
use trackway_tools::doctor::{self, Budget, Diagnosis, Sure};

use crate::args::{Common, InfoArgs};
use crate::each::each;
use crate::exit::{Exit, Failure};
use crate::json::{hex, key, object, program, put_errors};
use crate::open::open;
use crate::plain::plain;
use crate::report::{self, exit_of, print_damage, say};
use crate::walk::{CheckedProgram, checked_program, observe};

/// Counts and bounds of the events.
#[derive(Debug)]
struct Summary {
    attempted: Attempted,
    steps_attempted: u64,
    memory: u64,
    registers: u64,
    traps: u64,
    first_pc: Option<u64>,
    last_pc: Option<u64>,
    first_time: Option<u64>,
    last_time: Option<u64>,
    contexts: Contexts,
    program: CheckedProgram,
}

impl Summary {
    fn new(meta: &Meta, programs: &[Arc<Image>]) -> Self {
        Self::with(Attempted::new(programs), checked_program(meta.isa, programs))
    }

    fn with(attempted: Attempted, program: CheckedProgram) -> Self {
        Summary {
            attempted,
            steps_attempted: 0,
            memory: 0,
            registers: 0,
            traps: 0,
            first_pc: None,
            last_pc: None,
            first_time: None,
            last_time: None,
            contexts: Contexts::default(),
            program,
        }
    }
}

impl Observer for Summary {
    fn observe(&mut self, batch: &Batch) {
        self.program.observe(batch);
        self.contexts.enter(batch.source);
        self.attempted.enter(batch.source, self.contexts.now());
        self.memory += batch.mem.len() as u64;
        self.registers += batch.regs.len() as u64;
        self.traps += batch.traps.len() as u64;
        for event in &batch.events {
            match &event.kind {
                EventKind::Step(step) => {
                    self.steps_attempted += u64::from(step.outcome == Outcome::Attempted);
                    self.first_pc = self.first_pc.or(step.pc);
                    self.last_pc = step.pc.or(self.last_pc);
                }
                EventKind::Run(run) if !run.withdrawn => {
                    self.attempted.run(run);
                    self.first_pc = self.first_pc.or(Some(run.start));
                    self.last_pc = Some(run.end);
                }
                EventKind::Context(n) => {
                    self.contexts.change(&batch.contexts[*n as usize]);
                    self.attempted.enter(batch.source, self.contexts.now());
                }
                EventKind::Time(time) if time.kind == TimeKind::Timestamp => {
                    self.first_time = self.first_time.or(time.value);
                    self.last_time = time.value.or(self.last_time);
                }
                _ => {}
            }
        }
    }

    fn fork(&self) -> Box<dyn Observer> {
        Box::new(Summary::with(self.attempted.fork(), *self.program.fork().downcast()))
    }

    fn merge(&mut self, later: Box<dyn Observer>) {
        let later = later.downcast::<Self>();
        self.attempted.count += later.attempted.count;
        self.steps_attempted += later.steps_attempted;
        self.memory += later.memory;
        self.registers += later.registers;
        self.traps += later.traps;
        self.first_pc = self.first_pc.or(later.first_pc);
        self.last_pc = later.last_pc.or(self.last_pc);
        self.first_time = self.first_time.or(later.first_time);
        self.last_time = later.last_time.or(self.last_time);
        self.contexts.merge(later.contexts);
        self.program.merge(Box::new(later.program));
    }
}

pub(crate) fn run(args: &InfoArgs) -> Result<Exit, Failure> {
    each(&args.files, "info", args.json, |path| one(path, args))
}

fn one(path: &Path, args: &InfoArgs) -> Result<Exit, Failure> {
    let failed = |error| report::placed(&args.common, path, error);
    let (mut trace, assumed) = open_or_assume(&args.common, path)?;
    let title = trace.format().title();
    let programs = trace.programs().map_err(failed)?;
    let mut source = trace.events().map_err(failed)?;
    let mut summary = Summary::new(trace.meta(), &programs);
    let in_parts = programs.iter().all(|program| program.is_everywhere());
    // A damaged trace is described as far as it was read.
    let (health, ended) = observe(&args.common, path, &mut *source, in_parts, &mut summary);
    let meta = source.meta().clone();
    // Some are known only now: the files that were executed and are missing.
    let mut container = trace.facts();
    if let Some(compression) = trace.compression() {
        container.push(("compression", compression.as_str().to_string()));
    }
    let mut facts = facts(path, title, &meta, &container, &summary, &health, &source.census());
    if let Some(assumed) = &assumed {
        facts.insert(4, ("assumed", json!(assumed)));
    }
    if args.json {
        let mut object = object("info");
        object.extend(facts.into_iter().map(|(name, value)| (key(name), value)));
        put_errors(&mut object, &health, ended.as_ref().err());
        crate::json::print(object)?;
    } else {
        let mut out = std::io::stdout().lock();
        for (name, value) in &facts {
            print_fact(&mut out, name, value)?;
        }
        writeln!(out, "{}", health.line())?;
        for next in next_commands(path, &args.common, trace.divides_items()) {
            writeln!(out, "  trackway {next}")?;
        }
    }
    print_damage(&health);
    summary.program.warn();
    ended.map(|()| exit_of(&health, &args.common))
}

/// Settings that are tried, and bytes that each is tried on, where a trace needs settings and has none.
const QUICK: Budget = Budget { tries: 600, bytes: 1 << 13 };

/// Opens a trace. One that needs settings and has none is opened with those that fit best, which are returned too.
fn open_or_assume(common: &Common, path: &Path) -> Result<(Trace, Option<Vec<String>>), Failure> {
    let opened = open(common, path);
    let needs = match &opened {
        // A format that is recognised by its content decodes by its own defaults.
        Ok(trace) => common.format.is_some() && lacks_settings(trace),
        Err(Failure::Input { error, .. }) => matches!(**error, trackway::Error::NotRecognised { .. }),
        Err(_) => false,
    };
    if !needs || common.config.is_some() || !path.is_file() {
        return opened.map(|trace| (trace, None));
    }
    let options = common.options()?;
    let examined = doctor::examine(path, &options, QUICK);
    // Several settings may lead along the same path, and differ in values: it is shown with its doubt.
    let follows = |found: &Diagnosis| {
        found.fit.instructions.is_some_and(|count| count > 0)
            && (found.sure > Sure::Guess || found.fit.is_clean())
    };
    let found = examined.ok().and_then(|report| report.diagnosis);
    if let Some(found) = found.as_ref().filter(|found| found.fit.instructions.is_none() && opened.is_err()) {
        let keys: Vec<String> = found.toml().lines().skip(1).map(str::to_string).collect();
        let (file, keys) = (path.display(), keys.join(", "));
        say!("{file}: by its packets {} ({keys}); --elf PROGRAM is needed to follow it", found.title);
    }
    let Some(found) = found.filter(follows) else { return opened.map(|trace| (trace, None)) };
    let with = Options { format: Some(found.format), program: found.program.clone(), ..options };
    let trace = with
        .settings(found.settings.clone())
        .open(path)
        .map_err(|error| report::placed(common, path, error))?;
    let mut assumed: Vec<String> = found.toml().lines().map(str::to_string).collect();
    let again = report::words(path, common);
    assumed.push(format!("{}: trackway doctor {again} has the details", found.sure.as_str()));
    Ok((trace, Some(assumed)))
}

/// True if its format has settings to look for, and none are given.
fn lacks_settings(trace: &Trace) -> bool {
    let (format, settings) = (trace.format(), trace.settings());
    let nothing = Excerpt { bytes: &[], whole: true, image: &Image::default() };
    !settings.has(format.id().as_str())
        && !format.is_at_top_level(settings)
        && trace.meta().flow_only
        && !format.neighbours(&Settings::default(), &nothing).is_empty()
}

/// Commands to try, with the options that opened the trace.
fn next_commands(path: &Path, common: &Common, divides_items: bool) -> [String; 3] {
    let words = report::words(path, common);
    let of_items = if divides_items { common.source.clone() } else { None };
    let items = report::words(path, &Common { source: of_items, ..common.clone() });
    [format!("dump {words} --limit 20"), format!("check {items}"), format!("dump --raw {items} --limit 20")]
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
    ];
    facts.extend((!meta.version.is_empty()).then(|| ("version", json!(meta.version))));
    let (doubts, container): (Vec<_>, Vec<_>) = container.iter().partition(|(name, _)| *name == "doubt");
    facts.extend(container.into_iter().map(|(name, value)| (*name, json!(value))));
    let doubts: Vec<&String> = doubts.into_iter().map(|(_, text)| text).collect();
    facts.extend((!doubts.is_empty()).then(|| ("doubt", json!(doubts))));
    let mut put = |name, value: Option<Json>| facts.extend(value.map(|value| (name, value)));
    let list = |texts: &[String]| (!texts.is_empty()).then(|| json!(texts));
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
    put("sources", sources(meta, health));
    put("note", list(&meta.notes.iter().map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>()));
    put("start pc", meta.start_pc.map(hex));
    put("first pc", summary.first_pc.map(hex));
    put("last pc", summary.last_pc.map(hex));
    put("items", health.items.map(|items| json!(items)));
    let kinds: Vec<Json> =
        census.entries().map(|(name, count)| json!({ "name": name, "count": count })).collect();
    put("item kinds", (!kinds.is_empty()).then(|| json!(kinds)));
    put("instructions", Some(json!(health.counts.instructions)));
    put("attempted only", Some(json!(summary.attempted.count + summary.steps_attempted)));
    // Nothing recorded is not the same as none executed.
    let recorded = |count: u64| if count > 0 { json!(count) } else { Json::Null };
    put("memory accesses", Some(recorded(summary.memory)));
    put("register accesses", Some(recorded(summary.registers)));
    put("traps", Some(json!(summary.traps)));
    let span = summary.first_time.zip(summary.last_time);
    put("time span", span.map(|(first, last)| json!({ "first": hex(first), "last": hex(last) })));
    let contexts: BTreeSet<String> =
        summary.contexts.met().filter_map(|(context, _)| contexts::named(context, meta)).collect();
    put("contexts", list(&Vec::from_iter(contexts)));
    put("program", summary.program.verdict().map(|verdict| program(&verdict)));
    put("gaps", Some(json!(health.counts.gaps)));
    put("doubtful runs", Some(json!(health.counts.doubtful)));
    put("bytes skipped", Some(json!(health.counts.skipped)));
    facts
}

/// Name and instructions of each source, where they have names.
pub(crate) fn sources(meta: &Meta, health: &Health) -> Option<Json> {
    let count = |n: usize| health.counts.by_source.get(n).copied().unwrap_or(0);
    let each =
        meta.sources.iter().enumerate().map(|(n, name)| json!({ "name": name, "instructions": count(n) }));
    let sources: Vec<Json> = each.collect();
    (!sources.is_empty()).then(|| json!(sources))
}

fn print_fact(out: &mut impl Write, name: &str, value: &Json) -> std::io::Result<()> {
    let label = format!("{name}:");
    match value {
        // A list of names with counts.
        Json::Array(values) if values.iter().all(Json::is_object) => {
            writeln!(out, "{label:<18}")?;
            values.iter().try_for_each(|value| {
                let count = value.get("count").or(value.get("instructions")).map_or(String::new(), shown);
                writeln!(out, "  {:<22} {count:>12}", shown(&value["name"]))
            })
        }
        Json::Array(values) => values.iter().try_for_each(|value| print_fact(out, name, value)),
        Json::Object(fields) => {
            let fields = fields.iter().filter(|(_, value)| !value.is_null());
            let fields: Vec<String> =
                fields.map(|(name, value)| format!("{} {}", name.replace('_', " "), shown(value))).collect();
            writeln!(out, "{label:<18} {}", fields.join(", "))
        }
        value => writeln!(out, "{label:<18} {}", shown(value)),
    }
}

/// A value for people.
pub(crate) fn shown(value: &Json) -> String {
    match value {
        Json::String(text) => plain(text).into_owned(),
        Json::Null => "not in this trace".to_string(),
        other => other.to_string(),
    }
}
