//! `trackway stats --item` and `--merge`: the counts of a trace in parts.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use trackway::cut::{Origin, WorkItem, hex, read_hex};
use trackway::{Counts, Health, Trace};
use trackway_core::Observer;
use trackway_tools::asked::Analysis;

use crate::args::{Common, Context, StatsArgs};
use crate::each::each;
use crate::exit::{Exit, Failure};
use crate::json::{object, write_line};
use crate::open::open;
use crate::output::write_file;
use crate::report::placed;
use crate::stats::{Both, Counted, run_file, show};

/// `trackway stats`: whole traces, a work item of it, or the results of all items.
pub(crate) fn run(args: &StatsArgs) -> Result<Exit, Failure> {
    match &args.item {
        Some(item) => run_item(args, item),
        None if args.files.is_empty() => merge(args),
        None => each(&args.files, "stats", args.json, |file| {
            if args.files.len() > 1 && !args.json {
                writeln!(std::io::stdout(), "file: {}", crate::plain::plain(&file.display().to_string()))?;
            }
            run_file(args, &args.common, file, given(args))
        }),
    }
}

/// Counts one item.
fn run_item(args: &StatsArgs, path: &Path) -> Result<Exit, Failure> {
    let item: WorkItem =
        serde_json::from_value(read(path, "work-item")?).map_err(|error| wrong(path, error))?;
    let common = common_of(&args.common, &item)?;
    let file = PathBuf::from(&item.file);
    let failed = |error: trackway::Error| placed(&common, &file, error);
    let mut part = object("stats-part");
    part.insert("item".into(), serde_json::to_value(&item).map_err(|error| wrong(path, error))?);
    let asked = given(args);
    part.insert("with".into(), names(&asked).into());
    // The errors of a damaged trace are read again by those who show them.
    if !item.damaged {
        let mut trace = open_of(&common, &item, path)?;
        let whole = Both::new(trace.meta().isa, &trace.programs().map_err(failed)?, &asked);
        let mut both: Both = *whole.fork().downcast();
        if let Some(saved) = item.saved().map_err(failed)? {
            both.enter(&saved);
        }
        let mut source = trace.events().map_err(failed)?;
        let counts = item.observe(&mut *source, &mut both).map_err(failed)?;
        let [stats, program] = both.pack().ok_or_else(|| wrong(path, "its counts cannot be stored"))?;
        let counts = serde_json::to_value(counts).map_err(|error| wrong(path, error))?;
        part.extend([
            ("counts".to_string(), counts),
            ("stats".to_string(), json!(hex(&stats))),
            ("program".to_string(), json!(hex(&program))),
        ]);
    }
    let mut line = Vec::new();
    write_line(&mut line, &Json::Object(part))?;
    match &args.output {
        Some(path) if path.as_os_str() != "-" => write_file(path, &line)?,
        _ => std::io::stdout().write_all(&line)?,
    }
    Ok(Exit::Fine)
}

/// Shows the counts of all items as those of the trace.
fn merge(args: &StatsArgs) -> Result<Exit, Failure> {
    let mut parts = Vec::new();
    for path in &args.merge {
        let part = read(path, "stats-part")?;
        let item = part.get("item").cloned().unwrap_or_default();
        let item: WorkItem = serde_json::from_value(item).map_err(|error| wrong(path, error))?;
        parts.push((item, part, path));
    }
    parts.sort_by_key(|(item, ..)| item.item);
    let Some((first, ..)) = parts.first() else { return Err(Failure::Usage("nothing to merge".into())) };
    for (n, (item, _, path)) in parts.iter().enumerate() {
        if (&item.file, &item.id, item.of) != (&first.file, &first.id, first.of) {
            let text = format!("it is of {}, in {} items; others are of {}", item.file, item.of, first.file);
            return Err(wrong(path, text));
        }
        if item.item <= n {
            return Err(wrong(path, format!("item {} is there twice", item.item)));
        }
        if item.item > n + 1 {
            return Err(Failure::Usage(format!("item {} of {} is missing", n + 1, first.of)));
        }
    }
    if parts.len() < first.of {
        return Err(Failure::Usage(format!("item {} of {} is missing", parts.len() + 1, first.of)));
    }
    let asked = asked_for(args, &parts)?;
    let common = common_of(&args.common, first)?;
    let file = PathBuf::from(&first.file);
    if first.damaged {
        return run_file(args, &common, &file, asked);
    }
    let failed = |error: trackway::Error| placed(&common, &file, error);
    let mut trace = open_of(&common, first, parts[0].2)?;
    let programs = trace.programs().map_err(failed)?;
    let mut both = Both::new(trace.meta().isa, &programs, &asked);
    let (mut counts, mut items) = (Counts::default(), 0);
    for (item, part, path) in &parts {
        let bytes = |name: &str| {
            let bytes = part.get(name).and_then(Json::as_str).and_then(read_hex);
            bytes.ok_or_else(|| wrong(path, format!("{name} is not in hex")))
        };
        let added = both.add(&[bytes("stats")?, bytes("program")?]);
        added.ok_or_else(|| wrong(path, "its counts cannot be read"))?;
        let of_part = part.get("counts").cloned().unwrap_or_default();
        let of_part: Counts = serde_json::from_value(of_part).map_err(|error| wrong(path, error))?;
        counts.merge(Box::new(of_part));
        items += item.items;
    }
    let health = Health { items: (items > 0).then_some(items), counts, ..Health::default() };
    let source = trace.events().map_err(failed)?;
    show(args, &file, Counted::new(both, asked), source.meta(), &health, Ok(()))
}

