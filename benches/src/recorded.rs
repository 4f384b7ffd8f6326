//! Traces that several jobs read.

use std::path::{Path, PathBuf};

use trackway::events::{Batch, Counting, Gap, GapReason, Meta, Source};
use trackway::format::{Format, Program, Settings, Writing};
use trackway::io::Target;
use trackway::{Options, Trace};
use trackway_hart::machine::{Machine, MachineConfig};
use trackway_hart::{Config, RecordOptions, Recorder};

/// An STF file of a program in C, with its registers and memory.
pub fn recorded_stf(instructions: u64) -> Vec<u8> {
    let elf = concat!(env!("CARGO_MANIFEST_DIR"), "/../programs/riscv/elf/rv64-mix.elf");
    let program = trackway_hart::Program::read(&std::fs::read(elf).expect("a file")).expect("a program");
    let mut machine =
        Machine::new(MachineConfig::new(Config::new(program.isa)), &program).expect("a machine");
    machine.leave_rom();
    let options = RecordOptions { limit: instructions, ..RecordOptions::default() };
    let mut recorder = Recorder::new(trackway_hart::Target::Machine(Box::new(machine)), options);
    let path = std::env::temp_dir().join(format!("trackway-bench-{}.stf", std::process::id()));
    let (settings, program, target) = (Settings::default(), Program::default(), Target::new(&path));
    let writing = Writing { target: target.clone(), settings: &settings, program: &program, threads: 1 };
    let meta = recorder.meta().clone();
    let sink = trackway::stf::FORMAT.create(writing, &meta).expect("a sink");
    let mut sink = Counting::new(sink, &meta);
    let mut batch = Batch::default();
    while recorder.fill(&mut batch).expect("it runs") {
        sink.put(&batch).expect("it is written");
    }
    sink.finish().expect("it is written");
    target.commit().expect("it is written");
    let bytes = std::fs::read(&path).expect("the trace");
    std::fs::remove_file(&path).expect("the trace");
    bytes
}

/// A run: its program and its events, to be written again and again.
pub struct Recorded {
    elf: PathBuf,
    meta: Meta,
    batches: Vec<Batch>,
}

fn repo(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

fn recorded(elf: PathBuf, source: &mut dyn Source) -> Recorded {
    let (mut batches, mut batch) = (Vec::new(), Batch::default());
    while source.fill(&mut batch).expect("a good run") {
        batches.push(batch.clone());
    }
    Recorded { elf, meta: source.meta().clone(), batches }
}

/// The mixed program on the golden model, with registers and memory.
pub fn riscv() -> Recorded {
    let elf = repo("programs/riscv/elf/rv64-mix.elf");
    let program = trackway_hart::Program::read(&std::fs::read(&elf).expect("program")).expect("ELF");
    let machine = Machine::new(MachineConfig::new(Config::new(program.isa)), &program).expect("machine");
    let target = trackway_hart::Target::Machine(Box::new(machine));
    recorded(elf, &mut Recorder::new(target, RecordOptions::default()))
}

/// The recorded sort.
pub fn arm() -> Recorded {
    let mut trace = Trace::open(repo("testdata/astf/sort.astf")).expect("in the repository");
    recorded(repo("programs/aarch64/sort.elf"), &mut *trace.events().expect("events"))
}

/// The run again and again in `format`, up to that many instructions, if it can hold it.
pub fn written(
    folder: &Path,
    format: &'static dyn Format,
    run: &Recorded,
    instructions: u64,
) -> Option<(PathBuf, Options)> {
    let path = folder.join(format!("{instructions}.{}", format.extensions()[0]));
    let program = Program { elf: vec![run.elf.display().to_string()], ..Program::default() };
    let (target, settings) = (Target::new(&path), Settings::default());
    let writing = Writing { target: target.clone(), settings: &settings, program: &program, threads: 2 };
    let mut sink = format.create(writing, &run.meta).ok()?;
    let mut gap = Batch::default();
    gap.push_gap(0, Gap::new(GapReason::Filtered));
    let mut count = 0;
    while count < instructions {
        for batch in &run.batches {
            sink.put(batch).expect("written");
            count += batch.instructions();
        }
        sink.put(&gap).expect("written");
    }
    sink.finish().expect("written");
    target.commit().expect("written");
    Some((path, Options { program, ..Options::default() }))
}
