//! Project tasks. `cargo xtask test` is the one command that runs every check.

use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let task = std::env::args().nth(1);
    match task.as_deref() {
        Some("test") => run(&test()),
        Some("bench") => run(&bench()),
        Some("fuzz") => run(&fuzz(std::env::args().nth(2).as_deref().unwrap_or("60"))),
        _ => {
            eprintln!("cargo xtask test          format, lints, docs and all tests");
            eprintln!("cargo xtask bench         every benchmark that needs nothing from the system");
            eprintln!("cargo xtask fuzz [SECS]   every fuzz target, SECS each (needs cargo-fuzz)");
            ExitCode::from(2)
        }
    }
}

/// A step: its name and the cargo command line.
type Step = (String, Vec<String>);

fn step(name: &str, arguments: &str) -> Step {
    (name.to_string(), arguments.split_whitespace().map(str::to_string).collect())
}

fn test() -> Vec<Step> {
    vec![
        step("format", "fmt --all --check"),
        step("lints", "clippy --locked --all-targets -- -D warnings"),
        step("docs", "doc --locked --no-deps --quiet"),
        step("tests", "test --locked"),
    ]
}

fn bench() -> Vec<Step> {
    // Those that link a peer from the system are run by name.
    let peers = ["trackway-bench-ete"];
    packages("benches")
        .into_iter()
        .filter(|package| !peers.contains(&package.as_str()))
        .map(|package| step(&package, &format!("bench --locked -p {package}")))
        .collect()
}

fn fuzz(seconds: &str) -> Vec<Step> {
    let folder = root().join("fuzz/fuzz_targets");
    let mut targets: Vec<String> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some(entry.path().file_stem()?.to_str()?.to_string()))
        .collect();
    targets.sort();
    targets
        .iter()
        .map(|target| {
            step(target, &format!("fuzz run {target} -- -max_total_time={seconds} -rss_limit_mb=2048"))
        })
        .collect()
}

/// Packages of a folder, one per subfolder.
fn packages(folder: &str) -> Vec<String> {
    let mut found: Vec<String> = std::fs::read_dir(root().join(folder))
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.path().join("Cargo.toml").is_file())
        .map(|entry| format!("trackway-bench-{}", entry.file_name().to_string_lossy()))
        .collect();
    found.sort();
    found
}

fn root() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Runs the steps in order and stops at the first that fails.
fn run(steps: &[Step]) -> ExitCode {
    for (name, arguments) in steps {
        eprintln!("== {name}: cargo {}", arguments.join(" "));
        let mut cargo = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()));
        cargo.current_dir(root()).args(arguments).env("RUSTDOCFLAGS", "-D warnings");
        if arguments.first().is_some_and(|first| first == "fuzz") {
            // cargo-fuzz asks for unstable flags; the stable compiler takes them so.
            cargo.env("RUSTC_BOOTSTRAP", "1");
        }
        match cargo.status() {
            Ok(status) if status.success() => {}
            Ok(status) => {
                eprintln!("== {name} failed: {status}");
                return ExitCode::FAILURE;
            }
            Err(error) => {
                eprintln!("== {name}: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    eprintln!("== all good");
    ExitCode::SUCCESS
}