/// The analyses of `--with`.
fn given(args: &StatsArgs) -> Vec<Analysis> {
    args.with.iter().flatten().copied().collect()
}

/// Names of analyses, in one order.
fn names(asked: &[Analysis]) -> Vec<&'static str> {
    Analysis::ALL.into_iter().filter(|analysis| asked.contains(analysis)).map(Analysis::as_str).collect()
}

/// The analyses of all parts: those of `--with`, or those that the first part has.
fn asked_for(args: &StatsArgs, parts: &[(WorkItem, Json, &PathBuf)]) -> Result<Vec<Analysis>, Failure> {
    let given = given(args);
    let of = |part: &Json| {
        let names = part.get("with").and_then(Json::as_array).cloned().unwrap_or_default();
        Analysis::ALL.into_iter().filter(|known| names.iter().any(|name| name == known.as_str())).collect()
    };
    let asked: Vec<Analysis> = match parts.first() {
        Some((_, part, _)) if given.is_empty() => of(part),
        _ => given,
    };
    let list = |names: Vec<&str>| if names.is_empty() { "none".to_string() } else { names.join(",") };
    for (_, part, path) in parts {
        let has: Vec<Analysis> = of(part);
        if names(&has) != names(&asked) {
            let (has, asked) = (list(names(&has)), list(names(&asked)));
            return Err(wrong(
                path,
                format!("it was counted with these analyses: {has}; needed are: {asked}"),
            ));
        }
    }
    Ok(asked)
}

fn wrong(path: &Path, why: impl std::fmt::Display) -> Failure {
    Failure::Usage(format!("{}: {why}", path.display()))
}

/// Reads the one object of that kind in a file.
fn read(path: &Path, kind: &str) -> Result<Json, Failure> {
    let text = if path.as_os_str() == "-" {
        std::io::read_to_string(std::io::stdin())?
    } else {
        std::fs::read_to_string(path).map_err(|error| wrong(path, error))?
    };
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let [line] = lines[..] else {
        let text = format!("{} lines, and one object of kind {kind} is needed: a file for each", lines.len());
        return Err(wrong(path, text));
    };
    let object: Json = serde_json::from_str(line).map_err(|error| wrong(path, error))?;
    match object["trackway"]["kind"].as_str() {
        Some(found) if found == kind => Ok(object),
        Some(found) => Err(wrong(path, format!("it is of kind {found}, and {kind} is needed"))),
        None => Err(wrong(path, format!("not an object of kind {kind}"))),
    }
}

/// Opens the trace of an item that was read from `path`.
fn open_of(common: &Common, item: &WorkItem, path: &Path) -> Result<Trace, Failure> {
    let file = Path::new(&item.file);
    let trace = open(common, file)?;
    let id = Origin::of(&trace).map_err(|error| placed(common, file, error))?.id;
    if id == item.id {
        return Ok(trace);
    }
    Err(wrong(path, format!("{} is not the trace that it was made for", item.file)))
}

/// The options that open the trace of an item. It has them all: others would lead to other counts than its plan.
fn common_of(given: &Common, item: &WorkItem) -> Result<Common, Failure> {
    let Common { elf, image, config, format, source, .. } = given;
    let named = [
        ("elf", !elf.is_empty()),
        ("image", !image.is_empty()),
        ("config", config.is_some()),
        ("format", format.is_some()),
        ("source", source.is_some()),
    ];
    let flag = given.context.flags.first().map(|(flag, _)| (flag.name, true));
    if let Some((name, _)) = named.into_iter().chain(flag).find(|(_, given)| *given) {
        return Err(Failure::Usage(format!("--{name}: an item has it already; pass it to split --plan")));
    }
    let format =
        item.format.parse().map_err(|()| Failure::Usage(format!("{}: not a format", item.format)))?;
    let formats = &given.context.formats;
    let flags = || formats.iter().flat_map(|format| format.flags());
    let mut context = Context { formats: formats.clone(), flags: Vec::new() };
    for (name, value) in &item.options {
        let flag = flags().find(|flag| flag.name == name);
        let value = trackway::format::Value::try_from(value);
        let (Some(flag), Ok(value)) = (flag, value) else {
            return Err(Failure::Usage(format!("--{name}: not an option of a format")));
        };
        context.flags.push((*flag, value));
    }
    Ok(Common {
        elf: item.elf.clone(),
        image: item.image.clone(),
        config: item.config.as_ref().map(PathBuf::from),
        format: Some(format),
        source: item.only.clone(),
        context,
        ..given.clone()
    })
}
