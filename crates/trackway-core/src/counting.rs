//! A sink whose input is counted.

use crate::ahead::Ahead;
use crate::error::Result;
use crate::events::{Batch, Folded, Meta};
use crate::ledger::{Contexts, Counts, Ledger};
use crate::source::Sink;

/// A sink, and the facts that it was handed: together they make the ledger.
pub struct Counting {
    sink: Box<dyn Sink>,
    facts: Counts,
    contexts: Contexts,
}

impl std::fmt::Debug for Counting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Counting").field("facts", &self.facts).finish_non_exhaustive()
    }
}

impl Counting {
    /// Counts what `sink`, which was created for `meta`, is handed from here on.
    pub fn new(sink: Box<dyn Sink>, meta: &Meta) -> Self {
        Counting { sink, facts: Counts::of_meta(meta), contexts: Contexts::new(meta) }
    }

    /// Writes the events of a batch.
    pub fn put(&mut self, batch: &Batch) -> Result<()> {
        self.facts.add_batch(batch, &mut self.contexts);
        self.sink.put(batch)
    }

    /// A writer for another thread, where that saves the sink work.
    pub fn ahead(&self) -> Option<Box<dyn Ahead>> {
        self.sink.ahead()
    }

    /// Writes the events of a batch whose facts are [added](Counting::add) on their own, with the writer that it was shown to.
    pub fn put_counted(&mut self, batch: &Batch, ahead: Option<&mut dyn Ahead>) -> Result<()> {
        match ahead {
            Some(ahead) => self.sink.put_ahead(batch, ahead),
            None => self.sink.put(batch),
        }
    }

    /// True if repeats save the sink work.
    pub fn takes_repeats(&self) -> bool {
        self.sink.takes_repeats()
    }

    /// Writes the events of a folded batch whose facts are added on their own.
    pub fn put_folded_counted(&mut self, folded: &Folded) -> Result<()> {
        self.sink.put_folded(folded)
    }

    /// Adds facts that were counted elsewhere.
    pub fn add(&mut self, facts: &Counts) {
        self.facts.merge(facts);
    }

    /// The facts so far.
    pub fn facts(&self) -> &Counts {
        &self.facts
    }

    /// Writes what is pending, closes, and returns the ledger.
    pub fn finish(&mut self) -> Result<Ledger> {
        Ok(Ledger::new(&self.facts, &self.sink.finish()?))
    }
}
