//! Whole commands on two threads beside one: `dump`, `convert` and `check` of every format that is written, and the time on all
//! cores that they take.
//!
//! It runs the program beside it in `target/release`, or that of TRACKWAY_PROGRAM; `-- stf tandem` measures these formats only.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use trackway::FORMATS;
use trackway_bench::recorded::{arm, riscv, written};
use trackway_bench::row;

const PASSES: usize = 5;
const INSTRUCTIONS: u64 = 10_000_000;

/// The program that is measured.
fn program() -> Option<PathBuf> {
    let beside = || Some(std::env::current_exe().ok()?.parent()?.parent()?.join("trackway"));
    std::env::var_os("TRACKWAY_PROGRAM").map(PathBuf::from).or_else(beside).filter(|path| path.is_file())
}

/// Seconds on a core of all programs that ended, where the system records them.
fn on_cores() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = text.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace();
    let ticks: u64 = fields.skip(13).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    ticks as f64 / 100.0
}

/// Seconds that a command took, and seconds on cores.
fn timed(program: &Path, arguments: &[String], threads: &str) -> (f64, f64) {
    let (before, start) = (on_cores(), Instant::now());
    let status = Command::new(program)
        .args(arguments)
        .args(["-q", "-j", threads])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("the program runs");
    let seconds = start.elapsed().as_secs_f64();
    // Findings are not failures here.
    assert!(status.code().is_some_and(|code| code < 2), "{arguments:?}: {status}");
    (seconds, on_cores() - before)
}

/// Two threads beside one, in turns.
fn measure(program: &Path, name: &str, arguments: &[String]) {
    let (mut one, mut two) = (Vec::new(), Vec::new());
    for _ in 0..PASSES {
        one.push(timed(program, arguments, "1"));
        two.push(timed(program, arguments, "2"));
    }
    let median = |of: &[(f64, f64)], part: fn(&(f64, f64)) -> f64| {
        let mut values: Vec<f64> = of.iter().map(part).collect();
        values.sort_by(f64::total_cmp);
        (values[values.len() / 2], values[0])
    };
    let (serial, least) = median(&one, |pass| pass.0);
    let (parallel, best) = median(&two, |pass| pass.0);
    let rate = |seconds: f64| format!("{:.1} M instructions/s", INSTRUCTIONS as f64 / seconds / 1e6);
    let ratio = format!("{:.2} ({:.2})", serial / parallel, least / best);
    let (title, beside) = (format!("{name}, 2 threads"), format!("1 thread: {}", rate(serial)));
    row([&title, &rate(parallel), &beside, &ratio, "at least 1.6"]);
    let ((serial, least), (parallel, best)) = (median(&one, |pass| pass.1), median(&two, |pass| pass.1));
    let ratio = format!("{:.2} ({:.2})", parallel / serial, best / least);
    let (title, beside) = (format!("{name}, time on cores"), format!("1 thread: {serial:.2} s"));
    row([&title, &format!("{parallel:.2} s"), &beside, &ratio, "at most 1.1"]);
}

fn main() {
    let names: Vec<String> = std::env::args().skip(1).filter(|name| !name.starts_with('-')).collect();
    let Some(program) = program() else {
        println!("no program to measure: cargo build --release, or set TRACKWAY_PROGRAM");
        return;
    };
    let folder = std::env::temp_dir().join(format!("trackway-bench-threads-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let runs = [riscv(), arm()];
    let written_ones = || FORMATS.iter().filter(|format| format.is_written());
    for format in written_ones() {
        let id = format.id();
        if !names.is_empty() && !names.iter().any(|name| id.as_str().starts_with(name.as_str())) {
            continue;
        }
        let found = runs.iter().find_map(|run| written(&folder, *format, run, INSTRUCTIONS));
        let Some((path, options)) = found else { continue };
        let trace = path.display().to_string();
        let with = |words: &[&str]| -> Vec<String> {
            let elf = ["--elf".into(), options.program.elf.join("")];
            words.iter().map(|word| word.to_string()).chain(elf).collect()
        };
        measure(&program, &format!("{id}: dump --as pcs"), &with(&["dump", &trace, "--as", "pcs"]));
        measure(&program, &format!("{id}: dump"), &with(&["dump", &trace]));
        measure(&program, &format!("{id}: check"), &with(&["check", &trace]));
        for into in written_ones().filter(|into| into.id() != id) {
            let out = folder.join(format!("out.{}", into.extensions()[0])).display().to_string();
            let words = with(&["convert", &trace, &out, "--into", into.id().as_str(), "--no-prove"]);
            let holds = Command::new(&program)
                .args(&words)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .is_ok_and(|status| status.success());
            if holds {
                measure(&program, &format!("{id}: convert to {}", into.id()), &words);
            }
        }
    }
    // If it cannot be removed, it is in the system's own temporary folder.
    let _ = std::fs::remove_dir_all(&folder);
}
