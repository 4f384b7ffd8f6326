//! Modules of a crate do not import in circles.
//!
//! Nodes are the modules of one folder; a module stands for all files below it. `a` imports `b` if code of `a`
//! names `crate::b` or reaches it by `super::`, or by a name that a module between them re-exports. Test code, and
//! what a parent imports from its own children, does not count.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::tokens::{Token, tokens, without_tests};
use crate::tree::{self, shown};

/// Cycles of every package.
pub(crate) fn check() -> Vec<String> {
    let of_package = |package: &tree::Package| {
        let found = of_crate(&package.folder.join("src"));
        found.into_iter().map(|cycle| format!("{}: {cycle}", package.name)).collect::<Vec<String>>()
    };
    tree::packages().iter().flat_map(of_package).collect()
}

/// A module by its names from the crate's root on.
type Module = Vec<String>;

/// One source file: its module and its tokens.
struct File {
    path: PathBuf,
    module: Module,
    tokens: Vec<Token>,
}

/// Where one module names another.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    path: PathBuf,
    line: usize,
}

/// Imports between the modules of one folder.
type Graph = BTreeMap<String, BTreeMap<String, Place>>;

/// The cycles of the crate whose sources are in `folder`.
pub(crate) fn of_crate(folder: &Path) -> Vec<String> {
    let files = read(folder);
    let modules: BTreeSet<Module> = files.iter().map(|file| file.module.clone()).collect();
    let exports = exports(&files, &modules);
    let mut graphs: BTreeMap<Module, Graph> = BTreeMap::new();
    for file in &files {
        for (target, line) in paths(file) {
            let target = resolve(&target, &modules, &exports);
            let common = target.iter().zip(&file.module).take_while(|(a, b)| a == b).count();
            let (Some(from), Some(to)) = (file.module.get(common), target.get(common)) else { continue };
            let graph = graphs.entry(target[..common].to_vec()).or_default();
            let place = Place { path: file.path.clone(), line };
            graph.entry(from.clone()).or_default().entry(to.clone()).or_insert(place);
        }
    }
    graphs.iter().flat_map(|(parent, graph)| cycles(parent, graph)).collect()
}

/// The files of a crate, less those that only tests have.
fn read(folder: &Path) -> Vec<File> {
    let (mut files, mut tests) = (Vec::new(), Vec::new());
    for path in tree::files(folder, "rs") {
        let inside = path.strip_prefix(folder).unwrap_or(&path).with_extension("");
        let mut module: Module = inside.iter().map(|name| name.to_string_lossy().into_owned()).collect();
        if module.last().is_some_and(|name| name == "mod") || module == ["lib"] || module == ["main"] {
            module.pop();
        }
        let source = std::fs::read_to_string(&path).unwrap_or_default();
        let (tokens, names) = without_tests(&tokens(&source));
        tests.extend(names.into_iter().map(|name| [module.clone(), vec![name]].concat()));
        files.push(File { path, module, tokens });
    }
    files.retain(|file| !tests.iter().any(|test| file.module.starts_with(test)));
    files
}

/// The names that a module re-exports from elsewhere in the crate: module and name, and the path behind it.
fn exports(files: &[File], modules: &BTreeSet<Module>) -> BTreeMap<Module, Module> {
    let mut found = BTreeMap::new();
    for file in files {
        let mut at = 0;
        while at < file.tokens.len() {
            let starts = file.tokens[at].text == "use";
            at += 1;
            if !starts {
                continue;
            }
            for (path, _) in tree_of(&file.tokens, &mut at) {
                // `self`, a child, `super` and `crate`: anything else is another crate.
                let base = absolute(&path, &file.module).or_else(|| {
                    let child = [file.module.clone(), vec![path.first()?.clone()]].concat();
                    modules.contains(&child).then(|| [file.module.clone(), path.clone()].concat())
                });
                if let (Some(target), Some(name)) = (base, path.last()) {
                    found.insert([file.module.clone(), vec![name.clone()]].concat(), target);
                }
            }
        }
    }
    found
}

/// The module that an absolute path ends in, through re-exports.
fn resolve(path: &[String], modules: &BTreeSet<Module>, exports: &BTreeMap<Module, Module>) -> Module {
    let mut path = path.to_vec();
    for _ in 0..8 {
        let known = (0..=path.len()).rev().find(|n| modules.contains(&path[..*n])).unwrap_or(0);
        let Some(target) = path.get(..=known).and_then(|name| exports.get(name)) else {
            path.truncate(known);
            return path;
        };
        path = [target.clone(), path[known + 1..].to_vec()].concat();
    }
    path
}

