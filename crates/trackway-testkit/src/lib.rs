//! Test support: where the corpus is, its real executions as events, events as lines, and tests that cannot run.
//!
//! Not published; format crates name it under `[dev-dependencies]`.
//!
//! ```
//! use trackway_core::{Batch, Source};
//! if let Some(run) = trackway_testkit::qemu::Run::corpus("bare", "aarch64-traps") {
//!     let mut events = run.events();
//!     let mut batch = Batch::default();
//!     assert!(events.fill(&mut batch)?);
//!     assert_eq!(batch.instructions(), run.pcs.len() as u64);
//! }
//! # Ok::<(), trackway_core::Error>(())
//! ```
#![forbid(unsafe_code)]

pub mod cut;
mod flow;
pub mod lines;
pub mod output;
pub mod perf;
pub mod places;
pub mod qemu;
pub mod random;
mod skip;

use std::path::{Path, PathBuf};

use trackway_core::{Isa, SplitMix64};

pub use skip::skipped;

/// The corpus folder: `TRACKWAY_CORPUS`, else `../shared/corpus` beside the repository. Where it is absent the
/// test that asked is recorded as [`skipped`], and should return.
pub fn corpus() -> Option<PathBuf> {
    let folder = std::env::var_os("TRACKWAY_CORPUS").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus")),
        PathBuf::from,
    );
    let found = folder.is_dir();
    if !found {
        skipped("no corpus (set TRACKWAY_CORPUS)");
    }
    found.then_some(folder)
}

/// The traces of two other E-Trace encoders, by their folders in `etrace` of the corpus.
pub const ETRACE_CASES: [&str; 8] = [
    "gen-fpmix-encap-stamp",
    "gen-minigzip-smi",
    "gen-qsortmix-encap",
    "gen-traps-encap",
    "ref-fpmix-time",
    "ref-minigzip-full32",
    "ref-qsortmix",
    "ref-traps",
];

/// Lengths to cut a file of `length` bytes to: each of the first 1,000, and 200 others. With `TRACKWAY_SWEEP` each of the
/// first 60,000, and 3,000 others.
pub fn cuts(length: usize) -> impl Iterator<Item = usize> {
    let (every, others) = if sweep() { (60_000, 3_000) } else { (1_000, 200) };
    let every = length.min(every);
    (0..every).chain((every..length).step_by(((length - every) / others).max(1) | 1))
}

/// A stretch of a log that begins with a line, anywhere in it; all of it if it is short, if a sweep is asked for, and now
/// and then.
pub fn stretch<'l>(log: &'l [u8], most: usize, random: &mut SplitMix64) -> &'l [u8] {
    if log.len() <= most || sweep() || random.below(50) == 0 {
        return log;
    }
    let end = |from: usize| {
        log[from..].iter().position(|byte| *byte == b'\n').map_or(log.len(), |place| from + place + 1)
    };
    let from = random.below((log.len() - most) as u64 + 1) as usize;
    let start = if from == 0 { 0 } else { end(from - 1) };
    &log[start..end((start + most).min(log.len()))]
}

/// Lengths after the first 1,000 to cut a long log to, for [`cut::every_cut`]: each up to 20,000, then one of 500. With
/// `TRACKWAY_SWEEP` all.
pub fn later_cuts(length: usize) -> impl Iterator<Item = usize> {
    let every = if sweep() { length } else { length.min(20_000) };
    (1_000.min(every)..every).chain((every..length).step_by(499))
}

/// True if `TRACKWAY_SWEEP` asks for a long run of a test.
pub fn sweep() -> bool {
    std::env::var_os("TRACKWAY_SWEEP").is_some()
}

/// A file or folder of the corpus, like `stf` or `tandem/own/own2.tv`; where it is absent the test is [`skipped`].
pub fn corpus_part(path: &str) -> Option<PathBuf> {
    let part = corpus()?.join(path);
    let found = part.exists();
    if !found {
        skipped(&format!("no {path} in the corpus"));
    }
    found.then_some(part)
}

/// Runs of a sample program, as `programs/record.sh` writes them: start, instruction set, number of instructions.
///
/// # Panics
/// Where the file cannot be read.
pub fn runs(path: &Path) -> Vec<(u64, Isa, u32)> {
    let text = std::fs::read_to_string(path).expect("a list of runs");
    let run = |line: &str| {
        let mut words = line.split(' ');
        let start = u64::from_str_radix(words.next()?, 16).ok()?;
        Some((start, words.next()?.parse().ok()?, words.next()?.parse().ok()?))
    };
    text.lines().map(|line| run(line).expect("a run")).collect()
}
