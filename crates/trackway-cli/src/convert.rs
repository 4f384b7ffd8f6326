//! `trackway convert`: any format to any other.

use std::io::{Read, Write};
use std::ops::ControlFlow;
use std::path::Path;

use serde_json::json;
use trackway::{Expand, Format, Options, Target, Trace, WriteOptions};
use trackway_core::{EventKind, Losses};

use crate::cli::ConvertArgs;
use crate::exit::{Exit, Failure};
use crate::progress::Progress;
use crate::report::{placed, tell};
use crate::walk::walk;

pub(crate) fn run(args: &ConvertArgs) -> Result<Exit, Failure> {
    let into = match args.into {
        Some(id) => trackway::by_name(id.word()),
        None => trackway::for_output(&args.output),
    };
    let same = is_same(&args.input, &args.output);
    if is_program(&args.input) && !same {
        return load(into, args);
    }
    let (trace, mut options) = args.common.open(&args.input)?;
    options.write = write_options(args);
    let into = into.unwrap_or(trace.format);
    if same {
        return Err(Failure::Usage("input and output are the same file".into()));
    }
    // From events is asked for by what only events can change.
    let same = into.id() == trace.format.id() && args.stf_version.is_none() && args.astf_level.is_none();
    if same { rewrite(trace, args, &options) } else { through_events(trace, into, args, &options) }
}

fn write_options(args: &ConvertArgs) -> WriteOptions {
    WriteOptions {
        container: args.container.clone(),
        level: args.level,
        chunk: args.chunk,
        stf_version: args.stf_version,
        astf_level: args.astf_level.clone(),
        profile: args.profile.clone(),
        allow_nonconforming: args.allow_nonconforming,
    }
}

/// Are these one file, whatever it is called? Writing would end it before it is read.
fn is_same(input: &Path, output: &Path) -> bool {
    let piped = input.as_os_str() == "-";
    let input = if piped { Path::new("/dev/stdin") } else { input };
    (!piped && input == output)
        || identity(input).zip(identity(output)).is_some_and(|(one, other)| one == other)
}

/// What tells a file from all others, where it exists.
#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let found = std::fs::metadata(path).ok().filter(|found| found.is_file() || found.is_dir())?;
    Some((found.dev(), found.ino()))
}

/// What tells a file from all others, where it exists.
#[cfg(not(unix))]
fn identity(path: &Path) -> Option<std::path::PathBuf> {
    std::fs::canonicalize(path).ok()
}

/// Is the input no trace but an ELF file?
fn is_program(path: &Path) -> bool {
    let mut head = [0; 4];
    path.as_os_str() != "-"
        && std::fs::File::open(path).is_ok_and(|mut file| file.read_exact(&mut head).is_ok())
        && head == *b"\x7fELF"
}

/// A program becomes a trace that loads it into memory.
fn load(into: Option<&'static dyn Format>, args: &ConvertArgs) -> Result<Exit, Failure> {
    let Some(into) = into else {
        let text = format!("{}: which format? Say --into FORMAT", args.output.display());
        return Err(Failure::Usage(text));
    };
    let mut options = args.common.options()?;
    options.write = write_options(args);
    let failed = |error: trackway::Error| Failure::input(&args.input, error);
    let file = |error| failed(trackway::Error::File { path: args.input.clone(), error });
    let program = std::fs::read(&args.input).map_err(file)?;
    let items = into.load(&program, Target::new(&args.output), &options).map_err(failed)?;
    let mut losses = Losses::default();
    losses.add(trackway_core::Fate::Kept, "items that load the program", items);
    account(&losses, args)?;
    Ok(Exit::Fine)
}

fn rewrite(trace: Trace, args: &ConvertArgs, options: &Options) -> Result<Exit, Failure> {
    let target = Target::new(&args.output);
    let progress = Progress::new(args.common.quiet);
    progress.say("writing");
    let items = trace.rewrite(target.clone(), options).map_err(|error| match target.failure() {
        Some(error) => Failure::Written { path: args.output.clone(), error },
        None => placed(&args.common, &args.input, error),
    })?;
    drop(progress);
    let mut losses = Losses::default();
    losses.add(trackway_core::Fate::Kept, "items", items);
    account(&losses, args)?;
    if items == 0 {
        return Err(Failure::Usage(format!("{}: nothing to convert", args.input.display())));
    }
    Ok(Exit::Fine)
}

fn through_events(
    trace: Trace,
    into: &'static dyn Format,
    args: &ConvertArgs,
    options: &Options,
) -> Result<Exit, Failure> {
    let failed = |error: trackway::Error| placed(&args.common, &args.input, error);
    let meta = trace.meta().clone();
    let programs = trace.programs(options).map_err(failed)?;
    let mut source = trace.source().map_err(failed)?;
    if !programs.is_empty() {
        source = Box::new(Expand::by_source(source, programs));
    }
    let target = Target::new(&args.output);
    let written = |error: trackway::Error| Failure::output(&target, &args.output, error);
    let mut sink = trackway::create(into, target.clone(), &meta, options).map_err(written)?;
    let mut events = 0u64;
    let progress = Progress::new(args.common.quiet);
    let (health, walked) = walk(&args.common, &args.input, &mut *source, &progress, |batch| {
        events += batch.events.iter().filter(|event| !matches!(event.kind, EventKind::Gap(_))).count() as u64;
        sink.put(batch).map_err(|error| written(error.into()))?;
        Ok(ControlFlow::Continue(()))
    });
    drop(progress);
    // What came before damage is in the output, and the output is whole.
    let losses = sink.finish().map_err(|error| written(error.into()))?;
    account(&losses, args)?;
    walked?;
    if !args.common.quiet {
        tell!("{}", health.line());
    }
    if events == 0 {
        return Err(Failure::Usage(format!("{}: nothing to convert", args.input.display())));
    }
    if args.common.strict && losses.is_lossy() {
        if args.output.as_os_str() != "-" {
            // A file that --strict refuses must not be taken for a good one.
            let folder = args.output.is_dir();
            let _ = std::fs::remove_file(if folder {
                args.output.join("snapshot.ini")
            } else {
                args.output.clone()
            });
        }
        return Err(Failure::Strict(format!("{}: the conversion loses information", args.output.display())));
    }
    Ok(health.exit(&args.common))
}

/// Prints the account, and stores it where asked.
fn account(losses: &Losses, args: &ConvertArgs) -> Result<(), Failure> {
    if !args.common.quiet && !args.json {
        tell!("{}", losses.to_string().trim_end());
    }
    let entries: Vec<_> = losses
        .entries()
        .map(|(fate, what, n)| json!({ "fate": fate.word(), "what": what, "count": n }))
        .collect();
    let object = json!({ "trackway": { "schema": 1, "kind": "ledger" }, "entries": entries });
    if args.json {
        writeln!(std::io::stdout(), "{object}")?;
    }
    if let Some(path) = &args.ledger {
        let text = if path.extension().is_some_and(|end| end == "json") {
            format!("{object}\n")
        } else {
            losses.to_string()
        };
        std::fs::write(path, text)
            .map_err(|error| Failure::input(path, trackway::Error::File { path: path.clone(), error }))?;
    }
    Ok(())
}
