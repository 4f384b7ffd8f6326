//! Files, folders and stdin, decompressed where they are compressed.

use std::io::Read;
use std::path::{Path, PathBuf};

use trackway_core::{Feed, Input};

use crate::error::{Error, Result};

/// Compression around a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// gzip.
    Gzip,
    /// xz.
    Xz,
    /// zstd.
    Zstd,
}

impl Compression {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Compression::Gzip => "gzip",
            Compression::Xz => "xz",
            Compression::Zstd => "zstd",
        }
    }

    /// By the first bytes.
    fn recognise(head: &[u8]) -> Option<Self> {
        [
            (&b"\x1f\x8b"[..], Compression::Gzip),
            (b"\xfd7zXZ\0", Compression::Xz),
            (b"\x28\xb5\x2f\xfd", Compression::Zstd),
        ]
        .into_iter()
        .find(|(magic, _)| head.starts_with(magic))
        .map(|found| found.1)
    }

    fn decompress(self, input: Input) -> Result<Input> {
        let reader: Box<dyn Read + Send> = match input {
            Input::Stream(stream) => stream,
            Input::Whole(bytes) => Box::new(std::io::Cursor::new(Shared(bytes))),
        };
        let reader = std::io::BufReader::with_capacity(1 << 16, reader);
        Ok(Input::Stream(match self {
            Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(reader)),
            Compression::Xz => Box::new(liblzma::bufread::XzDecoder::new_multi_decoder(reader)),
            Compression::Zstd => {
                let decoder = zstd::stream::read::Decoder::with_buffer(reader);
                Box::new(decoder.map_err(|error| Error::Trace(error.into()))?)
            }
        }))
    }
}

/// Shared bytes that a cursor can read.
struct Shared(trackway_core::SharedBytes);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        (*self.0).as_ref()
    }
}

/// An input before its format is known.
#[derive(Debug)]
pub struct File {
    /// Where it is; none for stdin and for bytes in memory.
    pub path: Option<PathBuf>,
    /// Is it a folder? The input is then empty.
    pub is_folder: bool,
    /// The bytes, decompressed.
    pub input: Input,
    /// The first of them.
    pub head: Vec<u8>,
    /// What they were compressed with.
    pub compression: Option<Compression>,
}

impl File {
    /// Bytes that recognition may look at.
    const HEAD: usize = 1 << 16;

    /// Opens a file, a folder or stdin (`-`).
    pub fn open(path: &Path) -> Result<Self> {
        if path.as_os_str() == "-" {
            return File::from_input(Input::Stream(Box::new(std::io::stdin())));
        }
        let failed = |error| Error::File { path: path.into(), error };
        let metadata = std::fs::metadata(path).map_err(failed)?;
        if metadata.is_dir() {
            return Ok(File {
                path: Some(path.into()),
                is_folder: true,
                input: Input::from_vec(Vec::new()),
                head: Vec::new(),
                compression: None,
            });
        }
        let file = std::fs::File::open(path).map_err(failed)?;
        // Pipes and empty files cannot be mapped.
        let input = if metadata.is_file() && metadata.len() > 0 {
            Input::Whole(crate::map::map(&file).map_err(failed)?)
        } else {
            Input::Stream(Box::new(file))
        };
        Ok(File { path: Some(path.into()), ..File::from_input(input)? })
    }

    /// Takes bytes from anywhere.
    pub fn from_input(input: Input) -> Result<Self> {
        let (mut head, mut input) = peek(input)?;
        let compression = Compression::recognise(&head);
        if let Some(compression) = compression {
            // Damage inside is told when the trace is read; the head is what came before it.
            (head, input) = peek(compression.decompress(input)?)?;
        }
        Ok(File { path: None, is_folder: false, input, head, compression })
    }
}

/// The first bytes of an input, and the input as if they had not been looked at.
fn peek(input: Input) -> Result<(Vec<u8>, Input)> {
    let mut feed = Feed::new(input);
    while feed.bytes().len() < File::HEAD {
        match feed.more() {
            Ok(true) => {}
            Ok(false) => break,
            // Nothing at all could be read: that is the error to tell.
            Err(error) if feed.bytes().is_empty() => return Err(error.into()),
            Err(_) => break,
        }
    }
    let head = feed.bytes()[..feed.bytes().len().min(File::HEAD)].to_vec();
    Ok((head, feed.into_input()))
}
