//! `trackway demo`: the main job on data in the binary. A program's execution, recorded on the golden model or
//! shipped as a trace, is written in every format that can hold it, decoded back, and compared.

use std::io::Write;
use std::path::{Path, PathBuf};

use trackway::{ConfigFile, Expand, Format, Options, Target as Output};
use trackway_core::{Batch, EventKind, Losses, Outcome, Source};
use trackway_hart::linux::{Options as LinuxOptions, Process};
use trackway_hart::{LoadError, Program, RecordOptions, Recorder, Target};

use crate::cli::DemoArgs;
use crate::dump::{Shower, Window};
use crate::exit::{Exit, Failure};
use crate::listing::Listing;

/// A program that ships with this one.
struct Sample {
    name: &'static str,
    what: &'static str,
    elf: &'static [u8],
    /// Its trace and the extension of that; without one the program is run on the golden model.
    trace: Option<(&'static [u8], &'static str)>,
}

const SAMPLES: &[Sample] = &[
    Sample {
        name: "sort",
        what: "eight numbers sorted and summed on RV64, recorded on the golden model",
        elf: include_bytes!("../../../programs/riscv/sort.elf"),
        trace: None,
    },
    Sample {
        name: "sort-a64",
        what: "a sort with atomics, vector copies and system calls on AArch64",
        elf: include_bytes!("../../../programs/aarch64/sort.elf"),
        trace: Some((include_bytes!("../../../testdata/astf/sort.astf"), "astf")),
    },
];

pub(crate) fn run(args: &DemoArgs) -> Result<Exit, Failure> {
    let temporary = std::env::temp_dir().join(format!("trackway-demo-{}", std::process::id()));
    let folder = args.folder.as_ref().unwrap_or(&temporary);
    let made = std::fs::create_dir_all(folder);
    made.map_err(|error| Failure::input(folder, trackway::Error::File { path: folder.clone(), error }))?;
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
            // What cannot be removed is in the system's own temporary folder.
            let _ = std::fs::remove_dir_all(folder);
            writeln!(
                out,
                "\nTry next: trackway demo DIR keeps the files; trackway --help lists the commands."
            )?;
        }
    }
    Ok(if agree { Exit::Fine } else { Exit::Found })
}

/// Shows one sample; true if every format gave it back.
fn show(sample: &Sample, folder: &Path) -> Result<bool, Failure> {
    let elf = folder.join(format!("{}.elf", sample.name));
    write(&elf, sample.elf)?;
    let options = Options { elf: vec![elf.display().to_string()], ..Options::default() };
    let recorded = folder.join(format!("{}.recorded.{}", sample.name, sample.trace.map_or("stf", |t| t.1)));
    let failed = |error: trackway::Error| Failure::input(&recorded, error);
    match sample.trace {
        Some((trace, _)) => write(&recorded, trace)?,
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
    let trace = trackway::open(&recorded, &options).map_err(failed)?;
    let meta = trace.meta().clone();
    let mut listing = Listing::new(&mut out, &meta, vec![options.program().map_err(failed)?]);
    let mut source = trace.source().map_err(failed)?;
    let mut batch = Batch::default();
    source.fill(&mut batch).map_err(|error| failed(error.into()))?;
    for (number, event) in
        batch.events.iter().filter(|event| event.kind.instructions() > 0).enumerate().skip(1).take(6)
    {
        listing.event(&batch, event, number as u64, Window { from: 0, to: u64::MAX })?;
    }
    drop(listing);

    writeln!(out, "\n{:<8} {:>8} {:>10}  {:<9} not held", "format", "bytes", "bits/insn", "decoded")?;
    let mut agree = true;
    for format in trackway::FORMATS {
        let path = folder.join(format!("{}.{}", sample.name, format.extensions()[0]));
        let word = format.id().word();
        match convert(*format, &recorded, &path, &options) {
            Err(error) => {
                // Nothing was written but a beginning; if it stays, it does no harm.
                let _ = std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir_all(&path));
                writeln!(out, "{word:<8} {:>8} {:>10}  {:<9} {error}", "-", "-", "-")?;
            }
            Ok(losses) => {
                let size = size_of(&path);
                let bits = 8.0 * size as f64 / wanted.len().max(1) as f64;
                let same = retired(&path, &decoding(&path, &options)).is_ok_and(|found| found == wanted);
                agree &= same;
                let verdict = if same { "the same" } else { "DIFFERS" };
                let dropped: Vec<&str> = losses
                    .entries()
                    .filter(|entry| entry.0 == trackway_core::Fate::Dropped)
                    .map(|entry| entry.1)
                    .collect();
                writeln!(out, "{word:<8} {size:>8} {bits:>10.2}  {verdict:<9} {}", dropped.join(", "))?;
            }
        }
    }
    Ok(agree)
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let file = |error| Failure::input(path, trackway::Error::File { path: path.to_path_buf(), error });
    std::fs::write(path, bytes).map_err(file)
}

/// Runs a user program on the golden model.
fn record(elf: &[u8], to: &Path, options: &Options) -> Result<(), trackway::Error> {
    let loaded = |error: LoadError| trackway::Error::Unsupported(error.to_string());
    let process = Process::new(&Program::read(elf).map_err(loaded)?, LinuxOptions::new(["sort".to_string()]))
        .map_err(loaded)?;
    let mut recorder = Recorder::new(Target::Process(Box::new(process)), RecordOptions::default());
    match trackway::by_name("stf") {
        Some(stf) => put_all(&mut recorder, stf, to, options).map(drop),
        None => Ok(()),
    }
}

/// What the decoder needs: the parameters that the encoder wrote beside the trace.
fn decoding(path: &Path, options: &Options) -> Options {
    let sidecar = PathBuf::from(format!("{}.toml", path.display()));
    Options { config: ConfigFile::read(&sidecar).ok(), ..options.clone() }
}

fn convert(
    format: &'static dyn Format,
    from: &Path,
    to: &Path,
    options: &Options,
) -> Result<Losses, trackway::Error> {
    let mut source = trackway::open(from, options)?.source()?;
    put_all(&mut *source, format, to, options)
}

fn put_all(
    source: &mut dyn Source,
    format: &'static dyn Format,
    to: &Path,
    options: &Options,
) -> Result<Losses, trackway::Error> {
    let meta = source.meta().clone();
    let mut sink = trackway::create(format, Output::new(to), &meta, options)?;
    let mut batch = Batch::default();
    while source.fill(&mut batch)? {
        sink.put(&batch)?;
    }
    Ok(sink.finish()?)
}

/// Addresses of the instructions that retired.
fn retired(path: &Path, options: &Options) -> Result<Vec<u64>, trackway::Error> {
    let source = trackway::open(path, options)?.source()?;
    let mut source = Expand::new(source, options.program()?);
    let mut pcs = Vec::new();
    let mut batch = Batch::default();
    while source.fill(&mut batch)? {
        for event in &batch.events {
            if let EventKind::Step(step) = &event.kind
                && step.outcome == Outcome::Retired
            {
                pcs.extend(step.pc);
            }
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
