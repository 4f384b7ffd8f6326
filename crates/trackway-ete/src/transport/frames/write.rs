//! CoreSight frames of several trace ids, as they come: the mirror of [`Frames`](crate::Frames).

use std::collections::VecDeque;

/// A frame synchronisation, as `dstream_coresight` has them.
const FSYNC: [u8; 4] = [0xff, 0xff, 0xff, 0x7f];

/// Puts bytes of several trace ids into frames.
///
/// ```
/// use trackway_ete::{FrameWriter, Frames, Framing, Piece};
/// let mut writer = FrameWriter::new(Some(4));
/// for round in 0..100 {
///     writer.write(0x10, &[round]);
///     writer.write(0x11, &[round, 0x80 | round]);
/// }
/// let buffer = writer.finish();
/// let mut piece = Piece::default();
/// Frames::new(Framing::Dstream, &buffer).pull(&buffer, 0x10, usize::MAX, &mut piece);
/// assert_eq!(piece.bytes, (0..100).collect::<Vec<u8>>());
/// ```
#[derive(Clone, Debug, Default)]
pub struct FrameWriter {
    /// Bytes that do not fill a frame yet.
    waiting: VecDeque<(u8, u8)>,
    /// The id that bytes belong to, at the reader.
    id: Option<u8>,
    out: Vec<u8>,
    /// Frames between synchronisations, and since the last.
    every: Option<u32>,
    frames: u32,
}

impl FrameWriter {
    /// With a frame synchronisation before every so many frames, or aligned frames and none.
    pub fn new(every: Option<u32>) -> Self {
        FrameWriter { every, ..FrameWriter::default() }
    }

    /// Bytes of a trace id. Ids 1 to 0x6f are for sources.
    pub fn write(&mut self, id: u8, bytes: &[u8]) {
        self.waiting.extend(bytes.iter().map(|&byte| (id, byte)));
        // No frame takes more than 15 bytes; the one behind them tells how the last place is used.
        while self.waiting.len() > 16 {
            self.frame();
        }
    }

    /// Takes the frames that are full.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// Fills the last frame with padding; gives what was not taken.
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
                // The odd byte behind an id change can still be the old id's.
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

/// Puts bytes of several trace ids into aligned frames without synchronisations. Padding fills the last frame.
///
/// ```
/// use trackway_ete::{Frames, Framing, Piece, frame};
/// let buffer = frame(&[(0x10, &[1, 2, 3]), (0x11, &[4, 5]), (0x10, &[6])]);
/// let mut piece = Piece::default();
/// Frames::new(Framing::Coresight, &buffer).pull(&buffer, 0x10, usize::MAX, &mut piece);
/// assert_eq!(piece.bytes, [1, 2, 3, 6]);
/// ```
pub fn frame(pieces: &[(u8, &[u8])]) -> Vec<u8> {
    let mut writer = FrameWriter::new(None);
    for (id, bytes) in pieces {
        writer.write(*id, bytes);
    }
    writer.finish()
}
