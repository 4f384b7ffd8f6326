//! A stream read in blocks that never end inside the few bytes that tell a container.

use std::io::{self, BufRead, ErrorKind, Read};

use crate::read::RECORD;

/// Bytes that tell which storage a payload is: those of a record, if it is none.
const ENOUGH: usize = RECORD;
/// Bytes read at a time.
const BLOCK: usize = 1 << 18;

/// Like [`io::BufReader`], but at hand are always [`ENOUGH`] bytes, or all that are left: a pipe may give fewer.
pub(crate) struct Pipe<R> {
    inner: R,
    buffer: Box<[u8]>,
    /// What is at hand.
    start: usize,
    end: usize,
    ended: bool,
}

impl<R: Read> Pipe<R> {
    pub(crate) fn new(inner: R) -> Self {
        Pipe { inner, buffer: vec![0; BLOCK].into(), start: 0, end: 0, ended: false }
    }
}

impl<R: Read> BufRead for Pipe<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.end - self.start < ENOUGH && !self.ended {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            while self.end < ENOUGH && !self.ended {
                match self.inner.read(&mut self.buffer[self.end..]) {
                    Ok(0) => self.ended = true,
                    Ok(n) => self.end += n,
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    // What is at hand is given first; a reader that failed fails again.
                    Err(_) if self.end > 0 => break,
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(&self.buffer[self.start..self.end])
    }

    fn consume(&mut self, n: usize) {
        self.start = (self.start + n).min(self.end);
    }
}

impl<R: Read> Read for Pipe<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n = self.fill_buf()?.read(out)?;
        self.consume(n);
        Ok(n)
    }
}
