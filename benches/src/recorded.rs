//! Traces that several jobs read.

use trackway::events::{Batch, Counting, Source};
use trackway::format::{Format, Program, Settings, Writing};
use trackway::io::Target;
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
