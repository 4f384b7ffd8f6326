//! Tests that need other people's programs: installed where that is possible, and said where it is not.

use std::process::Command;
use std::time::Instant;

use crate::{Outcome, cargo, skips, tree};

/// Debian packages, one after the other: one that cannot be had takes no other with it.
const PACKAGES: [&str; 4] = ["valgrind", "lcov", "golang-1.19-go", "chromium"];

/// Packages and files of tests whose ignored tests are run.
const TESTS: [(&str, &str); 2] = [("trackway-cli", "peers"), ("trackway-cli", "browser")];

/// Installs, runs, and prints what was skipped and the time.
pub(crate) fn test() -> Outcome {
    let begun = Instant::now();
    for package in PACKAGES {
        let installed = Command::new("dpkg").args(["-s", package]).output();
        if installed.is_ok_and(|output| output.status.success()) {
            continue;
        }
        eprintln!("== installing {package}");
        let done = Command::new("apt-get").args(["install", "-y", "-q", package]).output();
        if !done.is_ok_and(|output| output.status.success()) {
            eprintln!("SKIPPED: {package} cannot be installed: apt-get install {package}");
        }
    }
    let skips = skips::begin(&tree::root()).map_err(|error| error.to_string())?;
    let variable = [(skips::VARIABLE, &*skips.display().to_string())];
    let outcome = TESTS.iter().try_for_each(|(package, file)| {
        cargo(file, &format!("test --locked -p {package} --test {file} -- --ignored"), &variable)
    });
    eprint!("{}", skips::report(&skips));
    eprintln!("== {} seconds", begun.elapsed().as_secs());
    outcome
}
