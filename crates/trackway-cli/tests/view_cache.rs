//! The viewer works out a whole trace once: the results are kept in the cache.

mod common;
#[path = "../../trackway-view/tests/visit/mod.rs"]
mod visit;

use std::path::{Path, PathBuf};
use std::time::Duration;

use common::{Folder, repo, stdout};
use serde_json::Value as Json;
use trackway::index::Cache;
use trackway_view::File;
use visit::Visit;

const QUESTIONS: [&str; 5] =
    ["status?l=0", "timeline?l=0&from=0&to=156314&columns=300", "tree?l=0", "memory?l=0", "branches?l=0"];

/// The answers of a new server.
fn answers(trace: &str, elf: &str, cache: &str) -> Vec<Json> {
    let cache = Cache { folder: PathBuf::from(cache), failed: None };
    let index = trackway::Indexing::Cache(cache, Duration::ZERO);
    let options = trackway::Options { index, ..trackway::Trace::options() }.elf(elf);
    let visit = Visit::to(&[File { path: trace.into(), options }]);
    visit.ready(0);
    QUESTIONS.iter().map(|question| visit.ask(question)).collect()
}

/// The kept overviews, with the time of their writing.
fn kept(cache: &str) -> Vec<(PathBuf, std::time::SystemTime)> {
    let files = std::fs::read_dir(cache).unwrap().map(|entry| entry.unwrap().path());
    let views = files.filter(|path| path.to_str().is_some_and(|name| name.ends_with(".view.twx")));
    let mut views: Vec<_> =
        views.map(|path| (path.clone(), path.metadata().unwrap().modified().unwrap())).collect();
    views.sort();
    views
}

#[test]
fn levels_of_detail_are_worked_out_once() {
    let folder = Folder::new("view-cache");
    let (trace, cache) = (folder.file("mix.stf"), folder.file("cache"));
    let elf = repo("programs/riscv/elf/rv64-mix.elf");
    stdout(&["record", &elf, "-o", &trace, "-q"]);
    let first = answers(&trace, &elf, &cache);
    assert!(first[1]["slices"].as_array().unwrap().len() > 10, "{}", first[1]);
    assert_eq!(first[2]["total"], 156_314);
    let one = kept(&cache);
    assert_eq!(one.len(), 1);
    // The same answers; nothing was worked out again.
    assert_eq!(answers(&trace, &elf, &cache), first);
    assert_eq!(kept(&cache), one);
    // A damaged file is not believed, and written again.
    let whole = std::fs::read(&one[0].0).unwrap();
    assert!(whole.len() < 1 << 20, "{}", whole.len());
    for at in [40, whole.len() / 2, whole.len() - 1] {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        std::fs::write(&one[0].0, bytes).unwrap();
        assert_eq!(answers(&trace, &elf, &cache), first);
        assert_eq!(std::fs::read(&one[0].0).unwrap(), whole);
    }
    // Another program has other names.
    let renamed = folder.file("other.elf");
    common::replace_text(&elf, &renamed, "queens", "kwains");
    let other = answers(&trace, &renamed, &cache);
    assert_ne!(other[2], first[2]);
    assert_eq!(kept(&cache).len(), 2);
    // Another trace at the same place.
    std::fs::copy(repo("testdata/stf/sort/trace.stf"), &trace).unwrap();
    let sorted = answers(&trace, &repo("programs/riscv/sort.elf"), &cache);
    assert_eq!(sorted[2]["total"], 297);
    assert!(Path::new(&one[0].0).exists());
}
