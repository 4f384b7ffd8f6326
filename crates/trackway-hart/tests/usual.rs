//! Usual instructions, recorded in few tests, become the events of the way that all others take.

use std::path::Path;

use trackway_core::{Batch, Source};
use trackway_hart::linux::{Options, Process};
use trackway_hart::machine::{Machine, MachineConfig};
use trackway_hart::{Config, Extensions, Program, RecordOptions, Recorder, Target};
use trackway_isa::riscv::Extension;

/// Compares the events of two recordings, batch by batch; returns the instructions.
fn compare(name: &str, start: &dyn Fn() -> Target, limit: u64) -> u64 {
    let options = RecordOptions { limit, ..RecordOptions::default() };
    let mut usual = Recorder::new(start(), options);
    let mut plain = Recorder::new(start(), options).without_shortcuts();
    let (mut one, mut other) = (Batch::default(), Batch::default());
    loop {
        let more = usual.fill(&mut one).unwrap();
        assert_eq!(more, plain.fill(&mut other).unwrap(), "{name}");
        if !more {
            break;
        }
        // Values are compared; text only says what differs.
        let same = one.events == other.events
            && (&one.mem, &one.regs, &one.bytes) == (&other.mem, &other.regs, &other.bytes)
            && (&one.extras, &one.mem_extras) == (&other.extras, &other.mem_extras)
            && (&one.traps, &one.contexts, &one.states) == (&other.traps, &other.contexts, &other.states);
        assert!(same, "{name}: after {} instructions", plain.recorded());
    }
    assert_eq!(usual.recorded(), plain.recorded(), "{name}");
    usual.recorded()
}

#[test]
fn usual_instructions_are_recorded_as_all_others() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs/riscv/elf"));
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let program = Program::read(&std::fs::read(&path).unwrap()).unwrap();
        let mut core = Config::new(program.isa);
        if path.to_string_lossy().contains("aligned") {
            core.extensions = Extensions::ALL.with(Extension::C, false);
        }
        let config = MachineConfig { ram: 1 << 22, ..MachineConfig::new(core) };
        let start = || Target::Machine(Box::new(Machine::new(config, &program).unwrap()));
        count += compare(&path.to_string_lossy(), &start, 200_000);
    }
    assert!(count > 100_000, "{count}");
}

#[test]
fn usual_instructions_of_linux_programs_too() {
    let Some(run) = trackway_testkit::qemu::Run::corpus("rv64gc", "qsortmix") else { return };
    let program = Program::read(&run.elf).unwrap();
    let start = || {
        let options = Options::new(["qsortmix".to_string()]);
        Target::Process(Box::new(Process::new(&program, options).unwrap()))
    };
    assert!(compare("qsortmix", &start, 500_000) > 100_000);
}
