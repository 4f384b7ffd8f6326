//! A sink's account of the facts that it was handed.

use std::collections::BTreeMap;

use crate::events::{Batch, Context, EventKind};
use crate::ledger::Fate;
use crate::ledger::facts::{Contexts, Counts, Fact, each_of_event};

/// A sink's account of its own work: what becomes of each fact as a rule, and the exceptions, counted where they
/// happen. Together with the facts of the input it makes a [`Ledger`](crate::Ledger).
///
/// ```
/// use trackway_core::{Account, Counts, Fact, Fate, Ledger};
/// let mut account = Account::new(&[Fact::Instructions], &[Fact::Encodings]);
/// account.lose(Fact::Instructions, 2); // a full buffer
/// let mut facts = Counts::default();
/// (facts[Fact::Instructions], facts[Fact::Timestamps]) = (10, 3);
/// let ledger = Ledger::new(&facts, &account);
/// assert_eq!(ledger.count(Fate::Kept, Fact::Instructions), 8);
/// assert_eq!(ledger.count(Fate::Dropped, Fact::Timestamps), 3); // the format has none
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Account {
    fates: [Fate; Fact::ALL.len()],
    kept: Counts,
    derived: Counts,
    dropped: Counts,
    invented: Counts,
    /// Rules of the target that the output breaks, with the number of findings.
    pub broken: BTreeMap<&'static str, u64>,
    /// Contexts that were written: for changes, as [`each_of_event`] counts them.
    context: Context,
}

impl Default for Account {
    /// Everything is kept.
    fn default() -> Self {
        Account::new(Fact::ALL, &[])
    }
}

impl Account {
    /// The account of a format that keeps and derives these facts and drops all others.
    pub fn new(kept: &[Fact], derived: &[Fact]) -> Self {
        let none = Counts::default;
        let mut account = Account {
            fates: [Fate::Dropped; Fact::ALL.len()],
            kept: none(),
            derived: none(),
            dropped: none(),
            invented: none(),
            broken: BTreeMap::new(),
            context: Context::default(),
        };
        derived.iter().for_each(|&fact| account.fates[fact as usize] = Fate::Derived);
        kept.iter().for_each(|&fact| account.fates[fact as usize] = Fate::Kept);
        account
    }

    /// Fate of a fact unless an exception is counted.
    pub fn fate(&self, fact: Fact) -> Fate {
        self.fates[fact as usize]
    }

    /// From the start: what becomes of a fact unless an exception is counted.
    pub fn set(&mut self, fact: Fact, fate: Fate) {
        self.fates[fact as usize] = fate;
    }

    /// `n` of these are written, although the rule is another.
    pub fn keep(&mut self, fact: Fact, n: u64) {
        self.kept[fact] += n;
    }

    /// `n` of these follow from what is written, although the rule is another.
    pub fn derive(&mut self, fact: Fact, n: u64) {
        self.derived[fact] += n;
    }

    /// `n` of these are not written, although the rule is another.
    pub fn lose(&mut self, fact: Fact, n: u64) {
        self.dropped[fact] += n;
    }

    /// `n` of these are written that the input does not have.
    pub fn invent(&mut self, fact: Fact, n: u64) {
        self.invented[fact] += n;
    }

    /// An event is not written at all: its facts are lost, but for context changes, which only the writer of contexts
    /// can count ([`keep_context`](Account::keep_context)).
    pub fn lose_event(&mut self, batch: &Batch, event: &EventKind) {
        if !matches!(event, EventKind::Context(_)) {
            let Account { fates, dropped, .. } = self;
            // A fact that is dropped anyway is not an exception.
            let mut lose = |fact: Fact, _| dropped[fact] += u64::from(fates[fact as usize] != Fate::Dropped);
            each_of_event(batch, event, &mut Contexts::default(), &mut lose);
        }
    }

    /// A context is written with the values that `written` holds: those that differ from the ones written before are
    /// kept. For formats whose rule for context facts is to drop them.
    pub fn keep_context(&mut self, written: &Context) {
        let kept = &mut self.kept;
        crate::ledger::facts::each_of_context(&mut self.context, written, &mut |fact, _| kept[fact] += 1);
    }

    /// As [`keep_context`](Account::keep_context), with values that the input does not have.
    pub fn invent_context(&mut self, written: &Context) {
        let invented = &mut self.invented;
        crate::ledger::facts::each_of_context(&mut self.context, written, &mut |fact, _| invented[fact] += 1);
    }

    /// The exceptions of one fate.
    pub(super) fn exceptions(&self, fate: Fate) -> &Counts {
        match fate {
            Fate::Kept => &self.kept,
            Fate::Derived => &self.derived,
            Fate::Dropped => &self.dropped,
            Fate::Invented => &self.invented,
        }
    }
}
