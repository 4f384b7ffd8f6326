//! Traces for simulators, with the ledger of what they cannot hold.

use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::sync::atomic::Ordering::Relaxed;

use serde_json::json;
use trackway::cut::Window;
use trackway::io::{Compression, FileError, Target, compress};
use trackway_columns::champsim::{ChampSim, Layout};
use trackway_core::{Counting, Output};

use super::{Args, Shape};
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::json;
use crate::open::open_to_write;
use crate::output::write_file;
use crate::place::ranges;
use crate::progress::Progress;
use crate::report::{exit_of, placed, print_damage, say, unfollowed};
use crate::walk::walk;

/// Writes one.
pub(super) fn run(args: &Args, shape: Shape) -> Result<Exit, Failure> {
    let (common, file) = (args.common(), &args.input.file);
    let layout = if shape == Shape::Champsim { Layout::Plain } else { Layout::Cloudsuite };
    let mut trace = open_to_write(common, file, None)?;
    let failed = |error: trackway::Error| placed(common, file, error);
    let names = trace.meta().sources.clone();
    if names.len() > 1 && trace.source().is_none() {
        let text = format!("a ChampSim trace has one core: choose one with --source ({})", names.join(", "));
        return Err(Failure::Usage(format!("{}: {text}", file.display())));
    }
    let mut source = trace.expanded().map_err(failed)?;
    if args.input.from.is_some() || args.input.to.is_some() {
        let ranges = ranges(&mut trace, args.input.from.as_slice(), args.input.to.as_slice())?;
        let selection = trackway::cut::Selection { ranges, ..Default::default() };
        let selection = selection.checked().map_err(|error| Failure::Usage(error.to_string()))?;
        trace = open_to_write(common, file, None)?;
        source = Box::new(Window::new(trace.expanded().map_err(failed)?, selection, None));
    }
    let target = Target::new(&args.output);
    interrupt::abandon(&target);
    let created = |FileError { path, error }: FileError| Failure::Written { path, error };
    let out = writer(args, target.create().map_err(created)?)?;
    let sink = ChampSim::new(out, layout, trace.meta().isa);
    let written = sink.written();
    let mut sink = Counting::new(Box::new(sink), trace.meta());
    let not_written = |error: trackway_core::Error| Failure::output(&target, &args.output, error);
    let progress = Progress::new(common.quiet);
    let (mut health, ended) = walk(common, file, &mut *source, &progress, |batch, _| {
        sink.put(batch).map_err(not_written)?;
        Ok(ControlFlow::Continue(()))
    });
    drop(progress);
    health.doubt(&trace.facts());
    let ledger = sink.finish().map_err(not_written)?;
    drop(sink);
    let records = written.records.load(Relaxed);
    let mut notes: Vec<String> = Layout::NOTES.iter().map(|note| note.to_string()).collect();
    let lost = written.lost_registers.load(Relaxed);
    if lost > 0 {
        let most = layout.destinations();
        notes.push(format!(
            "{lost} registers did not fit: a record has {} sources and {most} destinations",
            Layout::SOURCES
        ));
    }
    let refused = ended.is_err() || records == 0 || (common.strict && ledger.is_lossy());
    if !refused {
        target.commit().map_err(created)?;
    }
    let mut object = json::object("export");
    let outputs: Vec<String> =
        target.path.iter().filter(|_| !refused).map(|path| path.display().to_string()).collect();
    object.extend([
        ("ledger".to_string(), json::ledger(&ledger)),
        ("records".to_string(), json!(records)),
        ("notes".to_string(), json!(notes)),
        ("outputs".to_string(), json!(outputs)),
    ]);
    json::put_errors(&mut object, &health, ended.as_ref().err());
    if let Some(path) = &args.ledger {
        let is_json = path.extension().is_some_and(|end| end == "json");
        let text = if is_json {
            format!("{}\n", serde_json::Value::from(object.clone()))
        } else {
            format!("{ledger}{}\n", notes.join("\n"))
        };
        write_file(path, text.as_bytes())?;
    }
    if args.json {
        json::print(object)?;
    } else if !common.quiet {
        say!("{}", ledger.to_string().trim_end());
        notes.iter().for_each(|note| say!("{note}"));
        say!("{records} records; {}", health.line());
    }
    print_damage(&health);
    ended?;
    if records == 0 {
        let name = file.display();
        return Err(match unfollowed(&health) {
            Some(reason) => Failure::Unfollowed(format!("{name}: {reason}")),
            None => Failure::Usage(format!(
                "{name}: there are no instructions to export; flow formats need --elf"
            )),
        });
    }
    if common.strict && ledger.is_lossy() {
        return Err(Failure::Strict(format!("{}: the export loses information", args.output.display())));
    }
    Ok(exit_of(&health, common))
}

/// The file, through a compressor where its name asks for one.
fn writer(args: &Args, output: Output) -> Result<Box<dyn Write + Send>, Failure> {
    let output = match Compression::of_name(&args.output) {
        Some(compression) => compress(compression, output, None).map_err(|error| Failure::Written {
            path: args.output.clone(),
            error: std::io::Error::other(error.to_string()),
        })?,
        None => output,
    };
    Ok(match output {
        Output::Stream(stream) => stream,
        Output::File(file) => Box::new(BufWriter::with_capacity(1 << 16, file)),
    })
}
