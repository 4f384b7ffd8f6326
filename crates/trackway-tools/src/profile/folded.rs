//! Folded stacks: a line for each, frames with semicolons between them, and a count.

use std::fmt::Write;

use super::Profiled;
use super::names::one_line;
use super::stacks::stacks;

/// The profile as folded stacks.
pub fn folded(profiled: &Profiled<'_>) -> String {
    let mut out = String::new();
    for stack in stacks(profiled) {
        let frames: Vec<String> =
            stack.labels.iter().map(|label| one_line(&label.replace(';', ":"))).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{} {}", frames.join(";"), stack.instructions);
    }
    out
}
