//! The index: making it beside `stats` of the same trace, and seeking to the middle with it, the trace opened anew.
//!
//! `cargo bench -p trackway-bench --bench index -- stf spike` measures these formats only; TRACKWAY_BENCH_INSTRUCTIONS makes
//! shorter traces, for tools that count instructions.

use std::path::{Path, PathBuf};
use std::time::Instant;

use trackway::format::{Format, Program, Settings, Writing};
use trackway::index::beside;
use trackway::io::Target;
use trackway::{FORMATS, Options, Trace};
use trackway_bench::{Measure, row, run};
use trackway_core::{Batch, Gap, GapReason, Meta, Source};
use trackway_hart::machine::{Machine, MachineConfig};
use trackway_hart::{Config, RecordOptions, Recorder};
use trackway_tools::stats::Stats;

const PASSES: usize = 3;
/// Long enough for rates; checkpoints are as far apart as in a trace of 140 million.
const INSTRUCTIONS: u64 = 10_000_000;
const DISTANCE: u64 = 1 << 18;

/// A run: its program and its events.
struct Recorded {
    elf: PathBuf,
    meta: Meta,
    batches: Vec<Batch>,
}

fn repo(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

fn recorded(elf: PathBuf, source: &mut dyn Source) -> Recorded {
    let (mut batches, mut batch) = (Vec::new(), Batch::default());
    while source.fill(&mut batch).expect("a good run") {
        batches.push(batch.clone());
    }
    Recorded { elf, meta: source.meta().clone(), batches }
}

fn riscv() -> Recorded {
    let elf = repo("programs/riscv/elf/rv64-mix.elf");
    let program = trackway_hart::Program::read(&std::fs::read(&elf).expect("program")).expect("ELF");
    let machine = Machine::new(MachineConfig::new(Config::new(program.isa)), &program).expect("machine");
    let target = trackway_hart::Target::Machine(Box::new(machine));
    recorded(elf, &mut Recorder::new(target, RecordOptions::default()))
}

fn arm() -> Recorded {
    let mut trace = Trace::open(repo("testdata/astf/sort.astf")).expect("in the repository");
    recorded(repo("programs/aarch64/sort.elf"), &mut *trace.events().expect("events"))
}

/// The run again and again in `format`, if it can hold it.
fn written(folder: &Path, format: &'static dyn Format, run: &Recorded) -> Option<(PathBuf, Options)> {
    let path = folder.join(format!("long.{}", format.extensions()[0]));
    let program = Program { elf: vec![run.elf.display().to_string()], ..Program::default() };
    let (target, settings) = (Target::new(&path), Settings::default());
    let writing = Writing { target: target.clone(), settings: &settings, program: &program, threads: 2 };
    let mut sink = format.create(writing, &run.meta).ok()?;
    let mut gap = Batch::default();
    gap.push_gap(0, Gap::new(GapReason::Filtered));
    let instructions = std::env::var("TRACKWAY_BENCH_INSTRUCTIONS").ok().and_then(|text| text.parse().ok());
    let mut count = 0;
    while count < instructions.unwrap_or(INSTRUCTIONS) {
        for batch in &run.batches {
            sink.put(batch).expect("written");
            count += batch.instructions();
        }
        sink.put(&gap).expect("written");
    }
    sink.finish().expect("written");
    target.commit().expect("written");
    Some((path, Options { program, ..Options::default() }))
}

/// Milliseconds from nothing to the instruction in the middle.
fn seek(path: &Path, options: &Options, n: u64) -> f64 {
    let start = Instant::now();
    let mut source = options.open(path).expect("opened").events().expect("events");
    source.seek(n).expect("entered");
    let mut batch = Batch::default();
    while batch.first_instruction + batch.instructions() <= n {
        assert!(source.fill(&mut batch).expect("a good trace"));
    }
    start.elapsed().as_secs_f64() * 1e3
}

fn main() {
    let names: Vec<String> = std::env::args().skip(1).filter(|name| !name.starts_with('-')).collect();
    let wanted = |id: &str| {
        let mut names = names.iter().filter(|name| name.parse::<usize>().is_err()).peekable();
        names.peek().is_none() || names.any(|name| name.starts_with(id))
    };
    let folder = std::env::temp_dir().join(format!("trackway-bench-index-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let runs = [riscv(), arm()];
    for format in FORMATS.iter().filter(|format| wanted(format.id().as_str())) {
        let Some((path, options)) = runs.iter().find_map(|run| written(&folder, *format, run)) else {
            continue;
        };
        let id = format.id();
        let (indexing, stats) = (format!("{id}: index"), format!("{id}: stats"));
        let make =
            || options.open(&path).expect("opened").make_index(Some(DISTANCE), |_, _| {}).expect("made");
        let results = run(
            PASSES,
            vec![
                Measure::new(&indexing, "instructions", || make().1.counts.instructions),
                Measure::new(&stats, "instructions", || {
                    let mut trace = options.open(&path).expect("opened");
                    let programs = trace.programs().expect("programs");
                    let mut stats = Stats::new(trace.meta().isa, &programs);
                    let mut source = trace.events().expect("events");
                    while source.observe(&mut stats).expect("a good trace") {}
                    let summary = stats.finish();
                    summary.retired + summary.attempted
                }),
            ],
        );
        results.slower(&indexing, &stats, Some(1.3));
        let mut trace = options.open(&path).expect("opened");
        let (_, file, health) = trace.write_index_at(Some(DISTANCE), |_, _| {}).expect("written");
        let share = std::fs::metadata(&file).map_or(0, |found| found.len());
        let whole = std::fs::metadata(&path).map_or(0, |found| found.len());
        let mut times: Vec<f64> =
            (0..9).map(|_| seek(&path, &options, health.counts.instructions / 2 + 12_345)).collect();
        times.sort_by(f64::total_cmp);
        row([&format!("{id}: seek to the middle"), &format!("{:.1} ms", times[4]), "", "", "at most 50 ms"]);
        row([&format!("{id}: size"), &format!("{share} bytes of {whole}"), "", "", "1 % and 64 KiB"]);
        let _ = std::fs::remove_file(beside(&path));
        let _ = std::fs::remove_file(&path);
    }
    let _ = std::fs::remove_dir_all(&folder);
}
