//! Whole commands on two threads beside one: `dump`, `convert` and `check` of every format that is written, and the time on all
//! cores that they take. Every trace is so long that one thread takes about a second: starting up does not count.
//!
//! It runs the program beside it in `target/release`, or that of TRACKWAY_PROGRAM; `-- stf tandem` measures these formats only,
//! and `-- stf check` commands of them. Traces are written to TRACKWAY_BENCH_FOLDER, or the system's temporary folder.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use trackway::FORMATS;
use trackway::format::Format;
use trackway_bench::recorded::{Recorded, arm, riscv, written};
use trackway_bench::row;

const PASSES: usize = 5;
/// Instructions of the shortest trace; each of the longer ones has twice as many as the one before.
const SHORTEST: u64 = 2_000_000;
const LONGEST: u64 = SHORTEST << 8;
/// Bytes of a trace at most.
const LARGEST: u64 = 1 << 31;
/// Seconds that one thread takes at least, where the largest trace is not too short.
const ENOUGH: f64 = 0.8;

/// The program that is measured.
fn program() -> Option<PathBuf> {
    let beside = || Some(std::env::current_exe().ok()?.parent()?.parent()?.join("trackway"));
    std::env::var_os("TRACKWAY_PROGRAM").map(PathBuf::from).or_else(beside).filter(|path| path.is_file())
}

/// Seconds on a core of all programs that ended, where the system records them. It counts hundredths: programs that run for
/// a second make that one percent.
fn on_cores() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = text.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace();
    let ticks: u64 = fields.skip(13).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    ticks as f64 / 100.0
}

/// The traces of a format, by their length.
struct Traces<'t> {
    folder: &'t Path,
    format: &'static dyn Format,
    run: &'t Recorded,
    /// Their files, and the ELF file.
    written: BTreeMap<u64, (PathBuf, String)>,
}

impl Traces<'_> {
    /// The trace with that many instructions.
    fn get(&mut self, instructions: u64) -> Option<&(PathBuf, String)> {
        let Traces { folder, format, run, written: traces } = self;
        Some(match traces.entry(instructions) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let (path, options) = written(folder, *format, run, instructions)?;
                entry.insert((path, options.program.elf.join("")))
            }
        })
    }
}

/// A command with all its arguments but the trace.
struct Measure {
    name: String,
    words: Vec<String>,
    /// The output of `convert`.
    out: Option<String>,
}

impl Measure {
    fn new(name: String, words: &[&str], out: Option<String>) -> Self {
        Measure { name, words: words.iter().map(|word| word.to_string()).collect(), out }
    }

    /// Runs it; seconds that it took, and seconds on cores. None where it fails.
    fn pass(&self, program: &Path, (trace, elf): &(PathBuf, String), threads: &str) -> Option<[f64; 2]> {
        // To free the output of the pass before is not part of it.
        self.out
            .iter()
            .for_each(|out| drop(std::fs::remove_file(out).or_else(|_| std::fs::remove_dir_all(out))));
        let (before, start) = (on_cores(), Instant::now());
        let status = Command::new(program)
            .args(&self.words[..1])
            .arg(trace)
            .args(&self.out)
            .args(&self.words[1..])
            // An index that an earlier pass has kept would make a later one another measurement.
            .args(["--elf", elf, "-q", "--no-index", "-j", threads])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .ok()?;
        let took = [start.elapsed().as_secs_f64(), on_cores() - before];
        // Findings are not failures here.
        status.code().is_some_and(|code| code < 2).then_some(took)
    }

    /// Two threads beside one, in turns.
    fn measure(&self, program: &Path, traces: &mut Traces<'_>) {
        let Some(instructions) = self.length(program, traces) else { return };
        let Some(trace) = traces.get(instructions) else { return };
        let mut passes: [Vec<[f64; 2]>; 2] = [Vec::new(), Vec::new()];
        for _ in 0..PASSES {
            for (threads, passes) in ["1", "2"].into_iter().zip(&mut passes) {
                passes.extend(self.pass(program, trace, threads));
            }
        }
        let [one, two] = &passes;
        let (name, rate) = (&self.name, |seconds| instructions as f64 / seconds / 1e6);
        let rate = |seconds: f64| format!("{:.1} M instructions/s", rate(seconds));
        let compared = compared(one, two, 0, |one, two| one / two);
        let (title, beside) = (format!("{name}, 2 threads"), format!("1 thread: {}", rate(compared.one)));
        row([&title, &rate(compared.two), &beside, &compared.ratio, "at least 1.6"]);
        let compared = self::compared(one, two, 1, |one, two| two / one);
        let (title, beside) = (format!("{name}, time on cores"), format!("1 thread: {:.2} s", compared.one));
        row([&title, &format!("{:.2} s", compared.two), &beside, &compared.ratio, "at most 1.1"]);
    }

