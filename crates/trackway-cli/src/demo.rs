//! `trackway demo`: the main job on data in the binary. A recorded execution is written in every format that
//! can hold it, decoded back, and compared.

use std::io::Write;
use std::path::{Path, PathBuf};

use trackway::{ConfigFile, Expand, Format, Options, Target};
use trackway_core::{Batch, EventKind, Losses, Outcome};

use crate::cli::DemoArgs;
use crate::dump::{Shower, Window};
use crate::exit::{Exit, Failure};
use crate::listing::Listing;

/// A recorded execution that ships with the program.
struct Sample {
    name: &'static str,
    what: &'static str,
    trace: &'static [u8],
    extension: &'static str,
    elf: &'static [u8],
}

const SAMPLES: &[Sample] = &[Sample {
    name: "sort",
    what: "eight numbers sorted and summed on RV64",
    trace: include_bytes!("../../../testdata/stf/sort/trace.stf"),
    extension: "stf",
    elf: include_bytes!("../../../programs/riscv/sort.elf"),
}];

pub(crate) fn run(args: &DemoArgs) -> Result<Exit, Failure> {
    let temporary = std::env::temp_dir().join(format!("trackway-demo-{}", std::process::id()));
    let folder = args.folder.as_ref().unwrap_or(&temporary);
    let made = std::fs::create_dir_all(folder);
    made.map_err(|error| Failure::input(folder, trackway::Error::File { path: folder.clone(), error }))?;
    let mut agree = true;
    for sample in SAMPLES {
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
    let recorded = folder.join(format!("{}.recorded.{}", sample.name, sample.extension));
    for (path, bytes) in [(&elf, sample.elf), (&recorded, sample.trace)] {
        std::fs::write(path, bytes)
            .map_err(|error| Failure::input(path, trackway::Error::File { path: path.clone(), error }))?;
    }
    let options = Options { elf: vec![elf.display().to_string()], ..Options::default() };
    let failed = |error: trackway::Error| Failure::input(&recorded, error);
    let wanted = retired(&recorded, &options).map_err(failed)?;

    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{}: {}, {} instructions retired. The first of them:\n",
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
        batch.events.iter().filter(|event| event.kind.instructions() > 0).take(6).enumerate()
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
            Err(error) => writeln!(out, "{word:<8} {:>8} {:>10}  {:<9} {error}", "-", "-", "-")?,
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
    let trace = trackway::open(from, options)?;
    let meta = trace.meta().clone();
    let mut source = trace.source()?;
    let mut sink = trackway::create(format, Target::new(to), &meta, options)?;
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
    while trackway_core::Source::fill(&mut source, &mut batch)? {
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

/// Bytes of a file, or of all files of a folder.
fn size_of(path: &Path) -> u64 {
    match std::fs::read_dir(path) {
        Ok(entries) => entries.flatten().map(|entry| size_of(&entry.path())).sum(),
        Err(_) => std::fs::metadata(path).map_or(0, |metadata| metadata.len()),
    }
}
