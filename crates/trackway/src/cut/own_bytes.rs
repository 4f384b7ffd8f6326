//! Bytes of streams: counted, handed out in pieces, and put together again.

use std::io::{Read, Result};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use trackway_core::Input;

use crate::slice::Digest;

/// Size and digest of a stream.
pub(super) fn measure(input: Input) -> Result<(u64, u64)> {
    let (mut stream, mut buffer) = (input.into_read(), vec![0; 1 << 16]);
    let (mut size, mut sum) = (0, Digest::default());
    loop {
        match stream.read(&mut buffer)? {
            0 => return Ok((size, sum.0)),
            n => {
                size += n as u64;
                sum.add(&buffer[..n]);
            }
        }
    }
}

/// A stream that is read piece after piece.
#[derive(Clone)]
pub(super) struct Pieces(Arc<Mutex<Box<dyn Read + Send>>>);

impl Pieces {
    pub(super) fn new(input: Input) -> Self {
        Pieces(Arc::new(Mutex::new(input.into_read())))
    }

    /// The next `len` bytes, with `added` in front of byte `at` of them. It is to be read to its end before the next.
    pub(super) fn next(&self, len: u64, added: Vec<u8>, at: u64) -> Input {
        let (before, after) = (self.clone().take(at), self.clone().take(len - at));
        Input::Stream(Box::new(before.chain(std::io::Cursor::new(added)).chain(after)))
    }
}

impl Read for Pieces {
    fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).read(out)
    }
}

/// The bytes of parts that are the trace's own, one part after the other.
pub(super) struct Whole {
    /// Streams that are left, the next one last, with the bytes that were added to each.
    parts: Vec<(Box<dyn Read + Send>, (u64, u64))>,
    /// Place in the current part.
    at: u64,
    size: u64,
    sum: Digest,
    expected: (u64, u64),
    /// All were read, and they are as expected.
    complete: Arc<AtomicBool>,
}

impl Whole {
    /// The parts in order; `expected` is the size and the digest of all, and `complete` is set once all
    /// were read and have them.
    pub(super) fn new(
        parts: Vec<(Input, (u64, u64))>,
        expected: (u64, u64),
        complete: Arc<AtomicBool>,
    ) -> Self {
        let parts = parts.into_iter().rev().map(|(input, added)| (input.into_read(), added)).collect();
        Whole { parts, at: 0, size: 0, sum: Digest::default(), expected, complete }
    }
}

impl Read for Whole {
    fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        while let Some((part, (from, to))) = self.parts.last_mut() {
            if self.at == *from && to > from {
                let skipped = std::io::copy(&mut part.by_ref().take(*to - *from), &mut std::io::sink())?;
                self.at += skipped;
                // What was added may be all there is.
                *to = *from;
            }
            let limit =
                if self.at < *from { (*from - self.at).min(out.len() as u64) } else { out.len() as u64 };
            let n = part.read(&mut out[..limit as usize])?;
            if n > 0 || out.is_empty() {
                (self.at, self.size) = (self.at + n as u64, self.size + n as u64);
                self.sum.add(&out[..n]);
                return Ok(n);
            }
            self.parts.pop();
            self.at = 0;
        }
        self.complete.store((self.size, self.sum.0) == self.expected, Ordering::Relaxed);
        Ok(0)
    }
}
