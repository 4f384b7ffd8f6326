//! Every pair of formats of one architecture: the same run is equal, and planted differences are found through real files.

use std::path::{Path, PathBuf};

use trackway::events::{Batch, EventKind, Isa, Meta, Sink, Source, Step};
use trackway::format::{Format, Program, Settings, Writing};
use trackway::io::Target;
use trackway::{FORMATS, Options};
use trackway_hart::machine::{Machine, MachineConfig};
use trackway_hart::{Config, RecordOptions, Recorder};
use trackway_tools::diff::{self, Group, Report};

fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// A run in memory: its events as lines, which can be cut.
struct Run {
    meta: Meta,
    program: Program,
    lines: Vec<String>,
    /// Lines of instructions, and their addresses.
    steps: Vec<(usize, u64)>,
}

impl Run {
    fn new(elf: PathBuf, source: &mut dyn Source) -> Self {
        let (mut lines, mut steps, mut batch) = (Vec::new(), Vec::new(), Batch::default());
        while source.fill(&mut batch).expect("a good trace") {
            for event in &batch.events {
                if let EventKind::Step(Step { pc: Some(pc), .. }) = event.kind {
                    steps.push((lines.len(), pc));
                }
                let mut line = String::new();
                batch.write_line(event, &mut line);
                lines.push(line);
            }
        }
        let program = Program { elf: vec![elf.display().to_string()], ..Program::default() };
        Run { meta: source.meta().clone(), program, lines, steps }
    }

    /// A program on the golden model.
    fn recorded(elf: &str, limit: u64) -> Self {
        let elf = file(elf);
        let program = trackway_hart::Program::read(&std::fs::read(&elf).expect("a file")).expect("a program");
        let config = MachineConfig { ram: 1 << 20, ..MachineConfig::new(Config::new(program.isa)) };
        let mut machine = Machine::new(config, &program).expect("a machine");
        machine.leave_rom();
        let options = RecordOptions { limit, ..RecordOptions::default() };
        Run::new(elf, &mut Recorder::new(trackway_hart::Target::Machine(Box::new(machine)), options))
    }

    fn opened(path: &str, elf: &str) -> Self {
        let mut trace =
            Options::default().elf(file(elf).display().to_string()).open(file(path)).expect("a trace");
        Run::new(file(elf), &mut *trace.expanded().expect("events"))
    }

    /// The longest stretch up to a thousand instructions that begins and ends at one address, with nothing but
    /// instructions in it: without it the way is still one through the program.
    fn turns(&self) -> (usize, usize) {
        let plain = |from: usize, to: usize| self.steps[to].0 - self.steps[from].0 == to - from;
        let pairs = (0..self.steps.len())
            .flat_map(|from| (from + 1..self.steps.len().min(from + 1001)).map(move |to| (from, to)));
        let is_turn =
            |&(from, to): &(usize, usize)| self.steps[from].1 == self.steps[to].1 && plain(from, to);
        pairs.filter(is_turn).max_by_key(|(from, to)| to - from).expect("a loop")
    }

    fn without(&self, (from, to): (usize, usize)) -> Vec<String> {
        let (from, to) = (self.steps[from].0, self.steps[to].0);
        [&self.lines[..from], &self.lines[to..]].concat()
    }

    /// With another encoding of one instruction that has no accesses and goes on to the next.
    fn changed(&self, nop: u32) -> Vec<String> {
        let mut lines = self.lines.clone();
        let is_plain = |step: &&(usize, u64)| {
            let line = &self.lines[step.0];
            line.contains("length=0x4")
                && !line.contains("mem(")
                && !line.contains("taken")
                && !line.contains("target")
        };
        let half = self.steps.len() / 2;
        let (line, _) = self.steps[half..].iter().find(is_plain).expect("a plain instruction");
        let words: Vec<String> =
            lines[*line]
                .split(' ')
                .map(|word| {
                    if word.starts_with("encoding=") {
                        format!("encoding={nop:#x}")
                    } else {
                        word.to_string()
                    }
                })
                .collect();
        lines[*line] = words.join(" ");
        lines
    }

