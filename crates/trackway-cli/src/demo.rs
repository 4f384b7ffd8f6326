//! `trackway demo`: the main job on data in the binary. A program's execution, recorded on the golden model or
//! shipped as a trace, is written in every format that can hold it, decoded back, and compared.

use std::io::Write;
use std::path::Path;

use trackway::format::{Format, Settings, Writing};
use trackway::io::Target as Output;
use trackway::{Options, Trace};
use trackway_core::{Batch, Counting, Ledger, Source};
use trackway_hart::linux::{Options as LinuxOptions, Process};
use trackway_hart::{LoadError, Program, RecordOptions, Recorder, Target};

use crate::args::DemoArgs;
use crate::colours::Colours;
use crate::exit::{Exit, Failure};
use crate::listing::Listing;
use crate::output::write_file;
use crate::view::{Budget, View};

/// A program that ships with this one.
struct Sample {
    name: &'static str,
    what: &'static str,
    elf: &'static [u8],
    /// A trace of it and its extension; without one the program runs on the golden model.
    trace: Option<(&'static [u8], &'static str)>,
}

const SAMPLES: &[Sample] = &[
    Sample {
        name: "sort",
        what: "eight numbers sorted and summed on RV64, recorded on the golden model",
        elf: include_bytes!("../demo/sort.elf"),
        trace: None,
    },
    Sample {
        name: "sort-a64",
        what: "a sort with atomics, vector copies and system calls on AArch64",
        elf: include_bytes!("../demo/sort-a64.elf"),
        trace: Some((include_bytes!("../demo/sort-a64.astf"), "astf")),
    },
];

pub(crate) fn run(args: &DemoArgs) -> Result<Exit, Failure> {
    let temporary = std::env::temp_dir().join(format!("trackway-demo-{}", std::process::id()));
    let folder = args.folder.as_ref().unwrap_or(&temporary);
    let made = std::fs::create_dir_all(folder);
    made.map_err(|error| Failure::Written { path: folder.clone(), error })?;
    let mut agree = true;
    for (n, sample) in SAMPLES.iter().enumerate() {
        if n > 0 {
            println!();
        }
        agree &= show(sample, folder)?;
    }
    let mut out = std::io::stdout().lock();
    match &args.folder {
        Some(folder) => {
            let folder = folder.display();
            writeln!(out, "\nThe files are in {folder}. Try next:")?;
            writeln!(out, "  trackway info {folder}/sort.zstf")?;
            writeln!(out, "  trackway dump {folder}/sort.zstf --limit 20")?;
            writeln!(out, "  trackway check {folder}/sort.zstf")?;
            writeln!(out, "  trackway verify {folder}/sort.tv --elf {folder}/sort.elf")?;
            writeln!(out, "  trackway dump {folder}/sort-a64.ete --raw --limit 20")?;
        }
        None => {
            // If it cannot be removed, it is in the system's own temporary folder.
            let _ = std::fs::remove_dir_all(folder);
            writeln!(
                out,
                "\nTry next: trackway demo DIR keeps the files; trackway --help lists the commands."
            )?;
        }
    }
    Ok(if agree { Exit::Fine } else { Exit::Found })
}

