//! The chunks of a ZSTF file that comes as a stream.

use std::io::Read;

use trackway_core::{Error, Result};

use super::frame::{Content, Extent, MAGIC, decompress, extent, next_magic, stream};
use super::index::{Doubt, ENTRY, HEADER, cut, frame_end, unfinished};
use super::{Damage, Feed, Part};

/// Compressed frames up to this size are held in memory, so that the stream can continue after a damaged one.
const LARGEST: usize = 1 << 26;
/// Bytes per read.
const BLOCK: usize = 1 << 17;

/// The frames of a stream.
pub(super) struct Pipe {
    input: Box<dyn Read + Send>,
    /// Bytes read and not used.
    buffer: Vec<u8>,
    ended: bool,
    /// Offset of the buffer in the file.
    offset: u64,
    index_at: u64,
    /// Frames so far.
    pub(super) count: u64,
    /// No frame follows.
    done: bool,
    pub(super) doubts: Vec<Doubt>,
}

impl Pipe {
    /// Frames of `input`, whose header was read.
    pub(super) fn new(input: Box<dyn Read + Send>, index_at: u64) -> Self {
        Pipe {
            input,
            buffer: Vec::new(),
            ended: false,
            offset: HEADER,
            index_at,
            count: 0,
            done: false,
            doubts: Vec::new(),
        }
    }

    /// True if no frame follows.
    pub(super) fn is_done(&self) -> bool {
        self.done || !self.buffer.starts_with(MAGIC)
    }

    /// Reads another block; false at the end.
    fn more(&mut self) -> Result<bool> {
        let before = self.buffer.len();
        let read = self.input.by_ref().take(BLOCK as u64).read_to_end(&mut self.buffer);
        self.ended = self.buffer.len() == before;
        match read {
            // Bytes that arrived before the failure are still good.
            Err(error) if self.ended => Err(error.into()),
            _ => Ok(!self.ended),
        }
    }

    /// The next chunk, which begins at `base` of the decompressed stream.
    pub(super) fn next_part(&mut self, base: u64) -> Result<Option<Part>> {
        if self.done {
            return Ok(None);
        }
        // The frame, and the first bytes after it.
        let length = loop {
            let found = extent(&self.buffer);
            let enough = match found {
                Extent::Ends(length) => self.buffer.len() >= length + 8,
                Extent::Cut => false,
                Extent::Unknown => !self.buffer.starts_with(MAGIC) && self.buffer.len() >= 8,
            };
            if enough || self.ended || self.buffer.len() > LARGEST {
                break frame_end(&self.buffer, self.count);
            }
            if found == Extent::Unknown && self.buffer.starts_with(MAGIC) {
                // Damaged: it ends where another one begins.
                if let Some(length) = next_magic(&self.buffer) {
                    break Some(length);
                }
            }
            self.more()?;
        };
        let (frame, rest) = match length {
            Some(0) => {
                self.done = true;
                return self.read_index().map_or(Ok(None), Err);
            }
            Some(length) => {
                let rest = self.buffer.split_off(length);
                (std::mem::replace(&mut self.buffer, rest), None)
            }
            // Too large to hold, or cut: the rest is one part.
            None => {
                self.done = true;
                let held = std::mem::take(&mut self.buffer);
                let rest = std::mem::replace(&mut self.input, Box::new(std::io::empty()));
                (held, (!self.ended).then_some(rest))
            }
        };
        let (number, offset) = (self.count, self.offset);
        self.count += 1;
        self.offset += frame.len() as u64;
        let mut damage = None;
        let feed = match rest {
            Some(rest) => {
                let frames = self.index_at.saturating_sub(offset + frame.len() as u64);
                let all = std::io::Cursor::new(frame).chain(rest.take(frames));
                stream(std::io::BufReader::with_capacity(1 << 16, all))?
            }
            None => match decompress(&frame) {
                Content::Whole(bytes) => Feed::from_buffer(bytes),
                Content::Large => stream(std::io::Cursor::new(frame))?,
                Content::Part { bytes, at, cut } => {
                    damage = Some(Damage { at: offset + at as u64, cut });
                    self.skip_damage();
                    Feed::from_buffer(bytes)
                }
            },
        };
        Ok(Some(Part {
            feed,
            base,
            start_pc: None,
            chunk: Some((number, offset)),
            size: None,
            damage,
            decoder: None,
        }))
    }

    /// After a damaged frame, whose length may be wrong: skips what belongs to it.
    fn skip_damage(&mut self) {
        if self.buffer.starts_with(MAGIC) || self.buffer.starts_with(&self.count.to_le_bytes()) {
            return;
        }
        while self.buffer.len() < LARGEST {
            if let Some(next) = next_magic(&self.buffer) {
                self.offset += next as u64;
                self.buffer.drain(..next);
                return;
            }
            if !self.more().unwrap_or(false) {
                return;
            }
        }
    }

    /// Compares the index with the chunks.
    fn read_index(&mut self) -> Option<Error> {
        if let Some(error) = unfinished(self.index_at) {
            return Some(error);
        }
        let size = 8 + ENTRY * self.count;
        while (self.buffer.len() as u64) < size && self.more().ok()? {}
        if (self.buffer.len() as u64) < size {
            return Some(cut(self.offset + self.buffer.len() as u64));
        }
        if self.index_at != self.offset {
            self.doubts.push(Doubt { offset: 12, field: "index offset", found: self.index_at });
        }
        None
    }
}
