//! A buffered reader that always has enough bytes to recognise what comes next.

use std::io::{self, BufRead, ErrorKind, Read};

/// Bytes read at a time.
const BLOCK: usize = 1 << 18;

/// Like [`io::BufReader`], but `fill_buf` returns at least `least` bytes, or all that are left: a pipe may return fewer
/// per read.
pub(super) struct Lookahead<R> {
    inner: R,
    least: usize,
    buffer: Box<[u8]>,
    /// Bytes read and not consumed: `buffer[start..end]`.
    start: usize,
    end: usize,
    ended: bool,
}

impl<R: Read> Lookahead<R> {
    pub(super) fn new(inner: R, least: usize) -> Self {
        Lookahead { inner, least, buffer: vec![0; BLOCK.max(least)].into(), start: 0, end: 0, ended: false }
    }
}

impl<R: Read> BufRead for Lookahead<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.end - self.start < self.least && !self.ended {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            while self.end < self.least && !self.ended {
                match self.inner.read(&mut self.buffer[self.end..]) {
                    Ok(0) => self.ended = true,
                    Ok(n) => self.end += n,
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    // Bytes read before the failure come first; a reader that failed fails again.
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

impl<R: Read> Read for Lookahead<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n = self.fill_buf()?.read(out)?;
        self.consume(n);
        Ok(n)
    }
}
