//! `trackway convert`: any format to any other.

use std::io::{Read, Write};
use std::path::Path;

use serde_json::json;
use trackway::cut::{Origin, Provenance, Selection};
use trackway::format::{Format, Program, Settings, Writing};
use trackway::io::{FileError, Target};
use trackway::{Conversion, ConvertOptions, Prove, convert_with};
use trackway_core::{ErrorKind, Fact, Fate, Ledger};

use crate::args::{ConvertArgs, read_settings, threads};
use crate::asked::take_line;
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::json;
use crate::open::open_to_write;
use crate::output::write_file;
use crate::place::ranges;
use crate::progress::Progress;
use crate::report::{exit_of, placed, say};

pub(crate) fn run(args: &ConvertArgs) -> Result<Exit, Failure> {
    run_part(args, "convert", Selection::default())
}

/// Converts the instructions that `--from` and `--to` name, as far as they are in `selection`.
pub(crate) fn run_part(
    args: &ConvertArgs,
    kind: &'static str,
    mut selection: Selection,
) -> Result<Exit, Failure> {
    let context = &args.common.context;
    let into = context.output(args.into, &args.output)?;
    let same = is_same(&args.input, &args.output);
    let whole = selection.is_all() && args.from.is_empty() && args.to.is_empty();
    if is_program(&args.input) && !same {
        return load(into, args);
    }
    let mut trace = open_to_write(&args.common, &args.input, into)?;
    if same {
        return Err(Failure::Usage("input and output are the same file".into()));
    }
    let into = into.unwrap_or(trace.format());
    let settings = context.write_settings(trace.settings(), into)?;
    let prove = match (args.prove, args.no_prove) {
        (true, _) => Prove::Always,
        (_, true) => Prove::Never,
        _ => Prove::Small,
    };
    let mut part = None;
    if !whole {
        selection.ranges = ranges(&mut trace, &args.from, &args.to)?;
        let refused = |error: trackway::Error| Failure::Usage(error.to_string());
        let selection = selection.checked().map_err(refused)?;
        let of = Origin::of(&trace).map_err(|error| placed(&args.common, &args.input, error))?;
        part = Some((selection.clone(), Provenance::Slice { of, selection }));
    }
    let strict = args.common.strict;
    let options = ConvertOptions { into: Some(into), settings: Some(settings), strict, prove, part };
    let target = Target::new(&args.output);
    if !args.keep_partial {
        interrupt::abandon(&target);
    }
    let progress = Progress::new(args.common.quiet);
    progress.say("writing");
    progress.follow(&trace);
    let converted =
        convert_with(&mut trace, &target, &options, |source, health| progress.update(source, health));
    drop(progress);
    let conversion = converted.map_err(|error| match target.failure() {
        Some(error) => Failure::Written { path: args.output.clone(), error },
        // The target format refuses.
        None if matches!(error, trackway::Error::Unsupported(_)) => {
            Failure::Usage(format!("{}: {error}", args.output.display()))
        }
        None => Failure::only_output(&args.output, &error)
            .unwrap_or_else(|| placed(&args.common, &args.input, error)),
    })?;
    conclude(conversion, args, kind)
}

/// Reports on a conversion; its outputs appear if nothing speaks against them.
pub(crate) fn conclude(
    mut conversion: Conversion,
    args: &ConvertArgs,
    kind: &'static str,
) -> Result<Exit, Failure> {
    let ended = conversion.ended.take();
    let interrupted =
        matches!(&ended, Some(trackway::Error::Trace(error)) if error.kind == ErrorKind::Cancelled);
    let refused = matches!(ended, Some(trackway::Error::Strict(_)))
        || (interrupted && !args.keep_partial)
        || (args.common.strict && conversion.ledger.is_lossy())
        || conversion.proved == Some(false)
        || conversion.count == 0;
    if !refused {
        conversion.commit().map_err(|FileError { path, error }| Failure::Written { path, error })?;
    }
    account(&conversion, !refused, args, kind)?;
    let health = conversion.health.as_ref();
    if let Some(health) = health.filter(|_| !args.common.quiet) {
        say!("{}", health.line());
    }
    if let Some(error) = ended {
        return Err(match error {
            trackway::Error::Strict(text) => Failure::Strict(format!("{}: {text}", args.input.display())),
            error => {
                let instruction = health.map(|health| health.counts.instructions);
                placed(&args.common, &args.input, error).after(instruction)
            }
        });
    }
    if conversion.count == 0 {
        let place = |name: &str, texts: &[String]| -> String {
            texts.iter().map(|text| format!(" {name} {text}")).collect()
        };
        let part = place("from", &args.from) + &place("to", &args.to);
        return Err(Failure::Usage(format!("{}: nothing to {kind}{part}", args.input.display())));
    }
    if conversion.proved == Some(false) {
        return Err(Failure::Unproved { path: args.output.clone(), reasons: conversion.reasons });
    }
    if args.common.strict && conversion.ledger.is_lossy() {
        return Err(Failure::Strict(format!("{}: the conversion loses information", args.output.display())));
    }
    Ok(health.map_or(Exit::Fine, |health| exit_of(health, &args.common)))
}

