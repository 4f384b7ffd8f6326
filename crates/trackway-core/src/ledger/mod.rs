//! The loss ledger: an honest account of what a conversion kept, derived, dropped and made up.
//!
//! The vocabulary is the model's own ([`Fact`]), so that the same input lists the same losses in every target. The facts
//! of the input are counted here, not by the sinks; a sink's [`Account`] says what became of them.

mod account;
mod facts;
mod nearby;
mod usual;

use std::collections::BTreeMap;
use std::fmt;

pub use account::Account;
pub use facts::{Contexts, Counts, Fact, Found, each_of_event, each_of_meta};
pub use nearby::Nearby;

/// Fate of a piece of information on its way into another format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fate {
    /// It is there.
    Kept,
    /// It is not there but follows from what is.
    Derived,
    /// It is gone.
    Dropped,
    /// The target demands it and the source did not have it.
    Invented,
}

impl Fate {
    /// All of them, in order.
    pub const ALL: [Fate; 4] = [Fate::Kept, Fate::Derived, Fate::Dropped, Fate::Invented];

    /// `kept`, `derived`, `dropped` or `invented`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Fate::Kept => "kept",
            Fate::Derived => "derived",
            Fate::Dropped => "dropped",
            Fate::Invented => "invented",
        }
    }

    /// Meaning of the word, for those who see it for the first time.
    pub const fn meaning(self) -> &'static str {
        match self {
            Fate::Kept => "is in the output as it was in the input",
            Fate::Derived => "is not in the output, but a reader of it finds the same",
            Fate::Dropped => "was in the input and is not in the output",
            Fate::Invented => "is in the output and was not in the input: the format demands it",
        }
    }
}

/// Counts by fate and by fact.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    counts: [Counts; 4],
    /// The target's rule for each fact; empty where nothing was converted.
    rules: Vec<Fate>,
    /// Rules of the target that the output breaks, with the number of findings: the source does not record what they
    /// demand, or the user asked for it.
    pub broken: BTreeMap<&'static str, u64>,
}

impl Ledger {
    /// The ledger of a conversion: the facts of its input, and what the sink says it did with them.
    pub fn new(facts: &Counts, account: &Account) -> Self {
        let rules = Fact::ALL.iter().map(|&fact| account.fate(fact)).collect();
        let mut ledger = Ledger { rules, broken: account.broken.clone(), ..Ledger::default() };
        for &fact in Fact::ALL {
            let mut rest = facts[fact];
            for fate in [Fate::Kept, Fate::Derived, Fate::Dropped] {
                let counted = account.exceptions(fate)[fact];
                let n = counted.min(rest);
                ledger.add(fate, fact, n);
                rest -= n;
                if fate == Fate::Kept {
                    // More than there was: the surplus is made up.
                    ledger.add(Fate::Invented, fact, counted - n);
                }
            }
            ledger.add(account.fate(fact), fact, rest);
            ledger.add(Fate::Invented, fact, account.exceptions(Fate::Invented)[fact]);
        }
        ledger
    }

    /// The target's rule for a fact.
    pub fn rule(&self, fact: Fact) -> Fate {
        self.rules.get(fact as usize).copied().unwrap_or(Fate::Kept)
    }

    /// Counts `n` more.
    pub fn add(&mut self, fate: Fate, fact: Fact, n: u64) {
        self.counts[fate as usize][fact] += n;
    }

    /// How many facts had this fate.
    pub fn count(&self, fate: Fate, fact: Fact) -> u64 {
        self.counts[fate as usize][fact]
    }

    /// Adds another ledger.
    pub fn merge(&mut self, other: &Ledger) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(sum, counts)| sum.merge(counts));
        other.broken.iter().for_each(|(rule, n)| *self.broken.entry(rule).or_default() += n);
    }

    /// True if something was dropped or made up: what `--strict` refuses.
    pub fn is_lossy(&self) -> bool {
        self.entries().any(|(fate, ..)| matches!(fate, Fate::Dropped | Fate::Invented))
    }

    /// All counts that are not 0, by fate and fact.
    pub fn entries(&self) -> impl Iterator<Item = (Fate, Fact, u64)> + '_ {
        let of = move |fate| Fact::ALL.iter().map(move |&fact| (fate, fact, self.count(fate, fact)));
        Fate::ALL.into_iter().flat_map(of).filter(|entry| entry.2 > 0)
    }
}

impl fmt::Display for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.entries().map(|entry| entry.2.to_string().len()).max().unwrap_or(0).max(3);
        for (fate, fact, n) in self.entries() {
            writeln!(f, "{:<8} {n:>width$}  {}", fate.as_str(), fact.as_str())?;
        }
        Ok(())
    }
}
