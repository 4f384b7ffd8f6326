//! A compressed stream to bytes, in order.

use std::io::{self, BufRead, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::{Decompress, FlushDecompress};
use liblzma::stream::{Action, IGNORE_CHECK, MtStreamBuilder, Stream};

use super::compression::{Compression, Family};

/// Limit for a decoder's memory: dictionary sizes are input.
const MEMORY_LIMIT: u64 = 1 << 30;
/// Above this, liblzma decodes blocks one after the other.
const THREADED_MEMORY_LIMIT: u64 = 1 << 28;

/// Decoder of one stream.
pub(super) enum Codec {
    Lzma(Stream),
    Deflate(Decompress),
}

/// State of a stream after a call of [`Codec::decode`].
pub(super) enum Status {
    /// There may be more output.
    More,
    /// It needs more input or more room.
    Stalled,
    /// The stream has ended.
    Ended,
}

impl Codec {
    fn open(compression: Compression, threads: usize) -> io::Result<Self> {
        Ok(match compression {
            Compression::Xz if threads > 1 => Codec::Lzma(
                MtStreamBuilder::new()
                    .threads(threads as u32)
                    .memlimit_threading(THREADED_MEMORY_LIMIT)
                    .memlimit_stop(MEMORY_LIMIT)
                    .decoder()?,
            ),
            Compression::Xz => Self::xz(true)?,
            Compression::LzmaAlone => Codec::Lzma(Stream::new_lzma_decoder(MEMORY_LIMIT)?),
            Compression::Gzip => Codec::Deflate(Decompress::new_gzip(15)),
            Compression::Zlib => Codec::Deflate(Decompress::new(true)),
        })
    }

    /// For an .xz stream, on one thread; `check` compares the checks of its blocks.
    pub(super) fn xz(check: bool) -> io::Result<Self> {
        let flags = if check { 0 } else { IGNORE_CHECK };
        Ok(Codec::Lzma(Stream::new_stream_decoder(MEMORY_LIMIT, flags)?))
    }

    /// Decodes; returns the bytes used, the bytes made, and the state. Bytes made before a failure are counted.
    pub(super) fn decode(&mut self, input: &[u8], out: &mut [u8]) -> (usize, usize, io::Result<Status>) {
        let (before, after, status) = match self {
            Codec::Lzma(stream) => {
                let before = (stream.total_in(), stream.total_out());
                let action = if input.is_empty() { Action::Finish } else { Action::Run };
                let status = match stream.process(input, out, action) {
                    Ok(liblzma::stream::Status::StreamEnd) => Some(Status::Ended),
                    Ok(liblzma::stream::Status::MemNeeded) => Some(Status::Stalled),
                    Ok(_) => Some(Status::More),
                    Err(_) => None,
                };
                (before, (stream.total_in(), stream.total_out()), status)
            }
            Codec::Deflate(inflate) => {
                let before = (inflate.total_in(), inflate.total_out());
                let status = match inflate.decompress(input, out, FlushDecompress::None) {
                    Ok(flate2::Status::StreamEnd) => Some(Status::Ended),
                    Ok(flate2::Status::BufError) => Some(Status::Stalled),
                    Ok(flate2::Status::Ok) => Some(Status::More),
                    Err(_) => None,
                };
                (before, (inflate.total_in(), inflate.total_out()), status)
            }
        };
        let status = status.ok_or_else(|| io::ErrorKind::InvalidData.into());
        ((after.0 - before.0) as usize, (after.1 - before.1) as usize, status)
    }
}

/// Decodes a payload: one stream, or several one after the other.
pub(super) struct Decoder<R> {
    inner: R,
    family: Family,
    threads: usize,
    /// The current stream; `None` between two.
    codec: Option<Codec>,
    /// Streams begun.
    streams: usize,
    /// Sticky: a reader may ask again.
    failed: Option<io::ErrorKind>,
    /// Input bytes used, for progress.
    used: Arc<AtomicU64>,
}

impl<R: BufRead> Decoder<R> {
    pub(super) fn new(inner: R, family: Family, threads: usize, used: Arc<AtomicU64>) -> Self {
        Decoder { inner, family, threads, codec: None, streams: 0, failed: None, used }
    }

    fn consume(&mut self, n: usize) {
        self.inner.consume(n);
        self.used.fetch_add(n as u64, Ordering::Relaxed);
    }

    /// Begins the next stream; false at the end of the payload.
    fn begin(&mut self) -> io::Result<bool> {
        // Between .xz streams there may be padding: zeros, four at a time.
        let mut padding = 0;
        loop {
            let input = self.inner.fill_buf()?;
            let zeros = input.iter().take_while(|byte| self.streams > 0 && **byte == 0).count();
            let at_end = input.is_empty();
            padding += zeros;
            self.consume(zeros);
            if at_end || zeros == 0 {
                break;
            }
        }
        let input = self.inner.fill_buf()?;
        if input.is_empty() {
            return if padding % 4 == 0 { Ok(false) } else { Err(io::ErrorKind::InvalidData.into()) };
        }
        let compression = Compression::detect(input, self.family);
        if compression.family() != self.family {
            return Err(io::ErrorKind::InvalidData.into());
        }
        self.codec = Some(Codec::open(compression, self.threads)?);
        self.streams += 1;
        Ok(true)
    }

    fn decode(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        loop {
            if self.codec.is_none() && !self.begin()? {
                return Ok(0);
            }
            let Some(codec) = &mut self.codec else { return Ok(0) };
            let input = self.inner.fill_buf()?;
            let at_end = input.is_empty();
            let (used, made, status) = codec.decode(input, out);
            let nothing = used == 0 && made == 0;
            self.consume(used);
            match status {
                Ok(Status::Ended) => self.codec = None,
                Ok(Status::Stalled) if at_end && made == 0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) if at_end && nothing && matches!(self.codec, Some(Codec::Deflate(_))) => {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                Ok(_) => {}
                Err(error) => {
                    self.failed = Some(error.kind());
                    if made == 0 {
                        return Err(error);
                    }
                }
            }
            if made > 0 {
                return Ok(made);
            }
        }
    }
}

impl<R: BufRead> Read for Decoder<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if let Some(kind) = self.failed {
            return Err(kind.into());
        }
        self.decode(out).inspect_err(|error| self.failed = Some(error.kind()))
    }
}
