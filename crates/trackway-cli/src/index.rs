//! `trackway index`: builds, shows or removes the index beside a trace.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use trackway::Trace;
use trackway::index::{Checkpoint, Index, Part, beside};
use trackway::io::FileError;

use crate::args::Common;
use crate::exit::{Exit, Failure};
use crate::json::{Object, hex, object, put_errors};
use crate::open::open;
use crate::plain::plain;
use crate::progress::Progress;
use crate::report::{exit_of, placed, print_damage, say};

/// Arguments of `index`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The trace; its index is NAME.twx beside it
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Show the index that is used, beside the trace or in the cache
    #[arg(long, conflicts_with = "remove")]
    pub(crate) show: bool,
    /// Remove the index, beside the trace and in the cache
    #[arg(long)]
    pub(crate) remove: bool,
    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    if args.file.as_os_str() == "-" {
        return Err(Failure::Usage("stdin cannot be entered again: only a file has an index".into()));
    }
    if args.common.no_index {
        return Err(Failure::Usage("--no-index: there is nothing to do without an index".into()));
    }
    if args.remove {
        return remove(args);
    }
    let mut trace = open(&args.common, &args.file)?;
    if args.show {
        return show(args, &mut trace);
    }
    let progress = Progress::new(args.common.quiet);
    let written = trace.write_index(|source, health| progress.update(source, health));
    drop(progress);
    let (index, file, health) = written.map_err(|error| match error {
        trackway::Error::File { path, error } if path == beside(&args.file) => {
            Failure::Written { path, error }
        }
        error => placed(&args.common, &args.file, error),
    })?;
    if args.json {
        let mut object = describe(&args.file, &file, &index);
        put_errors(&mut object, &health, None);
        crate::json::print(object)?;
    } else if !args.common.quiet {
        table(&file, &index, false)?;
    }
    print_damage(&health);
    let is_closed = index.sources.values().all(|part| part.checkpoints.is_empty());
    if is_closed && !args.common.quiet && !trace.can_be_entered() {
        say!("{}", cannot_enter(&args.file, &trace));
    }
    Ok(exit_of(&health, &args.common))
}

/// Instructions of a trace in which it matters that it cannot be entered.
pub(crate) const LONG: u64 = 10_000_000;

/// Says that a container cannot be entered in the middle, and which one can.
pub(crate) fn cannot_enter(path: &Path, trace: &Trace) -> String {
    let path = path.display();
    let way = match (trace.format().container_to_enter(), trace.compression()) {
        (Some(container), _) => format!("trackway convert {path} OUT --container {container}"),
        (None, Some(_)) => "decompress it".into(),
        (None, None) => format!("trackway convert {path} OUT"),
    };
    format!("{path}: this container can only be read from its start; one that can be entered: {way}")
}

fn show(args: &Args, trace: &mut Trace) -> Result<Exit, Failure> {
    let (Some(index), Some(file)) = (trace.index(), trace.index_file()) else {
        let text = format!("{0}: there is no index; trackway index {0} makes one", args.file.display());
        return Err(Failure::Usage(text));
    };
    if args.json {
        crate::json::print(describe(&args.file, &file, &index))?;
    } else {
        table(&file, &index, true)?;
    }
    Ok(Exit::Fine)
}

fn remove(args: &Args) -> Result<Exit, Failure> {
    let mut files = vec![beside(&args.file)];
    // Its file in the cache is known only for a trace that can be opened.
    if let Ok(mut trace) = args
        .common
        .options()
        .and_then(|options| options.open(&args.file).map_err(|error| placed(&args.common, &args.file, error)))
    {
        files.extend(trace.cached_index_file());
    }
    let mut removed: Vec<String> = Vec::new();
    for file in files.iter().filter(|file| file.exists()) {
        std::fs::remove_file(file).map_err(|error| {
            let FileError { path, error } = FileError::at(file)(error);
            Failure::Written { path, error }
        })?;
        removed.push(file.display().to_string());
    }
    if args.json {
        let mut object = object("index");
        object.insert("file".into(), json!(args.file.display().to_string()));
        object.insert("removed".into(), json!(removed));
        crate::json::print(object)?;
    } else if removed.is_empty() {
        say!("{}: there is no index", args.file.display());
    } else {
        removed.iter().for_each(|file| say!("removed: {file}"));
    }
    Ok(Exit::Fine)
}

/// The index as JSON.
fn describe(trace: &Path, file: &Path, index: &Index) -> Object {
    let mut object = object("index");
    let size = |path: &Path| std::fs::metadata(path).map(|found| found.len()).ok();
    let source = |(name, part): (&String, &Part)| {
        let checkpoints: Vec<Json> = part.checkpoints.iter().map(place).collect();
        json!({
            "name": if name.is_empty() { Json::Null } else { json!(name) },
            "instructions": part.all.instructions,
            "complete": part.is_complete,
            "traps": part.all.tally.traps,
            "gaps": part.all.tally.gaps,
            "marks": part.all.tally.marks,
            "widest": part.widest(),
            "checkpoints": checkpoints,
        })
    };
    object.extend([
        ("file".to_string(), json!(trace.display().to_string())),
        ("index".to_string(), json!(file.display().to_string())),
        ("bytes".to_string(), json!(size(file))),
        ("sources".to_string(), index.sources.iter().map(source).collect()),
    ]);
    object
}

fn place(checkpoint: &Checkpoint) -> Json {
    let Checkpoint { saved, before, machine, .. } = checkpoint;
    json!({
        "instruction": saved.instruction,
        "position": saved.position,
        "time": before.time.map(hex),
        "depth": before.depth,
        "traps": before.tally.traps,
        "gaps": before.tally.gaps,
        "marks": before.tally.marks,
        "state_bytes": saved.state.len(),
        "machine_bytes": machine.as_ref().map(Vec::len),
    })
}

/// The index for people; all its places if asked for.
fn table(file: &Path, index: &Index, all: bool) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let bytes = std::fs::metadata(file).map_or(0, |found| found.len());
    writeln!(out, "{}: {bytes} bytes", file.display())?;
    for (name, part) in &index.sources {
        let name = if name.is_empty() { String::new() } else { format!("{}: ", plain(name)) };
        let reach = if part.is_complete { "" } else { ", not to the end" };
        writeln!(
            out,
            "{name}{} instructions, {} places{reach}, at most {} instructions apart",
            part.all.instructions,
            part.checkpoints.len(),
            part.widest()
        )?;
        if all && !part.checkpoints.is_empty() {
            let head = ["instruction", "position", "time", "depth", "traps", "gaps", "marks"];
            writeln!(
                out,
                "{:>14} {:>14} {:>18} {:>6} {:>8} {:>8} {:>8}",
                head[0], head[1], head[2], head[3], head[4], head[5], head[6]
            )?;
            for Checkpoint { saved, before, .. } in &part.checkpoints {
                let time = before.time.map_or("-".to_string(), |time| format!("{time:#x}"));
                let depth = before.depth.map_or("-".to_string(), |depth| depth.to_string());
                let (traps, gaps, marks) = (before.tally.traps, before.tally.gaps, before.tally.marks);
                writeln!(
                    out,
                    "{:>14} {:>14} {time:>18} {depth:>6} {traps:>8} {gaps:>8} {marks:>8}",
                    saved.instruction, saved.position
                )?;
            }
        }
    }
    Ok(())
}
