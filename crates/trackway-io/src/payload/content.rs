//! The content of an input: raw bytes, or a raw prefix and a payload that is decompressed.
//!
//! Offsets are those of the content: the prefix, and the decompressed bytes after it.

use std::fmt;
use std::io::{self, BufRead, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use trackway_core::{ErrorKind, Feed, Input, Result, SharedBytes, SharedRange};

use super::compression::Family;
use super::decode::Decoder;
use super::lookahead::Lookahead;
use super::xz_blocks::{BlockDecoder, BlockReader, BlockStream};
use super::xz_index::{Block, Index};

/// A compressed payload after a raw prefix.
pub struct Payload(Bytes);

enum Bytes {
    /// The prefix is `bytes[..prefix]`.
    Whole { bytes: SharedBytes, prefix: usize },
    /// The prefix has been read.
    Stream { prefix: Vec<u8>, stream: Box<dyn BufRead + Send> },
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Payload")
    }
}

/// How a payload is read.
#[derive(Clone, Copy, Debug)]
pub struct ContentOptions {
    /// The algorithm that its streams have.
    pub family: Family,
    /// Bytes of an item: only blocks that begin with an item can be entered.
    pub unit: usize,
    /// Content bytes that are available at once after opening, if there are as many.
    pub ahead: usize,
    /// Threads that decode .xz blocks.
    pub threads: usize,
}

impl Payload {
    /// The payload of a file in memory, after `prefix` raw bytes.
    pub fn of_file(bytes: SharedBytes, prefix: usize) -> Self {
        Payload(Bytes::Whole { bytes, prefix })
    }

    /// The payload of a stream whose first bytes, the `prefix`, have been read. [`start`](Payload::start) then has at
    /// least `least` bytes, or all.
    pub fn of_stream(prefix: Vec<u8>, stream: Box<dyn Read + Send>, least: usize) -> Self {
        Payload(Bytes::Stream { prefix, stream: Box::new(Lookahead::new(stream, least)) })
    }

    /// Its first bytes.
    pub fn start(&mut self) -> io::Result<&[u8]> {
        match &mut self.0 {
            Bytes::Whole { bytes, prefix } => Ok(&(**bytes).as_ref()[*prefix..]),
            Bytes::Stream { stream, .. } => stream.fill_buf(),
        }
    }

    /// Its content, the prefix included.
    pub fn content(self, options: ContentOptions) -> Content {
        let ContentOptions { family, threads, .. } = options;
        match self.0 {
            Bytes::Whole { bytes, prefix } => Content::of_whole(bytes, prefix, options),
            Bytes::Stream { prefix, stream } => {
                let used = Arc::new(AtomicU64::new(prefix.len() as u64));
                let decoder = Decoder::new(stream, family, threads, used.clone());
                let input = Input::Stream(Box::new(Cursor::new(prefix).chain(decoder)));
                Content { used: Some(used), ..Content::raw(input) }
            }
        }
    }
}

/// A window over the content, as [`Feed`] is one over an input; it can also skip to a block where there is an index.
pub struct Content {
    feed: Feed,
    /// Content offset of the first byte of the feed: not 0 after a seek.
    base: u64,
    /// Blocks that follow the feed.
    blocks: Option<BlockDecoder>,
    xz: Option<IndexedXz>,
    /// Bytes of the input used, where that is not the position in the content.
    used: Option<Arc<AtomicU64>>,
    /// Bytes of the input, where known.
    size: Option<u64>,
}

/// An .xz payload whose index is known.
struct IndexedXz {
    index: Index,
    bytes: SharedBytes,
    /// Bytes before the payload.
    prefix: usize,
    unit: u64,
    threads: usize,
}

impl IndexedXz {
    /// Decodes blocks on threads, from number `first` on.
    fn blocks(&self, first: usize) -> Option<BlockDecoder> {
        BlockDecoder::new((&self.bytes, self.prefix), &self.index, first, (self.unit, self.threads))
    }

    /// Decodes them one after the other.
    fn stream(&self, first: usize, used: Arc<AtomicU64>) -> BlockStream {
        BlockStream::new((&self.bytes, self.prefix), &self.index, first, used)
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Content").field("feed", &self.feed).field("base", &self.base).finish_non_exhaustive()
    }
}

impl Content {
    /// An input that is not compressed.
    pub fn raw(input: Input) -> Self {
        let size = match &input {
            Input::Whole(bytes) => Some((**bytes).as_ref().len() as u64),
            Input::Stream(_) => None,
        };
        Content { feed: Feed::new(input), base: 0, blocks: None, xz: None, used: None, size }
    }

    fn of_whole(bytes: SharedBytes, prefix: usize, options: ContentOptions) -> Self {
        let ContentOptions { family, unit, ahead, threads } = options;
        let all = (*bytes).as_ref();
        let (mut start, end) = (all[..prefix].to_vec(), all.len());
        let index = if family == Family::Lzma { Index::read(&all[prefix..]) } else { None };
        let xz =
            index.map(|index| IndexedXz { index, bytes: bytes.clone(), prefix, unit: unit as u64, threads });
        let mut blocks = xz.as_ref().and_then(|xz| xz.blocks(0));
        let used = Arc::new(AtomicU64::new(prefix as u64));
        let feed = if let Some(blocks) = &mut blocks {
            // Damage is reported when the content is read up to it.
            let mut block = Vec::new();
            while start.len() < ahead
                && let Ok(Some(next)) = blocks.next(block)
            {
                start.extend_from_slice(&next);
                block = next;
            }
            Feed::from_buffer(start)
        } else {
            let rest: Box<dyn Read + Send> = match &xz {
                // liblzma's threads can do with larger blocks.
                Some(xz) if threads < 2 => Box::new(xz.stream(0, used.clone())),
                _ => Box::new(Decoder::new(
                    SharedRange::new(bytes, prefix..end),
                    family,
                    threads,
                    used.clone(),
                )),
            };
            Feed::new(Input::Stream(Box::new(Cursor::new(start).chain(rest))))
        };
        Content { feed, base: 0, blocks, xz, used: Some(used), size: Some(end as u64) }
    }

