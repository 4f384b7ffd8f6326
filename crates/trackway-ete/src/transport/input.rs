//! The bytes of one source, window by window.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};
use trackway_core::{Context, Feed, Input, Result, SharedBytes};
use trackway_image::Image;

use super::frames::read::{Deframed, FRAME, FramePlace, Frames, STRETCH, Survey};
use crate::config::{Config, Framing, Options};
use crate::wire::scan::{Straight, Window};

/// One source: its registers, its bytes, and the program that ran on its core.
#[derive(Clone)]
pub struct TraceSource {
    /// The trace unit's registers.
    pub config: Config,
    /// How the source's bytes are stored in `data`.
    pub framing: Framing,
    /// The buffer; sources can share one.
    pub data: SharedBytes,
    /// The program.
    pub image: Arc<Image>,
}

impl std::fmt::Debug for TraceSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bytes = (*self.data).as_ref().len();
        write!(f, "TraceSource({}, {:?}, {bytes} bytes)", self.config.name, self.framing)
    }
}

/// Part of a larger file: the bytes of a source from where its trace unit was enabled to where it was disabled.
#[derive(Clone, Debug)]
pub struct Session {
    /// The source; its buffer has the bytes of this session only.
    pub source: TraceSource,
    /// Offset in the file of the first byte of the buffer.
    pub base: u64,
    /// The threads of the operating system, where they are known.
    pub tasks: Option<Arc<dyn Tasks>>,
}

/// Knows the process and the thread that a context belongs to.
pub trait Tasks: Send + Sync + std::fmt::Debug {
    /// Adds process, thread and address space to a context of the trace.
    fn complete(&self, context: &mut Context);

    /// A context executes at an address where no code is known.
    fn no_code(&self, context: &Context, pc: u64) {
        let _ = (context, pc);
    }
}

/// A source that is not open yet.
pub(crate) struct SourceInput {
    pub(crate) config: Arc<Config>,
    pub(crate) program: Code,
    framing: Framing,
    /// For a session: offset in the file of the first byte of the input.
    base: Option<u64>,
    /// Empty once it is open.
    input: Input,
}

/// The program as a decoder needs it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Code {
    pub(crate) image: Arc<Image>,
    pub(crate) tasks: Option<Arc<dyn Tasks>>,
    pub(crate) remarks: Arc<Remarks>,
}

impl From<Arc<Image>> for Code {
    fn from(image: Arc<Image>) -> Self {
        Code { image, ..Code::default() }
    }
}

/// Observations of the decoders, for people.
#[derive(Debug, Default)]
pub(crate) struct Remarks {
    /// The return stack is off, and returns have no address.
    pub(crate) lost_returns: AtomicBool,
}

impl From<TraceSource> for SourceInput {
    fn from(source: TraceSource) -> Self {
        let (framing, input) = (source.framing, Input::Whole(source.data));
        SourceInput {
            config: Arc::new(source.config),
            program: source.image.into(),
            framing,
            base: None,
            input,
        }
    }
}

impl From<Session> for SourceInput {
    fn from(Session { source, base, tasks }: Session) -> Self {
        let mut input = SourceInput { base: Some(base), ..source.into() };
        input.program.tasks = tasks;
        input
    }
}

impl SourceInput {
    /// A raw stream.
    pub(crate) fn raw(config: Config, input: Input, image: Arc<Image>) -> Self {
        SourceInput {
            config: Arc::new(config),
            program: image.into(),
            framing: Framing::Raw,
            base: None,
            input,
        }
    }

    /// Number of bytes in the buffer, if known.
    pub(crate) fn size(&self) -> Option<u64> {
        match &self.input {
            Input::Whole(bytes) => Some((**bytes).as_ref().len() as u64),
            Input::Stream(_) => None,
        }
    }

    /// The bytes, once.
    pub(crate) fn open(&mut self, options: &Options) -> Result<SourceBytes> {
        let input = std::mem::replace(&mut self.input, Input::from_vec(Vec::new()));
        let mut bytes = SourceBytes::new(self.framing, input, self.config.trace_id, options)?;
        if let Some(base) = self.base {
            (bytes.pointer, bytes.session) = (bytes.pointer + base, true);
        }
        Ok(bytes)
    }
}

/// The bytes of a circular buffer from the oldest on, which is at `write_pointer`; and the place of the first of them.
pub(crate) fn in_order(bytes: &[u8], framing: Framing, write_pointer: u64) -> (usize, Vec<u8>) {
    let (new, _) = bytes.split_at(usize::try_from(write_pointer).unwrap_or(usize::MAX).min(bytes.len()));
    // Frames are aligned to their length; one that is overwritten in part is lost.
    let first = match framing {
        Framing::Coresight => new.len().next_multiple_of(FRAME).min(bytes.len()),
        _ => new.len(),
    };
    (first, [&bytes[first..], new].concat())
}

