//! Fuzz targets, each a function of any bytes that panics where a property does not hold. `fuzz_targets/` hands them to libFuzzer; the
//! tests here run them over the inputs that are kept in `corpus/`, without it.

mod astf_records;
mod astf_storage;
mod ete_decode;
mod ete_encode;
mod ete_frames;
mod ete_packets;
mod etrace_data;
mod etrace_encode;
mod etrace_packets;
mod image_blocks;
mod image_elf;
mod riscv_decode;
mod seeds;
mod stf_container;
mod stf_records;
mod tandem_round_trip;
mod tandem_verify;
mod tarmac_lines;

pub use astf_records::astf_records;
pub use astf_storage::astf_storage;
pub use ete_decode::ete_decode;
pub use ete_encode::ete_encode;
pub use ete_frames::ete_frames;
pub use ete_packets::ete_packets;
pub use etrace_data::etrace_data;
pub use etrace_encode::{etrace_encode, etrace_round_trip};
pub use etrace_packets::etrace_packets;
pub use image_blocks::image_blocks;
pub use image_elf::image_elf;
pub use riscv_decode::riscv_decode;
pub use seeds::seeds;
pub use stf_container::stf_container;
pub use stf_records::stf_records;
pub use tandem_round_trip::tandem_round_trip;
pub use tandem_verify::tandem_verify;
pub use tarmac_lines::tarmac_lines;

use std::sync::Arc;

use trackway::events::{Account, Batch, Contexts, Counts, Fact, Fate, Ledger, Meta, Result, Source};
use trackway::image::Image;
use trackway::{Expand, Pair};

/// A target: any bytes in, a panic where a property does not hold.
pub type Target = fn(&[u8]);

/// Every target with its name.
pub const TARGETS: [(&str, Target); 18] = [
    ("astf_records", astf_records),
    ("astf_storage", astf_storage),
    ("ete_decode", ete_decode),
    ("ete_encode", ete_encode),
    ("ete_frames", ete_frames),
    ("ete_packets", ete_packets),
    ("etrace_data", etrace_data),
    ("etrace_encode", etrace_encode),
    ("etrace_packets", etrace_packets),
    ("etrace_round_trip", etrace_round_trip),
    ("image_blocks", image_blocks),
    ("image_elf", image_elf),
    ("riscv_decode", riscv_decode),
    ("stf_container", stf_container),
    ("stf_records", stf_records),
    ("tandem_round_trip", tandem_round_trip),
    ("tandem_verify", tandem_verify),
    ("tarmac_lines", tarmac_lines),
];

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

    use std::path::PathBuf;

    use super::TARGETS;

    /// The files of a folder of this package, in order; none where there is no folder.
    fn files(folder: &str) -> Vec<PathBuf> {
        let read = std::fs::read_dir(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(folder));
        let mut files: Vec<PathBuf> = read.into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files
    }

    #[test]
    fn every_target_is_listed() {
        let names: Vec<String> = files("fuzz_targets")
            .iter()
            .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
            .collect();
        assert_eq!(names, TARGETS.map(|(name, _)| name));
    }

    #[test]
    fn kept_inputs() {
        for (name, target) in TARGETS {
            let kept = files(&format!("corpus/{name}"));
            assert!(!kept.is_empty(), "{name} keeps no inputs");
            for path in kept {
                // The name of the input comes before what it panics with.
                println!("{}", path.display());
                target(&std::fs::read(path).unwrap());
            }
        }
    }

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