/// Every path of the file that begins with `crate` or `super`, from the crate's root on.
fn paths(file: &File) -> Vec<(Module, usize)> {
    let (mut found, mut at) = (Vec::new(), 0);
    // Inline modules: name, and the depth of the braces around them.
    let (mut inline, mut depth): (Vec<(String, usize)>, usize) = (Vec::new(), 0);
    while let Some(token) = file.tokens.get(at) {
        let next = |n: usize| file.tokens.get(at + n).map_or("", |token| token.text.as_str());
        match token.text.as_str() {
            "{" => depth += 1,
            "}" => {
                depth = depth.saturating_sub(1);
                inline.pop_if(|(_, outside)| *outside == depth);
            }
            "mod" if next(2) == "{" => inline.push((next(1).to_string(), depth)),
            "crate" | "super" if next(1) == "::" && (at == 0 || file.tokens[at - 1].text != "in") => {
                let names = inline.iter().map(|(name, _)| name.clone());
                let module: Module = file.module.iter().cloned().chain(names).collect();
                let line = token.line;
                let trees = tree_of(&file.tokens, &mut at);
                found.extend(trees.iter().filter_map(|(path, _)| Some((absolute(path, &module)?, line))));
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// A path that begins with `crate`, `self` or `super` as one from the crate's root on.
fn absolute(path: &[String], module: &[String]) -> Option<Module> {
    let above = path.iter().take_while(|name| *name == "super").count();
    match path.first()?.as_str() {
        "crate" => Some(path[1..].to_vec()),
        "self" => Some([module, &path[1..]].concat()),
        "super" => Some([module.get(..module.len().checked_sub(above)?)?, &path[above..]].concat()),
        _ => None,
    }
}

/// The paths of a tree like `a::{b, c::{d, e as f}}` that begins at `at`, which is left behind it.
fn tree_of(tokens: &[Token], at: &mut usize) -> Vec<(Vec<String>, usize)> {
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text.as_str());
    let mut path = Vec::new();
    while let Some(token) = tokens.get(*at) {
        if token.text == "{" {
            *at += 1;
            let mut found = Vec::new();
            while *at < tokens.len() && text(*at) != "}" {
                let before = *at;
                for (rest, line) in tree_of(tokens, at) {
                    let rest = if rest == ["self"] { Vec::new() } else { rest };
                    found.push(([path.clone(), rest].concat(), line));
                }
                // A name behind `as`, a comma, a star.
                while *at < tokens.len() && !matches!(text(*at), "}" | ",") {
                    *at += 1;
                }
                if text(*at) == "," || *at == before {
                    *at += 1;
                }
            }
            *at += 1;
            return found;
        }
        if !token.is_word() {
            break;
        }
        path.push(token.text.clone());
        *at += 1;
        if text(*at) != "::" {
            break;
        }
        *at += 1;
    }
    let line = tokens.get(at.saturating_sub(1)).map_or(0, |token| token.line);
    // Turbofish, star: the path so far.
    vec![(path, line)]
}

/// The shortest cycle through each group of modules that reach each other, as text.
fn cycles(parent: &[String], graph: &Graph) -> Vec<String> {
    let mut done: BTreeSet<&String> = BTreeSet::new();
    let mut found = Vec::new();
    for start in graph.keys() {
        let Some(cycle) = shortest(graph, start) else { continue };
        if cycle.iter().any(|name| done.contains(name)) {
            continue;
        }
        done.extend(cycle.iter().copied());
        let within = if parent.is_empty() { "crate".to_string() } else { parent.join("::") };
        let mut text = format!("import cycle in {within}: {}", cycle[0]);
        for name in cycle[1..].iter().chain(&cycle[..1]) {
            text += &format!(" → {name}");
        }
        for (n, name) in cycle.iter().enumerate() {
            let next = cycle[(n + 1) % cycle.len()];
            let place = &graph[*name][next];
            text += &format!("\n    {}:{} imports {next}", shown(&place.path), place.line);
        }
        found.push(text);
    }
    found
}

/// The shortest way from `start` back to itself.
fn shortest<'g>(graph: &'g Graph, start: &'g String) -> Option<Vec<&'g String>> {
    let mut ways = vec![vec![start]];
    let mut seen = BTreeSet::new();
    while !ways.is_empty() {
        let mut longer = Vec::new();
        for way in ways {
            let last = *way.last()?;
            for next in graph.get(last).into_iter().flat_map(BTreeMap::keys) {
                if next == start {
                    return Some(way);
                }
                if seen.insert(next) {
                    longer.push([way.clone(), vec![next]].concat());
                }
            }
        }
        ways = longer;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Scratch;

    fn found(name: &str, files: &[(&str, &str)]) -> Vec<String> {
        let scratch = Scratch::new(name, files);
        of_crate(&scratch.0).iter().map(|cycle| cycle.lines().next().unwrap().to_string()).collect()
    }

    #[test]
    fn a_cycle_of_top_modules_is_found() {
        let files = [
            ("lib.rs", "mod a; mod b; pub use a::A;"),
            ("a.rs", "use crate::b::B; struct A;"),
            ("b/mod.rs", "mod c;"),
            ("b/c.rs", "fn f(a: crate::a::A) {}"),
        ];
        assert_eq!(found("top", &files), ["import cycle in crate: a → b → a"]);
    }

    #[test]
    fn a_cycle_of_siblings_is_found() {
        let files = [
            ("lib.rs", "mod a;"),
            ("a.rs", "mod b; mod c;"),
            ("a/b.rs", "use super::{x, c::{self, Thing}};"),
            ("a/c.rs", "use super::b::*;"),
        ];
        assert_eq!(found("siblings", &files), ["import cycle in a: b → c → b"]);
    }

    #[test]
    fn a_cycle_through_a_name_of_the_root_is_found() {
        let files = [
            ("lib.rs", "mod a; mod b; pub use crate::b::Thing; pub use a::One;"),
            ("a.rs", "use crate::Thing;"),
            ("b.rs", "use crate::{One, other};"),
        ];
        assert_eq!(found("exports", &files), ["import cycle in crate: a → b → a"]);
    }

    #[test]
    fn tests_parents_and_comments_do_not_count() {
        let files = [
            ("lib.rs", "mod a; mod b; #[cfg(test)] mod checks;"),
            ("a.rs", "use crate::b::B; pub(in crate::b) fn f() {}"),
            (
                "b.rs",
                "//! crate::a::A\n#[cfg(test)] mod tests { use crate::a::A; } mod inner { use super::f; }",
            ),
            ("checks.rs", "use crate::a::A;"),
        ];
        assert_eq!(found("tests", &files), Vec::<String>::new());
    }
}
