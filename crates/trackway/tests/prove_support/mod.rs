//! Runs in memory, and a round trip of one of them through a format with the proof of it.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use trackway::events::{Batch, Counting, Event, Isa, Ledger, Meta, Result, Sink, Source};
use trackway::format::{Format, Program, Settings, Writing};
use trackway::io::Target;
use trackway::{Options, Pair, Proof, prove};
use trackway_hart::machine::{Machine, MachineConfig};
use trackway_hart::{Config, RecordOptions, Recorder};

pub(super) fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// A run in memory.
#[derive(Clone)]
pub(super) struct Run {
    pub(super) program: Program,
    pub(super) meta: Meta,
    pub(super) batches: Arc<Vec<Batch>>,
    /// A fresh clone has it.
    pub(super) in_repository: bool,
}

impl Run {
    pub(super) fn new(elf: Option<PathBuf>, source: &mut dyn Source) -> Self {
        let mut batches = Vec::new();
        let mut batch = Batch::default();
        loop {
            match source.fill(&mut batch) {
                Ok(true) => batches.push(batch.clone()),
                Ok(false) => break,
                Err(error) => assert!(source.resync().unwrap_or(false), "{error}"),
            }
        }
        let elf = elf.iter().map(|path| path.display().to_string()).collect();
        let program = Program { elf, ..Program::default() };
        Run { program, meta: source.meta().clone(), batches: Arc::new(batches), in_repository: true }
    }

    /// A program of ours on the golden model.
    pub(super) fn recorded(name: &str, limit: u64) -> Self {
        let elf = file(&format!("programs/riscv/elf/{name}.elf"));
        let program = trackway_hart::Program::read(&std::fs::read(&elf).unwrap()).unwrap();
        let config = MachineConfig { ram: 1 << 20, ..MachineConfig::new(Config::new(program.isa)) };
        let mut machine = Machine::new(config, &program).unwrap();
        machine.leave_rom();
        let options = RecordOptions { limit, ..RecordOptions::default() };
        let mut recorder = Recorder::new(trackway_hart::Target::Machine(Box::new(machine)), options);
        Run::new(Some(elf), &mut recorder)
    }

    /// A trace of the repository.
    pub(super) fn opened(path: &str, elf: Option<&str>) -> Self {
        let elf = elf.map(file);
        let mut options = Options::default();
        options.program.elf.extend(elf.iter().map(|path| path.display().to_string()));
        let mut trace = options.open(file(path)).unwrap();
        Run::new(elf, &mut *trace.expanded().unwrap())
    }

    /// The same run with other events.
    pub(super) fn with(&self, edit: impl FnMut(&Batch) -> Batch) -> Run {
        Run { batches: Arc::new(self.batches.iter().map(edit).collect()), ..self.clone() }
    }

    pub(super) fn source(&self) -> Box<dyn Source> {
        Box::new(Memory { run: self.clone(), next: 0 })
    }
}

struct Memory {
    run: Run,
    next: usize,
}

impl Source for Memory {
    fn meta(&self) -> &Meta {
        &self.run.meta
    }

    fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
        batch.clear();
        let Some(next) = self.run.batches.get(self.next) else { return Ok(false) };
        batch.clone_from(next);
        self.next += 1;
        Ok(true)
    }
}

/// A folder that goes away with the test.
pub(super) struct Folder(pub(super) PathBuf);

impl Folder {
    pub(super) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("trackway-prove-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // If it cannot be removed, it is in the system's own temporary folder.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Result of a round trip.
pub(super) struct Round {
    pub(super) ledger: Ledger,
    pub(super) proof: Proof,
    /// The files that were written.
    pub(super) written: Vec<Vec<u8>>,
}

/// An edit between the count and the sink: a writer with a defect.
pub(super) type Defect<'d> = &'d mut dyn FnMut(&Batch, usize, &Event) -> bool;

/// Writes a run, reads it back, and compares. `defect` says which events never reach the sink.
pub(super) fn round(
    format: &'static dyn Format,
    run: &Run,
    settings: &Settings,
    defect: Option<Defect<'_>>,
) -> trackway::Result<Round> {
    let folder = Folder::new();
    let path = folder.0.join(format!("run.{}", format.extensions()[0]));
    let target = Target::new(&path);
    let writing = Writing { target: target.clone(), settings, program: &run.program, threads: 1 };
    let sink = format.create(writing, &run.meta)?;
    let ledger = match defect {
        None => {
            let mut sink = Counting::new(sink, &run.meta);
            run.batches.iter().try_for_each(|batch| sink.put(batch))?;
            sink.finish()?
        }
        Some(defect) => {
            // Counted before the defect: as a sink that loses events on its way.
            let mut facts = trackway::events::Counts::of_meta(&run.meta);
            let mut contexts = trackway::events::Contexts::new(&run.meta);
            let mut sink = sink;
            for batch in run.batches.iter() {
                facts.add_batch(batch, &mut contexts);
                sink.put(&without(batch, defect))?;
            }
            Ledger::new(&facts, &Sink::finish(&mut *sink)?)
        }
    };
    target.commit()?;
    let beside = Settings::beside_trace(&path)?.unwrap_or_else(|| settings.clone());
    let reading =
        Options { format: Some(format.id()), program: run.program.clone(), threads: 1, ..Options::default() }
            .settings(beside);
    let sources = run.meta.sources.len().max(1) as u16;
    let pairs: Vec<Pair> = (0..sources).map(|n| Pair { original: n, result: n }).collect();
    let proof = prove(&mut || Ok(run.source()), &mut || reading.open(&path)?.expanded(), &pairs, &ledger)?;
    let mut files: Vec<PathBuf> = Vec::new();
    let within = if path.is_dir() { &path } else { &folder.0 };
    files.extend(std::fs::read_dir(within).unwrap().map(|entry| entry.unwrap().path()));
    files.sort();
    let written = files.iter().map(|file| std::fs::read(file).unwrap_or_default()).collect();
    Ok(Round { ledger, proof, written })
}

/// The batch without the events that `drop` names.
pub(super) fn without(batch: &Batch, drop: Defect<'_>) -> Batch {
    let mut out = batch.clone();
    let mut n = 0;
    out.events.retain(|event| {
        n += 1;
        !drop(batch, n - 1, event)
    });
    out
}

/// Real runs of both architectures: programs with traps and data on the golden model, and traces of the repository.
pub(super) fn runs() -> Vec<Run> {
    let mut runs = vec![
        Run::recorded("rv64-mix", 4000),
        Run::recorded("rv64-privileged", 4000),
        Run::recorded("rv32-mix", 4000),
        Run::opened("testdata/stf/sort/trace.stf", Some("programs/riscv/sort.elf")),
        Run::opened("testdata/astf/sort.astf", Some("programs/aarch64/sort.elf")),
        Run::opened("testdata/astf/levels.astf", None),
    ];
    for name in ["aarch64-traps", "rv64-traps"] {
        if let Some(run) = trackway_testkit::qemu::Run::corpus("bare", name) {
            runs.push(Run { in_repository: false, ..Run::new(None, &mut run.events()) });
        }
    }
    runs
}

pub(super) fn takes(format: &dyn Format, run: &Run) -> bool {
    let arm = matches!(run.meta.isa, Isa::A64 | Isa::A32 | Isa::T32);
    match format.id().as_str() {
        _ if !format.is_written() => false,
        "astf" | "ete" => arm,
        "etrace" | "tandem" | "spike" => !arm,
        _ => true,
    }
}
