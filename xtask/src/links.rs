//! Relative links of Markdown pages lead to files that exist.

use std::path::Path;

use crate::tree::{self, shown};

/// Links that lead nowhere.
pub(crate) fn check() -> Vec<String> {
    let root = tree::root();
    tree::files(&root, "md").iter().flat_map(|path| of_page(path)).collect()
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
    fn a_link_to_nowhere_is_found() {
        let page = "[here](a.md#x) and [there](https://x.y/z)\n[gone](b.md)\n```\n[not](c.md)\n```\n";
        let scratch = Scratch::new("links", &[("p.md", page), ("a.md", "")]);
        let found = of_page(&scratch.0.join("p.md"));
        assert!(found.len() == 1 && found[0].ends_with("p.md:2: no file b.md"), "{found:?}");
    }
}
