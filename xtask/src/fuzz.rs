//! `cargo xtask fuzz [TARGET…] [--seconds N] [--keep]`: runs fuzz targets in turn, and prints a line for each. New inputs are collected in
//! `target/fuzz/corpus`; `--keep` chooses the fewest of them that reach what all of them reach, for `fuzz/corpus`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::process::{copy, every_file, make_folder, output, text, tool};
use crate::{Outcome, target, tree};

/// Version that is installed where there is none.
const CARGO_FUZZ: &str = "cargo-fuzz@^0.13";

/// Without link-time optimisation, which costs minutes for each target, and with lines in what a crash prints. The code has no `unsafe`
/// that a sanitizer could judge: its checks are those of Rust.
const PROFILE: [(&str, &str); 4] = [
    ("CARGO_PROFILE_RELEASE_LTO", "off"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
    ("CARGO_PROFILE_RELEASE_DEBUG", "line-tables-only"),
    ("CARGO_PROFILE_RELEASE_STRIP", "none"),
];

/// Inputs that are kept for a target: their number, and their bytes together.
const KEPT: (usize, u64) = (256, 48 << 10);

/// Larger inputs run slowly, and rarely find more.
const LARGEST: u32 = 16 << 10;

struct Options {
    targets: Vec<String>,
    seconds: u32,
    keep: bool,
}

/// The targets, or those that are named.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let options = options(arguments, &all())?;
    let program = tool("cargo-fuzz", CARGO_FUZZ)?;
    let folder = target().join("fuzz");
    build(&program, &folder)?;
    let host = output("rustc", &["--print", "host-tuple"])?;
    let built = folder.join(host.trim()).join("release");
    let mut crashed = Vec::new();
    for name in &options.targets {
        let found = Run::new(name, &folder, &built);
        make_folder(&found.work)?;
        make_folder(&found.artifacts)?;
        if options.seconds > 0 && !found.fuzz(options.seconds)? {
            crashed.push(name.clone());
        }
        if options.keep {
            found.keep()?;
        }
    }
    crate::report("fuzz targets with a crash", &crashed)
}

fn all() -> Vec<String> {
    let files = tree::files(&tree::root().join("fuzz/fuzz_targets"), "rs");
    files.iter().filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned())).collect()
}

fn options(arguments: &[String], all: &[String]) -> Result<Options, String> {
    let mut options = Options { targets: Vec::new(), seconds: 60, keep: false };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--keep" => options.keep = true,
            "--seconds" => {
                let seconds = arguments.next().and_then(|text| text.parse().ok());
                options.seconds = seconds.ok_or("--seconds wants a number")?;
            }
            name if all.iter().any(|known| known == name) => options.targets.push(name.into()),
            name => return Err(format!("no fuzz target is called {name}: {}", all.join(", "))),
        }
    }
    if options.targets.is_empty() {
        options.targets = all.to_vec();
    }
    Ok(options)
}

fn build(program: &str, folder: &Path) -> Outcome {
    eprintln!("== building the fuzz targets");
    let status = Command::new(program)
        .args(["build", "--sanitizer", "none", "--target-dir", &text(folder)])
        .current_dir(tree::root())
        .envs(PROFILE)
        .status()
        .map_err(|error| format!("{program}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{program} build: {status}")) }
}

/// A target with its folders.
struct Run<'a> {
    name: &'a str,
    program: PathBuf,
    work: PathBuf,
    kept: PathBuf,
    artifacts: PathBuf,
    log: PathBuf,
}

impl<'a> Run<'a> {
    fn new(name: &'a str, folder: &Path, built: &Path) -> Self {
        Run {
            name,
            program: built.join(name),
            work: folder.join("corpus").join(name),
            kept: tree::root().join("fuzz/corpus").join(name),
            artifacts: folder.join("artifacts").join(name),
            log: folder.join(format!("{name}.log")),
        }
    }

