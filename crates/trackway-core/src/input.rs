//! Bytes in and out: the input and output of a format, and the window that a reader works through.

use std::io::{BufRead, Read, Seek, Write};
use std::ops::Range;
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};

/// Bytes in memory: a mapped file or a buffer.
pub trait Buffer: AsRef<[u8]> + Send + Sync {
    /// Frees the memory of bytes that were read, where they can be read from a file again.
    fn release(&self, read: Range<usize>) {
        let _ = read;
    }

    /// The end of the bytes that were released last: how far its readers are.
    fn position(&self) -> Option<usize> {
        None
    }
}

impl Buffer for Vec<u8> {}
impl<const N: usize> Buffer for [u8; N] {}

impl std::fmt::Debug for dyn Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.as_ref().len())
    }
}

/// Shared bytes: a mapped file or a buffer.
pub type SharedBytes = Arc<dyn Buffer>;

/// The input of a format: all of it at once, or as it comes.
pub enum Input {
    /// All bytes, mapped or in memory.
    Whole(SharedBytes),
    /// A stream (stdin, a decompressor).
    Stream(Box<dyn Read + Send>),
}

impl Input {
    /// The whole of `bytes`.
    pub fn from_vec(bytes: Vec<u8>) -> Self {
        Input::Whole(Arc::new(bytes))
    }

    /// The bytes one after the other.
    pub fn into_read(self) -> Box<dyn Read + Send> {
        match self {
            Input::Whole(bytes) => {
                let all = 0..(*bytes).as_ref().len();
                Box::new(SharedRange::new(bytes, all))
            }
            Input::Stream(stream) => stream,
        }
    }

    /// All bytes; a stream is read to its end.
    pub fn read_whole(self) -> std::io::Result<SharedBytes> {
        match self {
            Input::Whole(bytes) => Ok(bytes),
            Input::Stream(mut stream) => {
                let mut bytes = Vec::new();
                stream.read_to_end(&mut bytes)?;
                Ok(Arc::new(bytes))
            }
        }
    }
}

impl std::fmt::Debug for Input {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Input::Whole(bytes) => write!(f, "Whole({} bytes)", (**bytes).as_ref().len()),
            Input::Stream(_) => f.write_str("Stream"),
        }
    }
}

/// Output that can be written in any order: a file.
pub trait WriteSeek: Write + Seek {}
impl<T: Write + Seek> WriteSeek for T {}

/// The output of a format.
pub enum Output {
    /// A stream (stdout, a compressor).
    Stream(Box<dyn Write + Send>),
    /// A file.
    File(Box<dyn WriteSeek + Send>),
}

impl Output {
    /// The writer, where order does not matter.
    pub fn as_write(&mut self) -> &mut dyn Write {
        match self {
            Output::Stream(stream) => stream,
            Output::File(file) => file,
        }
    }
}

impl std::fmt::Debug for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Output::Stream(_) => "Stream",
            Output::File(_) => "File",
        })
    }
}

/// A window over an [`Input`] that a reader works through: it looks at [`bytes`](Feed::bytes), consumes
/// what it understood, and asks for [`more`](Feed::more) where an item is cut.
///
/// ```
/// use trackway_core::{Feed, Input};
/// let mut feed = Feed::new(Input::from_vec(vec![1, 2, 3]));
/// assert_eq!(feed.bytes(), &[1, 2, 3]);
/// feed.consume(2);
/// assert_eq!((feed.offset(), feed.bytes()), (2, &[3][..]));
/// assert!(!feed.more()?);
/// # Ok::<(), trackway_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Feed {
    input: Input,
    /// For streams: `buffer[start..end]` was read and not yet consumed; the rest is room for more.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    consumed: u64,
    /// The memory of whole inputs was released up to here.
    released: u64,
    ended: bool,
}

impl Feed {
    const BLOCK: usize = 1 << 20;
    /// Bytes after which the memory of those read is released.
    const RELEASE: u64 = 2 << 20;

    /// A window at the start of `input`; the first block is read on demand.
    pub fn new(input: Input) -> Self {
        let ended = matches!(input, Input::Whole(_));
        Feed { input, buffer: Vec::new(), start: 0, end: 0, consumed: 0, released: 0, ended }
    }

    /// Offset of the first byte of [`bytes`](Feed::bytes).
    #[inline]
    pub fn offset(&self) -> u64 {
        self.consumed
    }

