//! Every public function and type of a library crate has a user outside it: another crate, a test, an example, a
//! bench, or the signature of something that is public itself.

use std::collections::BTreeSet;
use std::path::Path;

use crate::tokens::{Token, tokens, without_tests};
use crate::tree;

/// Crates whose public items are checked: the formats, and the layers below them.
const CRATES: [&str; 13] = [
    "core", "io", "isa", "image", "format", "stf", "astf", "etrace", "tandem", "ete", "logs", "perf", "qemu",
];

/// Keywords of the items that are checked. Constants are not: they name the values of a specification, used or not.
const DECLARATIONS: [&str; 5] = ["fn", "struct", "enum", "trait", "type"];

/// Public items without a user.
pub(crate) fn check() -> Vec<String> {
    let root = tree::root();
    let sources = ["crates", "benches", "fuzz", "oracles", "xtask"].iter();
    let words: Vec<_> = sources
        .flat_map(|folder| tree::files(&root.join(folder), "rs"))
        .map(|path| (words(&path), path))
        .collect();
    CRATES
        .iter()
        .flat_map(|name| {
            let own = root.join("crates").join(format!("trackway-{name}")).join("src");
            let outside = words.iter().filter(|(_, path)| !path.starts_with(&own));
            let outside = outside.flat_map(|(words, _)| words.iter().map(String::as_str)).collect();
            of_crate(&own, &outside)
        })
        .collect()
}

/// Items of the sources in `own` that neither `outside` names, nor an example of theirs, nor another public item.
fn of_crate(own: &Path, outside: &BTreeSet<&str>) -> Vec<String> {
    let mut items = Vec::new();
    let mut examples = BTreeSet::new();
    for path in tree::files(own, "rs") {
        let source = std::fs::read_to_string(&path).unwrap_or_default();
        examples.extend(example_words(&source));
        let (code, _) = without_tests(&tokens(&source));
        // A macro names items for the crates that use it: `$crate::name`.
        let macros = code.windows(4).filter(|part| part[0].text == "$" && part[1].text == "crate");
        examples.extend(macros.map(|part| part[3].text.clone()));
        // The types of a trait's associated types are public with it: `type Err = Name;`.
        let public = |at: usize| match code[at].text.as_str() {
            "pub" => !is(&code, at + 1, "(") && !is(&code, at + 1, "use"),
            "type" => at > 0 && code[at - 1].text != "pub" && code[at - 1].text != ")",
            _ => false,
        };
        let shown = tree::shown(&path);
        items.extend((0..code.len()).filter(|at| public(*at)).map(|at| Item::at(&code, at, &shown)));
    }
    let used = |item: &Item| {
        outside.contains(item.name.as_str())
            || examples.contains(&item.name)
            || items.iter().any(|other| other.name != item.name && other.words.contains(&item.name))
    };
    let checked = items.iter().filter(|item| DECLARATIONS.contains(&item.kind.as_str()));
    let unused = checked.filter(|item| !used(item));
    unused
        .map(|item| {
            format!("{}: {} {} is public, and nothing outside uses it", item.place, item.kind, item.name)
        })
        .collect()
}

/// A public item: what declares it and its name, where it is checked; and the words of its signature.
struct Item {
    kind: String,
    name: String,
    words: BTreeSet<String>,
    place: String,
}

impl Item {
    /// The item whose `pub` is at `at`, or the associated type whose `type` is.
    fn at(code: &[Token], at: usize, path: &str) -> Self {
        let public = is(code, at, "pub");
        let declaration = signature(&code[at + usize::from(public)..]);
        let words: Vec<&Token> = declaration.iter().filter(|token| token.is_word()).collect();
        let first =
            words.iter().position(|token| !matches!(token.text.as_str(), "const" | "async" | "unsafe"));
        let first = first.filter(|&n| public && DECLARATIONS.contains(&words[n].text.as_str()));
        let text = |n: usize| words.get(n).map(|token| token.text.clone()).unwrap_or_default();
        // Fields, constants and associated types: the types they name count, and they are not checked themselves.
        let (kind, name) = first.map_or_else(Default::default, |n| (text(n), text(n + 1)));
        let words = words.iter().map(|token| token.text.clone()).collect();
        Item { kind, name, words, place: format!("{path}:{}", code[at].line) }
    }
}

/// The tokens up to the end of a declaration: with the variants of an enum and the methods of a trait, without the body
/// of a function and the fields of a struct, which say themselves that they are public.
fn signature(code: &[Token]) -> &[Token] {
    let inside = code.first().is_some_and(|token| matches!(token.text.as_str(), "enum" | "trait" | "type"));
    let mut depth = 0;
    for (at, token) in code.iter().enumerate() {
        let arrow = at > 0 && code[at - 1].text == "-";
        match token.text.as_str() {
            "{" if depth == 0 && !inside => return &code[..at],
            "}" if depth == 1 && inside => return &code[..at],
            ";" | "," if depth == 0 => return &code[..at],
            "=" if depth == 0 && !inside => return &code[..at],
            "(" | "[" | "<" | "{" => depth += 1,
            ">" if arrow => {}
            ")" | "]" | ">" | "}" if depth == 0 => return &code[..at],
            ")" | "]" | ">" | "}" => depth -= 1,
            _ => {}
        }
    }
    code
}

fn is(code: &[Token], at: usize, text: &str) -> bool {
    code.get(at).is_some_and(|token| token.text == text)
}

/// Words of the code of a file and of the examples in its documentation.
fn words(path: &Path) -> BTreeSet<String> {
    let source = std::fs::read_to_string(path).unwrap_or_default();
    let code = tokens(&source).into_iter().filter(Token::is_word).map(|token| token.text);
    code.chain(example_words(&source)).collect()
}

/// Words of the code blocks in the documentation of a file.
fn example_words(source: &str) -> Vec<String> {
    let docs = source.lines().map(str::trim_start);
    let docs = docs.filter_map(|line| line.strip_prefix("///").or_else(|| line.strip_prefix("//!")));
    let (mut fenced, mut code, mut found) = (false, false, Vec::new());
    for line in docs.map(str::trim) {
        if let Some(kind) = line.strip_prefix("```") {
            (fenced, code) = (!fenced, !fenced && kind != "text");
        } else if code {
            found.extend(tokens(line).into_iter().filter(Token::is_word).map(|token| token.text));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Scratch;

    const SOURCE: &str =
        "//! ```text\n//! Alone\n//! ```\n//! for_nobody\n//! ```\n//! shown_in_example();\n//! ```\n
        pub fn shown_in_example() {}
        pub fn used_outside() -> InSignature { todo }
        pub struct InSignature { pub field: InField }
        pub enum InField { A(u8, InVariant) }
        pub struct InVariant(u8);
        pub const fn for_nobody() {}
        pub struct Alone;
        pub use elsewhere::Alone;
        impl Trait for Alone { type Err = InImpl; }
        pub struct InImpl;
        pub const VALUE: u8 = 1;
        pub(crate) fn inside() {}
        #[cfg(test)] mod tests { pub fn tested() { for_nobody() } }";

    #[test]
    fn an_item_without_users_is_found() {
        let scratch = Scratch::new("public", &[("lib.rs", SOURCE)]);
        let found = of_crate(&scratch.0, &BTreeSet::from(["used_outside"]));
        let names: Vec<&str> = found.iter().filter_map(|line| line.split(' ').nth(2)).collect();
        assert_eq!(names, ["for_nobody", "Alone"]);
    }
}
