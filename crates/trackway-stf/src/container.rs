//! The file around the records: plain, or ZSTF with its chunks and index.
//!
//! Both are read as a list of [`Part`]s, each a stretch of records that can be read alone. A plain file or a
//! stream is one part; a mapped ZSTF file has one part per chunk.

use std::io::{BufRead, Read};
use std::sync::Arc;

use trackway_core::{Bytes, Error, ErrorKind, Feed, Input, Pool, Result, SharedBytes};

use crate::config::Container;

/// First bytes of the ZSTF container.
pub const ZSTF_MAGIC: &[u8; 4] = b"ZSTF";
/// First bytes of a plain file: the IDENTIFIER record.
pub const PLAIN_MAGIC: &[u8; 4] = b"\x01STF";

/// Bytes of the ZSTF header: magic, instructions per chunk, index offset.
pub(crate) const HEADER: u64 = 20;
/// Bytes of an index entry: offset, start pc, uncompressed size.
const ENTRY: u64 = 24;
/// Chunks up to this size are decompressed at once; typical ones have one or two MiB.
const AT_ONCE: usize = 1 << 26;
const ZSTD_MAGIC: &[u8] = b"\x28\xb5\x2f\xfd";

/// A stretch of records that can be read alone.
#[derive(Debug)]
pub struct Part {
    /// The decompressed records.
    pub feed: Feed,
    /// Offset of the first byte in the decompressed stream.
    pub base: u64,
    /// Address of the first instruction, if the index has it.
    pub start_pc: Option<u64>,
    /// Its index entry and the offset of that, for errors.
    chunk: Option<(Chunk, u64)>,
    /// The decoder, and the pool that it returns to.
    decoder: Option<(Decoders, Box<Decoder>)>,
}

/// Decompresses a whole chunk; reused from chunk to chunk, since it is expensive to create.
struct Decoder {
    zstd: zstd::bulk::Decompressor<'static>,
    buffer: Vec<u8>,
}

impl std::fmt::Debug for Decoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Decoder({} bytes)", self.buffer.capacity())
    }
}

type Decoders = Arc<Pool<Box<Decoder>>>;

impl Drop for Part {
    fn drop(&mut self) {
        if let Some((spare, mut decoder)) = self.decoder.take() {
            decoder.buffer = self.feed.take_buffer();
            spare.put(decoder);
        }
    }
}

impl Part {
    /// Unread bytes of the part: according to the index, or those in the buffer.
    pub(crate) fn left(&self) -> u64 {
        match self.chunk {
            Some((chunk, _)) => chunk.size.saturating_sub(self.feed.offset()),
            None => self.feed.bytes().len() as u64,
        }
    }

    /// Ends the part and compares its length with the index.
    pub fn finish(&mut self) -> Result<()> {
        // Taken, so that the part counts as read to its end even if the index has more.
        match self.chunk.take() {
            Some((chunk, entry)) if chunk.size != self.feed.offset() => {
                Err(ErrorKind::Impossible { found: chunk.size }
                    .at(entry + 16, "ZSTF index", "uncompressed size", "ZSTF")
                    .in_container())
            }
            _ => Ok(()),
        }
    }
}

/// One chunk of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Offset of the frame in the file.
    pub offset: u64,
    /// Upper bound on the end of the frame.
    pub end: u64,
    /// Address of the first instruction; 0 for the first chunk.
    pub start_pc: u64,
    /// Bytes after decompression.
    pub size: u64,
    /// Offset of the first byte in the decompressed stream.
    pub base: u64,
}

/// A mapped ZSTF file.
#[derive(Clone)]
struct Zstf {
    bytes: SharedBytes,
    per_chunk: u64,
    chunks: Vec<Chunk>,
    index_at: u64,
    spare: Decoders,
}

enum Plan {
    /// One stream of records; `None` once taken.
    Stream(Option<Feed>),
    /// Chunks of a mapped file.
    Chunks(Zstf),
}

