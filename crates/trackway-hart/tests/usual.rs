//! Usual instructions, recorded in few tests, become the events of the way that all others take.

use std::path::Path;

use trackway_core::{Batch, Source};
use trackway_hart::linux::{Options, Process, Status as Exit};
use trackway_hart::machine::{Machine, MachineConfig, Status};
use trackway_hart::{Config, Extensions, Program, RecordOptions, Recorder, Target};
use trackway_isa::riscv::Extension;
use trackway_testkit::random::Numbers;

/// The programs of the repository, each with its name and the core that it is for.
fn programs() -> impl Iterator<Item = (String, Program, Config)> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs/riscv/elf"));
    std::fs::read_dir(folder).unwrap().map(|entry| {
        let path = entry.unwrap().path();
        let program = Program::read(&std::fs::read(&path).unwrap()).unwrap();
        let mut core = Config::new(program.isa);
        if path.to_string_lossy().contains("aligned") {
            core.extensions = Extensions::ALL.with(Extension::C, false);
        }
        (path.display().to_string(), program, core)
    })
}

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
    let mut count = 0;
    for (name, program, core) in programs() {
        let config = MachineConfig { ram: 1 << 22, ..MachineConfig::new(core) };
        let start = || Target::Machine(Box::new(Machine::new(config, &program).unwrap()));
        count += compare(&name, &start, 200_000);
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

/// Stretches of instructions leave the state that as many single steps leave, wherever they are cut.
#[test]
fn stretches_are_steps() {
    let numbers = &mut Numbers(1);
    for (name, program, core) in programs() {
        let instructions_per_tick = numbers.below(200);
        let config = MachineConfig { ram: 1 << 22, instructions_per_tick, ..MachineConfig::new(core) };
        let mut fast = Machine::new(config, &program).unwrap();
        let mut slow = fast.clone();
        let mut count = 0;
        while count < 200_000 && slow.status() == Status::Running {
            let most = if numbers.one_in(2) { 3 } else { 2000 };
            let limit = 1 + numbers.below(most);
            let mut steps = 0;
            while steps < limit && slow.status() == Status::Running {
                slow.step_observed(&mut ());
                steps += 1;
            }
            count += steps;
            assert_eq!(fast.run(limit), steps, "{name}: step {count}");
            let same = fast.hart.state() == slow.hart.state() && fast.status() == slow.status();
            assert!(same, "{name}: step {count}");
        }
        assert!(fast.system.ram() == slow.system.ram(), "{name}");
        assert_eq!(fast.take_output(), slow.take_output(), "{name}");
    }
}

/// The same of Linux programs.
#[test]
fn stretches_of_linux_programs_are_steps() {
    let Some(run) = trackway_testkit::qemu::Run::corpus("rv64gc", "qsortmix") else { return };
    let program = Program::read(&run.elf).unwrap();
    let start = || Process::new(&program, Options::new(["qsortmix".to_string()])).unwrap();
    let (mut fast, mut slow, numbers) = (start(), start(), &mut Numbers(2));
    let mut count = 0;
    while count < 500_000 && slow.status() == Exit::Running {
        let limit = 1 + numbers.below(2000);
        let mut steps = 0;
        while steps < limit && slow.status() == Exit::Running {
            slow.step_observed(&mut ());
            steps += 1;
        }
        count += steps;
        assert_eq!(fast.run(limit), steps, "step {count}");
        assert!(fast.hart.state() == slow.hart.state() && fast.status() == slow.status(), "step {count}");
    }
    assert_eq!(fast.take_output(), slow.take_output());
    assert!(count > 100_000, "{count}");
}
