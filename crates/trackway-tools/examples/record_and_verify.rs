//! Records a program on the golden model as a tandem trace, and verifies the trace against the model:
//!
//! ```sh
//! cargo run -p trackway-tools --example record_and_verify -- programs/riscv/sort.elf
//! ```

use std::path::{Path, PathBuf};

use trackway::events::{Batch, Source};
use trackway::format::Writing;
use trackway::io::Target;
use trackway_hart::linux::{self, Process};
use trackway_hart::{Config, Program, RecordOptions, Recorder};
use trackway_tools::verify::{Options, Report, Verifier, survey, verify};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs/riscv/sort.elf");
    let path = std::env::args_os().nth(1).map_or(sample.into(), PathBuf::from);
    let program = Program::read(&std::fs::read(&path)?)?;
    let trace = std::env::temp_dir().join(format!("trackway-{}.tv", std::process::id()));
    let instructions = record(&program, &trace)?;
    println!("{instructions} instructions recorded in {}", trace.display());
    let report = verify_file(&program, &trace);
    std::fs::remove_file(&trace)?;
    let report = report?;
    print!("{}", report.text());
    if report.passed() { Ok(()) } else { Err("the trace does not verify".into()) }
}

/// Runs the program as a Linux process and writes its instructions to `to`, in the format that its name says.
fn record(program: &Program, to: &Path) -> Result<u64> {
    let process = Process::new(program, linux::Options::new(["sort".to_string()]))?;
    let mut recorder =
        Recorder::new(trackway_hart::Target::Process(Box::new(process)), RecordOptions::default());
    let format = trackway::for_output(trackway::FORMATS, to).ok_or("no format has this extension")?;
    let target = Target::new(to);
    let writing = Writing {
        target: target.clone(),
        settings: &Default::default(),
        program: &Default::default(),
        threads: 1,
    };
    let mut sink = format.create(writing, recorder.meta())?;
    let mut batch = Batch::default();
    while recorder.fill(&mut batch)? {
        sink.put(&batch)?;
    }
    sink.finish()?;
    target.commit()?;
    Ok(recorder.recorded())
}

/// Runs the model beside the trace, and compares every step.
fn verify_file(program: &Program, path: &Path) -> Result<Report> {
    let mut trace = trackway::Trace::open(path)?;
    // A Linux program has no machine-level code: nothing sets up memory protection, and no control register is recorded.
    let core = Config { pmp_entries: 0, ..Config::new(program.isa) };
    let absent = survey(&mut *trace.events()?).absent;
    let reset_pc = trace.meta().start_pc;
    let mut verifier = Verifier::new(Options { reset_pc, absent, ..Options::new(core) });
    verifier.memory.load_program(program, 0);
    verify(&mut *trace.events()?, &mut verifier)?;
    Ok(verifier.report)
}
