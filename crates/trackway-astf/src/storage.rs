//! The payload behind the Header: LZMA or zlib, in and out (ASTF 4.2.1).

use std::io::{self, BufRead, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::{Decompress, FlushDecompress};
use liblzma::stream::{Action, Check, Filters, IGNORE_CHECK, LzmaOptions, MtStreamBuilder, Status, Stream};
use trackway_core::{Error, ErrorKind, Result, SharedBytes};

use crate::config::{Storage, WriteConfig};
use crate::read::RECORD;

/// The decoder gives up on a stream that asks for more memory than this (a dictionary size is input).
const MEMORY: u64 = 1 << 30;
/// Above this, blocks are decoded one after the other.
const MEMORY_THREADS: u64 = 1 << 28;
/// What tells an .xz stream.
pub(crate) const XZ_MAGIC: [u8; 6] = *b"\xfd7zXZ\0";

/// Shared bytes from a position on.
pub(crate) struct SharedCursor {
    pub(crate) bytes: SharedBytes,
    pub(crate) at: usize,
    pub(crate) end: usize,
}

impl Read for SharedCursor {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n = self.fill_buf()?.read(out)?;
        self.consume(n);
        Ok(n)
    }
}

impl BufRead for SharedCursor {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        Ok(&(*self.bytes).as_ref()[self.at.min(self.end)..self.end])
    }
    fn consume(&mut self, n: usize) {
        self.at += n;
    }
}

/// Which storage the first bytes of a payload are, within what the header's flags allow. An empty payload
/// is an empty trace.
pub(crate) fn sniff(start: &[u8], use_zlib: bool) -> Result<Storage> {
    let zlib = |start: &[u8]| {
        matches!(start, [first, second, ..] if first & 0x0f == 8
            && u16::from_be_bytes([*first, *second]).is_multiple_of(31))
    };
    let is_xz = start.starts_with(&XZ_MAGIC[..start.len().min(6)]);
    let found = if start.starts_with(&[0x1f, 0x8b]) {
        Storage::Gzip
    } else if is_xz && !start.is_empty() {
        Storage::Xz
    } else if use_zlib || (zlib(start) && start[0] == 0x78) {
        Storage::Zlib
    } else {
        Storage::LzmaAlone
    };
    if found.flags().1 != use_zlib && !start.is_empty() {
        // The promise of the header is broken: say that, not that the stream is damaged.
        return Err(ErrorKind::Impossible { found: use_zlib.into() }.at(
            8,
            "Header",
            "use_zlib",
            "ASTF 4.2.1",
        ));
    }
    Ok(found)
}

/// A decoder of one stream.
pub(crate) enum Codec {
    Lzma(Stream),
    Deflate(Decompress),
}

impl Codec {
    pub(crate) fn open(storage: Storage, jobs: usize) -> io::Result<Self> {
        let lzma = |stream: std::result::Result<Stream, _>| stream.map(Codec::Lzma).map_err(io::Error::from);
        match storage {
            Storage::Xz if jobs > 1 => lzma(
                MtStreamBuilder::new()
                    .threads(jobs as u32)
                    .memlimit_threading(MEMORY_THREADS)
                    .memlimit_stop(MEMORY)
                    .decoder(),
            ),
            Storage::Xz => Self::xz(true),
            Storage::LzmaAlone => lzma(Stream::new_lzma_decoder(MEMORY)),
            Storage::Gzip => Ok(Codec::Deflate(Decompress::new_gzip(15))),
            Storage::Zlib | Storage::Raw => Ok(Codec::Deflate(Decompress::new(true))),
        }
    }

    /// For an .xz stream, on one thread; without `check` the checks of its blocks are passed over.
    pub(crate) fn xz(check: bool) -> io::Result<Self> {
        let flags = if check { 0 } else { IGNORE_CHECK };
        Ok(Codec::Lzma(Stream::new_stream_decoder(MEMORY, flags)?))
    }

    /// Decodes; gives bytes used, bytes made, and whether the stream ended. What was made before a failure
    /// is given together with the failure.
    pub(crate) fn run(&mut self, input: &[u8], out: &mut [u8]) -> (usize, usize, io::Result<Step>) {
        let damaged = || io::Error::from(io::ErrorKind::InvalidData);
        match self {
            Codec::Lzma(stream) => {
                let before = (stream.total_in(), stream.total_out());
                let action = if input.is_empty() { Action::Finish } else { Action::Run };
                let status = stream.process(input, out, action);
                let (used, made) = (stream.total_in() - before.0, stream.total_out() - before.1);
                let step = match status {
                    Ok(Status::StreamEnd) => Ok(Step::Ended),
                    Ok(Status::MemNeeded) => Ok(Step::Stuck),
                    Ok(_) => Ok(Step::More),
                    Err(_) => Err(damaged()),
                };
                (used as usize, made as usize, step)
            }
            Codec::Deflate(inflate) => {
                let before = (inflate.total_in(), inflate.total_out());
                let status = inflate.decompress(input, out, FlushDecompress::None);
                let (used, made) = (inflate.total_in() - before.0, inflate.total_out() - before.1);
                let step = match status {
                    Ok(flate2::Status::StreamEnd) => Ok(Step::Ended),
                    Ok(flate2::Status::BufError) => Ok(Step::Stuck),
                    Ok(flate2::Status::Ok) => Ok(Step::More),
                    Err(_) => Err(damaged()),
                };
                (used as usize, made as usize, step)
            }
        }
    }
}

