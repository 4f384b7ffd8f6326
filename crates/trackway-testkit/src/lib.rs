//! Test support: where the corpus is, its real executions as events, and events as lines.
//!
//! Not published; format crates name it under `[dev-dependencies]`.
//!
//! ```
//! use trackway_core::{Batch, Source};
//! if let Some(run) = trackway_testkit::qemu::Run::corpus("bare", "aarch64-traps") {
//!     let mut events = run.events();
//!     let mut batch = Batch::default();
//!     assert!(events.fill(&mut batch)?);
//!     assert_eq!(batch.instructions(), run.pcs.len() as u64);
//! }
//! # Ok::<(), trackway_core::Error>(())
//! ```
#![forbid(unsafe_code)]

mod flow;
pub mod lines;
pub mod output;
pub mod qemu;
pub mod random;

use std::path::PathBuf;

/// The corpus folder: `TRACKWAY_CORPUS`, else `../shared/corpus` beside the repository. Where it is absent
/// this says so on stderr, and the test that asked should pass.
pub fn corpus() -> Option<PathBuf> {
    let folder = std::env::var_os("TRACKWAY_CORPUS").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus")),
        PathBuf::from,
    );
    let found = folder.is_dir();
    if !found {
        eprintln!("SKIPPED: no corpus at {} (set TRACKWAY_CORPUS)", folder.display());
    }
    found.then_some(folder)
}