/// Bytes of one source that are unpacked from frames at once.
const WINDOW: usize = 1 << 18;

/// A window over the bytes of one source.
pub(crate) struct SourceBytes {
    kind: Kind,
    /// Offset of the oldest byte, in a circular buffer or a larger file, and the length of the buffer; offsets are
    /// those in the buffer or file.
    pointer: u64,
    length: u64,
    /// It is a session of a larger file.
    session: bool,
    ended: bool,
}

enum Kind {
    Raw(Feed),
    Framed {
        data: SharedBytes,
        frames: Frames,
        id: u8,
        bytes: Deframed,
        consumed: u64,
        /// Where unpacking can be entered again: at most one window before any byte of this one.
        marks: VecDeque<Mark>,
    },
}

/// A place between two frames, and the number of bytes of the source before it.
type Mark = (FramePlace, u64);

/// A place in the bytes of one source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Place {
    /// After this number of bytes.
    Raw(u64),
    /// After this number of bytes from a mark on.
    Framed(Mark, u64),
}

impl SourceBytes {
    fn new(framing: Framing, input: Input, id: u8, options: &Options) -> Result<Self> {
        let (mut pointer, mut length) = (0, u64::MAX);
        let input = match options.write_pointer {
            Some(place) => {
                let data = input.read_whole()?;
                let bytes = (*data).as_ref();
                length = bytes.len() as u64;
                let ordered = in_order(bytes, framing, place);
                pointer = ordered.0 as u64;
                Input::from_vec(ordered.1)
            }
            None => input,
        };
        let kind = match framing {
            Framing::Raw => Kind::Raw(Feed::new(input)),
            framing => {
                let data = input.read_whole()?;
                let known = options.known_ids | 1 << (id & 0x7f);
                let surveyed = options.strange_ids.filter(|_| options.write_pointer.is_none());
                let strange = surveyed.unwrap_or_else(|| Survey::of(framing, &data).strange(known));
                let frames = Frames::with_strange(framing, (*data).as_ref(), strange);
                let (bytes, marks) = (Deframed::default(), VecDeque::new());
                Kind::Framed { data, frames, id, bytes, consumed: 0, marks }
            }
        };
        let ended = matches!(&kind, Kind::Raw(feed) if feed.is_whole());
        let mut source = SourceBytes { kind, pointer, length, session: false, ended };
        if !source.ended {
            source.more()?;
        }
        Ok(source)
    }

    /// The bytes end where a buffer ended, often inside a packet: in frames, and in a session of a larger file.
    pub(crate) fn is_cut(&self) -> bool {
        self.session || matches!(self.kind, Kind::Framed { .. })
    }

    /// Nothing follows the window.
    pub(crate) fn ended(&self) -> bool {
        self.ended
    }

    /// Adds bytes to the window; false if there are none.
    pub(crate) fn more(&mut self) -> Result<bool> {
        if self.ended {
            return Ok(false);
        }
        match &mut self.kind {
            Kind::Raw(feed) => {
                self.ended = !feed.more()?;
                Ok(!self.ended)
            }
            Kind::Framed { data, frames, id, bytes, consumed, marks } => {
                let before = bytes.bytes.len();
                marks.push_back((frames.place(), *consumed + before as u64));
                bytes.bytes.reserve(WINDOW + FRAME);
                // The bytes of other sources may be many, and stay in memory until they are released.
                while !self.ended && bytes.bytes.len() < before + WINDOW {
                    let from = frames.position() as usize;
                    let (limit, until) = (before + WINDOW, from.saturating_add(STRETCH));
                    self.ended = !frames.pull_until((**data).as_ref(), *id, limit, until, bytes);
                    data.release(from..frames.position() as usize);
                }
                Ok(bytes.bytes.len() > before || !self.ended)
            }
        }
    }

    /// Drops bytes from the front of the window.
    pub(crate) fn consume(&mut self, count: usize) {
        match &mut self.kind {
            Kind::Raw(feed) => feed.consume(count),
            Kind::Framed { bytes, consumed, marks, .. } => {
                *consumed += count as u64;
                bytes.consume(count);
                while marks.get(1).is_some_and(|mark| mark.1 <= *consumed) {
                    marks.pop_front();
                }
            }
        }
    }

