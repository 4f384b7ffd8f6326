//! Where events come from and go to, and how bytes get in.

use std::io::{Read, Seek, Write};
use std::sync::Arc;

use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::losses::Losses;
use crate::meta::Meta;
use crate::observe::Observer;

/// Gives events: the `lift` side of a format.
pub trait Source {
    /// What the trace says about itself.
    fn meta(&self) -> &Meta;

    /// Clears `batch` and fills it with the next events; false at the end.
    ///
    /// What came before bad input is delivered first; the error comes with the next call. After it the
    /// caller either stops or calls [`resync`](Source::resync).
    fn fill(&mut self, batch: &mut Batch) -> Result<bool>;

    /// Shows the next stretch of the trace to `observer`, on as many threads as the source was opened with;
    /// false at the end. Errors and what comes after them are as with [`fill`](Source::fill), and both see the
    /// same events, whatever the number of threads.
    fn observe(&mut self, observer: &mut dyn Observer) -> Result<bool> {
        observe_serially(self, observer)
    }

    /// After an error: finds the next place where decoding can go on. True if there is one; the next
    /// batch then begins with a `Gap`.
    fn resync(&mut self) -> Result<bool> {
        Ok(false)
    }

    /// Before the first `fill`: jumps towards instruction `n` if the container has an index. Gives the
    /// number of the instruction that will come first, at most `n`.
    fn seek(&mut self, n: u64) -> Result<u64> {
        let _ = n;
        Ok(0)
    }

    /// How far it has come, in any unit, and how far it goes; for progress and its estimates.
    fn progress(&self) -> Option<(u64, u64)> {
        None
    }

    /// Native items read so far, by name in the spec's order; for `info`.
    fn census(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// [`Source::observe`] on the caller's thread.
pub fn observe_serially(source: &mut (impl Source + ?Sized), observer: &mut dyn Observer) -> Result<bool> {
    let mut batch = Batch::default();
    // Enough for one batch to be used many times, few enough for progress to be seen.
    for _ in 0..256 {
        if !source.fill(&mut batch)? {
            return Ok(false);
        }
        observer.observe(&batch);
    }
    Ok(true)
}

/// Takes events: the `lower` side of a format.
pub trait Sink {
    /// Takes a batch.
    fn put(&mut self, batch: &Batch) -> Result<()>;

    /// Writes what is pending and closes. Gives the account of what was lost.
    fn finish(&mut self) -> Result<Losses>;
}

/// A native item, ready to show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Item {
    /// Byte offset in the decompressed stream.
    pub offset: u64,
    /// Its length in bytes.
    pub len: u64,
    /// Its name in the spec.
    pub name: &'static str,
    /// Its fields.
    pub text: String,
    /// What it says, in the manner of the format's own listings; empty unless asked for.
    pub note: String,
}

/// Gives native items as text, for `dump --raw`.
pub trait Items {
    /// The next item into `item`; false at the end.
    fn next(&mut self, item: &mut Item) -> Result<bool>;

    /// Before the first `next`: goes to item `n` if that costs less than reading what is before it. Gives
    /// the number of the item that will come first, at most `n`.
    fn seek(&mut self, n: u64) -> Result<u64> {
        let _ = n;
        Ok(0)
    }

    /// From here on items come with their [`note`](Item::note), where the format has such listings.
    fn annotate(&mut self) {}

    /// After an error: goes on at the next place possible; gives the bytes skipped.
    fn resync(&mut self) -> Result<Option<u64>> {
        Ok(None)
    }
}

/// Shared bytes: a mapped file or a buffer.
pub type SharedBytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// The input of a format: all of it at once, or as it comes.
pub enum Input {
    /// All bytes, at hand (mapped).
    Whole(SharedBytes),
    /// A stream (stdin, a decompressor).
    Stream(Box<dyn Read + Send>),
}

impl Input {
    /// All of `bytes`.
    pub fn from_vec(bytes: Vec<u8>) -> Self {
        Input::Whole(Arc::new(bytes))
    }

