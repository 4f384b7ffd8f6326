//! Encoders for the fuzz targets: random events and settings, encoded, read back, and proved by the front door's prover.

mod ete;
mod etrace;

pub use ete::ete_encode;
pub use etrace::{etrace_encode, etrace_round_trip};

use std::sync::Arc;

use trackway::events::{Account, Batch, Contexts, Counts, Fact, Fate, Ledger, Meta, Result, Source};
use trackway::image::Image;
use trackway::{Expand, Pair};

/// Events in memory as a source.
#[derive(Clone)]
struct Memory {
    meta: Meta,
    batch: Batch,
    is_read: bool,
}

impl Source for Memory {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
        batch.clear();
        if std::mem::replace(&mut self.is_read, true) {
            return Ok(false);
        }
        batch.clone_from(&self.batch);
        Ok(true)
    }
}

/// Reads back what was made of `batch` and compares both with the sink's account.
fn assert_proved(
    meta: &Meta,
    batch: &Batch,
    account: &Account,
    image: &Arc<Image>,
    mut result: impl FnMut() -> Box<dyn Source>,
) {
    let mut facts = Counts::of_meta(meta);
    facts.add_batch(batch, &mut Contexts::new(meta));
    let ledger = Ledger::new(&facts, account);
    let original = Memory { meta: meta.clone(), batch: batch.clone(), is_read: false };
    let proof = trackway::prove(
        &mut || Ok(Box::new(original.clone())),
        &mut || Ok(Box::new(Expand::new(result(), vec![Arc::clone(image)]))),
        &[Pair { original: 0, result: 0 }],
        &ledger,
    );
    let proof = proof.expect("our own trace");
    assert!(proof.holds(), "{}\n{ledger}", proof.reasons.join("\n"));
}

/// Where instructions are missing, a stretch of a loop fits several turns: only the numbers are compared.
fn assert_counted(
    meta: &Meta,
    batch: &Batch,
    account: &Account,
    image: &Arc<Image>,
    result: Box<dyn Source>,
) {
    let mut facts = Counts::of_meta(meta);
    facts.add_batch(batch, &mut Contexts::new(meta));
    let ledger = Ledger::new(&facts, account);
    let mut found = Counts::default();
    let mut result = Expand::new(result, vec![Arc::clone(image)]);
    let (mut contexts, mut batch) = (Contexts::new(result.meta()), Batch::default());
    while result.fill(&mut batch).expect("our own trace") {
        found.add_batch(&batch, &mut contexts);
    }
    for fact in [Fact::Instructions, Fact::Encodings, Fact::Outcomes, Fact::Traps, Fact::Gaps, Fact::Marks] {
        let [kept, derived, _, invented] = Fate::ALL.map(|fate| ledger.count(fate, fact));
        assert_eq!(kept + derived + invented, found[fact], "{}\n{ledger}", fact.as_str());
    }
}

#[cfg(test)]
mod tests {
    use trackway_testkit::random::{Numbers, seeds};

    fn inputs() -> impl Iterator<Item = [u8; 16]> {
        seeds(0..400).map(|seed| {
            let numbers = &mut Numbers(seed);
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&numbers.draw().to_le_bytes());
            bytes[8..].copy_from_slice(&numbers.draw().to_le_bytes());
            bytes
        })
    }

    #[test]
    fn etrace_encoder() {
        inputs().for_each(|bytes| super::etrace_encode(&bytes));
    }

    #[test]
    fn etrace_both_ways() {
        inputs().for_each(|bytes| super::etrace_round_trip(&bytes));
    }

    #[test]
    fn ete_encoder() {
        inputs().for_each(|bytes| super::ete_encode(&bytes));
    }
}
