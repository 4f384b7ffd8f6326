//! The file around the records: plain, or ZSTF with its chunks and index.
//!
//! Both are read as a list of [`Part`]s, each a stretch of records that can be read alone. A plain file is one part, a
//! ZSTF file has one part per chunk.

mod frame;
mod index;
mod pipe;

use std::collections::VecDeque;
use std::io::Read;
use std::sync::Arc;
use std::thread::JoinHandle;

use serde::{Deserialize, Serialize};
use trackway_core::{Error, ErrorKind, Feed, Input, Pool, Result, SharedBytes, SharedRange};

use self::frame::{AT_ONCE, Content};
pub(crate) use self::index::HEADER;
pub use self::index::{Chunk, Doubt};
use self::pipe::Pipe;
use crate::config::Container;

/// First bytes of the ZSTF container.
pub const ZSTF_MAGIC: &[u8; 4] = b"ZSTF";
/// First bytes of a plain file: the IDENTIFIER record.
pub const PLAIN_MAGIC: &[u8; 4] = b"\x01STF";

/// A stretch of records that can be read alone.
#[derive(Debug)]
pub struct Part {
    /// The decompressed records.
    pub feed: Feed,
    /// Offset of the first byte in the decompressed stream.
    pub base: u64,
    /// Address of the first instruction, if the index has it: a hint.
    pub start_pc: Option<u64>,
    /// Number of the chunk, and its offset in the file.
    chunk: Option<(u64, u64)>,
    /// Size that the index has.
    size: Option<u64>,
    damage: Option<Damage>,
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
    fn plain(feed: Feed) -> Self {
        Part { feed, base: 0, start_pc: None, chunk: None, size: None, damage: None, decoder: None }
    }

    /// Skips `n` bytes; false if it has fewer.
    fn skip(&mut self, mut n: u64) -> bool {
        loop {
            let here = n.min(self.feed.bytes().len() as u64);
            self.feed.consume(here as usize);
            n -= here;
            if n == 0 {
                return true;
            }
            if !self.feed.more().unwrap_or(false) {
                return false;
            }
        }
    }

    /// Unread bytes of the part: according to the index, or those in the buffer.
    pub(crate) fn left(&self) -> u64 {
        match self.size {
            Some(size) => size.saturating_sub(self.feed.offset()),
            None => self.feed.bytes().len() as u64,
        }
    }

    /// Does it end in damage?
    pub(crate) fn is_damaged(&self) -> bool {
        self.damage.is_some()
    }

    /// The error at the end of the part, where `error` is that of its records: damage ends it, and cuts its last record.
    pub(crate) fn end(&self, error: Option<Error>) -> Result<()> {
        match (error, self.damage) {
            (None, Some(damage)) => Err(self.error(damage)),
            (Some(error), Some(damage)) if error.is_truncated() => Err(self.error(damage)),
            (Some(error), None) if error.kind == ErrorKind::Compression => {
                let at = self.chunk.map_or(0, |chunk| chunk.1);
                Err(Error { offset: error.offset, ..self.error(Damage { at, cut: false }) })
            }
            (error, _) => error.map_or(Ok(()), Err),
        }
    }

    /// The error of a damaged chunk, at the end of the content.
    fn error(&self, damage: Damage) -> Error {
        let offset = self.base + self.feed.offset() + self.feed.bytes().len() as u64;
        let number = self.chunk.map_or(0, |chunk| chunk.0);
        let chunk = ErrorKind::Chunk { number, at: damage.at };
        let kind = if damage.cut { ErrorKind::Truncated } else { chunk };
        kind.at(offset, "ZSTF chunk", "", "ZSTF")
    }
}

/// Where the compressed content of a chunk ends too early.
#[derive(Clone, Copy, Debug)]
struct Damage {
    /// The place in the file.
    at: u64,
    /// The file ends here.
    cut: bool,
}

/// A mapped ZSTF file.
#[derive(Clone)]
struct Zstf {
    bytes: SharedBytes,
    per_chunk: u64,
    chunks: Arc<[Chunk]>,
    spare: Decoders,
}

/// A place in the records: where a reader can continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    /// Number of the next part.
    next: u64,
    /// Offset in the decompressed stream: of the part that is being read, or else of the next one.
    base: u64,
    /// Bytes read of the part before the next one, if it is being read.
    inside: Option<u64>,
}

enum Plan {
    /// One stream of records; `None` once taken.
    Plain(Option<Feed>),
    /// Chunks of a mapped file.
    Chunks(Zstf),
    /// Chunks of a stream. The first ones are read with the header and kept.
    Pipe(Pipe, VecDeque<Part>),
}

