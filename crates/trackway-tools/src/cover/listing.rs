//! Source and disassembly with counts.

use std::fmt::Write;
use std::path::{Component, Path, PathBuf};

use super::files::{CodeLine, Cover};

/// The longest source file that is read.
const LONGEST: u64 = 16 << 20;

/// Where source files may be read from. A program can name any file as its source, so only regular files under one
/// folder are read, after symbolic links are followed.
#[derive(Clone, Debug)]
pub struct Sources {
    root: Option<PathBuf>,
}

impl Sources {
    /// Files under this folder.
    pub fn under(root: &Path) -> Self {
        Sources { root: root.canonicalize().ok() }
    }

    /// The file that a program names: the longest end of its path that is there.
    pub fn find(&self, name: &str) -> Option<PathBuf> {
        let root = self.root.as_ref()?;
        let parts: Vec<_> =
            Path::new(name).components().filter(|part| matches!(part, Component::Normal(_))).collect();
        (0..parts.len()).find_map(|from| {
            let path = root.join(parts[from..].iter().collect::<PathBuf>()).canonicalize().ok()?;
            let is_file = path.metadata().is_ok_and(|meta| meta.is_file() && meta.len() <= LONGEST);
            (is_file && path.starts_with(root)).then_some(path)
        })
    }

    /// The text of that file.
    pub fn read(&self, name: &str) -> Option<String> {
        let bytes = std::fs::read(self.find(name)?).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Every source file with the counts of its lines, and below each line its code; and the files that were read.
pub fn listing(cover: &Cover, sources: &Sources) -> (String, Vec<String>) {
    let (mut out, mut read) = (String::new(), Vec::new());
    // Writing to a string cannot fail.
    for (name, file) in &cover.files {
        let text = sources.read(name);
        let hit = file.lines.values().filter(|count| **count > 0).count();
        let _ = writeln!(out, "== {}: {hit} of {} lines", plain(name), file.lines.len());
        read.extend(text.is_some().then(|| name.clone()));
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
