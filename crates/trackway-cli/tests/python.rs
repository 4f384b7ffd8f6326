//! The Python package: built, installed into a fresh virtual environment, and tested there. `cargo xtask test --peers` runs
//! it; without it it is ignored.

mod common;

use std::path::Path;
use std::process::Command;

use common::repo;
use trackway_testkit::skipped;

/// Runs a command in the root of the repository; its output where it fails.
fn run(program: &Path, args: &[&str], folder: &Path) -> Result<String, String> {
    let mut command = Command::new(program);
    command.args(args).current_dir(repo("."));
    // Builds are kept from one run to the next; the environment is not.
    command.env("CARGO_TARGET_DIR", folder.join("python-target"));
    command.env("TRACKWAY_PROGRAM", env!("CARGO_BIN_EXE_trackway"));
    let output = command.output().map_err(|error| format!("{}: {error}", program.display()))?;
    let all = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(all.into_owned()) } else { Err(all.into_owned()) }
}

/// One `pip install`, then the tests of the package: tables by pyarrow, DuckDB and Polars, the notebook, Spark.
#[test]
#[ignore = "builds a wheel and fetches packages: cargo xtask test --peers"]
fn wheel_in_a_fresh_environment() {
    let Ok(folder) = std::env::var("TRACKWAY_PEERS") else {
        return skipped("TRACKWAY_PEERS is not set: cargo xtask test --peers");
    };
    let folder = Path::new(&folder);
    let venv = folder.join("python");
    let _ = std::fs::remove_dir_all(&venv);
    let made = run(Path::new("python3"), &["-m", "venv", &venv.display().to_string()], folder);
    if let Err(error) = made {
        return skipped(&format!("no virtual environment: {error}"));
    }
    let python = venv.join("bin/python");
    let install = ["-m", "pip", "install", "-q", "./crates/trackway-py[test]"];
    run(&python, &install, folder).unwrap_or_else(|error| panic!("pip install: {error}"));
    let tested = run(&python, &["-m", "pytest", "-rs", "crates/trackway-py/tests"], folder);
    let output = tested.unwrap_or_else(|error| panic!("{error}"));
    for line in output.lines().filter(|line| line.contains("SKIPPED")) {
        skipped(line);
    }
}