/// An opened file as a sequence of parts.
pub struct Parts {
    plan: Plan,
    next: usize,
    /// Damage of the container that leaves its records readable; returned at the end.
    damage: Option<Error>,
    /// The container that was recognised.
    pub container: Container,
    /// Length of a plain file.
    plain_len: Option<u64>,
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Parts({} of {})", self.next, self.len())
    }
}

impl Parts {
    fn new(plan: Plan, damage: Option<Error>, container: Container) -> Self {
        Parts { plan, next: 0, damage, container, plain_len: None }
    }

    /// Opens the container.
    pub fn open(input: Input) -> Result<Self> {
        let mut feed = Feed::new(input);
        while feed.bytes().len() < HEADER as usize && feed.more()? {}
        if feed.bytes().get(..4) != Some(ZSTF_MAGIC) {
            let container = Container::Plain;
            let plain_len = feed.is_whole().then_some(feed.bytes().len() as u64);
            return Ok(Parts { plain_len, ..Parts::new(Plan::Stream(Some(feed)), None, container) });
        }
        let (per_chunk, index_at) = read_header(feed.bytes())?;
        let container = Container::Zstf;
        match feed.into_input() {
            Input::Whole(bytes) => {
                let all: &[u8] = (*bytes).as_ref();
                match read_index(all, index_at) {
                    Ok(chunks) => {
                        let zstf = Zstf { bytes, per_chunk, chunks, index_at, spare: Arc::default() };
                        Ok(Parts::new(Plan::Chunks(zstf), None, container))
                    }
                    Err(_) if all.len() <= HEADER as usize => Err(ErrorKind::Truncated
                        .at(all.len() as u64, "ZSTF chunk", "", "ZSTF")
                        .in_container()),
                    Err(damage) => {
                        // The frames are adjacent, so they can be read without the index.
                        let end = frames_end(all);
                        let feed = decompress(Slice { bytes, at: HEADER as usize, end })?;
                        Ok(Parts::new(Plan::Stream(Some(feed)), Some(damage), container))
                    }
                }
            }
            Input::Stream(mut stream) => {
                stream.read_exact(&mut [0; HEADER as usize])?;
                let damage = unfinished(index_at);
                let frames = match index_at {
                    0 => u64::MAX,
                    end => end.saturating_sub(HEADER),
                };
                let feed = decompress(std::io::BufReader::with_capacity(1 << 16, stream.take(frames)))?;
                Ok(Parts::new(Plan::Stream(Some(feed)), damage, container))
            }
        }
    }

    /// Number of parts.
    pub fn len(&self) -> usize {
        match &self.plan {
            Plan::Stream(_) => 1,
            Plan::Chunks(zstf) => zstf.chunks.len(),
        }
    }

    /// True if there are no parts.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True if no part is left.
    pub(crate) fn is_done(&self) -> bool {
        match &self.plan {
            Plan::Stream(feed) => feed.is_none(),
            Plan::Chunks(zstf) => self.next >= zstf.chunks.len(),
        }
    }

    /// Instructions per chunk, if there is an index.
    pub fn per_chunk(&self) -> Option<u64> {
        match &self.plan {
            Plan::Chunks(zstf) => Some(zstf.per_chunk),
            Plan::Stream(_) => None,
        }
    }

    /// Bytes of the decompressed stream, if known in advance.
    pub fn total(&self) -> Option<u64> {
        match &self.plan {
            Plan::Chunks(zstf) => zstf.chunks.last().map(|chunk| chunk.base + chunk.size),
            Plan::Stream(_) => self.plain_len,
        }
    }

