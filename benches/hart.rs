//! The golden model on one core: without effects, with effects, and while recording plain STF that is thrown away.
//!
//! Programs: the C program of `programs/riscv` on bare metal, and bzip2 of the corpus in Linux user mode.

use std::path::Path;

use trackway::Settings;
use trackway::format::{Program as Files, Writing};
use trackway::io::Target as Output;
use trackway_bench::{Measure, run};
use trackway_core::{Batch, Source};
use trackway_hart::linux::{Options as LinuxOptions, Process};
use trackway_hart::machine::{Machine, MachineConfig};
use trackway_hart::{Config, Effects, Program, RecordOptions, Recorder, Target};

const PASSES: usize = 7;

fn main() {
    let mix = concat!(env!("CARGO_MANIFEST_DIR"), "/../programs/riscv/elf/rv64-mix.elf");
    let mix = Program::read(&std::fs::read(mix).expect("the program is in the repository")).expect("an ELF");
    measure("mix on bare metal", 40, &|| {
        let config = MachineConfig { ram: 1 << 20, ..MachineConfig::new(Config::new(mix.isa)) };
        Target::Machine(Box::new(Machine::new(config, &mix).expect("it loads")))
    });
    if let Some(run) = trackway_testkit::qemu::Run::corpus("rv64gc", "bzip2") {
        let input = trackway_testkit::corpus_part("qemu/inputs/t3k").expect("an input of the run");
        let stdin = std::fs::read(input).expect("it is in the corpus");
        let program = Program::read(&run.elf).expect("an ELF");
        measure("bzip2 on Linux", 3, &|| {
            let mut options = LinuxOptions::new(["bzip2", "-1", "-c"].map(str::to_string));
            options.stdin = stdin.clone();
            Target::Process(Box::new(Process::new(&program, options).expect("it loads")))
        });
    }
}

/// Runs a program to its end; returns the instructions.
type Way = fn(Target) -> u64;

fn measure(program: &str, times: u32, start: &dyn Fn() -> Target) {
    let ways: [(&str, Way, f64); 3] = [
        ("without effects", plainly, 100.0),
        ("with effects", with_effects, 25.0),
        ("recording STF", recording, 25.0),
    ];
    let name = |way: &str| format!("{program}, {way}");
    let measures = ways.iter().map(|(way, work, _)| {
        let prepare = || (0..times).map(|_| start()).collect::<Vec<Target>>();
        let work = move |targets: Vec<Target>| targets.into_iter().map(work).sum();
        Measure::prepared(name(way), "instructions", prepare, work).on_core()
    });
    let results = run(PASSES, measures.collect());
    for (way, _, goal) in ways {
        results.reach(&name(way), goal);
    }
}

fn plainly(mut target: Target) -> u64 {
    match &mut target {
        Target::Machine(machine) => machine.run(u64::MAX),
        Target::Process(process) => process.run(u64::MAX),
    }
}

fn with_effects(mut target: Target) -> u64 {
    let mut effects = Effects::new();
    let mut count = 0;
    match &mut target {
        Target::Machine(machine) => {
            while machine.status() == trackway_hart::machine::Status::Running {
                machine.step(&mut effects);
                count += u64::from(effects.pc.is_some());
            }
        }
        Target::Process(process) => {
            while process.status() == trackway_hart::linux::Status::Running {
                process.step(&mut effects);
                count += u64::from(effects.pc.is_some());
            }
        }
    }
    count
}

fn recording(target: Target) -> u64 {
    let mut recorder = Recorder::new(target, RecordOptions::default());
    let format = trackway::by_id(trackway::FORMATS, "stf".parse().unwrap()).expect("STF is in the list");
    let output = Output::new(Path::new("/dev/null"));
    let meta = recorder.meta().clone();
    let mut settings = Settings::default();
    settings.set("stf", "container", "plain");
    let writing = Writing { target: output, settings: &settings, program: &Files::default(), threads: 2 };
    let mut sink = format.create(writing, &meta).expect("it opens");
    let mut batch = Batch::default();
    while recorder.fill(&mut batch).expect("the model has no errors") {
        sink.put(&batch).expect("it is written");
    }
    sink.finish().expect("it is written");
    recorder.recorded()
}
