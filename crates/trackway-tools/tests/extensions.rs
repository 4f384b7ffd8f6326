//! Recordings of the programs that execute every instruction of the extensions, and use every privileged option, verify:
//! as tandem and as STF.

use std::path::{Path, PathBuf};

use trackway::events::{Batch, Source};
use trackway::format::Writing;
use trackway::io::Target as Output;
use trackway_hart::machine::{Machine, MachineConfig};
use trackway_hart::{Config, Extensions, Program, RecordOptions, Recorder, Target};
use trackway_isa::riscv::Extension;
use trackway_tools::verify::{Options, Range, Report, Verifier, survey, verify};

const PROGRAMS: [&str; 6] =
    ["rv32-crypto", "rv32-extensions", "rv32-options", "rv64-crypto", "rv64-extensions", "rv64-options"];

fn program(name: &str) -> (Program, Config) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../programs/riscv/dump/{name}.elf"));
    let program = Program::read(&std::fs::read(path).unwrap()).unwrap();
    let mut core = Config::new(program.isa);
    if name.ends_with("options") {
        core.extensions = Extensions::ALL.union(Extensions::OPTIONS).with(Extension::Svade, false);
    }
    (program, core)
}

/// Records all of the program's run; returns the instructions.
fn record(program: &Program, core: Config, to: &Path) -> u64 {
    let mut machine = Machine::new(MachineConfig::new(core), program).unwrap();
    machine.leave_rom();
    let mut recorder = Recorder::new(Target::Machine(Box::new(machine)), RecordOptions::default());
    let format = trackway::for_output(trackway::FORMATS, to).expect("a format");
    let target = Output::new(to);
    let (settings, files) = Default::default();
    let writing = Writing { target: target.clone(), settings: &settings, program: &files, threads: 1 };
    let mut sink = format.create(writing, recorder.meta()).unwrap();
    let mut batch = Batch::default();
    while recorder.fill(&mut batch).unwrap() {
        sink.put(&batch).unwrap();
    }
    sink.finish().unwrap();
    target.commit().unwrap();
    recorder.recorded()
}

fn verify_file(program: &Program, core: Config, path: &Path) -> Report {
    let mut trace = trackway::Trace::open(path).unwrap();
    let absent = survey(&mut *trace.events().unwrap()).absent;
    let reset_pc = trace.meta().start_pc;
    let range = |start: u64, size: u64| Range { start, end: start + size };
    let options = Options {
        reset_pc,
        absent,
        mmio: vec![range(0x10_0000, 0x1000), range(0x1000_0000, 0x1000)],
        map: vec![range(0x8000_0000, 128 << 20)],
        ..Options::new(core)
    };
    let mut verifier = Verifier::new(options);
    verifier.memory.load_program(program, 0);
    verify(&mut *trace.events().unwrap(), &mut verifier).unwrap();
    verifier.report
}

#[test]
fn recordings_verify() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    for name in PROGRAMS {
        let (program, core) = program(name);
        for format in ["tv", "stf"] {
            let path = folder.join(format!("{name}.{format}"));
            let recorded = record(&program, core, &path);
            let report = verify_file(&program, core, &path);
            std::fs::remove_file(&path).unwrap();
            let text = report.text();
            assert!(
                report.passed(),
                "{name}.{format}:\n{}",
                text.lines().take(40).collect::<Vec<_>>().join("\n")
            );
            // A fetch that faults is a step of the recording and not an instruction.
            let faults = recorded - report.instructions;
            assert!(faults <= report.exceptions, "{name}.{format}: {faults} {}", report.exceptions);
        }
    }
}