    /// The first records, without consuming them.
    pub(crate) fn head(&mut self) -> Result<Head<'_>> {
        match &mut self.plan {
            Plan::Stream(feed) => Ok(Head::Stream(feed.as_mut())),
            Plan::Chunks(zstf) if zstf.chunks.is_empty() => Ok(Head::Stream(None)),
            Plan::Chunks(zstf) => zstf.part(0).map(Head::Chunk),
        }
    }

    /// The next part; `None` at the end. Damage of the container is returned last.
    pub fn next_part(&mut self) -> Result<Option<Part>> {
        let part = match &mut self.plan {
            Plan::Stream(feed) => {
                feed.take().map(|feed| Part { feed, base: 0, start_pc: None, chunk: None, decoder: None })
            }
            Plan::Chunks(zstf) if self.next < zstf.chunks.len() => {
                self.next += 1;
                Some(zstf.part(self.next - 1)?)
            }
            Plan::Chunks(_) => None,
        };
        if part.is_some() {
            return Ok(part);
        }
        self.damage.take().map_or(Ok(None), Err)
    }

    /// Moves to the chunk with marker `n`; returns the number of its first marker.
    pub fn seek(&mut self, n: u64) -> u64 {
        let Plan::Chunks(zstf) = &self.plan else { return 0 };
        if zstf.per_chunk == 0 || zstf.chunks.is_empty() {
            return 0;
        }
        let chunk = (n / zstf.per_chunk).min(zstf.chunks.len() as u64 - 1);
        self.next = chunk as usize;
        chunk * zstf.per_chunk
    }

    /// Access to the chunks from several threads, if more than one is left.
    pub(crate) fn chunks(&self) -> Option<ChunkReader> {
        match &self.plan {
            Plan::Chunks(zstf) if self.next + 1 < zstf.chunks.len() => Some(ChunkReader(zstf.clone())),
            _ => None,
        }
    }

    /// The next chunks, at most `n`.
    pub(crate) fn next_chunks(&self, n: usize) -> std::ops::Range<usize> {
        self.next..self.len().min(self.next + n)
    }

    /// Skips the next chunk, which another reader has done.
    pub(crate) fn step_over(&mut self) {
        self.next += 1;
    }

    /// Offset of the next part in the decompressed stream.
    pub(crate) fn base(&self) -> u64 {
        match &self.plan {
            Plan::Chunks(zstf) => match zstf.chunks.get(self.next) {
                Some(chunk) => chunk.base,
                None => self.total().unwrap_or(0),
            },
            Plan::Stream(_) => 0,
        }
    }
}

/// Access to the first records.
pub(crate) enum Head<'a> {
    Stream(Option<&'a mut Feed>),
    Chunk(Part),
}

/// Reads chunks by number, from any thread.
#[derive(Clone)]
pub(crate) struct ChunkReader(Zstf);

impl ChunkReader {
    pub(crate) fn part(&self, n: usize) -> Result<Part> {
        self.0.part(n)
    }
}

impl Zstf {
    fn part(&self, n: usize) -> Result<Part> {
        let chunk = self.chunks[n];
        let (feed, decoder) = match self.decode(&chunk) {
            Some((feed, decoder)) => (feed, Some(decoder)),
            // Large, damaged, or of another length than the index says: as a stream, as far as it can be read.
            None => {
                let bytes = self.bytes.clone();
                (decompress(Slice { bytes, at: chunk.offset as usize, end: chunk.end as usize })?, None)
            }
        };
        Ok(Part {
            feed,
            base: chunk.base,
            // The first entry has no address; FORCE_PC in the header does.
            start_pc: (n > 0).then_some(chunk.start_pc),
            chunk: Some((chunk, self.index_at + 8 + ENTRY * n as u64)),
            decoder: decoder.map(|decoder| (self.spare.clone(), decoder)),
        })
    }

    /// Decompresses a chunk of ordinary size at once.
    fn decode(&self, chunk: &Chunk) -> Option<(Feed, Box<Decoder>)> {
        let size = usize::try_from(chunk.size).ok().filter(|&size| size <= AT_ONCE)?;
        let frame = (*self.bytes).as_ref().get(chunk.offset as usize..chunk.end as usize)?;
        let mut decoder = match self.spare.take() {
            Some(decoder) => decoder,
            None => Box::new(Decoder { zstd: zstd::bulk::Decompressor::new().ok()?, buffer: Vec::new() }),
        };
        let mut buffer = std::mem::take(&mut decoder.buffer);
        buffer.clear();
        buffer.reserve(size);
        decoder.zstd.decompress_to_buffer(frame, &mut buffer).ok()?;
        Some((Feed::from_buffer(buffer), decoder))
    }
}