    /// All bytes of it; a stream is read to its end.
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
    /// For streams: what was read and not yet consumed is `buffer[start..end]`, behind it is room for more.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    consumed: u64,
    ended: bool,
}

impl Feed {
    const BLOCK: usize = 1 << 20;

    /// A window at the start of `input`; the first block is read on demand.
    pub fn new(input: Input) -> Self {
        let ended = matches!(input, Input::Whole(_));
        Feed { input, buffer: Vec::new(), start: 0, end: 0, consumed: 0, ended }
    }

    /// Offset of the first byte of [`bytes`](Feed::bytes).
    #[inline]
    pub fn offset(&self) -> u64 {
        self.consumed
    }

    /// What is at hand.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        match &self.input {
            Input::Whole(bytes) => &(**bytes).as_ref()[self.consumed as usize..],
            Input::Stream(_) => &self.buffer[self.start..self.end],
        }
    }

    /// Steps over `n` bytes, at most as many as are at hand.
    #[inline]
    pub fn consume(&mut self, n: usize) {
        let n = n.min(self.bytes().len());
        self.consumed += n as u64;
        self.start += n;
    }

    /// A window over a buffer that can be had back.
    pub fn from_buffer(buffer: Vec<u8>) -> Self {
        let input = Input::Stream(Box::new(std::io::empty()));
        Feed { input, end: buffer.len(), buffer, start: 0, consumed: 0, ended: true }
    }

    /// The buffer, to be filled again; its content is of no use.
    pub fn take_buffer(&mut self) -> Vec<u8> {
        (self.start, self.end) = (0, 0);
        std::mem::take(&mut self.buffer)
    }

    /// Are all bytes at hand?
    pub fn is_whole(&self) -> bool {
        matches!(self.input, Input::Whole(_))
    }

    /// The input from here on.
    pub fn into_input(self) -> Input {
        match self.input {
            Input::Whole(bytes) if self.consumed == 0 => Input::Whole(bytes),
            Input::Whole(bytes) => Input::Whole(Arc::new(Tail { bytes, from: self.consumed as usize })),
            Input::Stream(stream) => {
                let at_hand = std::io::Cursor::new(self.buffer[self.start..self.end].to_vec());
                Input::Stream(Box::new(at_hand.chain(stream)))
            }
        }
    }

    /// Reads another block behind what is at hand; false at the end of the input.
    pub fn more(&mut self) -> Result<bool> {
        let Input::Stream(stream) = &mut self.input else { return Ok(false) };
        if self.ended {
            return Ok(false);
        }
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        let have = self.end;
        let full = have + Self::BLOCK;
        // The room stays as it is from block to block: `read_to_end` would clear it every time.
        self.buffer.resize(self.buffer.len().max(full), 0);
        let mut read = Ok(1);
        while self.end < full && matches!(read, Ok(1..)) {
            read = match stream.read(&mut self.buffer[self.end..full]) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                read => read,
            };
            self.end += read.as_ref().map_or(0, |n| *n);
        }
        self.ended = self.end == have;
        match read {
            // What arrived before the failure is still good.
            Err(_) if !self.ended => Ok(true),
            Err(error) => Err(Error { offset: self.consumed + have as u64, ..stream_error(&error) }),
            Ok(_) => Ok(!self.ended),
        }
    }
}

/// Shared bytes less their start.
struct Tail {
    bytes: SharedBytes,
    from: usize,
}

impl AsRef<[u8]> for Tail {
    fn as_ref(&self) -> &[u8] {
        &(*self.bytes).as_ref()[self.from..]
    }
}

/// A decompressor reports damage as an I/O error of these kinds.
fn stream_error(error: &std::io::Error) -> Error {
    use crate::error::ErrorKind;
    use std::io::ErrorKind as Io;
    let kind = match error.kind() {
        Io::InvalidData | Io::InvalidInput | Io::Other => ErrorKind::Compression,
        Io::UnexpectedEof => ErrorKind::Truncated,
        kind => ErrorKind::Io(kind),
    };
    kind.at(0, "compressed stream", "", "")
}
