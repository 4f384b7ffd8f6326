//! Tandem verification of recordings of the golden model, beside the golden model alone.

use std::sync::Arc;

use trackway_bench::{Measure, run};
use trackway_core::{Batch, Input, Sink, Source};
use trackway_hart::machine::{Machine, MachineConfig, ROM_BASE, Status};
use trackway_hart::{Config as Core, Program, RecordOptions, Recorder, Target};
use trackway_tandem::{Config, Lower, Trace, WriteConfig};
use trackway_tools::verify::{Options, Range, Verifier, verify};

const PASSES: usize = 7;

fn main() {
    for name in ["rv64-mix", "rv64-integer", "rv64-float"] {
        let path = format!("{}/../programs/riscv/elf/{name}.elf", env!("CARGO_MANIFEST_DIR"));
        let program = Program::read(&std::fs::read(path).expect("program")).expect("ELF");
        let config = MachineConfig::new(Core::new(program.isa));
        let machine = Machine::new(config, &program).expect("machine");
        let mut recorder = Recorder::new(Target::Machine(Box::new(machine)), RecordOptions::default());
        let write = WriteConfig { config: Config::default(), ..WriteConfig::default() };
        let mut lower = Lower::new(Vec::new(), recorder.meta(), write).expect("widths");
        let mut batch = Batch::default();
        while recorder.fill(&mut batch).expect("model") {
            lower.put(&batch).expect("memory");
        }
        let bytes = Arc::new(lower.into_inner().expect("memory").0);
        let range = |start: u64, size: u64| Range { start, end: start + size };
        let options = Options {
            mmio: vec![
                range(0x10_0000, 0x1000),
                range(0x200_0000, 0x1_0000),
                range(0xc00_0000, 0x400_0000),
                range(0x1000_0000, 0x1000),
            ],
            // The board's code after reset is in no file.
            trusted: vec![range(ROM_BASE, 0x1000)],
            ..Options::new(config.core)
        };
        let (verifying, alone) = (format!("{name}: verify"), format!("{name}: the model alone"));
        let results = run(
            PASSES,
            vec![
                Measure::prepared(
                    &verifying,
                    "instructions",
                    || {
                        let mut verifier = Verifier::new(options.clone());
                        verifier.memory.load_program(&program, 0);
                        let input = Input::Whole(bytes.clone());
                        (verifier, Trace::open(input, Config::default()).expect("widths").events())
                    },
                    |(mut verifier, mut lift)| {
                        verify(&mut lift, &mut verifier).expect("a good trace");
                        assert!(verifier.report.passed(), "{}", verifier.report.text());
                        verifier.report.instructions
                    },
                ),
                Measure::prepared(
                    &alone,
                    "instructions",
                    || Machine::new(config, &program).expect("machine"),
                    |mut machine| {
                        let count = machine.run(u64::MAX);
                        assert_eq!(machine.status(), Status::Passed);
                        count
                    },
                ),
            ],
        );
        results.slower(&verifying, &alone, None);
    }
}
