//! Our own programs on the golden model, there and back for every legal combination of modes.
//!
//! The ordinary run takes a window of each under every fifth combination; `TRACKWAY_SWEEP=1` takes all.

mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use common::round::{Case, Seen, configs, there_and_back};
use trackway_core::*;
use trackway_etrace::Dialect;
use trackway_hart::linux::{self, Process};
use trackway_hart::machine::{Machine, MachineConfig};
use trackway_hart::{Program, RecordOptions, Recorder, Target};
use trackway_image::{Image, Space};
use trackway_isa::riscv::Extension;

fn recorder(path: &Path) -> Recorder {
    let program = Program::read(&std::fs::read(path).unwrap()).unwrap();
    let is_linux = program.entry < 0x8000_0000;
    let target = if is_linux {
        let argument = path.file_name().unwrap().to_string_lossy().into_owned();
        Target::Process(Box::new(Process::new(&program, linux::Options::new([argument])).unwrap()))
    } else {
        let mut core = trackway_hart::Config::new(program.isa);
        if path.to_string_lossy().contains("-aligned") {
            core.extensions = core.extensions.with(Extension::C, false);
        }
        Target::Machine(Box::new(Machine::new(MachineConfig::new(core), &program).unwrap()))
    };
    let options = RecordOptions { registers: false, memory: false, ..RecordOptions::default() };
    Recorder::new(target, options)
}

/// Records up to `window` instructions, or to where a program changes code that ran: an image holds one state
/// of it.
fn open(path: &Path, window: usize) -> Case {
    let mut recorder = recorder(path);
    let isa = recorder.meta().isa;
    let (mut code, mut batches, mut seen) = (BTreeMap::new(), Vec::new(), Seen::default());
    let mut batch = Batch::default();
    'all: while seen.pcs.len() < window && recorder.fill(&mut batch).unwrap() {
        let mut kept = std::mem::take(&mut batch);
        for n in 0..kept.events.len() {
            if let EventKind::Step(Step { pc: Some(pc), encoding, length, .. }) = kept.events[n].kind
                && length > 0
                && *code.entry(pc).or_insert((encoding, length)) != (encoding, length)
            {
                kept.events.truncate(n);
                batches.push(kept);
                break 'all;
            }
            let event = kept.events[n];
            seen.note(&kept, &event);
        }
        batches.push(kept);
    }
    let mut image = Image::default();
    for (pc, (encoding, length)) in code {
        let bytes = encoding.to_le_bytes()[..usize::from(length)].to_vec();
        image.add_raw("code", pc, Arc::new(bytes), Space::default()).unwrap();
    }
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    Case { name, isa, batches, seen, image: Arc::new(image), vectors: Vec::new() }
}

#[test]
fn every_program_of_ours() {
    let sweep = std::env::var_os("TRACKWAY_SWEEP").is_some();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/riscv");
    let mut paths = vec![root.join("sort.elf")];
    for folder in ["elf", "linux"] {
        paths.extend(std::fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path()));
    }
    paths.sort();
    assert!(paths.len() > 25, "{paths:?}");
    for (n, path) in paths.iter().enumerate() {
        let case = open(path, if sweep { usize::MAX } else { 3_000 });
        assert!(case.seen.pcs.len() > 50, "{}: {}", case.name, case.seen.pcs.len());
        eprintln!("{}: {} instructions, {} traps", case.name, case.seen.pcs.len(), case.seen.traps.len());
        for dialect in Dialect::ALL {
            for (m, mut config) in configs(dialect, &case.vectors).into_iter().enumerate() {
                if sweep || m % 5 == n % 5 {
                    config.params.iaddress_width = if case.isa == Isa::Rv32 { 32 } else { 64 };
                    there_and_back(&case, &config);
                }
            }
        }
    }
}