    /// The bytes available.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        self.feed.bytes()
    }

    /// Steps over `n` bytes of those available.
    #[inline]
    pub fn consume(&mut self, n: usize) {
        self.feed.consume(n);
    }

    /// Offset of the first of them.
    #[inline]
    pub fn offset(&self) -> u64 {
        self.base + self.feed.offset()
    }

    /// True if all that is left is available.
    pub fn is_whole(&self) -> bool {
        self.feed.is_whole()
    }

    /// Bytes of the input used so far.
    pub fn position(&self) -> u64 {
        self.used.as_ref().map_or_else(|| self.offset(), |used| used.load(Ordering::Relaxed))
    }

    /// Bytes of the input, where known.
    pub fn size(&self) -> Option<u64> {
        self.size
    }

    /// Blocks that can be sought and decoded on their own; 1 where there is no index.
    pub fn block_count(&self) -> usize {
        self.xz.as_ref().map_or(1, |xz| xz.index.blocks.len())
    }

    /// Bytes of the content, where any place in it can be entered without reading all that is before: it is in memory, or
    /// has several blocks that begin with an item.
    pub fn seekable_len(&self) -> Option<u64> {
        match &self.xz {
            None => self.size.filter(|_| self.feed.is_whole()),
            Some(xz) => {
                let blocks = &xz.index.blocks;
                let begins_with_item = |block: &Block| block.start.is_multiple_of(xz.unit);
                (blocks.len() > 1 && blocks.iter().all(begins_with_item))
                    .then_some(xz.prefix as u64 + xz.index.len)
            }
        }
    }

    /// Reads or decodes more; false at the end.
    pub fn more(&mut self) -> Result<bool> {
        let Some(blocks) = &mut self.blocks else { return self.feed.more() };
        let offset = self.base + self.feed.offset();
        // Blocks begin with an item: bytes are left over only after the last one.
        let left_over = !self.feed.bytes().is_empty();
        let spent = if left_over { Vec::new() } else { self.feed.take_buffer() };
        let damage = |_| ErrorKind::Compression.at(offset, "compressed stream", "", "");
        let Some(block) = blocks.next(spent).map_err(damage)? else { return Ok(false) };
        (self.feed, self.base) = (Feed::from_buffer(block), offset);
        if let (Some(xz), Some(used)) = (&self.xz, &self.used) {
            let block = xz.index.blocks[xz.index.block_of(offset - xz.prefix as u64)];
            used.store(xz.prefix as u64 + block.end, Ordering::Relaxed);
        }
        Ok(true)
    }

    /// The content from here on.
    pub fn into_input(self) -> Input {
        match self.blocks {
            None => self.feed.into_input(),
            Some(blocks) => {
                let current = Cursor::new(self.feed.bytes().to_vec());
                Input::Stream(Box::new(BlockReader { blocks, current }))
            }
        }
    }

    /// Enters the block that holds the content offset `wanted`, if that is ahead.
    pub fn skip_to_block_of(&mut self, wanted: u64) {
        let Some(xz) = &self.xz else { return };
        let Some(at) = wanted.checked_sub(xz.prefix as u64) else { return };
        let number = xz.index.block_of(at.min(xz.index.len.saturating_sub(1)));
        let start = xz.index.blocks[number].start + xz.prefix as u64;
        if start > self.offset() + self.feed.bytes().len() as u64 {
            self.enter(number);
        }
    }

    /// After damage: enters the next block. Returns the content bytes skipped, or `None` where there is no such block.
    pub fn skip_to_next_block(&mut self) -> Option<u64> {
        let xz = self.xz.as_ref()?;
        let from = self.offset();
        let at = from.saturating_sub(xz.prefix as u64);
        let number = xz.index.blocks.partition_point(|block| block.start <= at);
        self.enter(number).then(|| self.offset() - from)
    }

    /// Continues at the start of a block; false where there is none, or it does not begin with an item.
    fn enter(&mut self, number: usize) -> bool {
        let Some(xz) = &self.xz else { return false };
        let begins_with_item = |block: &&Block| block.start.is_multiple_of(xz.unit);
        let Some(block) = xz.index.blocks.get(number).filter(begins_with_item) else { return false };
        let prefix = xz.prefix as u64;
        let used = Arc::new(AtomicU64::new(prefix + block.at));
        self.base = prefix + block.start;
        self.blocks = xz.blocks(number);
        self.feed = if self.blocks.is_some() {
            Feed::from_buffer(Vec::new())
        } else {
            Feed::new(Input::Stream(Box::new(xz.stream(number, used.clone()))))
        };
        self.used = Some(used);
        true
    }
}
