//! The index: making it beside `stats` of the same trace, and seeking to the middle with it, the trace opened anew.
//!
//! `cargo bench -p trackway-bench --bench index -- stf spike` measures these formats only; TRACKWAY_BENCH_INSTRUCTIONS makes
//! shorter traces, for tools that count instructions.

use std::path::Path;
use std::time::Instant;

use trackway::index::beside;
use trackway::{FORMATS, Options};
use trackway_bench::recorded::{arm, riscv, written};
use trackway_bench::{Measure, row, run};
use trackway_core::Batch;
use trackway_tools::stats::Stats;

const PASSES: usize = 3;
/// Long enough for rates; checkpoints are as far apart as in a trace of 140 million.
const INSTRUCTIONS: u64 = 10_000_000;
const DISTANCE: u64 = 1 << 18;

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
    let instructions = std::env::var("TRACKWAY_BENCH_INSTRUCTIONS").ok().and_then(|text| text.parse().ok());
    let instructions = instructions.unwrap_or(INSTRUCTIONS);
    for format in FORMATS.iter().filter(|format| wanted(format.id().as_str())) {
        let Some((path, options)) = runs.iter().find_map(|run| written(&folder, *format, run, instructions))
        else {
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
