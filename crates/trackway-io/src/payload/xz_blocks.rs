//! Blocks of an .xz stream: on several threads, each decoded into a buffer that the reader takes over, or one after the
//! other (docs/design/compression.md).

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

use crc32fast::Hasher;
use trackway_core::SharedBytes;

use super::decode::{Codec, Status};
use super::xz_index::{Block, CHECK_KIND, CRC32, Index, STREAM_HEADER};

/// Limit for the buffers of decoded blocks: sizes in an index are input. Where not even two threads fit, the decoder
/// without whole-block buffers does the work.
const MEMORY_LIMIT: u64 = 1 << 28;
/// Bytes decoded and checked in one step: they stay in the cache in between.
const PIECE: usize = 1 << 16;
/// Compressed bytes after which the memory of those read is released.
const RELEASE: usize = 2 << 20;
/// Buffers per lane: being filled, waiting, and held by the reader.
const BUFFERS: u64 = 3;

/// Decodes blocks ahead of their reader: one lane per thread; lane *i* of *n* decodes blocks *i*, *i + n*, *i + 2n*, …
pub(super) struct BlockDecoder {
    lanes: Vec<Lane>,
    /// Blocks delivered.
    next: usize,
    /// Blocks in all.
    count: usize,
    /// Sticky: no block is delivered after damage.
    failed: Option<io::ErrorKind>,
}

struct Lane {
    /// Decoded blocks; one waits here while the next is decoded.
    full: Option<Receiver<Decoded>>,
    /// Buffers to reuse.
    spent: Sender<Vec<u8>>,
    thread: Option<JoinHandle<()>>,
}

/// The content of a block up to the first damage, and the damage.
type Decoded = (Vec<u8>, Option<io::ErrorKind>);

impl BlockDecoder {
    /// Decodes the blocks of `file[from..]` from number `first` on. `None` where one thread does as well, a block does not
    /// begin with an item of `unit` bytes, or no thread can be started.
    pub(super) fn new(
        (file, from): (&SharedBytes, usize),
        index: &Index,
        first: usize,
        (unit, threads): (u64, usize),
    ) -> Option<Self> {
        let blocks = index.blocks.get(first..)?;
        let largest = blocks.iter().map(|block| block.len).max()?.max(1);
        let threads = threads.min(blocks.len()).min((MEMORY_LIMIT / BUFFERS / largest) as usize);
        if threads < 2 || !blocks.iter().all(|block| block.start.is_multiple_of(unit)) {
            return None;
        }
        let lane = |n: usize| {
            let (sender, full) = sync_channel(1);
            let (spent, buffers) = channel();
            let blocks: Vec<Block> = blocks.iter().skip(n).step_by(threads).copied().collect();
            let codec = BlockCodec::new(file.clone(), from, false);
            let work = move || decode_lane(codec, &blocks, &sender, &buffers);
            let thread = std::thread::Builder::new().spawn(work).ok()?;
            Some(Lane { full: Some(full), spent, thread: Some(thread) })
        };
        let lanes = (0..threads).map(lane).collect::<Option<Vec<Lane>>>()?;
        Some(BlockDecoder { lanes, next: 0, count: blocks.len(), failed: None })
    }

    /// The next block that is not empty; `None` at the end. The buffer of the previous one is returned as `spent`.
    pub(super) fn next(&mut self, mut spent: Vec<u8>) -> io::Result<Option<Vec<u8>>> {
        while self.failed.is_none() && self.next < self.count {
            let lanes = self.lanes.len();
            // Sending to a lane that has ended fails, and it needs no buffer.
            let _ = self.lanes[(self.next + lanes - 1) % lanes].spent.send(spent);
            let decoded = self.lanes[self.next % lanes].full.as_ref().and_then(|full| full.recv().ok());
            let (bytes, failed) = decoded.unwrap_or((Vec::new(), Some(io::ErrorKind::Other)));
            self.next += 1;
            self.failed = failed;
            // Content before the damage is delivered first.
            if !bytes.is_empty() {
                return Ok(Some(bytes));
            }
            spent = bytes;
        }
        self.failed.map_or(Ok(None), |kind| Err(kind.into()))
    }
}

