//! Tests that could not run, because the corpus or a program is missing, are listed and counted.
//!
//! `trackway_testkit::skipped` appends a line to the file that `TRACKWAY_SKIPS` names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The variable that names the file.
pub(crate) const VARIABLE: &str = "TRACKWAY_SKIPS";

/// An empty file for one run.
pub(crate) fn begin(root: &Path) -> std::io::Result<PathBuf> {
    let path = root.join("target/skipped-tests.txt");
    std::fs::create_dir_all(root.join("target"))?;
    std::fs::write(&path, "")?;
    Ok(path)
}

/// The tests that were skipped, by reason.
pub(crate) fn report(file: &Path) -> String {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (test, reason) in text.lines().filter_map(|line| line.split_once('\t')) {
        let tests = reasons.entry(reason).or_default();
        if !tests.contains(&test) {
            tests.push(test);
        }
    }
    let mut report = String::new();
    for (reason, tests) in &mut reasons {
        tests.sort_unstable();
        report += &format!("   {} skipped: {reason}\n", tests.len());
        tests.iter().for_each(|test| report += &format!("      {test}\n"));
    }
    let tests: BTreeSet<&str> = reasons.values().flatten().copied().collect();
    report + &format!("== {} tests skipped\n", tests.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Scratch;

    #[test]
    fn skipped_tests_are_listed_and_counted() {
        let lines = "b::two\tno corpus\na::one\tno corpus\na::one\tno corpus\nc\tno qemu-arm\n";
        let scratch = Scratch::new("skips", &[("file", lines)]);
        let report = report(&scratch.0.join("file"));
        assert_eq!(
            report,
            "   2 skipped: no corpus\n      a::one\n      b::two\n   1 skipped: no qemu-arm\n      c\n\
             == 3 tests skipped\n"
        );
    }
}