/// An opened file as a sequence of parts.
pub struct Parts {
    plan: Plan,
    next: usize,
    /// Offset of the next part in the decompressed stream.
    base: u64,
    /// Damage of the container that leaves its records readable; returned at the end.
    damage: Option<Error>,
    /// Contradictions of the index.
    doubts: Vec<Doubt>,
    /// The container that was recognised.
    pub container: Container,
    /// Length of a plain file.
    plain_len: Option<u64>,
    ahead: Ahead,
}

/// The chunk after the one that is being read, decompressed on a thread of its own meanwhile.
#[derive(Default)]
struct Ahead {
    is_allowed: bool,
    /// The chunk that a reader in order reads next: a single chunk is not worth a thread.
    expected: Option<usize>,
    /// The chunk that is being decompressed.
    chunk: Option<(usize, JoinHandle<Result<Part>>)>,
}

impl Ahead {
    /// A chunk, and the beginning of the one after it.
    fn part(&mut self, zstf: &Zstf, n: usize, base: u64) -> Result<Part> {
        let part = match self.chunk.take() {
            Some((at, thread)) if at == n => {
                let part = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                part.map(|mut part| {
                    part.base = base;
                    part
                })
            }
            _ => zstf.part(n, base),
        };
        let in_order = self.expected.replace(n + 1) == Some(n);
        if self.is_allowed && in_order && n + 1 < zstf.chunks.len() {
            let zstf = zstf.clone();
            self.chunk = Some((n + 1, std::thread::spawn(move || zstf.part(n + 1, 0))));
        }
        part
    }
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Parts({} of {})", self.next, self.len())
    }
}

impl Parts {
    fn new(plan: Plan, container: Container) -> Self {
        Parts {
            plan,
            next: 0,
            base: 0,
            damage: None,
            doubts: Vec::new(),
            container,
            plain_len: None,
            ahead: Ahead::default(),
        }
    }

    /// Opens the container.
    pub fn open(input: Input) -> Result<Self> {
        let mut feed = Feed::new(input);
        while feed.bytes().len() < HEADER as usize && feed.more()? {}
        if feed.bytes().get(..4) != Some(ZSTF_MAGIC) {
            let plain_len = feed.is_whole().then_some(feed.bytes().len() as u64);
            return Ok(Parts { plain_len, ..Parts::new(Plan::Plain(Some(feed)), Container::Plain) });
        }
        let (per_chunk, index_at) = index::read_header(feed.bytes())?;
        match feed.into_input() {
            Input::Whole(bytes) if (*bytes).as_ref().len() <= HEADER as usize => {
                Err(ErrorKind::Truncated.at(HEADER, "ZSTF chunk", "", "ZSTF").in_container())
            }
            Input::Whole(bytes) => {
                let found = index::read(&bytes, index_at);
                let (chunks, spare) = (found.chunks.into(), Arc::default());
                let zstf = Zstf { bytes, per_chunk, chunks, spare };
                let parts = Parts::new(Plan::Chunks(zstf), Container::Zstf);
                Ok(Parts { damage: found.damage, doubts: found.doubts, ..parts })
            }
            Input::Stream(mut stream) => {
                stream.read_exact(&mut [0; HEADER as usize])?;
                let mut pipe = Pipe::new(stream, index_at);
                let first = pipe.next_part(0)?;
                Ok(Parts::new(Plan::Pipe(pipe, first.into_iter().collect()), Container::Zstf))
            }
        }
    }

    /// Chunks may be decompressed on another thread while those before them are read.
    pub(crate) fn read_ahead(&mut self) {
        self.ahead.is_allowed = true;
    }

    /// Number of parts; of a stream, those read so far.
    pub fn len(&self) -> usize {
        match &self.plan {
            Plan::Plain(_) => 1,
            Plan::Chunks(zstf) => zstf.chunks.len(),
            Plan::Pipe(pipe, _) => pipe.count as usize,
        }
    }

    /// True if there are no parts.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True if no part is left. A stream may have none although it has not ended.
    pub(crate) fn is_done(&self) -> bool {
        match &self.plan {
            Plan::Plain(feed) => feed.is_none(),
            Plan::Chunks(zstf) => self.next >= zstf.chunks.len(),
            Plan::Pipe(pipe, kept) => kept.is_empty() && pipe.is_done(),
        }
    }

    /// Instructions per chunk, if the chunks are known.
    pub fn per_chunk(&self) -> Option<u64> {
        match &self.plan {
            Plan::Chunks(zstf) => Some(zstf.per_chunk),
            Plan::Plain(_) | Plan::Pipe(..) => None,
        }
    }

