//! Streams and executions as text, in `testdata/ete/cases/*.txt`: the specification's tables, and what no recorded
//! trace covers. `testdata/ete/cases/README.md` describes the notation.
//!
//! Each file is read, its expectations are computed, and the result must be the file itself. `TRACKWAY_BLESS=1`
//! rewrites the files instead.

mod cases_support;

use std::collections::BTreeSet;
use std::path::PathBuf;

use cases_support::file::CaseFile;
use cases_support::render;

fn files() -> Vec<(PathBuf, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/ete/cases");
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    paths.sort();
    assert!(paths.len() > 5, "the cases are missing");
    paths.into_iter().map(|path| (path.clone(), std::fs::read_to_string(path).unwrap())).collect()
}

#[test]
fn every_case_has_the_expected_result() {
    let bless = std::env::var_os("TRACKWAY_BLESS").is_some();
    let mut failures = Vec::new();
    for (path, text) in files() {
        let found = render::file(&CaseFile::read(&text));
        if found == text {
            continue;
        }
        if bless {
            std::fs::write(&path, &found).unwrap();
            continue;
        }
        let mut lines = text.lines().zip(found.lines()).enumerate();
        let (number, (expected, found)) =
            lines.find(|(_, (old, new))| old != new).unwrap_or((text.lines().count(), ("", "(more lines)")));
        failures.push(format!(
            "{}:{}\n  expected {expected}\n  found    {found}",
            path.display(),
            number + 1
        ));
    }
    assert!(failures.is_empty(), "TRACKWAY_BLESS=1 rewrites the cases:\n{}", failures.join("\n"));
}

#[test]
fn every_rule_has_a_case_that_breaks_it() {
    let mut broken = BTreeSet::new();
    for (_, text) in files() {
        broken.extend(render::findings(&CaseFile::read(&text)));
    }
    let rules: BTreeSet<&str> = trackway_ete::RULES.iter().map(|rule| rule.name).collect();
    assert_eq!(broken.iter().map(String::as_str).collect::<BTreeSet<_>>(), rules);
    assert_eq!(rules.len(), trackway_ete::RULES.len(), "two rules have the same name");
}

#[test]
fn a_circular_buffer_has_the_events_of_a_plain_one() {
    let mut streams = 0;
    for (_, text) in files() {
        streams += render::check_rotations(&CaseFile::read(&text));
    }
    assert!(streams > 100, "{streams} streams");
}