/// How decoding goes on.
pub(crate) enum Step {
    /// There may be more.
    More,
    /// It needs more input, or room.
    Stuck,
    /// The stream has ended.
    Ended,
}

/// Decodes a payload: one stream, or several one after the other.
pub(crate) struct Decoder<R> {
    inner: R,
    use_zlib: bool,
    jobs: usize,
    /// The stream in hand; none between two.
    codec: Option<Codec>,
    /// Streams begun.
    streams: usize,
    /// Sticky: a reader may ask again.
    failed: Option<io::ErrorKind>,
    /// Input bytes used, for progress.
    used: Arc<AtomicU64>,
    /// Ends the payload here: set by a seek, which does not see the end of its stream.
    left: Option<u64>,
}

impl<R: BufRead> Decoder<R> {
    pub(crate) fn new(inner: R, use_zlib: bool, jobs: usize, used: Arc<AtomicU64>) -> Self {
        Decoder { inner, use_zlib, jobs, codec: None, streams: 0, failed: None, used, left: None }
    }

    /// A decoder in the middle of an .xz stream that gives `left` bytes and then ends.
    pub(crate) fn in_stream(inner: R, left: u64, jobs: usize, used: Arc<AtomicU64>) -> Self {
        Decoder { left: Some(left), ..Self::new(inner, false, jobs, used) }
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
        let storage = sniff(input, self.use_zlib).map_err(|_| io::ErrorKind::InvalidData)?;
        self.codec = Some(Codec::open(storage, self.jobs)?);
        self.streams += 1;
        Ok(true)
    }

    /// Behind the last byte of a sought stream: its check still has to be looked at.
    fn drain(&mut self) -> io::Result<usize> {
        while let Some(codec) = &mut self.codec {
            let input = self.inner.fill_buf()?;
            let at_end = input.is_empty();
            let (used, made, step) = codec.run(input, &mut [0]);
            self.consume(used);
            if made > 0 {
                return Err(io::ErrorKind::InvalidData.into());
            }
            if at_end || matches!(step?, Step::Ended | Step::Stuck) {
                self.codec = None;
            }
        }
        Ok(0)
    }

    fn decode(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let limit = self.left.unwrap_or(u64::MAX).min(out.len() as u64) as usize;
        if self.left == Some(0) {
            return self.drain();
        }
        let out = &mut out[..limit];
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
            let (used, made, step) = codec.run(input, out);
            self.consume(used);
            self.left = self.left.map(|left| left - made as u64);
            match step {
                Ok(Step::Ended) => self.codec = None,
                Ok(Step::Stuck) if at_end && made == 0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_)
                    if at_end && used == 0 && made == 0 && matches!(self.codec, Some(Codec::Deflate(_))) =>
                {
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

/// Encodes a payload.
pub(crate) enum Encoder<W: Write> {
    Raw(W),
    Lzma(liblzma::write::XzEncoder<W>),
    Zlib(flate2::write::ZlibEncoder<W>),
}

impl<W: Write> Encoder<W> {
    pub(crate) fn create(inner: W, config: &WriteConfig) -> Result<Self> {
        let preset = config.preset.min(9);
        let refused =
            |_| ErrorKind::Unsupported { found: preset.into() }.at(0, "settings", "preset", "ASTF 4.2.1");
        match config.storage {
            Storage::Raw => Ok(Encoder::Raw(inner)),
            Storage::Xz => {
                // A block that does not begin with a record could not be entered; a dictionary larger than one would be
                // waste.
                let block = config.block.clamp(1 << 16, 1 << 30).next_multiple_of(RECORD as u64);
                let mut options = LzmaOptions::new_preset(preset).map_err(refused)?;
                if block < 8 << 20 {
                    options.dict_size(block as u32);
                }
                let mut filters = Filters::new();
                filters.lzma2(&options);
                let stream = MtStreamBuilder::new()
                    .threads(config.jobs.clamp(1, 64) as u32)
                    .block_size(block)
                    .filters(filters)
                    .check(Check::Crc32)
                    .encoder()
                    .map_err(refused)?;
                Ok(Encoder::Lzma(liblzma::write::XzEncoder::new_stream(inner, stream)))
            }
            Storage::LzmaAlone => {
                let options = LzmaOptions::new_preset(preset).map_err(refused)?;
                let stream = Stream::new_lzma_encoder(&options).map_err(refused)?;
                Ok(Encoder::Lzma(liblzma::write::XzEncoder::new_stream(inner, stream)))
            }
            Storage::Zlib => {
                let level = flate2::Compression::new(preset);
                Ok(Encoder::Zlib(flate2::write::ZlibEncoder::new(inner, level)))
            }
            Storage::Gzip => Err(gzip_is_not_written()),
        }
    }

    pub(crate) fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Encoder::Raw(inner) => inner.write_all(bytes),
            Encoder::Lzma(inner) => inner.write_all(bytes),
            Encoder::Zlib(inner) => inner.write_all(bytes),
        }
    }

    pub(crate) fn finish(self) -> io::Result<W> {
        let mut inner = match self {
            Encoder::Raw(inner) => inner,
            Encoder::Lzma(inner) => inner.finish()?,
            Encoder::Zlib(inner) => inner.finish()?,
        };
        inner.flush()?;
        Ok(inner)
    }
}

fn gzip_is_not_written() -> Error {
    ErrorKind::Unsupported { found: 0 }.at(0, "settings", "storage", "ASTF 4.2.1")
}
