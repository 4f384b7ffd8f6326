//! The file of an index; docs/index.md describes it.

use std::io::Read;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use trackway_core::{pack, unpack};

use crate::index::{Identity, Index};

/// `TRACKWAY` and an end of line, so that a transfer as text is noticed.
const MAGIC: [u8; 12] = *b"TRACKWAYX\r\n\x1a";
/// Version of the format.
const VERSION: u32 = 7;
/// Bytes before the payload: magic, version, length and checksum of the payload.
const HEADER: usize = 12 + 4 + 8 + 4;
/// The largest payload that is read, decompressed: an index that was not made by Trackway allocates no more.
const LARGEST: u64 = 1 << 28;

/// Why an index is not used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// There is none, or it cannot be read.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
    /// The file is something else.
    #[error("it is not an index of Trackway")]
    Foreign,
    /// The file has another version.
    #[error("it has version {0} of the format, not {VERSION}")]
    Version(u32),
    /// The file is damaged.
    #[error("it is damaged")]
    Damaged,
    /// It belongs to another trace, other settings or another program.
    #[error("{0}")]
    Stale(&'static str),
}

/// The payload: an index, or something else that was worked out from a whole trace.
#[derive(Serialize, Deserialize)]
struct Payload<T> {
    identity: Identity,
    value: T,
}

/// The bytes of an index. Lists of addresses are left out, then it is thinned out, until it has at most `most` bytes, as far
/// as that goes.
pub(crate) fn write(identity: &Identity, index: &Index, most: u64) -> Option<Vec<u8>> {
    let mut index = index.clone();
    let mut has_lists = true;
    loop {
        let bytes = seal(identity, &index)?;
        let places: usize = index.sources.values().map(|part| part.checkpoints.len()).sum();
        if bytes.len() as u64 <= most || places == 0 {
            return Some(bytes);
        }
        let is_too_long = std::mem::take(&mut has_lists);
        let parts = index.sources.values_mut();
        parts.for_each(|part| if is_too_long { part.forget_lists() } else { part.thin() });
    }
}

/// The bytes of a value that belongs to a trace.
pub(crate) fn seal<T: Serialize>(identity: &Identity, value: &T) -> Option<Vec<u8>> {
    let payload = pack(&Payload { identity: identity.clone(), value })?;
    let packed = zstd::bulk::compress(&payload, 3).ok()?;
    let mut bytes = Vec::with_capacity(HEADER + packed.len());
    bytes.extend(MAGIC);
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend((packed.len() as u64).to_le_bytes());
    bytes.extend(crc32fast::hash(&packed).to_le_bytes());
    bytes.extend(packed);
    Some(bytes)
}

/// Reads the bytes of an index.
pub(crate) fn read(bytes: &[u8]) -> Result<(Identity, Index), Fault> {
    let (identity, index): (_, Index) = unseal(bytes)?;
    let is_sound = index.sources.values().all(|part| part.is_sound());
    if is_sound { Ok((identity, index)) } else { Err(Fault::Damaged) }
}

