//! zstd frames (RFC 8878): where one ends, and its content as far as it can be decompressed.

use trackway_core::{Feed, Input, Result};
use zstd::zstd_safe::{DCtx, DParameter, InBuffer, OutBuffer};

/// First bytes of a frame.
pub(super) const MAGIC: &[u8] = b"\x28\xb5\x2f\xfd";

/// Chunks up to this size are decompressed at once; typical ones have one or two MiB.
pub(super) const AT_ONCE: usize = 1 << 26;

/// 128 MiB, zstd's own limit for untrusted frames; chunks need 2 MiB.
const WINDOW_LOG: u32 = 27;

/// Where a frame ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// After this many bytes.
    Ends(usize),
    /// The bytes end before it does.
    Cut,
    /// It is not a frame, or damaged.
    Unknown,
}

/// The extent of the frame at the start of `bytes`, by its block headers.
pub(super) fn extent(bytes: &[u8]) -> Extent {
    const LARGEST_BLOCK: usize = 1 << 17;
    let Some((magic, [descriptor, ..])) = bytes.split_at_checked(MAGIC.len()) else {
        return if bytes.len() < 5 && MAGIC.starts_with(&bytes[..bytes.len().min(4)]) {
            Extent::Cut
        } else {
            Extent::Unknown
        };
    };
    if magic != MAGIC || descriptor & 8 != 0 {
        return Extent::Unknown;
    }
    let single = descriptor >> 5 & 1 == 1;
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let content = match descriptor >> 6 {
        0 => usize::from(single),
        n => 1 << n,
    };
    let mut at = 5 + usize::from(!single) + dictionary + content;
    loop {
        let Some(&[a, b, c]) = bytes.get(at..).and_then(|rest| rest.first_chunk()) else {
            return Extent::Cut;
        };
        let header = u32::from_le_bytes([a, b, c, 0]);
        let size = (header >> 3) as usize;
        at += 3 + match header >> 1 & 3 {
            1 => 1,
            0 | 2 if size <= LARGEST_BLOCK => size,
            _ => return Extent::Unknown,
        };
        if header & 1 == 1 {
            break;
        }
    }
    at += if descriptor & 4 != 0 { 4 } else { 0 };
    if at <= bytes.len() { Extent::Ends(at) } else { Extent::Cut }
}

/// The next place after the first byte where a frame begins.
pub(super) fn next_magic(bytes: &[u8]) -> Option<usize> {
    let from = bytes.get(1..)?;
    from.windows(MAGIC.len() + 1)
        .position(|window| window.starts_with(MAGIC) && window[4] & 8 == 0)
        .map(|n| n + 1)
}

/// The content of frames.
#[derive(Debug)]
pub(super) enum Content {
    /// All of it.
    Whole(Vec<u8>),
    /// More than [`AT_ONCE`].
    Large,
    /// Everything before damage.
    Part {
        /// The content.
        bytes: Vec<u8>,
        /// Bytes of the frames before the damage.
        at: usize,
        /// The frames end too early.
        cut: bool,
    },
}

/// Decompresses frames that follow each other.
pub(super) fn decompress(frames: &[u8]) -> Content {
    let mut bytes = Vec::new();
    match Run::new(frames).go(&mut bytes, 1 << 18, AT_ONCE) {
        End::Complete => Content::Whole(bytes),
        End::Full => Content::Large,
        End::Cut(at) => Content::Part { bytes, at, cut: true },
        // The last call may have lost content that it wrote before the damage: again, up to there in the same steps, then
        // byte by byte.
        End::Damaged(_) => {
            let good = bytes.len();
            bytes.clear();
            let mut run = Run::new(frames);
            run.go(&mut bytes, 1 << 18, good);
            match run.go(&mut bytes, 1, AT_ONCE) {
                End::Damaged(at) | End::Cut(at) => Content::Part { bytes, at, cut: false },
                _ => Content::Part { bytes, at: frames.len(), cut: false },
            }
        }
    }
}

/// How a [`Run`] ended.
enum End {
    Complete,
    /// The limit was reached.
    Full,
    /// After this number of bytes of input.
    Cut(usize),
    Damaged(usize),
}

/// A decompression in steps.
struct Run<'f> {
    context: Option<DCtx<'static>>,
    input: InBuffer<'f>,
    /// A frame has begun and not ended.
    inside: bool,
}

impl<'f> Run<'f> {
    fn new(frames: &'f [u8]) -> Self {
        let context = DCtx::try_create().and_then(|mut context| {
            context.set_parameter(DParameter::WindowLogMax(WINDOW_LOG)).ok().map(|_| context)
        });
        Run { context, input: InBuffer::around(frames), inside: false }
    }

    /// Appends to `out` in steps of `step` bytes until it has `limit`.
    fn go(&mut self, out: &mut Vec<u8>, step: usize, limit: usize) -> End {
        let Some(context) = &mut self.context else { return End::Damaged(0) };
        loop {
            if self.input.pos() == self.input.src.len() && !self.inside {
                return End::Complete;
            }
            if out.len() >= limit {
                return End::Full;
            }
            let start = out.len();
            out.resize(start + step.min(limit - start), 0);
            let before = self.input.pos();
            let mut buffer = OutBuffer::around(&mut out[start..]);
            let done = context.decompress_stream(&mut buffer, &mut self.input);
            let written = buffer.pos();
            out.truncate(start + written);
            match done {
                Err(_) => {
                    out.truncate(start);
                    return End::Damaged(before);
                }
                Ok(hint) => self.inside = hint != 0,
            }
            if written == 0 && self.inside && self.input.pos() == self.input.src.len() {
                return End::Cut(self.input.pos());
            }
        }
    }
}

/// Frames as a stream, for content that is not held in memory.
pub(super) fn stream(frames: impl std::io::BufRead + Send + 'static) -> Result<Feed> {
    let mut decoder = zstd::stream::read::Decoder::with_buffer(frames)?;
    decoder.window_log_max(WINDOW_LOG)?;
    Ok(Feed::new(Input::Stream(Box::new(decoder))))
}
