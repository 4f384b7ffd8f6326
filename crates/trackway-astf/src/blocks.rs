//! Blocks of an .xz file on several threads, each decoded into a buffer that the reader takes over (decision 0155).

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

use crc32fast::Hasher;
use trackway_core::SharedBytes;

use crate::read::RECORD;
use crate::storage::{Codec, Step};
use crate::xz::{Block, CHECK_KIND, CRC32, Index, STREAM_HEADER};

/// Memory for decoded blocks: sizes in an index are input. Where not even two threads fit, a decoder that needs
/// no buffer for a whole block does it.
const MEMORY: u64 = 1 << 28;
/// Bytes that are decoded, copied and checked in one go: they stay in the cache from one to the other.
const PIECE: usize = 1 << 16;
/// Buffers of a lane: in the making, waiting, and with the reader.
const BUFFERS: u64 = 3;

/// Decodes blocks ahead of their reader: as many lanes as threads, each takes every so-manieth block.
pub(crate) struct Blocks {
    lanes: Vec<Lane>,
    /// Blocks handed on, and all there are.
    next: usize,
    count: usize,
    /// Sticky: nothing comes behind damage.
    failed: Option<io::ErrorKind>,
}

struct Lane {
    /// Decoded blocks; one waits here while the next is in the making.
    full: Option<Receiver<Decoded>>,
    /// Buffers to be used again.
    spent: Sender<Vec<u8>>,
    thread: Option<JoinHandle<()>>,
}

/// What could be decoded of a block, and why not all.
type Decoded = (Vec<u8>, Option<io::ErrorKind>);

impl Blocks {
    /// Blocks from number `first` on; `None` where they are better read one after the other, or no thread is
    /// to be had.
    pub(crate) fn new(bytes: &SharedBytes, index: &Index, first: usize, jobs: usize) -> Option<Self> {
        let blocks = index.blocks.get(first..)?;
        let largest = blocks.iter().map(|block| block.len).max()?.max(1);
        let jobs = jobs.min(blocks.len()).min((MEMORY / BUFFERS / largest) as usize);
        if jobs < 2 || !blocks.iter().all(|block| block.start.is_multiple_of(RECORD as u64)) {
            return None;
        }
        let lane = |n: usize| {
            let (sender, full) = sync_channel(1);
            let (spent, buffers) = channel();
            let blocks: Vec<Block> = blocks.iter().skip(n).step_by(jobs).copied().collect();
            let bytes = bytes.clone();
            let work = move || decode((*bytes).as_ref(), &blocks, &sender, &buffers);
            let thread = std::thread::Builder::new().spawn(work).ok()?;
            Some(Lane { full: Some(full), spent, thread: Some(thread) })
        };
        let lanes = (0..jobs).map(lane).collect::<Option<Vec<Lane>>>()?;
        Some(Blocks { lanes, next: 0, count: blocks.len(), failed: None })
    }

    /// The next block that is not empty; `None` at the end. The buffer of the one before comes back as `spent`.
    pub(crate) fn next(&mut self, mut spent: Vec<u8>) -> io::Result<Option<Vec<u8>>> {
        while self.failed.is_none() && self.next < self.count {
            let lanes = self.lanes.len();
            // A lane that has ended needs no buffer.
            let _ = self.lanes[(self.next + lanes - 1) % lanes].spent.send(spent);
            let decoded = self.lanes[self.next % lanes].full.as_ref().and_then(|full| full.recv().ok());
            let (bytes, failed) = decoded.unwrap_or((Vec::new(), Some(io::ErrorKind::Other)));
            self.next += 1;
            self.failed = failed;
            // What came before the damage is delivered first.
            if !bytes.is_empty() {
                return Ok(Some(bytes));
            }
            spent = bytes;
        }
        self.failed.map_or(Ok(None), |kind| Err(kind.into()))
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        // A lane ends when nobody takes its blocks any more.
        self.lanes.iter_mut().for_each(|lane| lane.full = None);
        self.lanes.iter_mut().filter_map(|lane| lane.thread.take()).for_each(|thread| {
            let _ = thread.join();
        });
    }
}

/// A lane. To its decoder its blocks are one stream, so that memory is kept from block to block.
fn decode(file: &[u8], blocks: &[Block], full: &SyncSender<Decoded>, buffers: &Receiver<Vec<u8>>) {
    let payload = &file[RECORD..];
    // liblzma's portable code for a CRC32 takes as long as decoding: it is compared here.
    let compares = payload[CHECK_KIND] == CRC32;
    let mut codec = Codec::xz(!compares);
    let mut input = &payload[..STREAM_HEADER];
    for block in blocks {
        let mut out = buffers.try_recv().unwrap_or_default();
        out.resize(block.len as usize, 0);
        let coded = &payload[block.at as usize..block.end as usize];
        let (mut made, mut crc) = (0, Hasher::new());
        let mut result = codec.as_mut().map_err(|error| error.kind());
        for piece in [input, coded] {
            result =
                result.and_then(|codec| run(codec, piece, &mut out, &mut made, &mut crc).map(|()| codec));
        }
        input = &[];
        // The index promised as many bytes, and the block ends with their check.
        let wrong = made < out.len() || (compares && !coded.ends_with(&crc.finalize().to_le_bytes()));
        let failed = result.err().or(wrong.then_some(io::ErrorKind::InvalidData));
        out.truncate(made);
        if full.send((out, failed)).is_err() || failed.is_some() {
            return;
        }
    }
}

/// Decodes all of `input` behind the `made` bytes that are in `out`.
fn run(
    codec: &mut Codec,
    mut input: &[u8],
    out: &mut [u8],
    made: &mut usize,
    crc: &mut Hasher,
) -> Result<(), io::ErrorKind> {
    while !input.is_empty() {
        // Behind the content stands its check; one more byte of content is damage.
        let mut excess = [0];
        let full = *made == out.len();
        let end = out.len().min(*made + PIECE);
        let (used, more, step) = codec.run(input, if full { &mut excess } else { &mut out[*made..end] });
        if !full {
            crc.update(&out[*made..*made + more]);
            *made += more;
        }
        input = &input[used..];
        match step {
            Ok(Step::More) if used + more > 0 && !(full && more > 0) => {}
            Err(error) => return Err(error.kind()),
            _ => return Err(io::ErrorKind::InvalidData),
        }
    }
    Ok(())
}

/// The rest of the blocks as a stream.
pub(crate) struct Stream {
    pub(crate) blocks: Blocks,
    pub(crate) at_hand: io::Cursor<Vec<u8>>,
}

impl Read for Stream {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let n = self.at_hand.read(out)?;
            if n > 0 || out.is_empty() {
                return Ok(n);
            }
            let spent = std::mem::take(&mut self.at_hand).into_inner();
            match self.blocks.next(spent)? {
                Some(block) => self.at_hand = io::Cursor::new(block),
                None => return Ok(0),
            }
        }
    }
}
