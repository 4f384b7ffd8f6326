//! Bytes to a compressed stream.

use std::io::{self, Write};

use liblzma::stream::{Check, Filters, LzmaOptions, MtStreamBuilder, Stream};
use liblzma::write::XzEncoder;

use super::compression::Compression;

/// Settings of an [`Encoder`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct EncoderOptions {
    /// Compression level: 0 to 9.
    pub(crate) preset: u32,
    /// Content bytes per .xz block, 64 KiB at least. Blocks are encoded, decoded and sought independently.
    pub(crate) block: u64,
    /// Blocks hold whole items of this many bytes, so that each can be entered at an item.
    pub(crate) unit: u64,
    /// Threads that encode blocks; the output does not depend on it.
    pub(crate) jobs: usize,
}

/// Encodes bytes; without a compression they pass through.
pub(crate) enum Encoder<W: Write> {
    Raw(W),
    Lzma(XzEncoder<W>),
    Zlib(flate2::write::ZlibEncoder<W>),
}

impl<W: Write> Encoder<W> {
    /// Fails for a preset that the encoder refuses, and for gzip, which is read only.
    pub(crate) fn create(
        inner: W,
        compression: Option<Compression>,
        options: &EncoderOptions,
    ) -> io::Result<Self> {
        let preset = options.preset.min(9);
        Ok(match compression {
            None => Encoder::Raw(inner),
            Some(Compression::Xz) => Encoder::Lzma(XzEncoder::new_stream(inner, xz_stream(preset, options)?)),
            Some(Compression::LzmaAlone) => {
                let stream = Stream::new_lzma_encoder(&LzmaOptions::new_preset(preset)?)?;
                Encoder::Lzma(XzEncoder::new_stream(inner, stream))
            }
            Some(Compression::Zlib) => {
                let level = flate2::Compression::new(preset);
                Encoder::Zlib(flate2::write::ZlibEncoder::new(inner, level))
            }
            Some(Compression::Gzip) => return Err(io::ErrorKind::Unsupported.into()),
        })
    }

    pub(crate) fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Encoder::Raw(inner) => inner.write_all(bytes),
            Encoder::Lzma(inner) => inner.write_all(bytes),
            Encoder::Zlib(inner) => inner.write_all(bytes),
        }
    }

    /// Ends the stream and returns the writer.
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
        .threads(options.jobs.clamp(1, 64) as u32)
        .block_size(block)
        .filters(filters)
        .check(Check::Crc32)
        .encoder()?)
}
