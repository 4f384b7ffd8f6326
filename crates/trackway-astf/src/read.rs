//! Bytes to records.

use std::fmt;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use trackway_core::{Error, ErrorKind, Feed, FormatId, Input, Isa, Meta, Result, SharedBytes};

use crate::blocks::{Blocks, Stream};
use crate::config::{Config, Storage};
use crate::layout::{Words, from_bytes};
use crate::lift::Lift;
use crate::pipe::Pipe;
use crate::record::{Header, Record, StringContinuation, StringRecord};
use crate::storage::{Decoder, SharedCursor, sniff};
use crate::text::Text;
use crate::xz::{Block, Index, STREAM_HEADER};

/// Bytes of a record.
pub const RECORD: usize = 32;

/// Bytes in which text directly behind the Header is found: as many as a stream is read by.
const LEADING: usize = 1 << 20;

/// Offset of the first record in the decompressed stream, and whole records as they lie in memory.
pub type Chunk<'a> = (u64, &'a [[u8; RECORD]]);

/// An ASTF trace, opened.
///
/// ```
/// use trackway_astf::{Config, Storage, Trace};
/// use trackway_core::{Batch, Input, Source};
///
/// let bytes = trackway_astf::example(Storage::Zlib);
/// let trace = Trace::open(Input::from_vec(bytes), Config::default())?;
/// assert_eq!((trace.header.version_minor, trace.storage), (11, Storage::Zlib));
///
/// let (mut source, mut batch) = (trace.source(), Batch::default());
/// let mut instructions = 0;
/// while source.fill(&mut batch)? {
///     instructions += batch.instructions();
/// }
/// assert_eq!(instructions, 11);
/// # Ok::<(), trackway_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Trace {
    /// The first record.
    pub header: Header,
    /// How the others are stored.
    pub storage: Storage,
    /// What the trace says about itself: the Header, and the text that stands directly behind it.
    pub meta: Meta,
    /// Blocks that can be sought and decoded on their own; 1 where the storage has none.
    pub blocks: usize,
    records: Records,
    /// Records that `meta` was made of.
    leading: usize,
    config: Config,
}

impl Trace {
    /// Opens a trace: reads its Header and recognises its storage.
    pub fn open(input: Input, config: Config) -> Result<Self> {
        let mut start = [0; RECORD];
        let have = match &input {
            Input::Whole(bytes) => {
                let bytes = (**bytes).as_ref();
                let have = bytes.len().min(RECORD);
                start[..have].copy_from_slice(&bytes[..have]);
                have
            }
            Input::Stream(_) => 0,
        };
        match input {
            Input::Whole(bytes) => Self::open_whole(read_header(&start, have)?, bytes, config),
            Input::Stream(mut stream) => {
                let have = read_start(&mut stream, &mut start)?;
                Self::open_stream(read_header(&start, have)?, &start, stream, config)
            }
        }
    }

    fn open_whole(header: Header, bytes: SharedBytes, config: Config) -> Result<Self> {
        let all = (*bytes).as_ref();
        if !header.compressed {
            let size = Some(all.len() as u64);
            let records = Records { size, ..Records::new(Feed::new(Input::Whole(bytes))) };
            return Ok(Trace::new(header, Storage::Raw, records, config));
        }
        let storage = sniff(&all[RECORD..], header.use_zlib)?;
        let doubtful = begins_with_record(&all[RECORD..]);
        let index = if storage == Storage::Xz { Index::read(&all[RECORD..]) } else { None };
        let mut start = all[..RECORD].to_vec();
        let used = Arc::new(AtomicU64::new(RECORD as u64));
        let mut blocks = index.as_ref().and_then(|index| Blocks::new(&bytes, index, 0, config.jobs));
        let feed = if let Some(blocks) = &mut blocks {
            // The text behind the Header is looked for in what is at hand. What is wrong comes again.
            let mut block = Vec::new();
            while start.len() < LEADING
                && let Ok(Some(next)) = blocks.next(block)
            {
                start.extend_from_slice(&next);
                block = next;
            }
            Feed::from_buffer(start)
        } else {
            let cursor = SharedCursor { end: all.len(), bytes: bytes.clone(), at: RECORD };
            let decoder = Decoder::new(cursor, header.use_zlib, config.jobs, used.clone());
            Feed::new(Input::Stream(Box::new(std::io::Cursor::new(start).chain(decoder))))
        };
        let mut records = Records { blocks, ..Records::new(feed) };
        records.used = Some(used);
        records.doubtful = doubtful;
        records.size = Some((*bytes).as_ref().len() as u64);
        records.xz = index.map(|index| Xz { index, bytes, jobs: config.jobs });
        Ok(Trace::new(header, storage, records, config))
    }

