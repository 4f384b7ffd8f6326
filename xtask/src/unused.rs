//! Every declared dependency is used: its name occurs in the code of the package.

use std::collections::BTreeSet;
use std::path::Path;

use crate::tokens::tokens;
use crate::tree::{self, Package};

/// Dependencies that no code names, and entries of the workspace's table that no package takes.
pub(crate) fn check() -> Vec<String> {
    let packages = tree::packages();
    let mut problems: Vec<String> = packages.iter().flat_map(of_package).collect();
    let manifest = std::fs::read_to_string(tree::root().join("Cargo.toml")).unwrap_or_default();
    problems.extend(of_workspace(&manifest, &packages));
    problems
}

const TABLES: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

fn of_package(package: &Package) -> Vec<String> {
    let mut problems = Vec::new();
    let all = words(&package.folder);
    let mut code = words(&package.folder.join("src"));
    // Programs may lie elsewhere.
    let programs = package.manifest.get("bin").and_then(toml::Value::as_array);
    for program in programs.into_iter().flatten() {
        if let Some(path) = program.get("path").and_then(toml::Value::as_str) {
            let file = package.folder.join(path);
            code.extend(words(file.parent().unwrap_or(&file)));
        }
    }
    for table in TABLES {
        for name in package.dependencies(table) {
            let word = name.replace('-', "_");
            if !all.contains(&word) {
                problems.push(format!("{}: {name} is declared in [{table}] and not used", package.name));
            } else if table == "dependencies"
                && package.folder.join("src").is_dir()
                && !code.contains(&word)
                && !is_optional(package, &name)
            {
                problems.push(format!("{}: {name} belongs in [dev-dependencies]", package.name));
            }
        }
    }
    problems
}

/// Only what is in `[dependencies]` can be left out, also where nothing but a benchmark uses it.
fn is_optional(package: &Package, name: &str) -> bool {
    let entry = package.manifest.get("dependencies").and_then(|table| table.get(name));
    entry.and_then(|entry| entry.get("optional")).and_then(toml::Value::as_bool) == Some(true)
}

fn of_workspace(manifest: &str, packages: &[Package]) -> Vec<String> {
    let manifest: toml::Table = manifest.parse().unwrap_or_default();
    let table = manifest.get("workspace").and_then(|workspace| workspace.get("dependencies"));
    let declared = table.and_then(toml::Value::as_table).into_iter().flatten().map(|(name, _)| name);
    let used: BTreeSet<String> = packages
        .iter()
        .flat_map(|package| TABLES.iter().flat_map(|table| package.dependencies(table)))
        .collect();
    let unused = declared.filter(|name| !used.contains(*name));
    unused.map(|name| format!("{name} is in [workspace.dependencies] and no package uses it")).collect()
}

/// Words that begin or continue a path in the code below `folder`, examples in documentation included.
fn words(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for path in tree::files(folder, "rs") {
        let source = std::fs::read_to_string(path).unwrap_or_default();
        let code = tokens(&source);
        for (n, token) in code.iter().enumerate() {
            let path = code.get(n + 1).is_some_and(|next| next.text == "::");
            let import = n > 0 && code[n - 1].text == "use";
            if path || import {
                found.insert(token.text.clone());
            }
        }
        let docs = source.lines().filter_map(|line| {
            line.trim_start().strip_prefix("///").or_else(|| line.trim_start().strip_prefix("//!"))
        });
        for line in docs {
            // A word of an example: `name::`.
            let parts = line.split("::").collect::<Vec<_>>();
            for part in &parts[..parts.len() - 1] {
                let word = part.rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next();
                found.extend(word.map(str::to_string));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Scratch;

    const MANIFEST: &str =
        "[package]\nname = 'p'\n[dependencies]\nuse-d = '1'\nspare = '1'\n[dev-dependencies]\ndoc = '1'";

    #[test]
    fn an_unused_dependency_is_found() {
        let source = "//! use doc::x;\nuse use_d::y; // spare\nfn spare(spare: u8) { f(\"spare::x\") }";
        let scratch = Scratch::new("unused", &[("Cargo.toml", MANIFEST), ("src/lib.rs", source)]);
        let package = Package::read(&scratch.0).unwrap();
        assert_eq!(of_package(&package), ["p: spare is declared in [dependencies] and not used"]);
        let table = "[workspace.dependencies]\nspare = '1'\ninsta = '1'";
        let found = of_workspace(table, &[package]);
        assert_eq!(found, ["insta is in [workspace.dependencies] and no package uses it"]);
    }

    #[test]
    fn a_dependency_of_tests_only_is_found() {
        let manifest = "[package]\nname = 'p'\n[dependencies]\nspare = '1'";
        let files = [("Cargo.toml", manifest), ("src/lib.rs", ""), ("tests/t.rs", "use spare::x;")];
        let scratch = Scratch::new("dev", &files);
        let found = of_package(&Package::read(&scratch.0).unwrap());
        assert_eq!(found, ["p: spare belongs in [dev-dependencies]"]);
    }
}