    /// The place of the byte at `index` of the window, unless the input is a stream.
    pub(crate) fn place(&self, index: usize) -> Option<Place> {
        let position = self.position() + index as u64;
        match &self.kind {
            Kind::Raw(feed) => feed.is_whole().then_some(Place::Raw(position)),
            Kind::Framed { marks, .. } => {
                let mark = marks.iter().rev().find(|mark| mark.1 <= position)?;
                Some(Place::Framed(*mark, position - mark.1))
            }
        }
    }

    /// Moves the start of the window to a place; false, and nothing has changed, if there is no such place.
    pub(crate) fn enter(&mut self, place: Place) -> Result<bool> {
        match (&mut self.kind, place) {
            (Kind::Raw(feed), Place::Raw(position)) => {
                let ahead = position.checked_sub(feed.offset()).and_then(|ahead| usize::try_from(ahead).ok());
                let ahead = ahead.filter(|ahead| feed.is_whole() && *ahead <= feed.bytes().len());
                feed.consume(ahead.unwrap_or(0));
                Ok(ahead.is_some())
            }
            (
                Kind::Framed { data, frames, id, bytes, consumed, marks },
                Place::Framed((place, before), skip),
            ) => {
                let (all, mut there) = ((**data).as_ref(), frames.clone());
                let skip = usize::try_from(skip).ok().filter(|skip| *skip <= WINDOW + FRAME);
                let Some(skip) = skip.filter(|_| before <= u64::MAX / 2 && there.enter(place, all)) else {
                    return Ok(false);
                };
                let mut unpacked = Deframed::default();
                let more = there.pull(all, *id, WINDOW, &mut unpacked);
                if unpacked.bytes.len() < skip {
                    return Ok(false);
                }
                (*frames, *bytes, *consumed, self.ended) = (there, unpacked, before, !more);
                *marks = VecDeque::from([(place, before)]);
                self.consume(skip);
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Number of bytes dropped from the front.
    pub(crate) fn position(&self) -> u64 {
        match &self.kind {
            Kind::Raw(feed) => feed.offset(),
            Kind::Framed { consumed, .. } => *consumed,
        }
    }

    /// In frames: number of bytes of the buffer that were unpacked, for any trace id.
    pub(crate) fn unpacked(&self) -> Option<u64> {
        match &self.kind {
            Kind::Raw(_) => None,
            Kind::Framed { frames, .. } => Some(frames.position()),
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.kind {
            Kind::Raw(feed) => feed.bytes(),
            Kind::Framed { bytes, .. } => &bytes.bytes,
        }
    }

    /// The window, for decoders on any thread.
    pub(crate) fn view(&self) -> View<'_> {
        let (deframed, base) = match &self.kind {
            Kind::Raw(feed) => (None, feed.offset()),
            Kind::Framed { bytes, .. } => (Some(bytes), 0),
        };
        View { bytes: self.bytes(), deframed, base: base + self.pointer, length: self.length }
    }

    /// Offset in the buffer of the byte at `index` of the window.
    pub(crate) fn offset(&self, index: usize) -> u64 {
        self.view().offset(index, &mut 0)
    }

    /// The next place at or after `at` where bytes are missing in between.
    pub(crate) fn next_break(&self, at: usize) -> Option<usize> {
        match &self.kind {
            Kind::Raw(_) => None,
            Kind::Framed { bytes, .. } => bytes.breaks.iter().copied().find(|&place| place >= at),
        }
    }
}

/// A shared view of the window.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    bytes: &'a [u8],
    /// Bytes from frames have their own offsets; else the first byte is at `base`.
    deframed: Option<&'a Deframed>,
    base: u64,
    length: u64,
}

impl Window for View<'_> {
    fn bytes(&self) -> &[u8] {
        self.bytes
    }

    #[inline(always)]
    fn straight(&self, index: usize, cursor: &mut usize) -> Straight {
        let Straight { offset, count, framed } = match self.deframed {
            None => Straight { offset: index as u64, count: usize::MAX, framed: usize::MAX },
            Some(deframed) => deframed.straight(index, cursor),
        };
        let place = self.base + offset;
        if place >= self.length {
            return Straight { offset: place - self.length, count, framed };
        }
        let most = usize::try_from(self.length - place).unwrap_or(usize::MAX);
        let (count, left) = (count.min(most), self.bytes.len().saturating_sub(index));
        // A buffer may wrap around inside a frame; frames have more bytes than data, but never twice as many.
        let framed = if framed.min(left) < most / 2 { framed.min(left).max(count) } else { count };
        Straight { offset: place, count, framed }
    }

    fn cursor(&self, index: usize) -> usize {
        self.deframed.map_or(0, |deframed| deframed.cursor(index))
    }
}