    fn open_stream(
        header: Header,
        start: &[u8; RECORD],
        stream: Box<dyn Read + Send>,
        config: Config,
    ) -> Result<Self> {
        let head = std::io::Cursor::new(*start);
        if !header.compressed {
            let feed = Feed::new(Input::Stream(Box::new(head.chain(stream))));
            return Ok(Trace::new(header, Storage::Raw, Records::new(feed), config));
        }
        let mut stream = Pipe::new(stream);
        let start_of_payload = std::io::BufRead::fill_buf(&mut stream)?;
        let storage = sniff(start_of_payload, header.use_zlib)?;
        let doubtful = begins_with_record(start_of_payload);
        let used = Arc::new(AtomicU64::new(RECORD as u64));
        let decoder = Decoder::new(stream, header.use_zlib, config.jobs, used.clone());
        let mut records = Records::new(Feed::new(Input::Stream(Box::new(head.chain(decoder)))));
        records.used = Some(used);
        records.doubtful = doubtful;
        Ok(Trace::new(header, storage, records, config))
    }

    fn new(header: Header, storage: Storage, mut records: Records, config: Config) -> Self {
        let blocks = records.xz.as_ref().map_or(1, |xz| xz.index.blocks.len());
        let mut meta = Meta::new(FormatId::Astf, Isa::A64);
        meta.version = format!("{}.{}", header.version_major, header.version_minor);
        meta.level = Some(header.level().name().to_string());
        meta.timestamps = header.timestamps;
        let flags = [(header.single_el, "single_el"), (header.timestamps, "timestamps")];
        meta.features = flags.iter().filter(|flag| flag.0).map(|flag| flag.1.to_string()).collect();
        let mut leading = 0;
        // What is wrong behind the Header is for the one who reads on.
        if let Ok(Some((_, chunk))) = records.chunk() {
            leading = 1;
            // As much as is at hand of any input, so that the same text is found in all.
            let chunk = &chunk[..chunk.len().min(LEADING / RECORD)];
            while let Some((text, used)) = read_text(&chunk[leading..]) {
                meta.comments.push(text);
                leading += used;
            }
        }
        Trace { header, storage, meta, blocks, records, leading, config }
    }

    /// Records, from the Header on.
    pub fn records(self) -> Records {
        self.records
    }

    /// Events. The text directly behind the Header is in `meta` and not repeated.
    pub fn source(self) -> Lift {
        Lift::new(self.meta, self.header.level(), self.records, self.leading, self.config.jobs)
    }

    /// Records as text.
    pub fn items(self) -> Text {
        Text::new(self.records, self.storage)
    }

    /// What is wrong with it.
    pub fn check(self) -> crate::check::Check {
        crate::check::Check::new(self.records, self.config)
    }
}

/// What cannot be decoded is missing from the first record that is not whole.
#[cold]
fn placed(error: Error, at: u64, doubtful: bool) -> Error {
    if doubtful && at == RECORD as u64 && error.kind == ErrorKind::Compression {
        return ErrorKind::Impossible { found: 1 }.at(8, "Header", "compressed", "ASTF 4.2.1");
    }
    Error { offset: at, ..error }
}

/// Does a payload that the Header calls compressed begin with a record? If it does not decode either, it is not
/// damaged: the promise of the Header is broken.
fn begins_with_record(start: &[u8]) -> bool {
    start.first_chunk().is_some_and(|first| {
        let record = Record::read(&from_bytes(first));
        let mut plain = !matches!(record, Record::Unknown(_) | Record::StringContinuation(_));
        record.fields(&mut |field, _| plain &= !field.reserved);
        plain
    })
}

/// The text of the string that begins a chunk, and its number of records.
fn read_text(chunk: &[[u8; RECORD]]) -> Option<(String, usize)> {
    let first = chunk.first().filter(|record| record[0] == StringRecord::ID)?;
    let first = StringRecord::read(&from_bytes(first));
    let size = usize::from(first.size);
    let used = 1 + size.saturating_sub(28).div_ceil(31);
    let mut bytes = first.string.to_vec();
    for record in chunk.get(1..used)? {
        if record[0] != StringContinuation::ID {
            return None;
        }
        bytes.extend_from_slice(&record[1..]);
    }
    bytes.truncate(size);
    Some((String::from_utf8(bytes).ok()?, used))
}