/// Shows one sample; true if every format returned it unchanged.
fn show(sample: &Sample, folder: &Path) -> Result<bool, Failure> {
    let elf = folder.join(format!("{}.elf", sample.name));
    write_file(&elf, sample.elf)?;
    let options = Trace::options().elf(elf.display().to_string());
    let recorded = folder.join(format!("{}.recorded.{}", sample.name, sample.trace.map_or("stf", |t| t.1)));
    let failed = |error: trackway::Error| Failure::input(&recorded, error);
    match sample.trace {
        Some((trace, _)) => write_file(&recorded, trace)?,
        None => record(sample.elf, &recorded, &options).map_err(failed)?,
    }
    let wanted = retired(&recorded, &options).map_err(failed)?;

    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{}: {}, {} instructions retired. Some of them:\n",
        sample.name,
        sample.what,
        wanted.len()
    )?;
    let mut trace = options.open(&recorded).map_err(failed)?;
    let programs = trace.programs().map_err(failed)?;
    let mut listing = Listing::new(trace.meta().isa, trace.format(), programs, Colours::of_stdout());
    let mut source = trace.events().map_err(failed)?;
    let mut batch = Batch::default();
    source.fill(&mut batch).map_err(|error| failed(error.into()))?;
    for (number, event) in
        batch.events.iter().filter(|event| event.kind.instructions() > 0).enumerate().skip(1).take(6)
    {
        listing.event(&batch, event, number as u64, &mut Budget(u64::MAX))?;
    }
    out.write_all(listing.text())?;

    writeln!(out, "\n{:<8} {:>8} {:>10}  {:<9} not held", "format", "bytes", "bits/insn", "decoded")?;
    let mut agree = true;
    for format in trackway::FORMATS.iter().filter(|format| format.is_written()) {
        let path = folder.join(format!("{}.{}", sample.name, format.extensions()[0]));
        let id = format.id();
        match convert(*format, &recorded, &path, &options) {
            Err(error) => writeln!(out, "{id:<8} {:>8} {:>10}  {:<9} {error}", "-", "-", "-")?,
            Ok(ledger) => {
                let size = size_of(&path);
                let bits = 8.0 * size as f64 / wanted.len().max(1) as f64;
                let same = retired(&path, &options).is_ok_and(|found| found == wanted);
                agree &= same;
                let verdict = if same { "the same" } else { "DIFFERS" };
                let dropped: Vec<&str> = ledger
                    .entries()
                    .filter(|entry| entry.0 == trackway_core::Fate::Dropped)
                    .map(|entry| entry.1.as_str())
                    .collect();
                writeln!(out, "{id:<8} {size:>8} {bits:>10.2}  {verdict:<9} {}", dropped.join(", "))?;
            }
        }
    }
    Ok(agree)
}

/// Runs a user program on the golden model.
fn record(elf: &[u8], to: &Path, options: &Options) -> Result<(), trackway::Error> {
    let loaded = |error: LoadError| trackway::Error::Unsupported(error.to_string());
    let process = Process::new(&Program::read(elf).map_err(loaded)?, LinuxOptions::new(["sort".to_string()]))
        .map_err(loaded)?;
    let mut recorder = Recorder::new(Target::Process(Box::new(process)), RecordOptions::default());
    match trackway::for_output(&options.formats, to) {
        Some(format) => put_all(&mut recorder, format, to, options).map(drop),
        None => Ok(()),
    }
}

fn convert(
    format: &'static dyn Format,
    from: &Path,
    to: &Path,
    options: &Options,
) -> Result<Ledger, trackway::Error> {
    let mut source = options.open(from)?.events()?;
    put_all(&mut *source, format, to, options)
}

fn put_all(
    source: &mut dyn Source,
    format: &'static dyn Format,
    to: &Path,
    options: &Options,
) -> Result<Ledger, trackway::Error> {
    let meta = source.meta().clone();
    let target = Output::new(to);
    let writing = Writing {
        target: target.clone(),
        settings: &Settings::default(),
        program: &options.program,
        threads: options.threads,
    };
    let mut sink = Counting::new(format.create(writing, &meta)?, &meta);
    let mut batch = Batch::default();
    while source.fill(&mut batch)? {
        sink.put(&batch)?;
    }
    let losses = sink.finish()?;
    target.commit()?;
    Ok(losses)
}

/// Addresses of the instructions that retired.
fn retired(path: &Path, options: &Options) -> Result<Vec<u64>, trackway::Error> {
    let mut steps = options.open(path)?.steps()?;
    let mut pcs = Vec::new();
    while let Some(step) = steps.next()? {
        if step.is_retired() {
            pcs.extend(step.pc);
        }
    }
    Ok(pcs)
}

/// Bytes of a trace: a file, or the streams of a snapshot folder.
fn size_of(path: &Path) -> u64 {
    let length = |path: &Path| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    let Ok(entries) = std::fs::read_dir(path) else { return length(path) };
    let streams = entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with("trace_"));
    streams.map(|entry| length(&entry.path())).sum()
}