    /// Bytes of the decompressed stream, if known in advance.
    pub fn total(&self) -> Option<u64> {
        match &self.plan {
            Plan::Chunks(zstf) => {
                zstf.chunks.iter().try_fold(0u64, |sum, chunk| sum.checked_add(chunk.size?))
            }
            Plan::Plain(_) => self.plain_len,
            Plan::Pipe(..) => None,
        }
    }

    /// Contradictions of the index that were found so far.
    pub(crate) fn doubts(&self) -> &[Doubt] {
        match &self.plan {
            Plan::Pipe(pipe, _) if pipe.is_done() => &pipe.doubts,
            _ => &self.doubts,
        }
    }

    /// The first records, without consuming them.
    pub(crate) fn head(&mut self) -> Result<Head<'_>> {
        Ok(match &mut self.plan {
            Plan::Plain(feed) => feed.as_mut().map_or(Head::Nothing, |feed| Head::Stream(feed, false)),
            Plan::Chunks(zstf) if zstf.chunks.is_empty() => Head::Nothing,
            Plan::Chunks(zstf) => Head::Chunk(zstf.part(0, 0)?),
            Plan::Pipe(_, kept) => match kept.front_mut() {
                Some(part) => Head::Stream(&mut part.feed, part.damage.is_some()),
                None => Head::Nothing,
            },
        })
    }

    /// The records of the second chunk, if it is in memory as a whole.
    pub(crate) fn second(&mut self) -> Option<Vec<u8>> {
        let copy = |part: &Part| (!part.is_damaged()).then(|| part.feed.bytes().to_vec());
        match &mut self.plan {
            Plan::Plain(_) => None,
            Plan::Chunks(zstf) => {
                (zstf.chunks.len() > 1).then(|| zstf.part(1, 0).ok())?.as_ref().and_then(copy)
            }
            Plan::Pipe(pipe, kept) => {
                if kept.len() == 1 {
                    kept.extend(pipe.next_part(0).ok()?);
                }
                kept.get(1).and_then(copy)
            }
        }
    }

    /// The next part; `None` at the end. Damage of the container is returned last.
    pub(crate) fn next_part(&mut self) -> Result<Option<Part>> {
        let part = match &mut self.plan {
            Plan::Plain(feed) => feed.take().map(Part::plain),
            Plan::Chunks(zstf) if self.next < zstf.chunks.len() => {
                Some(self.ahead.part(zstf, self.next, self.base)?)
            }
            Plan::Chunks(_) => None,
            Plan::Pipe(pipe, kept) => match kept.pop_front() {
                Some(mut part) => {
                    part.base = self.base;
                    Some(part)
                }
                None => pipe.next_part(self.base)?,
            },
        };
        if part.is_some() {
            self.next += 1;
            return Ok(part);
        }
        self.damage.take().map_or(Ok(None), Err)
    }

    /// Ends a part: the next one begins after it. `complete` says that it was read to its end.
    pub(crate) fn end_part(&mut self, part: &Part, complete: bool) {
        let read = part.feed.offset();
        let size = part.size.filter(|_| !complete).unwrap_or(read).max(read);
        self.step_over(part.base, size, complete);
    }

    /// Ends a part of `size` bytes that another reader has read, too.
    pub(crate) fn step_over(&mut self, base: u64, size: u64, complete: bool) {
        self.base = base.saturating_add(size);
        if let Plan::Chunks(zstf) = &self.plan
            && let Some(found) = zstf.chunks.get(self.next.wrapping_sub(1)).and_then(|chunk| chunk.size)
            && complete
            && found != size
        {
            let offset = zstf.bytes.as_ref().as_ref().len() as u64
                - index::ENTRY * (zstf.chunks.len() + 1 - self.next) as u64
                + 16;
            self.doubts.push(Doubt { offset, field: "uncompressed size", found });
        }
    }

    /// The place of a reader with this part, unless the input is a stream.
    pub(crate) fn place(&self, part: Option<&Part>) -> Option<Place> {
        let enters = match &self.plan {
            Plan::Plain(_) => self.plain_len.is_some(),
            Plan::Chunks(_) => true,
            Plan::Pipe(..) => false,
        };
        let inside = part.map(|part| part.feed.offset());
        enters.then_some(Place { next: self.next as u64, base: self.base, inside })
    }

    /// Moves to a place and returns the part that is being read there; `None`, and nothing has changed, if there is no
    /// such place.
    pub(crate) fn enter(&mut self, place: &Place) -> Option<Option<Part>> {
        let (next, base) = (usize::try_from(place.next).ok()?, place.base);
        let is_in_file = |len: u64| base <= len && place.inside.is_none_or(|inside| inside <= len);
        // Room for the offsets of a part.
        if next > self.len() || base > u64::MAX / 2 || !self.plain_len.is_none_or(is_in_file) {
            return None;
        }
        let part = match (&mut self.plan, place.inside) {
            (Plan::Pipe(..), _) => return None,
            (Plan::Plain(_), _) if self.plain_len.is_none() => return None,
            (Plan::Plain(feed), Some(inside)) if next == 1 => {
                let mut part = Part::plain(feed.take()?);
                part.skip(inside);
                Some(part)
            }
            (Plan::Plain(feed), None) => {
                feed.take_if(|_| next == 1);
                None
            }
            (Plan::Chunks(zstf), Some(inside)) if next > 0 => {
                let mut part = zstf.part(next - 1, base).ok()?;
                if !part.skip(inside) {
                    return None;
                }
                Some(part)
            }
            (Plan::Chunks(_), None) => None,
            _ => return None,
        };
        (self.next, self.base) = (next, base);
        Some(part)
    }

    /// Moves to a chunk.
    pub(crate) fn seek(&mut self, chunk: usize) {
        let Plan::Chunks(zstf) = &self.plan else { return };
        self.next = chunk;
        self.base = zstf.chunks[..chunk].iter().map(|chunk| chunk.size.unwrap_or(0)).sum();
    }

    /// Access to the chunks from several threads, if more than one is left.
    pub(crate) fn chunks(&self) -> Option<ChunkReader> {
        match &self.plan {
            Plan::Chunks(zstf) if self.next + 1 < zstf.chunks.len() => Some(ChunkReader(zstf.clone())),
            _ => None,
        }
    }

    /// Number of the next chunk.
    pub(crate) fn next_chunk(&self) -> usize {
        self.next
    }

    /// Takes the next chunk, which another reader has read.
    pub(crate) fn skip_chunk(&mut self) {
        self.next += 1;
    }

    /// Offset of the next part in the decompressed stream.
    pub(crate) fn base(&self) -> u64 {
        self.base
    }
}

