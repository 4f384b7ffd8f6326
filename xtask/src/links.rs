//! Relative links of Markdown pages, pages that sources name, and files that the architecture names exist.

use std::path::Path;

use crate::tree::{self, shown};

/// Links that lead nowhere.
pub(crate) fn check() -> Vec<String> {
    let root = tree::root();
    let mut problems: Vec<String> = tree::files(&root, "md").iter().flat_map(|path| of_page(path)).collect();
    problems.extend(of_architecture(&root));
    let readings = tree::files(&root.join("docs/spec-readings"), "md");
    problems.extend(readings.iter().flat_map(|path| of_readings(&root, path)));
    problems.extend(tree::files(&root, "rs").iter().flat_map(|path| of_source(&root, path)));
    problems
}

/// Rows of the architecture whose first code is a crate: the other files named there are in its `src`.
fn of_architecture(root: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(root.join("docs/ARCHITECTURE.md")).unwrap_or_default();
    let mut problems = Vec::new();
    for line in text.lines().filter(|line| line.starts_with("| `trackway")) {
        let mut codes = line.split('`').skip(1).step_by(2);
        let Some(name) = codes.next() else { continue };
        let sources = root.join("crates").join(name).join("src");
        let missing = codes.filter(|file| file.ends_with(".rs") && !sources.join(file).is_file());
        problems.extend(missing.map(|file| format!("docs/ARCHITECTURE.md: {name} has no {file}")));
    }
    problems
}

/// The last cell of a row of the readings names tests, in the folder of the format's crate or from the root on.
fn of_readings(root: &Path, path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let format = path.file_stem().unwrap_or_default().to_string_lossy();
    let tests = root.join(format!("crates/trackway-{format}/tests"));
    let mut problems = Vec::new();
    for (n, line) in text.lines().enumerate().filter(|(_, line)| line.starts_with("| ")) {
        let last = line.trim_end_matches([' ', '|']).rsplit(" | ").next().unwrap_or_default();
        for file in last.split('`').skip(1).step_by(2).filter(|file| file.ends_with(".rs")) {
            let folder = if file.contains('/') { root } else { &tests };
            if !folder.join(file).is_file() {
                problems.push(format!("{}:{}: no test {file}", shown(path), n + 1));
            }
        }
    }
    problems
}

/// Pages of `docs` that a source names.
fn of_source(root: &Path, path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let mut problems = Vec::new();
    for (n, line) in text.lines().enumerate().filter(|(_, line)| line.trim_start().starts_with("//")) {
        for (at, _) in line.match_indices("docs/") {
            let end = line[at..].find(|c: char| c.is_whitespace() || "`)]\"',;".contains(c));
            let name = end.map_or(&line[at..], |end| &line[at..at + end]).trim_end_matches(['.', ':']);
            let beginning = line[..at].ends_with([' ', '`', '(', '[']);
            let page = name.ends_with(".md") || name.starts_with("docs/decisions");
            if beginning && page && !root.join(name).exists() {
                problems.push(format!("{}:{}: no file {name}", shown(path), n + 1));
            }
        }
    }
    problems
}

fn of_page(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let folder = path.parent().unwrap_or(path);
    let mut problems = Vec::new();
    let mut fenced = false;
    for (n, line) in text.lines().enumerate() {
        fenced ^= line.trim_start().starts_with("```");
        if fenced {
            continue;
        }
        for rest in line.split("](").skip(1) {
            let Some((target, _)) = rest.split_once(')') else { continue };
            let file = target.split('#').next().unwrap_or_default();
            let elsewhere = file.is_empty() || file.contains("://") || file.starts_with("mailto:");
            if !elsewhere && !folder.join(file).exists() {
                problems.push(format!("{}:{}: no file {file}", shown(path), n + 1));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Scratch;

    #[test]
    fn a_name_of_a_missing_file_is_found() {
        let table = "| `trackway-stf` | `open.rs` → `lift.rs` |\n| `trackway` | other |\n";
        let source = "//! See docs/design/a.md and `docs/design/b.md`.\nlet x = \"docs/c.md\";\n";
        let files = [
            ("docs/ARCHITECTURE.md", table),
            ("docs/design/a.md", ""),
            ("crates/trackway-stf/src/open.rs", ""),
            ("x.rs", source),
            ("crates/trackway-stf/tests/a.rs", ""),
            ("docs/spec-readings/stf.md", "| 4.1 | `c.rs` | why | `a.rs` |\n| 4.2 | x | why | `b.rs` |\n"),
        ];
        let scratch = Scratch::new("names", &files);
        assert_eq!(of_architecture(&scratch.0), ["docs/ARCHITECTURE.md: trackway-stf has no lift.rs"]);
        let found = of_readings(&scratch.0, &scratch.0.join("docs/spec-readings/stf.md"));
        assert!(found.len() == 1 && found[0].ends_with("stf.md:2: no test b.rs"), "{found:?}");
        let found = of_source(&scratch.0, &scratch.0.join("x.rs"));
        assert!(found.len() == 1 && found[0].ends_with("x.rs:1: no file docs/design/b.md"), "{found:?}");
    }

    #[test]
    fn a_link_to_nowhere_is_found() {
        let page = "[here](a.md#x) and [there](https://x.y/z)\n[gone](b.md)\n```\n[not](c.md)\n```\n";
        let scratch = Scratch::new("links", &[("p.md", page), ("a.md", "")]);
        let found = of_page(&scratch.0.join("p.md"));
        assert!(found.len() == 1 && found[0].ends_with("p.md:2: no file b.md"), "{found:?}");
    }
}
