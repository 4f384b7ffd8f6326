//! The programs of `programs/riscv` execute every instruction of the model and raise every trap that it has.

use std::collections::BTreeSet;
use std::path::Path;

use trackway_core::Isa;
use trackway_hart::machine::{Machine, MachineConfig, Status};
use trackway_hart::{Config, Effects, Extensions, Program};
use trackway_isa::riscv::{Extension, INSTRUCTIONS, Op, Width};

#[test]
fn programs_cover_instructions_and_causes() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs/riscv/elf"));
    for (isa, prefix) in [(Isa::Rv32, "rv32"), (Isa::Rv64, "rv64")] {
        let (mut executed, mut causes): (BTreeSet<Op>, BTreeSet<(bool, u8)>) = Default::default();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if !name.starts_with(prefix) {
                continue;
            }
            let program = Program::read(&std::fs::read(&path).unwrap()).unwrap();
            let mut core = Config::new(program.isa);
            if name.contains("aligned") {
                core.extensions = Extensions::ALL.with(Extension::C, false);
            }
            let mut machine = Machine::new(MachineConfig::new(core), &program).unwrap();
            let mut effects = Effects::new();
            while machine.status() == Status::Running {
                let taken = machine.step(&mut effects);
                executed.extend(effects.inst.filter(|_| taken.is_none()).map(|inst| inst.op));
                causes.extend(taken.map(|taken| (taken.interrupt, taken.cause)));
            }
            assert_eq!(machine.status(), Status::Passed, "{name}");
        }
        let other = if isa == Isa::Rv32 { Width::Rv64 } else { Width::Rv32 };
        // On RV32 these two have an encoding of their own, declared apart.
        let wanted = INSTRUCTIONS.iter().filter(|encoding| {
            Extensions::ALL.has(encoding.extension)
                && (encoding.width != other || matches!(encoding.op, Op::ZextH | Op::Rev8))
        });
        // ecall and ebreak always trap.
        let missing: Vec<&str> = wanted
            .filter(|encoding| !matches!(encoding.op, Op::Ecall | Op::Ebreak))
            .filter(|encoding| !executed.contains(&encoding.op))
            .map(|encoding| encoding.name)
            .collect();
        assert!(missing.is_empty(), "{prefix}: never executed: {missing:?}");
        let exceptions = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 15].map(|cause| (false, cause));
        let interrupts = [1, 3, 5, 7, 9, 11].map(|cause| (true, cause));
        let wanted = exceptions.into_iter().chain(interrupts);
        let missing: Vec<_> = wanted.filter(|cause| !causes.contains(cause)).collect();
        assert!(missing.is_empty(), "{prefix}: traps never taken: {missing:?}");
    }
}
