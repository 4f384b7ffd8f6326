//! Comparison of two equal STF traces with registers and memory, beside reading both.

use trackway::events::{Batch, Counting, Source};
use trackway::format::{Format, Program, Settings, Writing};
use trackway::io::Target;
use trackway_bench::{Measure, run};
use trackway_hart::machine::{Machine, MachineConfig};
use trackway_hart::{Config, RecordOptions, Recorder};
use trackway_tools::diff::{Group, Options, diff};

const INSTRUCTIONS: u64 = 2_000_000;
const PASSES: usize = 9;

fn main() {
    let path = std::env::temp_dir().join(format!("trackway-bench-diff-{}.stf", std::process::id()));
    record(&path);
    let bytes = std::fs::read(&path).expect("the trace");
    std::fs::remove_file(&path).expect("the trace");
    let open = || {
        let trace = trackway::Options::default().threads(1).open_bytes(bytes.clone());
        trace.and_then(|mut trace| trace.events()).expect("a good trace")
    };
    let both = || (open(), open());
    let results = run(
        PASSES,
        vec![
            Measure::prepared("reading both", "instructions", both, |(mut a, mut b)| {
                read(&mut *a) + read(&mut *b)
            }),
            Measure::prepared("diff of equal traces", "instructions", both, |(mut a, mut b)| {
                let report =
                    diff(&mut *a, &mut *b, &Options::default(), &mut |_, _| {}).expect("a good trace");
                assert!(report.is_equal());
                2 * report.compared[&Group::Pcs]
            }),
        ],
    );
    results.rate("reading both");
    results.slower("diff of equal traces", "reading both", Some(2.0));
}

fn read(source: &mut dyn Source) -> u64 {
    let mut batch = Batch::default();
    let mut count = 0;
    while source.fill(&mut batch).expect("a good trace") {
        count += batch.instructions();
    }
    count
}

/// A program in C with its registers and memory.
fn record(path: &std::path::Path) {
    let elf = concat!(env!("CARGO_MANIFEST_DIR"), "/../programs/riscv/elf/rv64-mix.elf");
    let program = trackway_hart::Program::read(&std::fs::read(elf).expect("a file")).expect("a program");
    let mut machine =
        Machine::new(MachineConfig::new(Config::new(program.isa)), &program).expect("a machine");
    machine.leave_rom();
    let options = RecordOptions { limit: INSTRUCTIONS, ..RecordOptions::default() };
    let mut recorder = Recorder::new(trackway_hart::Target::Machine(Box::new(machine)), options);
    let (settings, program, target) = (Settings::default(), Program::default(), Target::new(path));
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
}
