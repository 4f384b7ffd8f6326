//! Blocks of an .xz stream on several threads, each decoded into a buffer that the reader takes over
//! (docs/design/compression.md).

use std::io::{self, Read};
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
            let file = file.clone();
            let work = move || decode_lane((&file, from), &blocks, &sender, &buffers);
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

/// Decodes the blocks of one lane. To the codec they are one stream, so it keeps its memory from block to block.
fn decode_lane(
    (file, from): (&SharedBytes, usize),
    blocks: &[Block],
    full: &SyncSender<Decoded>,
    buffers: &Receiver<Vec<u8>>,
) {
    let stream = &(**file).as_ref()[from..];
    // liblzma's portable CRC32 takes as long as decoding, so it is computed here instead.
    let compares = stream[CHECK_KIND] == CRC32;
    let mut codec = Codec::xz(!compares);
    let mut input = &stream[..STREAM_HEADER];
    for block in blocks {
        let mut out = buffers.try_recv().unwrap_or_default();
        out.resize(block.len as usize, 0);
        let coded = &stream[block.at as usize..block.end as usize];
        let (mut made, mut crc) = (0, Hasher::new());
        let mut result = codec.as_mut().map_err(|error| error.kind());
        for piece in [input, coded] {
            result = result
                .and_then(|codec| decode_into(codec, piece, &mut out, &mut made, &mut crc).map(|()| codec));
        }
        input = &[];
        // The index has the number of bytes, and the block ends with their check.
        let wrong = made < out.len() || (compares && !coded.ends_with(&crc.finalize().to_le_bytes()));
        let failed = result.err().or(wrong.then_some(io::ErrorKind::InvalidData));
        out.truncate(made);
        file.release(from + block.at as usize..from + block.end as usize);
        if full.send((out, failed)).is_err() || failed.is_some() {
            return;
        }
    }
}

/// Decodes all of `input` after the first `made` bytes of `out`.
fn decode_into(
    codec: &mut Codec,
    mut input: &[u8],
    out: &mut [u8],
    made: &mut usize,
    crc: &mut Hasher,
) -> Result<(), io::ErrorKind> {
    while !input.is_empty() {
        // The check follows the content; one more byte of content is damage.
        let mut excess = [0];
        let full = *made == out.len();
        let end = out.len().min(*made + PIECE);
        let (used, more, status) = codec.decode(input, if full { &mut excess } else { &mut out[*made..end] });
        if !full {
            crc.update(&out[*made..*made + more]);
            *made += more;
        }
        input = &input[used..];
        match status {
            Ok(Status::More) if used + more > 0 && !(full && more > 0) => {}
            Err(error) => return Err(error.kind()),
            _ => return Err(io::ErrorKind::InvalidData),
        }
    }
    Ok(())
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