impl Drop for BlockDecoder {
    fn drop(&mut self) {
        // A lane ends when its receiver is gone.
        self.lanes.iter_mut().for_each(|lane| lane.full = None);
        self.lanes.iter_mut().filter_map(|lane| lane.thread.take()).for_each(|thread| {
            let _ = thread.join();
        });
    }
}

/// Decodes the blocks of one lane.
fn decode_lane(
    mut codec: BlockCodec,
    blocks: &[Block],
    full: &SyncSender<Decoded>,
    buffers: &Receiver<Vec<u8>>,
) {
    for &block in blocks {
        let mut out = buffers.try_recv().unwrap_or_default();
        out.resize(block.len as usize, 0);
        codec.begin(block);
        let mut made = 0;
        let failed = loop {
            match codec.read(&mut out[made..]) {
                Ok(0) => break None,
                Ok(more) => made += more,
                Err(kind) => break Some(kind),
            }
        };
        out.truncate(made);
        if full.send((out, failed)).is_err() || failed.is_some() {
            return;
        }
    }
}

/// Decodes blocks of `file[from..]`. To the codec they are one stream, so it keeps its memory from block to block.
struct BlockCodec {
    file: SharedBytes,
    from: usize,
    codec: Result<Codec, io::ErrorKind>,
    /// liblzma's portable CRC32 takes as long as decoding, so it is computed here instead.
    compares: bool,
    /// Bytes of the stream header that the codec has read.
    header: usize,
    block: Block,
    /// Offset of the next byte of the block in the stream, and of the first whose memory is not released.
    at: usize,
    held: usize,
    /// Bytes of its content so far, and their checksum.
    made: u64,
    crc: Hasher,
    /// A block that does not end where the index says is read on, as liblzma does.
    overruns: bool,
}

impl BlockCodec {
    fn new(file: SharedBytes, from: usize, overruns: bool) -> Self {
        let compares = (*file).as_ref()[from + CHECK_KIND] == CRC32;
        let codec = Codec::xz(!compares).map_err(|error| error.kind());
        let block = Block { at: 0, end: 0, start: 0, len: 0 };
        BlockCodec {
            file,
            from,
            codec,
            compares,
            header: 0,
            block,
            at: 0,
            held: 0,
            made: 0,
            crc: Hasher::new(),
            overruns,
        }
    }

    /// Begins a block; the one before has been read to its end.
    fn begin(&mut self, block: Block) {
        (self.block, self.at, self.held) = (block, block.at as usize, block.at as usize);
        (self.made, self.crc) = (0, Hasher::new());
    }

    /// Decodes more of the block; 0 at its end, when its check was right. Content before damage is returned first.
    fn read(&mut self, out: &mut [u8]) -> Result<usize, io::ErrorKind> {
        loop {
            let codec = self.codec.as_mut().map_err(|kind| *kind)?;
            let stream = &(*self.file).as_ref()[self.from..];
            let end = self.block.end as usize;
            let left = self.block.len - self.made;
            let is_over = self.overruns && left > 0 && self.at >= end;
            let last = if is_over { stream.len() } else { end };
            let in_header = self.header < STREAM_HEADER;
            let input = if in_header {
                &stream[self.header..STREAM_HEADER]
            } else {
                stream.get(self.at..last).unwrap_or_default()
            };
            if input.is_empty() {
                // The index has the number of bytes, and the block ends with their check.
                let crc = std::mem::take(&mut self.crc).finalize().to_le_bytes();
                let is_right = left == 0 && (!self.compares || stream[..end].ends_with(&crc));
                self.release();
                return match is_right {
                    true => Ok(0),
                    false if is_over => self.fail(io::ErrorKind::UnexpectedEof),
                    false => self.fail(io::ErrorKind::InvalidData),
                };
            }
            // The check follows the content; one more byte of content is damage.
            let (mut excess, room) = ([0], left.min(out.len().min(PIECE) as u64) as usize);
            let room = if left == 0 { &mut excess } else { &mut out[..room] };
            let (used, more, status) = codec.decode(input, room);
            match in_header {
                true => self.header += used,
                false => self.at += used,
            }
            if self.at - self.held >= RELEASE {
                self.release();
            }
            let failed = match status {
                Ok(Status::More) if used + more > 0 && (left > 0 || more == 0) => None,
                Err(error) => Some(error.kind()),
                _ => Some(io::ErrorKind::InvalidData),
            };
            if left > 0 && more > 0 {
                self.crc.update(&out[..more]);
                self.made += more as u64;
                // The error comes with the next call.
                if let Some(kind) = failed {
                    self.codec = Err(kind);
                }
                return Ok(more);
            }
            if let Some(kind) = failed {
                return self.fail(kind);
            }
        }
    }

