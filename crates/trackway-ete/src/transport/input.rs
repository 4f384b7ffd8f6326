//! The bytes of one source, window by window.

use std::sync::Arc;

use trackway_core::{Feed, Input, Result, SharedBytes};
use trackway_image::Image;

use crate::config::Config;
use crate::decode::decoder::Window;
use crate::lift::{Options, Trace};
use crate::transport::frames::read::{Frames, Framing, Piece};

/// Bytes of one source that a window of a framed buffer holds.
const WINDOW: usize = 1 << 18;

/// Bytes of a frame.
const FRAME: usize = 16;

/// A source that waits for its turn.
pub(crate) struct Pending {
    pub(crate) config: Arc<Config>,
    pub(crate) image: Arc<Image>,
    pub(crate) input: Option<(Framing, Input)>,
}

impl From<Trace> for Pending {
    fn from(trace: Trace) -> Self {
        let input = Some((trace.framing, Input::Whole(trace.data)));
        Pending { config: Arc::new(trace.config), image: trace.image, input }
    }
}

impl Pending {
    /// A raw stream.
    pub(crate) fn raw(config: Config, input: Input, image: Arc<Image>) -> Self {
        Pending { config: Arc::new(config), image, input: Some((Framing::Raw, input)) }
    }

    /// Its bytes, once.
    pub(crate) fn supply(&mut self, options: &Options) -> Result<Option<Supply>> {
        let Some((framing, input)) = self.input.take() else { return Ok(None) };
        Supply::new(framing, input, self.config.trace_id, options.write_pointer).map(Some)
    }
}

/// Gives the bytes of one source.
pub(crate) struct Supply {
    kind: Kind,
    /// A buffer that was written round and round begins at `pointer`; offsets are those in the buffer.
    pointer: u64,
    length: u64,
    ended: bool,
}

enum Kind {
    /// As they are.
    Raw(Feed),
    /// Out of frames.
    Framed { data: SharedBytes, frames: Frames, id: u8, piece: Piece, used: u64 },
}

impl Supply {
    fn new(framing: Framing, input: Input, id: u8, write_pointer: Option<u64>) -> Result<Self> {
        let (mut pointer, mut length) = (0, u64::MAX);
        let input = match write_pointer {
            Some(place) => {
                let data = input.read_whole()?;
                let bytes = (*data).as_ref();
                length = bytes.len() as u64;
                let (new, _) = bytes.split_at(place.min(length) as usize);
                // Frames lie on multiples of their length; one that is overwritten in part is gone.
                pointer = match framing {
                    Framing::Coresight => (new.len().next_multiple_of(FRAME) as u64).min(length),
                    _ => new.len() as u64,
                };
                Input::from_vec([&bytes[pointer as usize..], new].concat())
            }
            None => input,
        };
        let kind = match framing {
            Framing::Raw => Kind::Raw(Feed::new(input)),
            framing => {
                let data = input.read_whole()?;
                let frames = Frames::new(framing, (*data).as_ref());
                Kind::Framed { data, frames, id, piece: Piece::default(), used: 0 }
            }
        };
        let ended = matches!(&kind, Kind::Raw(feed) if feed.is_whole());
        let mut supply = Supply { kind, pointer, length, ended };
        if !supply.ended {
            supply.more()?;
        }
        Ok(supply)
    }

    /// Out of frames, so that it ends where the buffer ended.
    pub(crate) fn is_framed(&self) -> bool {
        matches!(self.kind, Kind::Framed { .. })
    }

    /// Nothing comes behind the window.
    pub(crate) fn ended(&self) -> bool {
        self.ended
    }

    /// Adds bytes to the window; false if there are none.
    pub(crate) fn more(&mut self) -> Result<bool> {
        if self.ended {
            return Ok(false);
        }
        let more = match &mut self.kind {
            Kind::Raw(feed) => feed.more()?,
            Kind::Framed { data, frames, id, piece, .. } => {
                let before = piece.bytes.len();
                piece.bytes.reserve(WINDOW + FRAME);
                self.ended = !frames.pull((**data).as_ref(), *id, before + WINDOW, piece);
                return Ok(piece.bytes.len() > before || !self.ended);
            }
        };
        self.ended = !more;
        Ok(more)
    }

    /// Takes bytes off the front of the window.
    pub(crate) fn consume(&mut self, count: usize) {
        match &mut self.kind {
            Kind::Raw(feed) => feed.consume(count),
            Kind::Framed { piece, used, .. } => {
                *used += count as u64;
                piece.consume(count);
            }
        }
    }

    /// Bytes that were taken off the front.
    pub(crate) fn position(&self) -> u64 {
        match &self.kind {
            Kind::Raw(feed) => feed.offset(),
            Kind::Framed { used, .. } => *used,
        }
    }

    /// In frames: bytes of the buffer that were looked at, whosever they are.
    pub(crate) fn taken_apart(&self) -> Option<u64> {
        match &self.kind {
            Kind::Raw(_) => None,
            Kind::Framed { frames, .. } => Some(frames.position()),
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.kind {
            Kind::Raw(feed) => feed.bytes(),
            Kind::Framed { piece, .. } => &piece.bytes,
        }
    }

    /// The window.
    pub(crate) fn view(&self) -> View<'_> {
        let (piece, base) = match &self.kind {
            Kind::Raw(feed) => (None, feed.offset()),
            Kind::Framed { piece, .. } => (Some(piece), 0),
        };
        View { bytes: self.bytes(), piece, base: base + self.pointer, length: self.length }
    }

    /// Offset in the buffer of the byte at `index` of the window.
    pub(crate) fn offset(&self, index: usize) -> u64 {
        self.view().offset(index, &mut 0)
    }

    /// Up to where bytes follow each other from `at` on, if that is not the end of the window.
    pub(crate) fn next_break(&self, at: usize) -> Option<usize> {
        match &self.kind {
            Kind::Raw(_) => None,
            Kind::Framed { piece, .. } => piece.breaks.iter().copied().find(|&place| place > at),
        }
    }
}

/// A look at the window, for decoders on any thread.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    bytes: &'a [u8],
    /// Frames it came out of; else its first byte is at `base`.
    piece: Option<&'a Piece>,
    base: u64,
    length: u64,
}

impl Window for View<'_> {
    fn bytes(&self) -> &[u8] {
        self.bytes
    }

    #[inline(always)]
    fn offset(&self, index: usize, cursor: &mut usize) -> u64 {
        let place = match self.piece {
            None => self.base + index as u64,
            Some(piece) => self.base + piece.offset(index, cursor),
        };
        if place >= self.length { place - self.length } else { place }
    }

    fn cursor(&self, index: usize) -> usize {
        self.piece.map_or(0, |piece| piece.cursor(index))
    }
}
