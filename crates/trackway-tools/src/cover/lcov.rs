//! lcov's tracefile, which genhtml reads.

use std::fmt::Write;

use super::files::Cover;

/// Coverage as a tracefile: lines, functions, and branches both ways.
pub fn lcov(cover: &Cover) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    for (name, file) in &cover.files {
        let _ = writeln!(out, "TN:\nSF:{}", one_line(name));
        for (function, of) in &file.functions {
            let _ = writeln!(out, "FN:{},{}", of.line, one_line(function));
        }
        for (function, of) in &file.functions {
            let _ = writeln!(out, "FNDA:{},{}", of.entries, one_line(function));
        }
        let hit = file.functions.values().filter(|of| of.entries > 0).count();
        let _ = writeln!(out, "FNF:{}\nFNH:{hit}", file.functions.len());
        let mut number = (0, 0);
        let mut ways = [0, 0];
        for ((line, _), branch) in &file.branches {
            number = if number.0 == *line { (*line, number.1 + 1) } else { (*line, 0) };
            for (way, count) in [branch.taken, branch.not_taken].into_iter().enumerate() {
                let shown = if branch.is_reached() { count.to_string() } else { "-".into() };
                let _ = writeln!(out, "BRDA:{line},{},{way},{shown}", number.1);
                ways[0] += 1;
                ways[1] += usize::from(count > 0);
            }
        }
        let _ = writeln!(out, "BRF:{}\nBRH:{}", ways[0], ways[1]);
        for (line, count) in &file.lines {
            let _ = writeln!(out, "DA:{line},{count}");
        }
        let hit = file.lines.values().filter(|count| **count > 0).count();
        let _ = writeln!(out, "LF:{}\nLH:{hit}\nend_of_record", file.lines.len());
    }
    out
}

/// A name that cannot end its record.
fn one_line(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