/// Access to the first records.
pub(crate) enum Head<'a> {
    Nothing,
    /// The feed that will be read again, and whether it ends in damage.
    Stream(&'a mut Feed, bool),
    /// A chunk, read once more.
    Chunk(Part),
}

/// Reads chunks by number, from any thread.
#[derive(Clone)]
pub(crate) struct ChunkReader(Zstf);

impl ChunkReader {
    pub(crate) fn part(&self, n: usize, base: u64) -> Result<Part> {
        self.0.part(n, base)
    }

    /// The chunks by the index.
    pub(crate) fn list(&self) -> &[Chunk] {
        &self.0.chunks
    }
}

impl Zstf {
    fn part(&self, n: usize, base: u64) -> Result<Part> {
        let chunk = self.chunks[n];
        let mut damage = None;
        let (feed, decoder) = match self.decode(&chunk) {
            Some((feed, decoder)) => (feed, Some(decoder)),
            // Large, damaged, or of another length than the index says: as far as it can be read.
            None => {
                let frames = (*self.bytes).as_ref().get(chunk.offset as usize..chunk.end as usize);
                let feed = match frame::decompress(frames.unwrap_or_default()) {
                    Content::Whole(bytes) => Feed::from_buffer(bytes),
                    Content::Large => {
                        let bytes = self.bytes.clone();
                        frame::stream(SharedRange::new(bytes, chunk.offset as usize..chunk.end as usize))?
                    }
                    Content::Part { bytes, at, cut } => {
                        damage = Some(Damage { at: chunk.offset + at as u64, cut });
                        Feed::from_buffer(bytes)
                    }
                };
                (feed, None)
            }
        };
        Ok(Part {
            feed,
            base,
            // The first entry has no address; FORCE_PC in the header does.
            start_pc: chunk.start_pc.filter(|_| n > 0),
            chunk: Some((n as u64, chunk.offset)),
            size: chunk.size,
            damage,
            decoder: decoder.map(|decoder| (self.spare.clone(), decoder)),
        })
    }

    /// Decompresses a chunk of ordinary size at once.
    fn decode(&self, chunk: &Chunk) -> Option<(Feed, Box<Decoder>)> {
        let size = usize::try_from(chunk.size?).ok().filter(|&size| size <= AT_ONCE)?;
        let place = chunk.offset as usize..chunk.end as usize;
        let frame = (*self.bytes).as_ref().get(place.clone())?;
        let mut decoder = match self.spare.take() {
            Some(decoder) => decoder,
            None => Box::new(Decoder { zstd: zstd::bulk::Decompressor::new().ok()?, buffer: Vec::new() }),
        };
        let mut buffer = std::mem::take(&mut decoder.buffer);
        buffer.clear();
        buffer.reserve(size);
        decoder.zstd.decompress_to_buffer(frame, &mut buffer).ok()?;
        self.bytes.release(place);
        Some((Feed::from_buffer(buffer), decoder))
    }
}