/// Reads up to 32 bytes.
fn read_start(stream: &mut dyn Read, start: &mut [u8; RECORD]) -> Result<usize> {
    let mut have = 0;
    while have < RECORD {
        match stream.read(&mut start[have..]) {
            Ok(0) => break,
            Ok(n) => have += n,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(have)
}

fn read_header(start: &[u8; RECORD], have: usize) -> Result<Header> {
    let at = |kind: ErrorKind, field| kind.at(0, "Header", field, "ASTF 4.2");
    let magic = &start[..have.min(4)];
    if magic != &b"ASTF"[..magic.len()] {
        return Err(at(ErrorKind::Illegal { found: from_bytes(start)[0] & 0xffff_ffff }, "magic_header"));
    }
    if have < RECORD {
        return Err(at(ErrorKind::Truncated, ""));
    }
    Ok(Header::read(&from_bytes(start)))
}

/// What a seek in an .xz payload needs.
struct Xz {
    index: Index,
    bytes: SharedBytes,
    jobs: usize,
}

/// The records of a trace: whole chunks of them for a fast scan, or one by one.
///
/// ```
/// use trackway_astf::{Config, Instruction, Storage, Trace};
/// use trackway_core::Input;
///
/// // Count instructions and sum their addresses, straight off the bytes.
/// let bytes = trackway_astf::example(Storage::Raw);
/// let mut records = Trace::open(Input::from_vec(bytes), Config::default())?.records();
/// let (mut count, mut sum) = (0, 0u64);
/// while let Some((_, chunk)) = records.chunk()? {
///     for record in chunk {
///         if record[0] == Instruction::ID {
///             count += 1;
///             sum = sum.wrapping_add(Instruction::read(&trackway_astf::from_bytes(record)).pc);
///         }
///     }
///     let n = chunk.len();
///     records.consume(n);
/// }
/// assert_eq!(count, 11);
/// # let _ = sum;
/// # Ok::<(), trackway_core::Error>(())
/// ```
pub struct Records {
    feed: Feed,
    /// Content offset of the first byte of the feed: not 0 after a seek.
    base: u64,
    /// Blocks that come behind the feed.
    blocks: Option<Blocks>,
    xz: Option<Xz>,
    /// Bytes of the file used, where that is not the position in the content.
    used: Option<Arc<AtomicU64>>,
    /// Bytes of the file, where known.
    size: Option<u64>,
    /// Is it compressed at all?
    doubtful: bool,
}

impl fmt::Debug for Records {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Records").field("feed", &self.feed).field("base", &self.base).finish_non_exhaustive()
    }
}

impl Records {
    fn new(feed: Feed) -> Self {
        Records { feed, base: 0, blocks: None, xz: None, used: None, size: None, doubtful: false }
    }

    /// The whole records at hand and the offset of the first; `None` at the end. Input that ends inside a
    /// record is [`ErrorKind::Truncated`] at the end of the last whole one.
    #[inline]
    pub fn chunk(&mut self) -> Result<Option<Chunk<'_>>> {
        while self.feed.bytes().len() < RECORD {
            let (at, doubtful) = (self.offset(), self.doubtful);
            if !self.more().map_err(|error| placed(error, at, doubtful))? {
                return match self.feed.bytes().len() {
                    0 => Ok(None),
                    _ => Err(ErrorKind::Truncated.at(self.offset(), "record", "", "ASTF 4")),
                };
            }
        }
        Ok(Some((self.base + self.feed.offset(), self.feed.bytes().as_chunks().0)))
    }

    /// Reads or decodes more; false at the end.
    fn more(&mut self) -> Result<bool> {
        let Some(blocks) = &mut self.blocks else { return self.feed.more() };
        let offset = self.base + self.feed.offset();
        // Blocks begin with a record: there is a rest only where the last one ends inside of one.
        let rest = !self.feed.bytes().is_empty();
        let spent = if rest { Vec::new() } else { self.feed.take_buffer() };
        let damage = |_| ErrorKind::Compression.at(offset, "compressed stream", "", "");
        let Some(block) = blocks.next(spent).map_err(damage)? else { return Ok(false) };
        (self.feed, self.base) = (Feed::from_buffer(block), offset);
        if let (Some(xz), Some(used)) = (&self.xz, &self.used) {
            let block = xz.index.blocks[xz.index.block_of(offset - RECORD as u64)];
            used.store(RECORD as u64 + block.end, Ordering::Relaxed);
        }
        Ok(true)
    }

    /// All records that are left, where they are in memory as they are; none where they are read or decoded.
    pub(crate) fn at_hand(&self) -> &[[u8; RECORD]] {
        if self.feed.is_whole() { self.feed.bytes().as_chunks().0 } else { &[] }
    }

    /// Steps over `n` records of the chunk at hand.
    #[inline]
    pub fn consume(&mut self, n: usize) {
        self.feed.consume(n * RECORD);
    }

    /// The next record and its offset; `None` at the end.
    pub fn next_record(&mut self) -> Result<Option<(u64, Record)>> {
        Ok(self.next_words()?.map(|(offset, words)| (offset, Record::read(&words))))
    }

    pub(crate) fn next_words(&mut self) -> Result<Option<(u64, Words)>> {
        let Some((offset, chunk)) = self.chunk()? else { return Ok(None) };
        let words = from_bytes(&chunk[0]);
        self.consume(1);
        Ok(Some((offset, words)))
    }

    /// The decompressed stream from here on.
    pub fn into_input(self) -> Input {
        match self.blocks {
            None => self.feed.into_input(),
            Some(blocks) => {
                let at_hand = std::io::Cursor::new(self.feed.bytes().to_vec());
                Input::Stream(Box::new(Stream { blocks, at_hand }))
            }
        }
    }

    /// Offset of the next record in the decompressed stream.
    pub fn offset(&self) -> u64 {
        self.base + self.feed.offset()
    }

    /// Bytes of the file used so far.
    pub fn position(&self) -> u64 {
        self.used.as_ref().map_or_else(|| self.offset(), |used| used.load(Ordering::Relaxed))
    }

    /// Bytes of the file, where they are all at hand.
    pub fn size(&self) -> Option<u64> {
        self.size
    }

    /// Goes forward to record `number` (the Header is 0), jumping over whole blocks where the storage has
    /// an index. Gives the number that comes next: less than asked for where the trace ends before.
    pub fn seek(&mut self, number: u64) -> Result<u64> {
        let wanted = number.saturating_mul(RECORD as u64);
        self.jump(wanted);
        while self.offset() < wanted {
            let missing = (wanted - self.offset()) / RECORD as u64;
            match self.chunk()? {
                None => break,
                Some((_, chunk)) => {
                    let n = (chunk.len() as u64).min(missing) as usize;
                    self.consume(n);
                }
            }
        }
        Ok(self.offset() / RECORD as u64)
    }

    /// After an error: enters the next block that can be decoded on its own. Gives the bytes skipped, or
    /// `None` where there is no such block.
    pub fn resync(&mut self) -> Option<u64> {
        let from = self.offset();
        let content = from.saturating_sub(RECORD as u64);
        let number = self.xz.as_ref()?.index.blocks.partition_point(|block| block.start <= content);
        self.enter(number).then(|| self.offset() - from)
    }

    /// Enters the block that holds content offset `wanted`, if that is ahead.
    fn jump(&mut self, wanted: u64) {
        let (Some(xz), Some(at)) = (&self.xz, wanted.checked_sub(RECORD as u64)) else { return };
        let number = xz.index.block_of(at.min(xz.index.len.saturating_sub(1)));
        let start = xz.index.blocks[number].start + RECORD as u64;
        if start > self.offset() + self.feed.bytes().len() as u64 {
            self.enter(number);
        }
    }

    /// Goes on at the start of a block; false where there is none, or that is not the start of a record.
    fn enter(&mut self, number: usize) -> bool {
        let Some(xz) = &self.xz else { return false };
        let aligned = |block: &&Block| block.start.is_multiple_of(RECORD as u64);
        let Some(block) = xz.index.blocks.get(number).filter(aligned) else { return false };
        let used = Arc::new(AtomicU64::new(RECORD as u64 + block.at));
        self.base = block.start + RECORD as u64;
        self.blocks = Blocks::new(&xz.bytes, &xz.index, number, xz.jobs);
        self.feed = if self.blocks.is_some() {
            Feed::from_buffer(Vec::new())
        } else {
            let head = (*xz.bytes).as_ref()[RECORD..RECORD + STREAM_HEADER].to_vec();
            let cursor = SharedCursor {
                bytes: xz.bytes.clone(),
                at: RECORD + block.at as usize,
                end: RECORD + xz.index.end as usize,
            };
            let left = xz.index.len - block.start;
            let head = std::io::Cursor::new(head);
            let decoder = Decoder::in_stream(head.chain(cursor), left, xz.jobs, used.clone());
            Feed::new(Input::Stream(Box::new(decoder)))
        };
        self.used = Some(used);
        true
    }
}
