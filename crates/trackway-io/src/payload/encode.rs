//! Bytes to a compressed stream.

use std::io::{self, Write};

use liblzma::stream::{Check, Filters, LzmaOptions, MtStreamBuilder, Stream};
use liblzma::write::XzEncoder;

use super::compression::Compression;

/// Settings of an [`Encoder`].
#[derive(Clone, Copy, Debug)]
pub struct EncoderOptions {
    /// Compression level: 0 to 9.
    pub preset: u32,
    /// Content bytes per .xz block, 64 KiB at least. Blocks are encoded, decoded and sought independently.
    pub block: u64,
    /// Blocks hold whole items of this many bytes, so that each can be entered at an item.
    pub unit: u64,
    /// Threads that encode blocks; the output does not depend on it.
    pub threads: usize,
}

/// Encodes bytes; without a compression they pass through.
pub struct Encoder<W: Write>(Inner<W>);

enum Inner<W: Write> {
    Raw(W),
    Lzma(XzEncoder<W>),
    Zlib(flate2::write::ZlibEncoder<W>),
}

impl<W: Write> std::fmt::Debug for Encoder<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Encoder")
    }
}

impl<W: Write> Encoder<W> {
    /// Fails for a preset that the encoder refuses, and for gzip, which is read only.
    pub fn create(inner: W, compression: Option<Compression>, options: &EncoderOptions) -> io::Result<Self> {
        let preset = options.preset.min(9);
        Ok(Encoder(match compression {
            None => Inner::Raw(inner),
            Some(Compression::Xz) => Inner::Lzma(XzEncoder::new_stream(inner, xz_stream(preset, options)?)),
            Some(Compression::LzmaAlone) => {
                let stream = Stream::new_lzma_encoder(&LzmaOptions::new_preset(preset)?)?;
                Inner::Lzma(XzEncoder::new_stream(inner, stream))
            }
            Some(Compression::Zlib) => {
                let level = flate2::Compression::new(preset);
                Inner::Zlib(flate2::write::ZlibEncoder::new(inner, level))
            }
            Some(Compression::Gzip) => return Err(io::ErrorKind::Unsupported.into()),
        }))
    }

    /// Encodes bytes.
    pub fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.0 {
            Inner::Raw(inner) => inner.write_all(bytes),
            Inner::Lzma(inner) => inner.write_all(bytes),
            Inner::Zlib(inner) => inner.write_all(bytes),
        }
    }

    /// Ends the stream and returns the writer.
    pub fn finish(self) -> io::Result<W> {
        let mut inner = match self.0 {
            Inner::Raw(inner) => inner,
            Inner::Lzma(inner) => inner.finish()?,
            Inner::Zlib(inner) => inner.finish()?,
        };
        inner.flush()?;
        Ok(inner)
    }
}

fn xz_stream(preset: u32, options: &EncoderOptions) -> io::Result<Stream> {
    let block = options.block.clamp(1 << 16, 1 << 30).next_multiple_of(options.unit);
    let mut lzma = LzmaOptions::new_preset(preset)?;
    // A dictionary larger than a block is never filled.
    if block < 8 << 20 {
        lzma.dict_size(block as u32);
    }
    let mut filters = Filters::new();
    filters.lzma2(&lzma);
    Ok(MtStreamBuilder::new()
        .threads(options.threads.clamp(1, 64) as u32)
        .block_size(block)
        .filters(filters)
        .check(Check::Crc32)
        .encoder()?)
}
