//! Where a slice or a part comes from, as text in its metadata.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use trackway_format::{Error, Result};
use trackway_io::{FileError, Target};

use super::selection::Selection;
use crate::trace::Trace;

/// The trace that something was cut from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Name of its file.
    pub file: String,
    /// Digest of its size, head and tail, in hex; traces with different ones are different.
    pub id: String,
    /// The source, where the trace has names for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// Provenance of a slice or a part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Provenance {
    /// Instructions of one source, written anew.
    Slice {
        /// The trace that they are from.
        of: Origin,
        /// Which instructions.
        #[serde(flatten)]
        selection: Selection,
    },
    /// Items as they were.
    Part {
        /// The trace that they are from.
        of: Origin,
        /// Number of the part, from 1, and how many there are.
        part: (usize, usize),
        /// Bytes of each stream of the trace.
        streams: Vec<PartStream>,
    },
}

/// The bytes of a part in one stream of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartStream {
    /// Bytes of the trace, the end exclusive.
    pub bytes: (u64, u64),
    /// Bytes of the trace in all.
    pub size: u64,
    /// Digest of all of them.
    pub sum: u64,
    /// Bytes of the part that are not the trace's own, the end exclusive.
    pub added: (u64, u64),
}

/// The words before the facts.
const MARK: &str = "trackway cut: ";
/// The file in a folder.
const IN_FOLDER: &str = "trackway.toml";

impl std::fmt::Display for Provenance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // A struct of numbers and strings is always JSON.
        write!(f, "{MARK}{}", serde_json::to_string(self).unwrap_or_default())
    }
}

impl Provenance {
    /// Reads a comment; `None` if it is another.
    pub fn read(comment: &str) -> Option<Self> {
        serde_json::from_str(comment.strip_prefix(MARK)?).ok()
    }

    /// The trace that it was cut from.
    pub fn origin(&self) -> &Origin {
        match self {
            Provenance::Slice { of, .. } | Provenance::Part { of, .. } => of,
        }
    }

    /// The provenance of a trace: the last of its comments that is one, or the one in the file beside it.
    pub fn of(trace: &Trace) -> Option<Self> {
        let comment = trace.meta().comments.iter().rev().find_map(|comment| Self::read(comment));
        let beside = || {
            let path = trace.path()?;
            let file = if path.is_dir() { path.join(IN_FOLDER) } else { with_end(path, "toml") };
            let text = std::fs::read_to_string(file).ok()?;
            text.lines().rev().find_map(|line| Self::read(line.strip_prefix("# ")?))
        };
        comment.or_else(beside)
    }

    /// Adds it to a file beside the output, for a format without comments.
    pub(crate) fn write_beside(&self, target: &Target) -> Result<()> {
        let Some(staged) = target.staged() else { return Ok(()) };
        let line = format!("# {self}\n");
        if staged.is_dir() {
            let path = staged.join(IN_FOLDER);
            return Ok(std::fs::write(&path, line).map_err(FileError::at(&path))?);
        }
        let before = std::fs::read_to_string(with_end(&staged, "toml")).unwrap_or_default();
        Ok(target.write_beside("toml", format!("{line}{before}").as_bytes())?)
    }
}

/// True for a comment that says where a trace was cut from.
pub(crate) fn is_provenance(comment: &str) -> bool {
    comment.starts_with(MARK)
}

fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(".");
    name.push(end);
    name.into()
}

impl Origin {
    /// The trace, by its file; a stream has no name.
    pub fn of(trace: &Trace) -> Result<Self> {
        let source = trace.source_name();
        let Some(path) = trace.path().filter(|path| path.exists()) else {
            return Ok(Origin { file: "stdin".into(), id: String::new(), source });
        };
        let name =
            path.file_name().map_or_else(|| path.display().to_string(), |name| name.display().to_string());
        let id = digest(path).map_err(FileError::at(path))?;
        Ok(Origin { file: name, id: format!("{id:016x}"), source })
    }

    /// Refuses something that was cut from another trace.
    pub(crate) fn refuse_other(&self, other: &Origin, path: &Path) -> Result<()> {
        if self.id == other.id && self.source == other.source {
            return Ok(());
        }
        let name = |of: &Origin| match &of.source {
            Some(source) => format!("{} (source {source}, id {})", of.file, of.id),
            None => format!("{} (id {})", of.file, of.id),
        };
        let text = format!("{}: it is of {}, the first is of {}", path.display(), name(other), name(self));
        Err(Error::Config(text))
    }
}

/// Bytes of head and tail that identify a file.
const SAMPLE: u64 = 1 << 16;

/// Digest of a file: its size, head and tail; of a folder: of the files in it, by name.
fn digest(path: &Path) -> std::io::Result<u64> {
    if path.is_dir() {
        let mut files: Vec<_> = std::fs::read_dir(path)?.flatten().map(|entry| entry.path()).collect();
        files.retain(|file| file.is_file());
        files.sort();
        let mut sum = Digest::default();
        for file in files {
            sum.add(&digest(&file)?.to_le_bytes());
        }
        return Ok(sum.0);
    }
    let mut file = File::open(path)?;
    let size = file.seek(SeekFrom::End(0))?;
    let mut sum = Digest::default();
    sum.add(&size.to_le_bytes());
    for from in [0, size.saturating_sub(SAMPLE)] {
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        file.by_ref().take(SAMPLE).read_to_end(&mut bytes)?;
        sum.add(&bytes);
    }
    Ok(sum.0)
}

/// A running digest, FNV-1a.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Digest(pub(crate) u64);

impl Default for Digest {
    fn default() -> Self {
        Digest(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest {
    /// Adds bytes.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.0 =
            bytes.iter().fold(self.0, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3));
    }
}