    /// Writes events in a format.
    fn write(&self, lines: &[String], format: &'static dyn Format, path: &Path) {
        let settings = Settings::default();
        let target = Target::new(path);
        let writing =
            Writing { target: target.clone(), settings: &settings, program: &self.program, threads: 1 };
        let mut sink = format.create(writing, &self.meta).expect("it takes this run");
        let mut number = 0;
        for part in lines.chunks(2000) {
            let mut batch = Batch { first_instruction: number, ..Batch::default() };
            part.iter().for_each(|line| batch.read_line(line).unwrap_or_else(|| panic!("{line}")));
            number += batch.instructions();
            sink.put(&batch).expect("it is written");
        }
        Sink::finish(&mut *sink).expect("it is written");
        target.commit().expect("it is written");
    }

    fn read(&self, format: &'static dyn Format, path: &Path) -> Box<dyn Source> {
        let settings = Settings::beside_trace(path).expect("settings").unwrap_or_default();
        let reading = Options {
            format: Some(format.id()),
            program: self.program.clone(),
            threads: 1,
            ..Options::default()
        };
        reading.settings(settings).open(path).and_then(|mut trace| trace.expanded()).expect("a good trace")
    }
}

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // If it cannot be removed, it is in the system's own temporary folder.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn every_pair(name: &str, run: &Run, nop: u32) {
    let folder = Folder(std::env::temp_dir().join(format!("trackway-diff-{name}-{}", std::process::id())));
    std::fs::create_dir_all(&folder.0).expect("a folder");
    let arm = matches!(run.meta.isa, Isa::A64);
    let takes = |format: &&&'static dyn Format| match format.id().as_str() {
        "astf" | "ete" => arm,
        "etrace" | "tandem" | "spike" => !arm,
        _ => format.is_written(),
    };
    let formats: Vec<&'static dyn Format> = FORMATS.iter().filter(takes).copied().collect();
    assert_eq!(formats.len(), if arm { 3 } else { 4 });
    let turns = run.turns();
    let length = (turns.1 - turns.0) as u64;
    assert!(length > 50, "{turns:?}");
    let path = |what: &str, format: &dyn Format| folder.0.join(format!("{what}.{}", format.extensions()[0]));
    let flows = |format: &dyn Format| matches!(format.id().as_str(), "etrace" | "ete");
    for format in &formats {
        run.write(&run.lines, *format, &path("whole", *format));
        run.write(&run.without(turns), *format, &path("cut", *format));
        if !flows(*format) {
            run.write(&run.changed(nop), *format, &path("changed", *format));
        }
    }
    for a in &formats {
        for b in &formats {
            let compare = |one: &str, other: &str| -> Report {
                let (mut one, mut other) = (run.read(*a, &path(one, *a)), run.read(*b, &path(other, *b)));
                diff::diff(&mut *one, &mut *other, &diff::Options::default(), &mut |_, _| {})
                    .expect("not cancelled")
            };
            let pair = format!("{name}: {} and {}", a.id(), b.id());
            let report = compare("whole", "whole");
            assert!(report.is_equal(), "{pair}: {:#?}", report.differences);
            assert_eq!(report.compared[&Group::Pcs], run.steps.len() as u64, "{pair}");
            let says = |what: &str| report.not_compared.iter().any(|entry| entry.what == what);
            let flow = flows(*a) || flows(*b);
            assert!(!flow || says("memory accesses"), "{pair}: {:?}", report.not_compared);
            for (one, other, counts) in [("whole", "cut", [0, 0, 1]), ("cut", "whole", [0, 1, 0])] {
                let report = compare(one, other);
                assert_eq!(report.counts, counts, "{pair}, {one} and {other}: {:#?}", report.differences);
                assert_eq!(
                    report.instructions,
                    counts.map(|count| count * length),
                    "{pair}, {one} and {other}"
                );
            }
            if !flows(*a) {
                let report = compare("changed", "whole");
                assert_eq!(report.counts, [1, 0, 0], "{pair}, changed: {:#?}", report.differences);
                let fields: Vec<&str> =
                    report.differences[0].fields.iter().map(|field| &*field.name).collect();
                assert_eq!(fields, ["encoding"], "{pair}");
            }
        }
    }
}

#[test]
fn riscv() {
    every_pair("rv64", &Run::recorded("programs/riscv/elf/rv64-mix.elf", 6000), 0x13);
}

#[test]
fn rv32() {
    every_pair("rv32", &Run::recorded("programs/riscv/elf/rv32-mix.elf", 6000), 0x13);
}

#[test]
fn arm() {
    every_pair("a64", &Run::opened("testdata/astf/sort.astf", "programs/aarch64/sort.elf"), 0xd503_201f);
}
