//! The test programs leave nothing out: every instruction, every compressed encoding and every trap cause of
//! the model is executed by at least one of them, for both widths.

use std::collections::BTreeSet;
use std::path::Path;

use trackway_core::Isa;
use trackway_hart::machine::{Machine, MachineConfig, Status};
use trackway_hart::{Config, Effects, Extensions, Program};
use trackway_isa::riscv::{COMPRESSED, Extension, INSTRUCTIONS, Width, lookup};

/// The coverage of all programs of a width.
#[derive(Default)]
struct Seen {
    names: BTreeSet<&'static str>,
    causes: BTreeSet<(bool, u8)>,
}

fn run(isa: Isa) -> Seen {
    let mut seen = Seen::default();
    let programs = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs/riscv"));
    let folders = ["elf", "dump"].map(|folder| std::fs::read_dir(programs.join(folder)).expect("programs"));
    let prefix = isa.as_str();
    for entry in folders.into_iter().flatten() {
        let path = entry.expect("programs").path();
        let name = path.file_name().expect("name").to_string_lossy().into_owned();
        if !name.starts_with(prefix) || !name.ends_with(".elf") {
            continue;
        }
        let program = Program::read(&std::fs::read(&path).expect("readable")).expect("ELF");
        let mut core = Config::new(isa);
        if name.contains("aligned") {
            core.extensions = Extensions::ALL.with(Extension::C, false);
        }
        if name.contains("options") {
            core.extensions = Extensions::ALL.union(Extensions::OPTIONS).with(Extension::Svade, false);
        }
        let mut machine = Machine::new(MachineConfig::new(core), &program).expect("loads");
        let mut effects = Effects::new();
        while machine.status() == Status::Running {
            let taken = machine.step(&mut effects);
            if let Some((declared, _)) = lookup(isa, effects.encoding).filter(|_| effects.length != 0) {
                seen.names.insert(declared.name);
            }
            if let Some(taken) = taken {
                seen.causes.insert((taken.interrupt, taken.cause));
            }
        }
        assert_eq!(machine.status(), Status::Passed, "{name}");
    }
    seen
}

#[test]
fn nothing_is_left_out() {
    for isa in [Isa::Rv32, Isa::Rv64] {
        let seen = run(isa);
        let other = if isa == Isa::Rv32 { Width::Rv64 } else { Width::Rv32 };
        // Not of the model: vectors, the hypervisor (with its part of Svinval), debug, resumable interrupts, and the
        // withdrawn N.
        use Extension::*;
        let absent = [V, H, Sdext, Smrnmi, N];
        let missing = |name: &str| !name.starts_with("hinval") && !seen.names.contains(name);
        let missing: Vec<_> = INSTRUCTIONS
            .iter()
            .chain(COMPRESSED)
            .filter(|e| e.width != other && !absent.contains(&e.extension) && missing(e.name))
            .map(|e| e.name)
            .collect();
        assert!(missing.is_empty(), "{isa:?}: no program executes {missing:?}");

        // Privileged 3.1.15, table of causes.
        let exceptions = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 15].map(|cause| (false, cause));
        let interrupts = [1, 3, 5, 7, 9, 11, 13].map(|cause| (true, cause));
        for cause in exceptions.into_iter().chain(interrupts) {
            assert!(seen.causes.contains(&cause), "{isa:?}: no program raises {cause:?}");
        }
    }
}
