//! Files, folders and stdin, decompressed where they are compressed.

use std::path::{Path, PathBuf};

use trackway_core::{Feed, Input, Result, SharedBytes};

use crate::compress::Compression;
use crate::error::FileError;
use crate::map::map_file;

/// A file that cannot be opened, or whose compression is damaged at its very start.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The operating system refused.
    #[error(transparent)]
    File(#[from] FileError),
    /// The first bytes cannot be decompressed.
    #[error(transparent)]
    Content(#[from] trackway_core::Error),
}

/// An input before its format is known.
#[derive(Debug)]
pub struct File {
    /// None for stdin and for bytes in memory.
    pub path: Option<PathBuf>,
    /// True for a folder, whose input is empty.
    pub is_folder: bool,
    /// The bytes, decompressed.
    pub input: Input,
    /// The first 64 KiB of them.
    pub head: Vec<u8>,
    /// The compression they were found in.
    pub compression: Option<Compression>,
    /// The file as it is, where it is in memory.
    pub whole: Option<SharedBytes>,
    /// Facts that an earlier opening found by reading all of it, packed.
    pub surveyed: Option<Vec<u8>>,
}

impl File {
    /// Bytes that recognition may look at.
    const HEAD: usize = 1 << 16;

    /// Opens a file, a folder or stdin (`-`).
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        if path.as_os_str() == "-" {
            return Ok(File::from_input(Input::Stream(Box::new(std::io::stdin())))?);
        }
        let metadata = std::fs::metadata(path).map_err(FileError::at(path))?;
        if metadata.is_dir() {
            return Ok(File {
                path: Some(path.into()),
                is_folder: true,
                input: Input::from_vec(Vec::new()),
                head: Vec::new(),
                compression: None,
                whole: None,
                surveyed: None,
            });
        }
        let file = std::fs::File::open(path).map_err(FileError::at(path))?;
        // Pipes and empty files cannot be mapped.
        let input = if metadata.is_file() && metadata.len() > 0 {
            Input::Whole(map_file(&file).map_err(FileError::at(path))?)
        } else {
            Input::Stream(Box::new(file))
        };
        Ok(File { path: Some(path.into()), ..File::from_input(input)? })
    }

    /// Takes bytes from anywhere.
    pub fn from_input(input: Input) -> Result<Self> {
        File::with_head(input, File::HEAD)
    }

    /// Takes bytes that are still written, and waits for the first of them only: the head is short, and enough where
    /// format and settings are known.
    pub fn live(stream: Box<dyn std::io::Read + Send>) -> Result<Self> {
        File::with_head(Input::Stream(stream), 1)
    }

    /// Waits for that many bytes before the format is recognised.
    fn with_head(input: Input, wanted: usize) -> Result<Self> {
        let whole = match &input {
            Input::Whole(bytes) => Some(SharedBytes::clone(bytes)),
            Input::Stream(_) => None,
        };
        let (mut head, mut input) = peek(input, wanted)?;
        let compression = Compression::recognise(&head);
        if let Some(compression) = compression {
            // Damage inside is reported when the trace is read; the head is what came before it.
            (head, input) = peek(compression.decompress(input)?, wanted)?;
        }
        Ok(File { path: None, is_folder: false, input, head, compression, whole, surveyed: None })
    }
}

/// The first bytes of an input, and the input as if they had not been read.
fn peek(input: Input, wanted: usize) -> Result<(Vec<u8>, Input)> {
    let mut feed = Feed::new(input);
    while feed.bytes().len() < wanted {
        match feed.some() {
            Ok(true) => {}
            Ok(false) => break,
            // Nothing at all could be read: that is the error to report.
            Err(error) if feed.bytes().is_empty() => return Err(error),
            Err(_) => break,
        }
    }
    let head = feed.bytes()[..feed.bytes().len().min(File::HEAD)].to_vec();
    Ok((head, feed.into_input()))
}
