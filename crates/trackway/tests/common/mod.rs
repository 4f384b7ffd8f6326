//! Runs that several tests write in each format.
#![allow(dead_code, unreachable_pub)] // each test file is a crate of its own and uses a part of it

pub mod logs;
pub mod perf;

use std::path::{Path, PathBuf};

use trackway::events::{Batch, Gap, GapReason, Meta, Source};
use trackway_hart::machine::{Machine, MachineConfig};
use trackway_hart::{Config, Program, RecordOptions, Recorder, Target};

/// A file of the repository.
pub fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// A real run: its program, and its events.
pub struct Run {
    pub elf: PathBuf,
    pub meta: Meta,
    pub batches: Vec<Batch>,
}

/// The first instructions of `rv64-mix` on the golden model.
pub fn riscv(limit: u64) -> Run {
    recorded("programs/riscv/elf/rv64-mix.elf", limit, |_| {})
}

/// A program on the golden model, to its end, with settings changed.
pub fn golden(path: &str, set: impl FnOnce(&mut Config)) -> Run {
    recorded(path, RecordOptions::default().limit, set)
}

fn recorded(path: &str, limit: u64, set: impl FnOnce(&mut Config)) -> Run {
    let elf = file(path);
    let program = Program::read(&std::fs::read(&elf).unwrap()).unwrap();
    let mut config = Config::new(program.isa);
    set(&mut config);
    let config = MachineConfig { ram: 1 << 20, ..MachineConfig::new(config) };
    let mut machine = Machine::new(config, &program).unwrap();
    machine.leave_rom();
    let options = RecordOptions { limit, ..RecordOptions::default() };
    let mut recorder = Recorder::new(Target::Machine(Box::new(machine)), options);
    Run { elf, meta: recorder.meta().clone(), batches: batches(&mut recorder) }
}

/// The recorded sort, again and again.
pub fn arm(rounds: usize) -> Run {
    let mut trace = trackway::Trace::open(file("testdata/astf/sort.astf")).unwrap();
    let once = batches(&mut *trace.events().unwrap());
    let mut gap = Batch::default();
    gap.push_gap(0, Gap::new(GapReason::Filtered));
    let batches = (0..rounds).flat_map(|_| once.iter().chain([&gap]).cloned()).collect();
    Run { elf: file("programs/aarch64/sort.elf"), meta: trace.meta().clone(), batches }
}

fn batches(source: &mut dyn Source) -> Vec<Batch> {
    let (mut all, mut batch) = (Vec::new(), Batch::default());
    while source.fill(&mut batch).unwrap() {
        all.push(batch.clone());
    }
    all
}