/// Reads the bytes of a value that belongs to a trace.
pub(crate) fn unseal<T: DeserializeOwned>(bytes: &[u8]) -> Result<(Identity, T), Fault> {
    let Some((header, packed)) = bytes.split_at_checked(HEADER) else { return Err(Fault::Foreign) };
    if header[..12] != MAGIC {
        return Err(Fault::Foreign);
    }
    let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|n| header[at + n]));
    if word(12) != VERSION {
        return Err(Fault::Version(word(12)));
    }
    let length = u64::from(word(16)) | u64::from(word(20)) << 32;
    if length != packed.len() as u64 || crc32fast::hash(packed) != word(24) {
        return Err(Fault::Damaged);
    }
    let damaged = |_| Fault::Damaged;
    let mut payload = Vec::new();
    let mut decoder = zstd::stream::read::Decoder::with_buffer(packed).map_err(damaged)?;
    decoder.by_ref().take(LARGEST).read_to_end(&mut payload).map_err(damaged)?;
    let Payload { identity, value } = unpack(&payload).ok_or(Fault::Damaged)?;
    Ok((identity, value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::{Before, Checkpoint, Part, Sketch};
    use proptest::prelude::*;
    use trackway_core::{Context, Saved};

    fn identity() -> Identity {
        Identity { size: 1, modified: 2, content: 3, settings: 4, program: 5, version: "6".into() }
    }

    /// An index with that many places.
    fn index(places: u64) -> Index {
        let mut part = Part { is_complete: true, ..Part::default() };
        for n in 1..=places {
            let before = Before { instructions: n * 1000, ..Before::default() };
            let state = (0..200).map(|byte| ((byte * n * 7919) >> 3) as u8).collect();
            let saved =
                Saved { source: 0, instruction: n * 1000, position: n, context: Context::default(), state };
            let mut sketch = Sketch::default();
            sketch.code.add(n << 13);
            part.checkpoints.push(Checkpoint { saved, before, machine: None, sketch });
        }
        part.all.instructions = (places + 1) * 1000;
        Index { sources: [("core".to_string(), part)].into(), survey: Some(vec![1, 2, 3]) }
    }

    #[test]
    fn what_is_written_is_read() {
        let bytes = write(&identity(), &index(50), u64::MAX).unwrap();
        assert!(read(&bytes) == Ok((identity(), index(50))));
    }

    #[test]
    fn it_is_thinned_out_to_fit() {
        let whole = write(&identity(), &index(500), u64::MAX).unwrap().len() as u64;
        let bytes = write(&identity(), &index(500), whole / 3).unwrap();
        assert!(bytes.len() as u64 <= whole / 3);
        let (_, thinned) = read(&bytes).unwrap();
        let part = &thinned.sources["core"];
        assert!((30..=250).contains(&part.checkpoints.len()), "{}", part.checkpoints.len());
        // The addresses of the places dropped are in the stretches before them.
        for n in 1..500_u64 {
            let stretch = part.stretches().find(|stretch| n * 1000 < stretch.after.instructions).unwrap();
            assert!(stretch.sketch.may_execute(&(n << 13..(n << 13) + 4)), "{n}");
        }
        assert!(write(&identity(), &index(500), 0).is_some());
    }

    #[test]
    fn faults_have_their_words() {
        let bytes = write(&identity(), &index(5), u64::MAX).unwrap();
        assert_eq!(read(b""), Err(Fault::Foreign));
        assert_eq!(read(&[b'x'; 100]), Err(Fault::Foreign));
        let mut other = bytes.clone();
        other[12] = 9;
        assert_eq!(read(&other), Err(Fault::Version(9)));
        assert_eq!(read(&bytes[..bytes.len() - 1]), Err(Fault::Damaged));
        let mut unordered = index(5);
        unordered.sources.get_mut("core").unwrap().checkpoints.swap(1, 2);
        assert_eq!(read(&write(&identity(), &unordered, u64::MAX).unwrap()), Err(Fault::Damaged));
    }

    proptest! {
        #[test]
        fn no_bytes_are_believed_that_were_not_written(at in any::<prop::sample::Index>(), bit in 0..8u8, cut in any::<bool>()) {
            let mut bytes = write(&identity(), &index(8), u64::MAX).unwrap();
            let at = at.index(bytes.len());
            if cut { bytes.truncate(at) } else { bytes[at] ^= 1 << bit }
            prop_assert!(read(&bytes).is_err());
        }

        /// With a checksum that fits.
        #[test]
        fn no_payload_panics(payload in prop::collection::vec(any::<u8>(), 0..400), at in any::<prop::sample::Index>(), new in any::<u8>()) {
            let mut packed = pack(&Payload { identity: identity(), value: index(3) }).unwrap();
            let at = at.index(packed.len());
            packed[at] = new;
            for payload in [payload, packed] {
                let packed = zstd::bulk::compress(&payload, 3).unwrap();
                let mut bytes = MAGIC.to_vec();
                bytes.extend(VERSION.to_le_bytes());
                bytes.extend((packed.len() as u64).to_le_bytes());
                bytes.extend(crc32fast::hash(&packed).to_le_bytes());
                bytes.extend(packed);
                if let Ok((_, index)) = read(&bytes) {
                    for part in index.sources.values() {
                        for stretch in part.stretches() {
                            let _ = stretch.sketch.may_execute(&(0..u64::MAX));
                            let _ = stretch.checkpoint.and_then(Checkpoint::machine);
                        }
                        let _ = part.at_or_before(1500);
                    }
                }
            }
        }
    }
}
