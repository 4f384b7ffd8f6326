//! `dump` on several threads: the same bytes, the same messages, the same exit code as on one.

mod common;
#[path = "../../trackway/tests/common/mod.rs"]
mod runs;

use std::process::Output;

use common::{Folder, trackway};
use runs::{Run, arm, riscv};
use trackway::FORMATS;
use trackway::events::{Meta, SplitMix64};
use trackway::format::{Format, Program, Settings, Writing};
use trackway::io::Target;

/// The run in a format: the trace, and the options that it needs.
fn written(run: &Run, format: &'static dyn Format, folder: &Folder) -> Option<(String, Vec<String>)> {
    let path = folder.file(&format!("trace.{}", format.extensions()[0]));
    let elf = run.elf.display().to_string();
    let (target, settings) = (Target::new(&path), Settings::default());
    let program = Program { elf: vec![elf.clone()], ..Program::default() };
    let writing = Writing { target: target.clone(), settings: &settings, program: &program, threads: 1 };
    match format.create(writing, &run.meta) {
        Ok(mut sink) => {
            run.batches.iter().for_each(|batch| sink.put(batch).unwrap());
            sink.finish().unwrap();
            target.commit().unwrap();
        }
        // A log or a recording is only read.
        Err(_) => {
            let id = format.id();
            let made = runs::logs::log(id.as_str(), run);
            std::fs::write(&path, made.or_else(|| runs::perf::recording(id.as_str(), run, 2))?).unwrap();
        }
    }
    Some((path, vec!["--elf".into(), elf]))
}

/// Both outputs and the code.
fn all(output: &Output) -> (&[u8], &[u8], Option<i32>) {
    (&output.stdout, &output.stderr, output.status.code())
}

const SHAPES: [&[&str]; 7] = [
    &["--as", "pcs"],
    &["--as", "pcs", "--attempted"],
    &["--as", "runs"],
    &["--as", "events"],
    &[],
    &["--as", "runs", "--jsonl"],
    &["--jsonl"],
];

/// Where everything is shown, steps and runs are shown several at once; with a limit one by one.
fn check_pcs(what: &str, path: &str, options: &[String]) {
    for attempted in [None, Some("--attempted")] {
        let dump = |limit: &[&str]| {
            let mut args = vec!["dump", path, "--as", "pcs"];
            args.extend(attempted.iter().chain(limit));
            args.extend(options.iter().map(String::as_str));
            trackway(&args).stdout
        };
        let limited = dump(&["--limit", "4000000000"]);
        assert!(dump(&[]) == limited, "{what}, {attempted:?}: other addresses than one by one");
    }
}

/// Every shape on 2, 3 and 8 threads is that of one.
fn check_shapes(what: &str, path: &str, options: &[String], threads: &[&str]) {
    for shape in SHAPES {
        let dump = |threads: &str| {
            let mut args = vec!["dump", path, "-j", threads];
            args.extend(shape);
            args.extend(options.iter().map(String::as_str));
            trackway(&args)
        };
        let one = dump("1");
        for threads in threads {
            let several = dump(threads);
            assert!(all(&several) == all(&one), "{what}, {shape:?}: {threads} threads write other bytes");
        }
    }
}

/// Two cores that run the same, in turns.
fn two_cores(run: Run) -> Run {
    let other = |batch: &trackway::events::Batch| trackway::events::Batch { source: 1, ..batch.clone() };
    let batches = run.batches.iter().flat_map(|batch| [batch.clone(), other(batch)]).collect();
    let meta = Meta { sources: vec!["core0".into(), "core1".into()], ..run.meta };
    Run { batches, meta, ..run }
}

#[test]
fn every_shape_of_every_format_is_that_of_one_thread() {
    let runs = [riscv(30_000), arm(100)];
    for &format in FORMATS {
        let folder = Folder::new(&format!("threads-{}", format.id()));
        let found = runs.iter().find_map(|run| written(run, format, &folder));
        let (path, options) = found.unwrap_or_else(|| panic!("{} holds neither run", format.title()));
        check_shapes(format.title(), &path, &options, &["2", "3", "8"]);
        check_pcs(format.title(), &path, &options);
        check_pcs(&format!("{} without a program", format.title()), &path, &[]);
        if !std::path::Path::new(&path).is_file() {
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() * 4 / 5]).unwrap();
        check_shapes(&format!("{}, cut", format.title()), &path, &options, &["2"]);
        let mut damaged = bytes;
        let mut random = SplitMix64(11);
        for _ in 0..6 {
            let at = random.below(damaged.len() as u64) as usize;
            damaged[at] ^= 1 << random.below(8);
        }
        std::fs::write(&path, damaged).unwrap();
        check_shapes(&format!("{}, damaged", format.title()), &path, &options, &["3"]);
        check_pcs(&format!("{}, damaged", format.title()), &path, &options);
    }
}

#[test]
fn sources_keep_their_headings() {
    let folder = Folder::new("threads-sources");
    let ete = *FORMATS.iter().find(|format| format.id().as_str() == "ete").unwrap();
    let (path, options) = written(&two_cores(arm(150)), ete, &folder).unwrap();
    check_shapes("two cores", &path, &options, &["2", "8"]);
    let text = common::stdout(&["dump", &path, "--as", "runs", "-j", "2", "--elf", &options[1]]);
    assert_eq!(text.lines().filter(|line| line.starts_with("# source")).count(), 2, "one for each");
}

#[test]
fn limits_and_bounds_are_those_of_one_thread() {
    let folder = Folder::new("threads-limits");
    let stf = *FORMATS.iter().find(|format| format.id().as_str() == "stf").unwrap();
    let (path, _) = written(&riscv(30_000), stf, &folder).unwrap();
    for bounds in [["--limit", "20000"], ["--from", "9000"], ["--to", "21000"], ["--skip", "29990"]] {
        check_shapes(&format!("{bounds:?}"), &path, &bounds.map(String::from), &["2"]);
    }
}

/// A reader that has enough ends the command, and nothing hangs.
#[test]
#[cfg(unix)]
fn a_closed_pipe_ends_it() {
    use std::io::Read;
    let folder = Folder::new("threads-pipe");
    let stf = *FORMATS.iter().find(|format| format.id().as_str() == "stf").unwrap();
    let (path, _) = written(&riscv(150_000), stf, &folder).unwrap();
    let head = |threads: &str| {
        let mut child = common::program()
            .args(["dump", &path, "-j", threads])
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut start = [0; 100];
        child.stdout.take().unwrap().read_exact(&mut start).unwrap();
        let output = child.wait_with_output().unwrap();
        (start, output.stderr, output.status.code())
    };
    assert_eq!(head("1"), head("3"));
}
