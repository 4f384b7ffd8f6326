//! Every benchmark, and their rows as one table.
//!
//! A job of the package `trackway-bench` prints rows that begin with `| `; everything else it prints is for the
//! reader of the terminal. `--write` puts the table into `docs/benchmarks.md`.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::job::{Job, jobs};
use crate::{against, tree};

/// Text of the page above the table.
const HEAD: &str = "\
# Benchmarks

The rows are those that `cargo xtask bench` prints; `--write` puts them here. Each job runs its contestants in turn in one process. A rate is that of
the median pass, a ratio the median of the ratios of neighbouring passes; in parentheses is the ratio of the best passes, which other work on the machine
disturbs less. A ratio is
how many times as fast ours is as the peer or limit beside it (goal: *at least*), or how many times as long ours takes
(goal: *at most*). Rates of two runs on a shared machine differ by up to a third; ratios of one run differ by less.
";

/// Begins the end of the page, which is written by hand and kept.
const BY_HAND: &str = "\n## Before and after";

/// Runs the jobs named, or all of them.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let write = arguments.iter().any(|argument| argument == "--write");
    let against = arguments.iter().position(|argument| argument == "--against");
    let revision = against.map(|at| arguments.get(at + 1).ok_or("--against needs a revision")).transpose()?;
    let chosen = |argument: &&String| !argument.starts_with('-') && Some(*argument) != revision;
    let names: Vec<&String> = arguments.iter().filter(chosen).collect();
    let opencsd = opencsd();
    let mut table = String::new();
    for job in jobs().iter().filter(|job| names.is_empty() || names.contains(&&job.name)) {
        table += &match revision {
            Some(revision) => against::section(job, revision, opencsd)?,
            None => section(&job.name, &title(&job.name), &run_job(job, opencsd)?),
        };
    }
    println!("{table}");
    if write && revision.is_none() {
        let path = tree::root().join("docs/benchmarks.md");
        let before = std::fs::read_to_string(&path).unwrap_or_default();
        let by_hand = before.find(BY_HAND).map_or("", |at| &before[at..]);
        let text = format!("{HEAD}\n{}\n{table}{by_hand}", machine());
        std::fs::write(path, text).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// The first paragraph of the job's own documentation.
fn title(job: &str) -> String {
    let source = std::fs::read_to_string(tree::root().join(format!("benches/{job}.rs"))).unwrap_or_default();
    let lines = source.lines().map_while(|line| line.strip_prefix("//! "));
    lines.collect::<Vec<&str>>().join(" ")
}

/// The rows that a job prints.
fn run_job(job: &Job, opencsd: bool) -> Result<Vec<String>, String> {
    let name = &job.name;
    eprintln!("== {name}");
    let mut cargo = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()));
    cargo.current_dir(tree::root()).args(job.arguments(opencsd));
    let output = cargo.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("{name}: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    eprint!("{text}");
    if !output.status.success() {
        return Err(format!("{name}: {}", output.status));
    }
    Ok(text.lines().filter(|line| line.starts_with("| ")).map(str::to_string).collect())
}

/// One job's part of the page.
fn section(job: &str, title: &str, rows: &[String]) -> String {
    let mut text = format!("## {job}\n\n{title}\n\n");
    if rows.is_empty() {
        return text + "Not measured: the corpus is missing.\n\n";
    }
    text += "| measure | ours | beside | ratio (best) | goal |\n|---|---|---|---|---|\n";
    rows.iter().for_each(|row| text += &format!("{row}\n"));
    text + "\n"
}

/// The processor, for the page.
fn machine() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("Measured on {cores} cores of: {}.\n", model.map_or("an unknown processor", |(_, name)| name))
}

/// Is OpenCSD's C library installed, or can it be?
fn opencsd() -> bool {
    let folders = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/local/lib", "/usr/lib"];
    let given = std::env::var("OPENCSD_LIB_DIR").ok();
    let found = || {
        let mut folders = folders.into_iter().chain(given.as_deref());
        folders.any(|folder| {
            let files = ["libopencsd_c_api.so", "libopencsd_c_api.a"];
            files.iter().any(|file| Path::new(folder).join(file).exists())
        })
    };
    if !found() {
        eprintln!("== OpenCSD: apt-get install libopencsd-dev");
        let mut install = Command::new("apt-get");
        let _ = install.args(["install", "-y", "--no-install-recommends", "libopencsd-dev"]).status();
    }
    let installed = found();
    if !installed {
        eprintln!("== SKIPPED: OpenCSD is not installed and cannot be: ETE is measured without its peer");
    }
    installed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_every_job_and_its_rows() {
        assert!(jobs().iter().any(|job| job.name == "stf"));
        assert!(jobs().iter().all(|job| !title(&job.name).is_empty()), "a job without documentation");
        let rows = ["| lift | 1 M/s | peer: 2 M/s | 0.50 (0.51) | |".to_string()];
        assert!(
            section("stf", "STF.", &rows)
                .ends_with("|---|---|---|---|---|\n| lift | 1 M/s | peer: 2 M/s | 0.50 (0.51) | |\n\n")
        );
        assert!(section("stf", "STF.", &[]).contains("Not measured"));
    }
}
