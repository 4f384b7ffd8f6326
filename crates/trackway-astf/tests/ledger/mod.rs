//! The ledger against what a reader of the written trace finds.

use trackway_astf::{ReadConfig, Trace};
use trackway_core::*;

/// The facts of a trace.
fn facts(bytes: &[u8]) -> Counts {
    let trace = Trace::open(Input::from_vec(bytes.to_vec()), ReadConfig::default()).unwrap();
    let (mut source, mut batch) = (trace.events(), Batch::default());
    let (mut counts, mut contexts) = (Counts::of_meta(source.meta()), Contexts::default());
    while source.fill(&mut batch).unwrap() {
        counts.add_batch(&batch, &mut contexts);
    }
    counts
}

/// Everything that is kept or invented is found, and nothing else.
pub(crate) fn assert_exact(ledger: &Ledger, bytes: &[u8]) {
    let found = facts(bytes);
    for &fact in Fact::ALL {
        let listed = ledger.count(Fate::Kept, fact) + ledger.count(Fate::Invented, fact);
        let derived = ledger.count(Fate::Derived, fact);
        match fact {
            // A reader finds places of all traps. A vector length of 0 is written, and read as unknown.
            Fact::TrapPlaces => assert!(derived <= found[fact], "{ledger}"),
            // Gaps also show what was left out.
            fact if fact.is_of_gap() => assert!(listed <= found[fact], "{ledger}"),
            Fact::VectorLengths => {
                assert!(derived + listed >= found[fact] && derived <= found[fact], "{ledger}");
            }
            _ => assert_eq!(listed, found[fact], "{}:\n{ledger}", fact.as_str()),
        }
    }
}

/// The lines of a ledger with single spaces.
#[allow(dead_code)]
pub(crate) fn lines(ledger: &Ledger) -> Vec<String> {
    let text = ledger.to_string();
    text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}
