//! `cargo xtask policy`: licences, bans and sources of what each workspace locks, by cargo-deny. Advisories are left to the forge: they need
//! the network.

use std::process::Command;

use crate::process::{text, tool};
use crate::{Outcome, tree};

/// Version that is installed where there is none.
const CARGO_DENY: &str = "cargo-deny@^0.20";

/// Workspaces, by their folders.
const WORKSPACES: [&str; 3] = [".", "crates/trackway-py", "plugin/qemu"];

/// Checks all workspaces, and names those that fail.
pub(crate) fn run() -> Outcome {
    let program = tool("cargo-deny", CARGO_DENY)?;
    let settings = text(&tree::root().join("deny.toml"));
    let mut refused = Vec::new();
    for folder in WORKSPACES {
        eprintln!("== {folder}");
        let status = Command::new(&program)
            .args(["--log-level", "error", "--config", &settings, "check", "licenses", "bans", "sources"])
            .current_dir(tree::root().join(folder))
            .status()
            .map_err(|error| format!("{program}: {error}"))?;
        if !status.success() {
            refused.push(folder.to_string());
        }
    }
    crate::report("policy", &refused)
}