    /// Reads the index, after the last block of the stream.
    fn end(&mut self) -> Result<(), io::ErrorKind> {
        loop {
            let input = &(*self.file).as_ref()[self.from + self.at..];
            let at_end = input.is_empty();
            let codec = self.codec.as_mut().map_err(|kind| *kind)?;
            let (used, more, status) = codec.decode(input, &mut [0]);
            self.at += used;
            match status.map_err(|error| error.kind()) {
                Ok(Status::Ended) => return Ok(()),
                Ok(_) if more > 0 => return self.fail(io::ErrorKind::InvalidData),
                Ok(_) if at_end => return self.fail(io::ErrorKind::UnexpectedEof),
                Ok(_) => {}
                Err(kind) => return self.fail(kind),
            }
        }
    }

    /// Releases the memory of the bytes that were read.
    fn release(&mut self) {
        self.file.release(self.from + self.held..self.from + self.at);
        self.held = self.at;
    }

    /// From here on there is only this error.
    fn fail<T>(&mut self, kind: io::ErrorKind) -> Result<T, io::ErrorKind> {
        self.codec = Err(kind);
        Err(kind)
    }
}

/// Blocks one after the other, as a stream.
pub(super) struct BlockStream {
    codec: BlockCodec,
    blocks: VecDeque<Block>,
    in_block: bool,
    /// The index has to be read: it says how many blocks are before it, and all of them were read.
    has_index: bool,
    /// Bytes of the file used, for progress.
    used: Arc<AtomicU64>,
}

impl BlockStream {
    /// The blocks of `file[from..]` from number `first` on.
    pub(super) fn new(
        (file, from): (&SharedBytes, usize),
        index: &Index,
        first: usize,
        used: Arc<AtomicU64>,
    ) -> Self {
        let blocks = index.blocks[first..].iter().copied().collect();
        let codec = BlockCodec::new(file.clone(), from, true);
        BlockStream { codec, blocks, in_block: false, has_index: first == 0, used }
    }
}

impl Read for BlockStream {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while !out.is_empty() {
            if !self.in_block {
                let Some(block) = self.blocks.pop_front() else {
                    if self.has_index {
                        self.codec.end()?;
                        self.has_index = false;
                    }
                    break;
                };
                self.codec.begin(block);
                self.in_block = true;
            }
            let made = self.codec.read(out)?;
            self.used.store((self.codec.from + self.codec.at) as u64, Ordering::Relaxed);
            if made > 0 {
                return Ok(made);
            }
            self.in_block = false;
        }
        Ok(0)
    }
}

/// The remaining blocks as a stream.
pub(super) struct BlockReader {
    pub(super) blocks: BlockDecoder,
    /// The rest of the current block.
    pub(super) current: io::Cursor<Vec<u8>>,
}

impl Read for BlockReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let n = self.current.read(out)?;
            if n > 0 || out.is_empty() {
                return Ok(n);
            }
            let spent = std::mem::take(&mut self.current).into_inner();
            match self.blocks.next(spent)? {
                Some(block) => self.current = io::Cursor::new(block),
                None => return Ok(0),
            }
        }
    }
}