    /// The number of instructions that one thread needs long enough for.
    fn length(&self, program: &Path, traces: &mut Traces<'_>) -> Option<u64> {
        let mut instructions = SHORTEST;
        loop {
            let trace = traces.get(instructions)?;
            let [seconds, _] = self.pass(program, trace, "1")?;
            let bytes = std::fs::metadata(&trace.0).ok()?.len();
            if seconds >= ENOUGH || 2 * bytes > LARGEST || instructions >= LONGEST {
                return Some(instructions);
            }
            // Not quite as many as seem to be needed: starting up is part of it.
            let more = (ENOUGH / seconds).log2().floor().clamp(1.0, 4.0) as u32;
            let most = (LARGEST / bytes.max(1)).max(2).ilog2();
            instructions = (instructions << more.min(most)).min(LONGEST);
        }
    }
}

/// Medians of the passes, and the ratio.
struct Compared {
    one: f64,
    two: f64,
    ratio: String,
}

/// Compares wall time (0) or time on cores (1): the median of the ratios of neighbouring passes, and that of the best.
fn compared(one: &[[f64; 2]], two: &[[f64; 2]], clock: usize, ratio: fn(f64, f64) -> f64) -> Compared {
    let sorted = |values: &mut dyn Iterator<Item = f64>| {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        (values[values.len() / 2], values[0])
    };
    let ratios = sorted(&mut one.iter().zip(two).map(|(one, two)| ratio(one[clock], two[clock]))).0;
    let (one, least) = sorted(&mut one.iter().map(|pass| pass[clock]));
    let (two, best) = sorted(&mut two.iter().map(|pass| pass[clock]));
    Compared { one, two, ratio: format!("{ratios:.2} ({:.2})", ratio(least, best)) }
}

fn main() {
    let names: Vec<String> = std::env::args().skip(1).filter(|name| !name.starts_with('-')).collect();
    let Some(program) = program() else {
        println!("no program to measure: cargo build --release, or set TRACKWAY_PROGRAM");
        return;
    };
    let folder = std::env::var_os("TRACKWAY_BENCH_FOLDER").map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = folder.join(format!("trackway-bench-threads-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let runs = [riscv(), arm()];
    let written_ones = || FORMATS.iter().copied().filter(|format| format.is_written());
    let (formats, commands): (Vec<&String>, Vec<&String>) = names
        .iter()
        .partition(|name| written_ones().any(|format| format.id().as_str().starts_with(name.as_str())));
    let begins = |names: &[&String], text: &str| {
        names.is_empty() || names.iter().any(|name| text.starts_with(name.as_str()))
    };
    for format in written_ones().filter(|format| begins(&formats, format.id().as_str())) {
        let id = format.id();
        let mut measures = vec![
            Measure::new(format!("{id}: dump --as pcs"), &["dump", "--as", "pcs"], None),
            Measure::new(format!("{id}: dump"), &["dump"], None),
            Measure::new(format!("{id}: check"), &["check"], None),
        ];
        for into in written_ones().filter(|into| into.id() != id) {
            let out = folder.join(format!("out.{}", into.extensions()[0])).display().to_string();
            let target = into.id();
            let words = ["convert", "--into", target.as_str(), "--no-prove"];
            measures.push(Measure::new(format!("{id}: convert to {target}"), &words, Some(out)));
        }
        for run in &runs {
            let inside = folder.join(id.as_str());
            std::fs::create_dir_all(&inside).expect("a folder");
            let mut traces = Traces { folder: &inside, format, run, written: BTreeMap::new() };
            for measure in measures.iter().filter(|measure| begins(&commands, &measure.words.join(" "))) {
                measure.measure(&program, &mut traces);
            }
            // If it cannot be removed, it is in the system's own temporary folder.
            let _ = std::fs::remove_dir_all(&inside);
            if !traces.written.is_empty() {
                break;
            }
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
}
