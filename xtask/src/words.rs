//! The English of comments, documentation, help and messages: phrases that must not occur, and words whose count
//! must not rise above the ceilings in `xtask/words.toml`. `cargo xtask words --lower` lowers them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::tree::{self, shown};

/// Phrases that must not occur, and a better way to say it.
const PHRASES: [(&str, &str); 12] = [
    ("so-manieth", "every n-th"),
    ("not told", "not recorded"),
    ("nobody told", "not recorded"),
    ("is no", "is not a"),
    ("at hand", "available, current"),
    ("goes on behind", "continues after"),
    ("go on behind", "continue after"),
    ("is none of", "is not in"),
    ("a word of the format", "a format-specific name"),
    ("known from outside", "that the trace does not carry"),
    ("the same day", "a range of measurements"),
    ("shortly before", "a range of measurements"),
];

/// Idioms that hold a phrase and are fine.
const IDIOMS: [&str; 6] =
    ["there is no", "there's no", "is no longer", "is no more", "is no less", "is no other"];

/// Words whose count must not rise. Those with a capital count at the start of a sentence only.
const COUNTED: [&str; 15] = [
    "told",
    "tell",
    "tells",
    "behind",
    "stand",
    "stands",
    "give",
    "gives",
    "goes on",
    "go on",
    "by itself",
    "so many",
    "dear",
    "What",
    "nobody",
];

/// The committed limits: the largest count of each word.
#[derive(Debug, Default, PartialEq, Eq)]
struct Limits(BTreeMap<String, usize>);

impl Limits {
    fn read(text: &str) -> Result<Self, String> {
        let table: toml::Table = text.parse().map_err(|error| format!("xtask/words.toml: {error}"))?;
        let ceilings = table.get("ceilings").and_then(toml::Value::as_table).into_iter().flatten();
        let number = |value: &toml::Value| value.as_integer().and_then(|n| usize::try_from(n).ok());
        Ok(Limits(ceilings.filter_map(|(word, value)| Some((word.clone(), number(value)?))).collect()))
    }

    fn write(&self) -> String {
        let mut text =
            "# Largest counts of words that our English should do without: see xtask/src/words.rs.\n\
                        # `cargo xtask words --lower` takes over counts that fell; raise none by hand.\n\n\
                        [ceilings]\n"
                .to_string();
        for (word, count) in &self.0 {
            text += &format!("\"{word}\" = {count}\n");
        }
        text
    }
}

fn file() -> PathBuf {
    tree::root().join("xtask/words.toml")
}

/// Phrases that occur, and words above their ceilings.
pub(crate) fn check() -> Vec<String> {
    let limits = match Limits::read(&std::fs::read_to_string(file()).unwrap_or_default()) {
        Ok(limits) => limits,
        Err(error) => return vec![error],
    };
    let texts = texts();
    let mut problems = above(&limits, &counts(&texts));
    problems.extend(texts.iter().flat_map(|(path, text)| phrases(path, text)));
    problems
}

/// Lists every phrase and count; with `lower`, writes counts that fell as the new ceilings.
pub(crate) fn report(lower: bool) -> Result<(), String> {
    let mut limits = Limits::read(&std::fs::read_to_string(file()).unwrap_or_default())?;
    let texts = texts();
    for problem in texts.iter().flat_map(|(path, text)| phrases(path, text)) {
        println!("{problem}");
    }
    let counts = counts(&texts);
    for (word, count) in &counts {
        let ceiling = limits.0.get(word).copied().unwrap_or(*count);
        println!("{word:12} {count:5} of {ceiling}");
        limits.0.insert(word.clone(), ceiling.min(*count));
    }
    if lower {
        std::fs::write(file(), limits.write()).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Sources and pages, less this file, which has to name what it forbids.
fn texts() -> Vec<(PathBuf, String)> {
    let root = tree::root();
    let files = ["rs", "md"].iter().flat_map(|extension| tree::files(&root, extension));
    let own = root.join("xtask/src/words.rs");
    files
        .filter(|path| *path != own)
        .map(|path| (path.clone(), std::fs::read_to_string(path).unwrap_or_default()))
        .collect()
}

fn phrases(path: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (n, line) in text.lines().enumerate() {
        let lower = line.to_lowercase();
        for (phrase, better) in PHRASES {
            let idioms = IDIOMS.iter().filter(|idiom| idiom.contains(phrase));
            let fine: usize = idioms.map(|idiom| occurrences(&lower, idiom)).sum();
            if occurrences(&lower, phrase) > fine {
                found.push(format!("{}:{}: \"{phrase}\": say \"{better}\"", shown(path), n + 1));
            }
        }
    }
    found
}

fn counts(texts: &[(PathBuf, String)]) -> BTreeMap<String, usize> {
    let mut counts: BTreeMap<String, usize> = COUNTED.iter().map(|word| (word.to_string(), 0)).collect();
    for (_, text) in texts {
        let lower = text.to_lowercase();
        for (word, count) in &mut counts {
            let capital = word.starts_with(char::is_uppercase);
            *count += occurrences(if capital { text } else { &lower }, word);
        }
    }
    counts
}

fn above(limits: &Limits, counts: &BTreeMap<String, usize>) -> Vec<String> {
    let over = |(word, count): (&String, &usize)| {
        let ceiling = limits.0.get(word).copied().unwrap_or(0);
        (*count > ceiling).then(|| {
            format!(
                "\"{word}\" occurs {count} times, {ceiling} at most: say it otherwise (cargo xtask words)"
            )
        })
    };
    counts.iter().filter_map(over).collect()
}

/// How often `phrase` occurs as whole words.
fn occurrences(text: &str, phrase: &str) -> usize {
    let inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let places = text.match_indices(phrase);
    places
        .filter(|(at, _)| {
            !inside(text[..*at].chars().next_back()) && !inside(text[at + phrase.len()..].chars().next())
        })
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phrase_is_found_and_an_idiom_is_not() {
        let found = |text: &str| phrases(Path::new("p.rs"), text).len();
        assert_eq!(found("// This is no branch.\n// Every so-manieth, not told."), 3);
        assert_eq!(found("// There is no branch. It is not a branch, and is no longer taken."), 0);
        assert_eq!(found("// What hand was that? It is nothing."), 0);
    }

    #[test]
    fn a_word_above_its_ceiling_is_found() {
        let texts = [(PathBuf::from("p.md"), "Told, told, retold. What stands here?".to_string())];
        let counts = counts(&texts);
        assert_eq!((counts["told"], counts["What"], counts["stands"], counts["behind"]), (2, 1, 1, 0));
        let mut limits = Limits(counts.clone());
        assert_eq!(above(&limits, &counts), Vec::<String>::new());
        limits.0.insert("told".to_string(), 1);
        assert_eq!(above(&limits, &counts).len(), 1);
        assert_eq!(Limits::read(&limits.write()), Ok(limits));
    }
}
