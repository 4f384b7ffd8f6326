//! The snapshots of the corpus against the listings that OpenCSD 1.7.1 made of them.

mod corpus_support;

use std::path::Path;

use corpus_support::*;

#[test]
fn explore() {
    let Some(root) = corpus() else { return };
    let only = std::env::var("ETE_ONLY").ok();
    for name in SNAPSHOTS {
        if only.as_deref().is_some_and(|only| only != *name) { continue; }
        let folder = root.join(name);
        let ours = decode(&folder, 1);
        let theirs = listing(&folder);
        println!("== {name}: sources {} / {}", ours.len(), theirs.len());
        compare(Path::new(name), &ours, &theirs);
    }
}
