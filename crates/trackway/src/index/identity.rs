//! The identity of a trace: its content, the settings it was opened with, and the program.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

/// Identity of a trace as it was opened. The states in an index mean something only with the same trace, settings,
/// program and version of Trackway.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Bytes.
    pub size: u64,
    /// Nanoseconds since 1970 when it was last changed.
    pub modified: u64,
    /// Hash of its head, its tail and samples between them.
    pub content: u64,
    /// Hash of format, settings and options that decoding depends on.
    pub settings: u64,
    /// Hash of the program, where decoding depends on it.
    pub program: u64,
    /// The version of Trackway whose states it holds.
    pub version: String,
}

/// Bytes of head and tail, and of each sample.
const ENDS: u64 = 1 << 16;
const SAMPLE: u64 = 1 << 12;
const SAMPLES: u64 = 32;
/// Files of a folder that are looked at.
const FILES: usize = 1000;

impl Identity {
    /// The identity of the trace at `path`, a file or a folder; hashes of settings and program are the caller's.
    pub fn read(path: &Path, settings: u64, program: u64) -> io::Result<Self> {
        let mut files = vec![path.to_path_buf()];
        if path.is_dir() {
            files = std::fs::read_dir(path)?.flatten().map(|entry| entry.path()).collect();
            files.retain(|file| file.is_file() && file.extension().is_none_or(|end| end != "twx"));
            files.sort();
            files.truncate(FILES);
        }
        let mut identity = Identity {
            size: 0,
            modified: 0,
            content: 0,
            settings,
            program,
            version: env!("CARGO_PKG_VERSION").to_string(),
        };
        let mut hash = Hash::default();
        for file in &files {
            if files.len() > 1 {
                hash.add(file.file_name().unwrap_or_default().as_encoded_bytes());
            }
            identity.add(file, &mut hash)?;
        }
        identity.content = hash.0;
        Ok(identity)
    }

    fn add(&mut self, path: &PathBuf, hash: &mut Hash) -> io::Result<()> {
        let mut file = File::open(path)?;
        let metadata = file.metadata()?;
        let size = metadata.len();
        self.size += size;
        let modified = metadata.modified()?.duration_since(UNIX_EPOCH).map_err(io::Error::other)?;
        self.modified = self.modified.max(u64::try_from(modified.as_nanos()).unwrap_or(u64::MAX));
        let step = size / (SAMPLES + 1);
        let samples = (1..=SAMPLES).map(|n| (n * step, SAMPLE)).filter(|_| size > 2 * ENDS);
        let parts = [(0, ENDS)].into_iter().chain(samples).chain([(size.saturating_sub(ENDS), ENDS)]);
        let mut bytes = Vec::new();
        for (start, length) in parts {
            bytes.clear();
            file.seek(SeekFrom::Start(start))?;
            Read::by_ref(&mut file).take(length).read_to_end(&mut bytes)?;
            hash.add(&bytes);
        }
        hash.add(&size.to_le_bytes());
        Ok(())
    }

    /// How it differs from `other`, for people; `None` if it does not.
    pub fn difference(&self, other: &Identity) -> Option<&'static str> {
        let same = [
            (self.version == other.version, "it was made by another version of Trackway"),
            (self.size == other.size && self.content == other.content, "the trace has changed since"),
            (self.modified == other.modified, "the trace was written again since"),
            (self.settings == other.settings, "it was made with other settings"),
            (self.program == other.program, "it was made with another program"),
        ];
        same.into_iter().find(|(same, _)| !same).map(|(_, why)| why)
    }

    /// A number for settings and program, to tell indexes of one trace apart.
    pub(crate) fn variant(&self) -> u64 {
        let mut hash = Hash::default();
        hash.add(&self.settings.to_le_bytes());
        hash.add(&self.program.to_le_bytes());
        hash.0
    }
}

/// A hash that is the same on every machine: eight bytes at a time, multiplied and folded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hash(pub(crate) u64);

impl Default for Hash {
    fn default() -> Self {
        Hash(0xcbf2_9ce4_8422_2325)
    }
}

impl Hash {
    /// Adds bytes, and where they end.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.mix(u64::from_le_bytes(*word)));
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.mix(u64::from_le_bytes(last));
        self.mix(bytes.len() as u64);
    }

    fn mix(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word) * 0x9e37_79b9_7f4a_7c15;
        self.0 = (product ^ (product >> 64)) as u64 ^ word.rotate_left(32);
    }
}
