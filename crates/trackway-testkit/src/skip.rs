//! Tests that cannot run here are recorded, never passed in silence.

use std::io::Write;
use std::path::Path;

/// Records that the running test cannot do its work: the corpus or a program is missing.
///
/// `cargo xtask test` names a file in `TRACKWAY_SKIPS`, and lists and counts what is in it at the end.
///
/// ```
/// # let installed = true;
/// if !installed {
///     return trackway_testkit::skipped("qemu-riscv64 is not installed");
/// }
/// ```
pub fn skipped(reason: &str) {
    let binary = std::env::args().next().unwrap_or_default();
    let stem = Path::new(&binary).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    // Cargo adds a hash: `corpus-0123456789abcdef`.
    let file = stem.rsplit_once('-').map_or(stem.as_str(), |(name, _)| name);
    let package = std::env::var("CARGO_PKG_NAME").unwrap_or_default();
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("unnamed");
    eprintln!("SKIPPED: {package} {file} {test}: {reason}");
    let Some(path) = std::env::var_os("TRACKWAY_SKIPS") else { return };
    // One write per line, so that lines of tests that run at the same time stay whole.
    let line = format!("{package} {file} {test}\t{reason}\n");
    let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
    let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
    written.expect("the file that TRACKWAY_SKIPS names can be written");
}
