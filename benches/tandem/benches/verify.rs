//! Instructions per second of tandem verification, beside the golden model alone.

use std::sync::Arc;
use std::time::Instant;

use trackway_core::{Batch, Input, Sink, Source};
use trackway_hart::machine::{Machine, MachineConfig, Status};
use trackway_hart::{Config as Core, Program, RecordOptions, Recorder, Target};
use trackway_tandem::{Config, Lift, Lower, WriteConfig};
use trackway_tools::verify::{Options, Range, Verifier, verify};

const PASSES: usize = 7;

fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

fn main() {
    for name in ["rv64-mix", "rv64-integer", "rv64-float"] {
        let path = format!("{}/../../programs/riscv/elf/{name}.elf", env!("CARGO_MANIFEST_DIR"));
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
            ..Options::new(config.core)
        };
        let (mut ours, mut model, mut instructions) = (Vec::new(), Vec::new(), 0);
        for _ in 0..PASSES {
            let mut verifier = Verifier::new(options.clone());
            for segment in &program.segments {
                verifier.memory.load(segment.physical, segment.bytes());
            }
            let mut lift = Lift::open(Input::Whole(bytes.clone()), Config::default()).expect("widths");
            let start = Instant::now();
            verify(&mut lift, &mut verifier).expect("sound");
            ours.push(start.elapsed().as_secs_f64());
            assert!(verifier.report.passed(), "{}", verifier.report.text());
            instructions = verifier.report.instructions;
            let mut machine = Machine::new(config, &program).expect("machine");
            let start = Instant::now();
            machine.run(u64::MAX);
            model.push(start.elapsed().as_secs_f64());
            assert_eq!(machine.status(), Status::Passed);
        }
        let (ours, model) = (median(ours), median(model));
        let rate = |seconds: f64| instructions as f64 / seconds / 1e6;
        println!(
            "{name}: {instructions} instructions: verify {:.2} M/s, model alone {:.1} M/s, ratio {:.2}",
            rate(ours),
            rate(model),
            model / ours
        );
    }
}
