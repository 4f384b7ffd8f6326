//! The table of `docs/ledger.md`, made from the code: what becomes of each fact in each target. `TRACKWAY_BLESS=1` rewrites
//! it.

mod prove_support;

use std::fmt::Write;

use prove_support::{file, round, runs, takes};
use trackway::FORMATS;
use trackway::events::{Fact, Fate};
use trackway::format::Settings;

const BEGIN: &str = "<!-- table -->\n";

/// Fates of a fact in a format over all runs of the repository: the rule, and the exceptions that occurred.
fn table() -> String {
    let runs: Vec<_> = runs().into_iter().filter(|run| run.in_repository).collect();
    let mut ledgers = Vec::new();
    let formats: Vec<_> = FORMATS.iter().filter(|format| format.is_written()).collect();
    for format in &formats {
        let taken = runs.iter().filter(|run| takes(**format, run));
        let ledger = |run| round(**format, run, &Settings::default(), None).unwrap().ledger;
        ledgers.push(taken.map(ledger).collect::<Vec<_>>());
    }
    let mut text = String::from("| fact | meaning |");
    formats.iter().for_each(|format| write!(text, " {} |", format.id()).unwrap());
    text += &format!("\n|---|---|{}\n", "---|".repeat(formats.len()));
    for &fact in Fact::ALL.iter().filter(|fact| **fact != Fact::Items) {
        write!(text, "| {} | {} |", fact.as_str(), fact.meaning()).unwrap();
        for ledgers in &ledgers {
            let rule = ledgers[0].rule(fact);
            let seen = |fate| fate != rule && ledgers.iter().any(|ledger| ledger.count(fate, fact) > 0);
            let others: Vec<&str> =
                Fate::ALL.into_iter().filter(|fate| seen(*fate)).map(Fate::as_str).collect();
            let others = if others.is_empty() { String::new() } else { format!(" ({})", others.join(", ")) };
            write!(text, " {}{others} |", rule.as_str()).unwrap();
        }
        text += "\n";
    }
    text
}

#[test]
fn the_table_in_the_docs_is_what_the_code_does() {
    let path = file("docs/ledger.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (head, found) = page.split_once(BEGIN).expect("the mark before the table");
    let made = table();
    if std::env::var_os("TRACKWAY_BLESS").is_some() {
        std::fs::write(&path, format!("{head}{BEGIN}{made}")).unwrap();
    } else {
        assert_eq!(
            found, made,
            "docs/ledger.md: TRACKWAY_BLESS=1 cargo test -p trackway --test ledger_table"
        );
    }
}
