//! Writing CoreSight frames: the mirror of [`Frames`](crate::Frames).

use std::collections::VecDeque;

use super::read::FSYNC;

/// Packs bytes of several trace ids into frames, in the order in which they arrive.
///
/// ```
/// use trackway_ete::{Deframed, FrameWriter, Frames, Framing};
/// let mut writer = FrameWriter::new(Some(4));
/// for round in 0..100 {
///     writer.write(0x10, &[round]);
///     writer.write(0x11, &[round, 0x80 | round]);
/// }
/// let buffer = writer.finish();
/// let mut out = Deframed::default();
/// Frames::new(Framing::Dstream, &buffer).pull(&buffer, 0x10, usize::MAX, &mut out);
/// assert_eq!(out.bytes, (0..100).collect::<Vec<u8>>());
/// ```
#[derive(Clone, Debug, Default)]
pub struct FrameWriter {
    /// Trace ids and bytes that do not fill a frame yet.
    waiting: VecDeque<(u8, u8)>,
    /// The current trace id of a reader.
    id: Option<u8>,
    out: Vec<u8>,
    /// Number of frames between synchronisations, and so far.
    every: Option<u32>,
    frames: u32,
}

impl FrameWriter {
    /// Writes a frame synchronisation before every `every` frames, or aligned frames without any.
    pub fn new(every: Option<u32>) -> Self {
        FrameWriter { every, ..FrameWriter::default() }
    }

    /// Adds bytes of a trace id, 1 to 0x6f.
    pub fn write(&mut self, id: u8, bytes: &[u8]) {
        self.waiting.extend(bytes.iter().map(|&byte| (id, byte)));
        // A frame takes at most 15 bytes; the byte after them decides how its last place is used.
        while self.waiting.len() > 16 {
            self.frame();
        }
    }

    /// Takes the complete frames.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// Fills the last frame with padding and returns the frames not taken yet.
    pub fn finish(mut self) -> Vec<u8> {
        while !self.waiting.is_empty() {
            self.frame();
        }
        self.out
    }

    /// One frame: an id change takes the place of a byte at an even place; padding is id 0.
    fn frame(&mut self) {
        if let Some(every) = self.every
            && self.frames.is_multiple_of(every.max(1))
        {
            self.out.extend(FSYNC);
        }
        self.frames = self.frames.wrapping_add(1);
        let mut frame = [0u8; 16];
        let mut at = 0;
        while at < 15 {
            let (id, byte) = self.waiting.front().copied().unwrap_or((0, 0));
            if at % 2 == 0 && self.id != Some(id) {
                (frame[at], self.id) = (id << 1 | 1, Some(id));
                at += 1;
                continue;
            }
            self.waiting.pop_front();
            if at % 2 == 1 {
                frame[at] = byte;
                at += 1;
                continue;
            }
            let next = self.waiting.front().map_or(0, |next| next.0);
            if next != id && at < 14 {
                // The odd byte after an id change can still belong to the old id.
                frame[at] = next << 1 | 1;
                frame[15] |= 1 << (at / 2);
                frame[at + 1] = byte;
                (at, self.id) = (at + 2, Some(next));
            } else {
                frame[at] = byte & !1;
                frame[15] |= (byte & 1) << (at / 2);
                at += 1;
            }
        }
        self.out.extend(frame);
    }
}

/// Packs bytes of several trace ids into aligned frames without synchronisations; padding fills the last frame.
///
/// ```
/// use trackway_ete::{Deframed, Frames, Framing, frame};
/// let buffer = frame(&[(0x10, &[1, 2, 3]), (0x11, &[4, 5]), (0x10, &[6])]);
/// let mut out = Deframed::default();
/// Frames::new(Framing::Coresight, &buffer).pull(&buffer, 0x10, usize::MAX, &mut out);
/// assert_eq!(out.bytes, [1, 2, 3, 6]);
/// ```
pub fn frame(pieces: &[(u8, &[u8])]) -> Vec<u8> {
    let mut writer = FrameWriter::new(None);
    for (id, bytes) in pieces {
        writer.write(*id, bytes);
    }
    writer.finish()
}
