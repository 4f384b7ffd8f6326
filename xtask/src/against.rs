//! A benchmark of this tree beside the same benchmark of another commit, run in turn on one machine.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::job::Job;
use crate::{process, tree};

/// How often each of the two runs.
const ROUNDS: usize = 3;

/// The part of the page for one job: all runs of both, their medians, and how many times as fast this tree is.
pub(crate) fn section(job: &Job, revision: &str, opencsd: bool) -> Result<String, String> {
    let root = tree::root();
    let other = checkout(&root, revision)?;
    let programs = [build(&other, job, opencsd)?, build(&root, job, opencsd)?];
    let mut runs: [Vec<Vec<Row>>; 2] = Default::default();
    for round in 1..=ROUNDS {
        for (which, folder) in [&other, &root].into_iter().enumerate() {
            eprintln!("== {}, {round} of {ROUNDS}: {}", job.name, ["before", "after"][which]);
            runs[which].push(rows(&measure(&programs[which], folder)?));
        }
    }
    let mut text =
        format!("## {}\n\n*Before* is {revision}. All of {ROUNDS} runs each, in turn.\n\n", job.name);
    text += "| measure | before | after | after ÷ before | ratio to the peer, before | after |\n|---|---|---|---|---|---|\n";
    let [before, after] = &runs;
    for row in after.first().into_iter().flatten() {
        text += &compare(row, before, after);
    }
    Ok(text + "\n")
}

/// A row that a job printed.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    measure: String,
    rate: String,
    /// The peer's name, before its rate.
    beside: String,
    ratio: String,
}

impl Row {
    /// The same measure beside the same peer.
    fn is_of(&self, other: &Row) -> bool {
        (&self.measure, &self.beside) == (&other.measure, &other.beside)
    }
}

/// The rows among what a job printed.
fn rows(text: &str) -> Vec<Row> {
    let row = |line: &str| {
        let cells: Vec<&str> =
            line.strip_prefix("| ")?.trim_end_matches('|').split(" | ").map(str::trim).collect();
        let [measure, rate, beside, ratio, ..] = cells[..] else { return None };
        let beside = beside.rsplit_once(": ").map_or("", |(name, _)| name);
        let ratio = ratio.split(' ').next().unwrap_or_default();
        Some([measure, rate, beside, ratio].map(str::to_string))
    };
    let rows = text.lines().filter_map(row);
    rows.map(|[measure, rate, beside, ratio]| Row { measure, rate, beside, ratio }).collect()
}

/// A rate in units of its own, or `None` for what is not a rate.
fn rate(text: &str) -> Option<f64> {
    let (number, unit) = text.split_once(' ')?;
    let scale = match unit {
        "GB/s" => 1e9,
        "MB/s" => 1e6,
        unit if unit.starts_with("M ") => 1e6,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * scale)
}

/// The line of one measure: every run, and the ratio of the medians.
fn compare(row: &Row, before: &[Vec<Row>], after: &[Vec<Row>]) -> String {
    let found = |runs: &[Vec<Row>]| -> Vec<Row> {
        runs.iter().filter_map(|rows| rows.iter().find(|other| other.is_of(row)).cloned()).collect()
    };
    let (before, after) = (found(before), found(after));
    let middle = |rows: &[Row]| {
        let mut rates: Vec<f64> = rows.iter().filter_map(|row| rate(&row.rate)).collect();
        rates.sort_by(f64::total_cmp);
        rates.get(rates.len() / 2).copied()
    };
    let factor = middle(&after).zip(middle(&before)).map(|(after, before)| format!("{:.2}", after / before));
    let all = |rows: &[Row], cell: fn(&Row) -> &str| rows.iter().map(cell).collect::<Vec<_>>().join(", ");
    let name = if row.beside.is_empty() {
        row.measure.clone()
    } else {
        format!("{}, beside {}", row.measure, row.beside)
    };
    let cells = [
        name,
        all(&before, |row| &row.rate),
        all(&after, |row| &row.rate),
        factor.unwrap_or_default(),
        all(&before, |row| &row.ratio),
        all(&after, |row| &row.ratio),
    ];
    format!("| {} |\n", cells.join(" | "))
}

/// A working tree of `revision`, which later calls find again.
fn checkout(root: &Path, revision: &str) -> Result<PathBuf, String> {
    let git =
        |arguments: &[&str]| process::output("git", &[&["-C", &process::text(root)], arguments].concat());
    let commit = git(&["rev-parse", "--short", &format!("{revision}^{{commit}}")])?;
    let folder = root.join("target/against").join(commit.trim());
    if !folder.is_dir() {
        git(&["worktree", "prune"])?;
        git(&["worktree", "add", "--detach", &process::text(&folder), commit.trim()])?;
    }
    Ok(folder)
}

/// Builds the job in `folder`; returns the program.
fn build(folder: &Path, job: &Job, opencsd: bool) -> Result<PathBuf, String> {
    eprintln!("== {} in {}", job.name, folder.display());
    let mut cargo = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()));
    cargo.current_dir(folder).args(job.arguments(opencsd)).args(["--no-run", "--message-format", "json"]);
    // Cargo sets these for this program, not for another tree.
    cargo.env_remove("CARGO_MANIFEST_DIR").env("CARGO_TARGET_DIR", folder.join("target"));
    let output = cargo.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("cargo: {error}"))?;
    let messages = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut programs = messages.lines().filter_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        let is_job = message["target"]["name"] == job.name.as_str();
        message["executable"].as_str().filter(|_| is_job).map(PathBuf::from)
    });
    programs.next_back().filter(|_| output.status.success()).ok_or(format!(
        "{} does not build in {}",
        job.name,
        folder.display()
    ))
}

/// Runs a job's program in its package, with the corpus of this tree; returns what it prints.
fn measure(program: &Path, folder: &Path) -> Result<String, String> {
    let corpus = std::env::var("TRACKWAY_CORPUS").map(PathBuf::from);
    let corpus = corpus.unwrap_or_else(|_| tree::root().join("../shared/corpus"));
    let mut run = Command::new(program);
    run.current_dir(folder.join("benches")).arg("--bench").env("TRACKWAY_CORPUS", corpus);
    let output = run.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("{}: {error}", program.display()))?;
    if !output.status.success() {
        return Err(format!("{}: {}", program.display(), output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_is_shown_and_the_medians_are_compared() {
        let runs = |rates: [&str; 3]| {
            rates
                .map(|rate| rows(&format!("text\n| lift | {rate} | plain: 9.00 GB/s | 2.50 (2.40) | |")))
                .to_vec()
        };
        let before = runs(["10.0 M items/s", "30.0 M items/s", "20.0 M items/s"]);
        let after = runs(["50.0 M items/s", "1.0 M items/s", "40.0 M items/s"]);
        assert_eq!(
            compare(&after[0][0], &before, &after),
            "| lift, beside plain | 10.0 M items/s, 30.0 M items/s, 20.0 M items/s | 50.0 M items/s, 1.0 M items/s, 40.0 M items/s | 2.00 | 2.50, 2.50, 2.50 | 2.50, 2.50, 2.50 |\n"
        );
    }

    #[test]
    fn what_is_not_a_rate_has_no_factor() {
        assert_eq!((rate("2.00 GB/s"), rate("490 MB/s"), rate("10.5 ms")), (Some(2e9), Some(490e6), None));
    }
}
