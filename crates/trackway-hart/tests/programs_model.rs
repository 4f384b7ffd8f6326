//! The self-checking programs of `programs/riscv` pass on the model.

use std::path::Path;

use trackway_hart::machine::{Machine, MachineConfig, Status};
use trackway_hart::{Config, Effects, Extensions, Program};
use trackway_isa::riscv::Extension;

/// A machine with the core that a program is for.
fn machine(path: &Path) -> Machine {
    let program = Program::read(&std::fs::read(path).unwrap()).unwrap();
    let mut core = Config::new(program.isa);
    if path.to_string_lossy().contains("aligned") {
        core.extensions = Extensions::ALL.with(Extension::C, false);
    }
    Machine::new(MachineConfig::new(core), &program).unwrap()
}

#[test]
fn programs_pass_on_the_model() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs/riscv/elf"));
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() >= 24, "programs are missing");
    let mut failed = Vec::new();
    for path in paths {
        let mut fast = machine(&path);
        let steps = fast.run(20_000_000);
        eprintln!("{}: {:?}, {steps} steps", path.file_name().unwrap().display(), fast.status());
        // Observing changes nothing.
        let mut observed = machine(&path);
        let mut effects = Effects::new();
        let mut count = 0;
        while observed.status() == Status::Running && count < steps {
            observed.step(&mut effects);
            assert_eq!(effects.next_pc, observed.hart.state().pc);
            count += 1;
        }
        assert_eq!(observed.hart.state(), fast.hart.state(), "{}", path.display());
        if fast.status() != Status::Passed {
            let state = fast.hart.state();
            failed.push(format!(
                "{}: {:?} after {steps} steps, test {} at {:#x}, mcause {:#x} mepc {:#x} mtval {:#x}",
                path.file_name().unwrap().display(),
                fast.status(),
                state.x[3],
                state.pc,
                state.csr.mcause,
                state.csr.mepc,
                state.csr.mtval
            ));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