    /// The bytes read and not yet consumed.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        match &self.input {
            Input::Whole(bytes) => &(**bytes).as_ref()[self.consumed as usize..],
            Input::Stream(_) => &self.buffer[self.start..self.end],
        }
    }

    /// Skips `n` bytes, at most as many as are available.
    #[inline]
    pub fn consume(&mut self, n: usize) {
        let n = n.min(self.bytes().len());
        self.consumed += n as u64;
        self.start += n;
        if self.consumed - self.released >= Self::RELEASE {
            self.release();
        }
    }

    #[cold]
    fn release(&mut self) {
        if let Input::Whole(bytes) = &self.input {
            bytes.release(self.released as usize..self.consumed as usize);
        }
        self.released = self.consumed;
    }

    /// A window over a buffer that [`take_buffer`](Feed::take_buffer) returns.
    pub fn from_buffer(buffer: Vec<u8>) -> Self {
        let input = Input::Stream(Box::new(std::io::empty()));
        Feed { input, end: buffer.len(), buffer, start: 0, consumed: 0, released: 0, ended: true }
    }

    /// The buffer, to be filled again; its content is unspecified.
    pub fn take_buffer(&mut self) -> Vec<u8> {
        (self.start, self.end) = (0, 0);
        std::mem::take(&mut self.buffer)
    }

    /// True if the whole input is in memory.
    pub fn is_whole(&self) -> bool {
        matches!(self.input, Input::Whole(_))
    }

    /// The input from here on.
    pub fn into_input(mut self) -> Input {
        match std::mem::replace(&mut self.input, Input::Stream(Box::new(std::io::empty()))) {
            Input::Whole(bytes) if self.consumed == 0 => Input::Whole(bytes),
            Input::Whole(bytes) => Input::Whole(Arc::new(Tail { bytes, from: self.consumed as usize })),
            Input::Stream(stream) => {
                let available = std::io::Cursor::new(self.buffer[self.start..self.end].to_vec());
                Input::Stream(Box::new(available.chain(stream)))
            }
        }
    }

    /// Reads another block after the available bytes; false at the end of the input.
    pub fn more(&mut self) -> Result<bool> {
        let wanted = self.bytes().len() + Self::BLOCK;
        let mut found = false;
        while self.bytes().len() < wanted {
            match self.some() {
                Ok(true) => found = true,
                Ok(false) => break,
                // Bytes that arrived before the failure are still good; it is met again after them.
                Err(_) if found => {
                    self.ended = false;
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    /// Reads after the available bytes as much as the stream has at once: the writer of a pipe may wait for an answer to
    /// what it wrote. False at the end of the input.
    pub fn some(&mut self) -> Result<bool> {
        let Input::Stream(stream) = &mut self.input else { return Ok(false) };
        if self.ended {
            return Ok(false);
        }
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        let have = self.end;
        let full = have + Self::BLOCK;
        // The room is kept from block to block: `read_to_end` would clear it every time.
        self.buffer.resize(self.buffer.len().max(full), 0);
        let read = loop {
            match stream.read(&mut self.buffer[have..full]) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        match read {
            Ok(n) => {
                self.end += n;
                self.ended = n == 0;
                Ok(!self.ended)
            }
            Err(error) => {
                self.ended = true;
                Err(Error { offset: self.consumed + have as u64, ..stream_error(&error) })
            }
        }
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        if self.consumed > self.released {
            self.release();
        }
    }
}

/// A range of shared bytes, as a reader.
#[derive(Debug)]
pub struct SharedRange {
    feed: Feed,
    end: u64,
}

impl SharedRange {
    /// The bytes of `range`, as far as they exist.
    pub fn new(bytes: SharedBytes, range: Range<usize>) -> Self {
        let end = range.end.min((*bytes).as_ref().len()) as u64;
        let start = end.min(range.start as u64);
        let mut feed = Feed::new(Input::Whole(bytes));
        (feed.consumed, feed.released) = (start, start);
        SharedRange { feed, end }
    }
}

impl BufRead for SharedRange {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        let left = self.end - self.feed.offset();
        Ok(&self.feed.bytes()[..left as usize])
    }

    fn consume(&mut self, n: usize) {
        let left = self.end - self.feed.offset();
        self.feed.consume(n.min(left as usize));
    }
}

impl Read for SharedRange {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let n = self.fill_buf()?.read(out)?;
        self.consume(n);
        Ok(n)
    }
}

/// Shared bytes without their start.
struct Tail {
    bytes: SharedBytes,
    from: usize,
}

impl AsRef<[u8]> for Tail {
    fn as_ref(&self) -> &[u8] {
        &(*self.bytes).as_ref()[self.from..]
    }
}

impl Buffer for Tail {
    fn release(&self, read: Range<usize>) {
        self.bytes.release(self.from + read.start..self.from + read.end);
    }
}

/// A decompressor reports damage as an I/O error of these kinds.
fn stream_error(error: &std::io::Error) -> Error {
    use std::io::ErrorKind as Io;
    let kind = match error.kind() {
        Io::InvalidData | Io::InvalidInput | Io::Other => ErrorKind::Compression,
        Io::UnexpectedEof => ErrorKind::Truncated,
        kind => ErrorKind::Io(kind),
    };
    kind.at(0, "compressed stream", "", "")
}