/// True if both are one file, whatever it is called: writing would destroy it before it is read.
pub(crate) fn is_same(input: &Path, output: &Path) -> bool {
    let piped = input.as_os_str() == "-";
    let input = if piped { Path::new("/dev/stdin") } else { input };
    (!piped && input == output)
        || identity(input).zip(identity(output)).is_some_and(|(one, other)| one == other)
}

/// The identity of a file, where it exists.
#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let found = std::fs::metadata(path).ok().filter(|found| found.is_file() || found.is_dir())?;
    Some((found.dev(), found.ino()))
}

/// The identity of a file, where it exists.
#[cfg(not(unix))]
fn identity(path: &Path) -> Option<std::path::PathBuf> {
    std::fs::canonicalize(path).ok()
}

/// True if the input is an ELF file and not a trace.
fn is_program(path: &Path) -> bool {
    let mut head = [0; 4];
    path.as_os_str() != "-"
        && std::fs::File::open(path).is_ok_and(|mut file| file.read_exact(&mut head).is_ok())
        && head == *b"\x7fELF"
}

/// A program becomes a trace that loads it into memory.
fn load(into: Option<&'static dyn Format>, args: &ConvertArgs) -> Result<Exit, Failure> {
    let context = &args.common.context;
    let Some(into) = into else {
        let text = format!("{}: which format? Use --into FORMAT", args.output.display());
        return Err(Failure::Usage(text));
    };
    if !(args.from.is_empty() && args.to.is_empty()) {
        let text = "--from and --to cut a trace, and a program is not one";
        return Err(Failure::Usage(text.into()));
    }
    if args.prove {
        let text = "--prove compares two traces, and a program is not one";
        return Err(Failure::Usage(text.into()));
    }
    let settings = match &args.common.config {
        Some(path) => read_settings(context, path)?,
        None => Settings::default(),
    };
    let settings = context.write_settings(&settings, into)?;
    let failed = |error: trackway::Error| Failure::input(&args.input, error);
    let elf = std::fs::read(&args.input).map_err(|error| failed(FileError::at(&args.input)(error).into()))?;
    let (target, threads) = (Target::new(&args.output), threads(args.common.jobs));
    let writing =
        Writing { target: target.clone(), settings: &settings, program: &Program::default(), threads };
    let items = into.load(&elf, writing).map_err(|error| match target.failure() {
        Some(_) => Failure::output(&target, &args.output, error),
        None => failed(error),
    })?;
    let mut ledger = Ledger::default();
    ledger.add(Fate::Kept, Fact::Items, items);
    let conversion = Conversion { ledger, count: items, ..Conversion::default() };
    account(&conversion, true, args, "convert")?;
    target.commit().map_err(|error| Failure::output(&target, &args.output, error))?;
    Ok(Exit::Fine)
}

/// Prints the ledger, and stores it where asked.
fn account(
    conversion: &Conversion,
    there: bool,
    args: &ConvertArgs,
    kind: &'static str,
) -> Result<(), Failure> {
    let ledger = &conversion.ledger;
    conversion.warnings.iter().for_each(|warning| say!("warning: {warning}"));
    if !args.common.quiet && !args.json {
        say!("{}", if args.common.verbose { explained(ledger) } else { ledger.to_string() }.trim_end());
        for (rule, n) in &ledger.broken {
            let rules = args.common.context.formats.iter().flat_map(|format| format.rules());
            let demand = rules.copied().find(|known| known.name == *rule).map_or("", |known| known.demand);
            say!("breaks {n} times {rule}: {demand}");
        }
        match conversion.proved {
            Some(true) => say!("proved: the output was read back and holds what is said here"),
            Some(false) => {}
            None => conversion.reasons.iter().for_each(|reason| say!("{reason}")),
        }
    }
    let path =
        |output: &trackway::Written| output.target.path.as_ref().map(|path| path.display().to_string());
    let outputs: Vec<String> =
        if there { conversion.outputs.iter().filter_map(path).collect() } else { Vec::new() };
    let mut object = json::object(kind);
    object.extend([
        ("ledger".to_string(), json::ledger(ledger)),
        ("broken_rules".to_string(), json::broken_rules(ledger)),
        ("proved".to_string(), json!(conversion.proved)),
        ("reasons".to_string(), json!(conversion.reasons)),
        ("warnings".to_string(), json!(conversion.warnings)),
        ("outputs".to_string(), json!(outputs)),
    ]);
    let object = serde_json::Value::from(object);
    if !args.common.quiet && !args.json && outputs.len() > 1 {
        outputs.iter().for_each(|path| say!("written: {path}"));
    }
    if args.json && !take_line(&object.to_string()) {
        writeln!(std::io::stdout(), "{object}")?;
    }
    if let Some(path) = &args.ledger {
        let text = if path.extension().is_some_and(|end| end == "json") {
            format!("{object}\n")
        } else {
            ledger.to_string()
        };
        write_file(path, text.as_bytes())?;
    }
    Ok(())
}

/// The ledger with the meaning of each word.
fn explained(ledger: &Ledger) -> String {
    let mut text = String::new();
    for fate in Fate::ALL {
        let entries: Vec<_> = ledger.entries().filter(|entry| entry.0 == fate).collect();
        if !entries.is_empty() {
            text += &format!("{}: {}\n", fate.as_str(), fate.meaning());
        }
        for (_, fact, n) in entries {
            text += &format!("  {n:>12}  {}: {}\n", fact.as_str(), fact.meaning());
        }
    }
    text
}
