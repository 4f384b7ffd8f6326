//! Chunks lifted on several threads and joined in order.
//!
//! A window of chunks is under way at a time; each sends its batches through a channel of its own, and the
//! reader drains those channels in the order of the chunks. The output does not depend on the number of threads.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use trackway_core::{Batch, Error, Result};

use crate::container::ChunkReader;
use crate::layout::Layout;
use crate::lift::Lifter;
use crate::open::{Census, fill_from, instructions};

/// What a chunk sends: batches, at the end its census, and an error if it met one.
enum Message {
    /// With its number of instructions.
    Batch(Batch, u64),
    Ended(Box<Census>),
    /// The error, where the chunk stopped, and the bytes it had left.
    Failed(Error, u64, u64),
}

/// Batches that a chunk may be ahead of the reader: about one chunk of the usual size.
const AHEAD: usize = 64;

pub(crate) struct Pool {
    reader: ChunkReader,
    jobs: Sender<(usize, SyncSender<Message>)>,
    /// Channels of the chunks under way, in order.
    under_way: VecDeque<Receiver<Message>>,
    waiting: Range<usize>,
    /// Batches that were read, to be filled again.
    spare: Arc<Mutex<Vec<Batch>>>,
    /// Where the chunk that failed stopped, and what it had left.
    failed: Option<(u64, u64)>,
    _threads: Vec<JoinHandle<()>>,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Pool({} under way)", self.under_way.len())
    }
}

impl Pool {
    pub(crate) fn new(
        reader: ChunkReader,
        chunks: Range<usize>,
        lifter: Lifter,
        layout: Layout,
        threads: usize,
    ) -> Self {
        let (jobs, queue) = channel::<(usize, SyncSender<Message>)>();
        let queue = Arc::new(Mutex::new(queue));
        let spare = Arc::new(Mutex::new(Vec::new()));
        let worker = || {
            let (queue, spare, reader, lifter) =
                (queue.clone(), spare.clone(), reader.clone(), lifter.clone());
            std::thread::spawn(move || {
                loop {
                    // Poisoned or closed: the reader is gone.
                    let Ok(Ok((chunk, out))) = queue.lock().map(|queue| queue.recv()) else { return };
                    lift_chunk(&reader, chunk, lifter.clone(), layout, &spare, &out);
                }
            })
        };
        let threads = threads.min(chunks.len()).max(1);
        let threads: Vec<_> = (0..threads).map(|_| worker()).collect();
        let mut pool = Pool {
            reader,
            jobs,
            under_way: VecDeque::new(),
            waiting: chunks,
            spare,
            failed: None,
            _threads: threads,
        };
        for _ in 0..pool._threads.len() {
            pool.start_next();
        }
        pool
    }

    fn start_next(&mut self) {
        let Some(chunk) = self.waiting.next() else { return };
        let (out, input) = sync_channel(AHEAD);
        // A send can only fail when all threads are gone; the channel then reads as ended.
        let _ = self.jobs.send((chunk, out));
        self.under_way.push_back(input);
    }

    /// Puts the next batch in `batch`; false at the end. What is in `batch` stays in front.
    pub(crate) fn fill(&mut self, batch: &mut Batch, census: &mut Census, count: &mut u64) -> Result<bool> {
        let Some(chunk) = self.under_way.front() else { return Ok(false) };
        match chunk.recv() {
            Ok(Message::Batch(mut filled, instructions)) => {
                *count += instructions;
                if !batch.events.is_empty() {
                    // A gap from `resync` goes before what follows it.
                    filled.gaps.append(&mut batch.gaps);
                    let last = filled.gaps.len() as u32 - 1;
                    let event = batch.events[0];
                    filled.events.insert(
                        0,
                        trackway_core::Event { kind: trackway_core::EventKind::Gap(last), ..event },
                    );
                }
                std::mem::swap(batch, &mut filled);
                if let Ok(mut spare) = self.spare.lock() {
                    spare.push(filled);
                }
                Ok(true)
            }
            Ok(Message::Ended(part)) => {
                census.iter_mut().zip(part.iter()).for_each(|(sum, n)| *sum += n);
                Ok(true)
            }
            Ok(Message::Failed(error, offset, left)) => {
                self.failed = Some((offset, left));
                Err(error)
            }
            Err(_) => {
                self.under_way.pop_front();
                self.start_next();
                Ok(true)
            }
        }
    }

    /// Where the chunk that is being read begins.
    pub(crate) fn chunk_base(&self) -> u64 {
        self.reader.base(self.waiting.start - self.under_way.len())
    }

    /// After an error: the failed chunk is left; gives where it stopped and the bytes it had left.
    pub(crate) fn resync(&mut self) -> Option<(u64, u64)> {
        let failed = self.failed.take()?;
        self.under_way.pop_front();
        self.start_next();
        Some(failed)
    }
}

fn lift_chunk(
    reader: &ChunkReader,
    chunk: usize,
    mut lifter: Lifter,
    header_layout: Layout,
    spare: &Mutex<Vec<Batch>>,
    out: &SyncSender<Message>,
) {
    let mut part = match reader.part(chunk) {
        Ok(part) => part,
        Err(error) => return drop(out.send(Message::Failed(error, 0, 0))),
    };
    lifter.start_at(part.start_pc);
    let mut layout = if part.start_pc.is_some() { header_layout } else { Layout::default() };
    let mut census = Box::new([0; 256]);
    loop {
        let mut batch = spare.lock().ok().and_then(|mut spare| spare.pop()).unwrap_or_else(Batch::with_room);
        batch.clear();
        let before = instructions(&census);
        let more = fill_from(&mut part, &mut lifter, &mut layout, &mut batch, &mut census);
        if !batch.events.is_empty()
            && out.send(Message::Batch(batch, instructions(&census) - before)).is_err()
        {
            return;
        }
        // Where only the length is wrong nothing is left behind.
        let (ended, left) = match more {
            Ok(true) => continue,
            Ok(false) => (part.finish(), 0),
            Err(error) => (Err(error), part.left()),
        };
        // The reader may be gone: then nobody misses these.
        let _ = out.send(Message::Ended(census));
        if let Err(error) = ended {
            let _ = out.send(Message::Failed(error, part.base + part.feed.offset(), left));
        }
        return;
    }
}
