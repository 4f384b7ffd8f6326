//! Source and disassembly with counts.

use std::fmt::Write;

use super::files::{CodeLine, Cover};
use crate::sources::Sources;

/// Every source file with the counts of its lines, and below each line its code; and the names of all files, with whether
/// they were read.
pub fn listing<'c>(cover: &'c Cover, sources: &Sources) -> (String, Vec<(&'c str, bool)>) {
    let (mut out, mut read) = (String::new(), Vec::new());
    // Writing to a string cannot fail.
    for (name, file) in &cover.files {
        let text = sources.read(name);
        let hit = file.lines.values().filter(|count| **count > 0).count();
        let _ = writeln!(out, "== {}: {hit} of {} lines", plain(name), file.lines.len());
        read.push((name.as_str(), text.is_some()));
        let lines: Vec<&str> = text.as_deref().map(str::lines).into_iter().flatten().collect();
        let last = file.lines.keys().last().copied().unwrap_or(0).max(lines.len() as u32);
        for line in 1..=last.min(1_000_000) {
            let count = file.lines.get(&line);
            let source = lines.get(line as usize - 1);
            if count.is_none() && source.is_none() {
                continue;
            }
            let shown = match count {
                Some(0) => "#####".to_string(),
                Some(count) => count.to_string(),
                None => "-".to_string(),
            };
            let _ = writeln!(out, "{shown:>12}: {line:>5}: {}", plain(source.unwrap_or(&"")));
            for CodeLine { pc, isa, encoding, executed } in file.code.get(&line).into_iter().flatten() {
                let branch = file.branches.get(&(line, *pc)).map_or(String::new(), |branch| {
                    format!("  [taken {}, not taken {}]", branch.taken, branch.not_taken)
                });
                let text = trackway_isa::text(*isa, *pc, *encoding);
                let _ = writeln!(out, "{executed:>12}:        {pc:x}: {}{branch}", plain(&text));
            }
        }
    }
    (out, read)
}

/// Text without control characters, which a terminal would obey.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\t' { '\u{fffd}' } else { c }).collect()
}