    /// Runs libFuzzer; false after a crash.
    fn fuzz(&self, seconds: u32) -> Result<bool, String> {
        make_folder(&self.kept)?;
        let log = fs::File::create(&self.log).map_err(|error| format!("{}: {error}", self.log.display()))?;
        let status = Command::new(&self.program)
            .args([&self.work, &self.kept])
            .arg(format!("-max_total_time={seconds}"))
            .arg(format!("-max_len={LARGEST}"))
            .arg(format!("-artifact_prefix={}/", self.artifacts.display()))
            .args(["-rss_limit_mb=2048", "-timeout=60", "-print_final_stats=1"])
            .stdout(Stdio::null())
            .stderr(log)
            .status()
            .map_err(|error| format!("{}: {error}", self.program.display()))?;
        let said = fs::read(&self.log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        println!("{}", line(self.name, &said.unwrap_or_default(), status.success()));
        Ok(status.success())
    }

    /// The fewest inputs that reach what all reach: small ones first, until there are enough.
    fn keep(&self) -> Outcome {
        let merged = self.artifacts.with_extension("merged");
        let _ = fs::remove_dir_all(&merged);
        make_folder(&merged)?;
        make_folder(&self.kept)?;
        let folders = [&merged, &self.kept, &self.work].map(|path| text(path));
        let limit = format!("-max_len={LARGEST}");
        output(
            &text(&self.program),
            &["-set_cover_merge=1", "-timeout=60", &limit, &folders[0], &folders[1], &folders[2]],
        )?;
        fs::remove_dir_all(&self.kept).map_err(|error| format!("{}: {error}", self.kept.display()))?;
        let mut files: Vec<(u64, PathBuf)> = every_file(&merged)
            .into_iter()
            .map(|path| (fs::metadata(&path).map_or(0, |data| data.len()), path))
            .collect();
        files.sort();
        let (mut count, mut size) = (0, 0);
        for (length, path) in &files {
            size += length;
            if count == KEPT.0 || size > KEPT.1 {
                break;
            }
            copy(path, &self.kept.join(path.file_name().unwrap_or_default()))?;
            count += 1;
        }
        println!("{:<18} keeps {count} of {} inputs", self.name, files.len());
        Ok(())
    }
}

/// The end of libFuzzer's log, in one line.
fn line(name: &str, said: &str, good: bool) -> String {
    let stat = |name: &str| {
        let found = said.lines().rev().find_map(|line| line.strip_prefix("stat::")?.strip_prefix(name));
        found.map_or("?", |rest| rest.trim_start_matches([':', ' ']))
    };
    let outcome = if good {
        "no crash".to_string()
    } else {
        let artifact = said.lines().find_map(|line| line.split_once("Test unit written to "));
        format!("CRASH: {}", artifact.map_or("see its log", |(_, path)| path))
    };
    format!(
        "{name:<18} {:>10} runs, {:>6} new units, {:>4} MB: {outcome}",
        stat("number_of_executed_units"),
        stat("new_units_added"),
        stat("peak_rss_mb")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "#2\tINITED\nstat::number_of_executed_units: 1234\nstat::average_exec_per_sec:     20\n\
                        stat::new_units_added:          56\nstat::peak_rss_mb:              78\n";

    #[test]
    fn a_run_is_one_line() {
        let good = line("image_elf", SAID, true);
        assert_eq!(
            good.split_whitespace().collect::<Vec<_>>().join(" "),
            "image_elf 1234 runs, 56 new units, 78 MB: no crash"
        );
        let crash = format!("{SAID}artifact_prefix='/a/'; Test unit written to /a/crash-12\nBase64: AA==\n");
        assert!(line("image_elf", &crash, false).ends_with(": CRASH: /a/crash-12"));
        assert!(line("image_elf", "", false).ends_with(": CRASH: see its log"));
    }

    #[test]
    fn arguments_name_targets() {
        let words = |text: &str| text.split_whitespace().map(str::to_string).collect::<Vec<String>>();
        let found = options(&words("b --seconds 7 --keep"), &words("a b")).unwrap();
        assert_eq!((found.targets, found.seconds, found.keep), (words("b"), 7, true));
        assert_eq!(options(&[], &words("a b")).unwrap().targets, words("a b"));
        assert!(options(&words("c"), &words("a b")).is_err());
        assert!(options(&words("--seconds"), &words("a b")).is_err());
    }
}