fn read_header(bytes: &[u8]) -> Result<(u64, u64)> {
    let mut cursor = Bytes::new(bytes);
    let fields = (|| Ok((cursor.u32()?, cursor.u64()?, cursor.u64()?)))();
    match fields {
        Ok((_, per_chunk, index_at)) => Ok((per_chunk, index_at)),
        Err(kind) => Err(ErrorKind::at(kind, bytes.len() as u64, "ZSTF header", "", "ZSTF").in_container()),
    }
}

/// The error of a file whose index was never written.
fn unfinished(index_at: u64) -> Option<Error> {
    (index_at == 0).then(|| ErrorKind::Missing.at(12, "ZSTF header", "index offset", "ZSTF").in_container())
}

/// Reads the index; every number in it is validated before use.
fn read_index(all: &[u8], index_at: u64) -> Result<Vec<Chunk>> {
    if let Some(error) = unfinished(index_at) {
        return Err(error);
    }
    let impossible = |found, at, field| {
        Err(ErrorKind::Impossible { found }.at(at, "ZSTF index", field, "ZSTF").in_container())
    };
    let len = all.len() as u64;
    if index_at < HEADER || index_at.checked_add(8).is_none_or(|end| end > len) {
        return Err(ErrorKind::Impossible { found: index_at }
            .at(12, "ZSTF header", "index offset", "ZSTF")
            .in_container());
    }
    let word = |at: u64| u64::from_le_bytes(all[at as usize..][..8].try_into().unwrap_or_default());
    let count = word(index_at);
    // Only an empty file has an empty index.
    if count > (len - index_at - 8) / ENTRY || (count == 0) != (index_at == HEADER) {
        return impossible(count, index_at, "chunk count");
    }
    let mut chunks: Vec<Chunk> = Vec::with_capacity(count as usize);
    let mut base = 0u64;
    for n in 0..count {
        let at = index_at + 8 + ENTRY * n;
        let (offset, start_pc, size) = (word(at), word(at + 8), word(at + 16));
        let lowest = chunks.last().map_or(HEADER, |chunk| chunk.offset + 1);
        if offset < lowest || offset >= index_at {
            return impossible(offset, at, "chunk offset");
        }
        if let Some(before) = chunks.last_mut() {
            before.end = offset;
        }
        chunks.push(Chunk { offset, end: index_at, start_pc, size, base });
        base = match base.checked_add(size) {
            Some(base) => base,
            None => return impossible(size, at + 16, "uncompressed size"),
        };
    }
    Ok(chunks)
}

/// End of the frames in a file whose index cannot be used.
fn frames_end(all: &[u8]) -> usize {
    let mut at = HEADER as usize;
    while let Some(rest) = all.get(at..).filter(|rest| rest.starts_with(ZSTD_MAGIC)) {
        match zstd::zstd_safe::find_frame_compressed_size(rest) {
            Ok(size) if size > 0 => at += size,
            // A truncated or damaged frame: the start of it is still readable.
            _ => return all.len(),
        }
    }
    at
}

fn decompress(frames: impl BufRead + Send + 'static) -> Result<Feed> {
    let mut decoder = zstd::stream::read::Decoder::with_buffer(frames)?;
    // 128 MiB, zstd's own limit for untrusted frames; chunks need 2 MiB.
    decoder.window_log_max(27)?;
    Ok(Feed::new(Input::Stream(Box::new(decoder))))
}

/// A range of shared bytes, as a reader.
struct Slice {
    bytes: SharedBytes,
    at: usize,
    end: usize,
}

impl BufRead for Slice {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        Ok((*self.bytes).as_ref().get(self.at..self.end).unwrap_or_default())
    }
    fn consume(&mut self, n: usize) {
        self.at = (self.at + n).min(self.end);
    }
}

impl Read for Slice {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let n = self.fill_buf()?.read(out)?;
        self.consume(n);
        Ok(n)
    }
}
