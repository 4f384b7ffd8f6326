//! Compression around a trace: recognised and undone on the way in, and written so that the last write can fail like
//! any other.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use trackway_core::{Input, Output, Result};

/// Compression around a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// gzip.
    Gzip,
    /// xz.
    Xz,
    /// zstd.
    Zstd,
}

impl Compression {
    /// The usual name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Compression::Gzip => "gzip",
            Compression::Xz => "xz",
            Compression::Zstd => "zstd",
        }
    }

    /// By the first bytes of a file.
    pub(crate) fn recognise(head: &[u8]) -> Option<Self> {
        [
            (&b"\x1f\x8b"[..], Compression::Gzip),
            (b"\xfd7zXZ\0", Compression::Xz),
            (b"\x28\xb5\x2f\xfd", Compression::Zstd),
        ]
        .into_iter()
        .find(|(magic, _)| head.starts_with(magic))
        .map(|found| found.1)
    }

    /// By the extension of a file name: `.gz`, `.xz`, `.zst`.
    pub fn of_name(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "gz" => Some(Compression::Gzip),
            "xz" => Some(Compression::Xz),
            "zst" => Some(Compression::Zstd),
            _ => None,
        }
    }

    /// The decompressed input.
    pub(crate) fn decompress(self, input: Input) -> Result<Input> {
        let reader = std::io::BufReader::with_capacity(1 << 16, input.into_read());
        Ok(Input::Stream(match self {
            Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(reader)),
            Compression::Xz => Box::new(liblzma::bufread::XzDecoder::new_multi_decoder(reader)),
            Compression::Zstd => {
                let decoder = zstd::stream::read::Decoder::with_buffer(reader);
                Box::new(decoder?)
            }
        }))
    }
}

impl std::str::FromStr for Compression {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        [Compression::Gzip, Compression::Xz, Compression::Zstd]
            .into_iter()
            .find(|compression| compression.as_str() == name)
            .ok_or(())
    }
}

/// The three compressors alike.
trait Encoder: Write + Send {
    /// Writes the rest and the end of the stream to the output.
    fn end(self: Box<Self>) -> io::Result<()>;
}

type Inner = Box<dyn Write + Send>;

macro_rules! encoders {
    ($($encoder:ty),*) => {$(
        impl Encoder for $encoder {
            fn end(self: Box<Self>) -> io::Result<()> {
                self.finish()?.flush()
            }
        }
    )*};
}
encoders!(
    flate2::write::GzEncoder<Inner>,
    liblzma::write::XzEncoder<Inner>,
    zstd::stream::write::Encoder<'static, Inner>
);

/// Ends its stream when it is flushed. Every writer flushes once, when it is finished, and so learns of an error in the
/// last bytes; an encoder that ends when it is dropped could not report it.
struct Ending {
    /// None once the stream is ended.
    encoder: Option<Box<dyn Encoder>>,
}

impl Write for Ending {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.encoder {
            Some(encoder) => encoder.write(bytes),
            None => Err(io::Error::other("the compressed stream has ended")),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.encoder.take().map_or(Ok(()), Encoder::end)
    }
}

/// Output through a compressor; the stream ends when it is flushed.
pub fn compress(compression: Compression, output: Output, level: Option<i32>) -> Result<Output> {
    let inner: Inner = match output {
        Output::File(file) => Box::new(BufWriter::new(file)),
        Output::Stream(stream) => stream,
    };
    let level_or = |default: u32| level.and_then(|level| u32::try_from(level).ok()).unwrap_or(default).min(9);
    let encoder: Box<dyn Encoder> = match compression {
        Compression::Gzip => {
            Box::new(flate2::write::GzEncoder::new(inner, flate2::Compression::new(level_or(6))))
        }
        Compression::Xz => Box::new(liblzma::write::XzEncoder::new(inner, level_or(6))),
        Compression::Zstd => Box::new(zstd::stream::write::Encoder::new(inner, level.unwrap_or(3))?),
    };
    Ok(Output::Stream(Box::new(Ending { encoder: Some(encoder) })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    /// A disk with room for that many bytes.
    struct Disk(Arc<Mutex<Vec<u8>>>, usize);

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut held = self.0.lock().unwrap();
            if held.len() + bytes.len() > self.1 {
                return Err(io::Error::from(io::ErrorKind::StorageFull));
            }
            held.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn write(compression: Compression, room: usize) -> (io::Result<()>, Vec<u8>) {
        let held = Arc::new(Mutex::new(Vec::new()));
        let disk = Output::Stream(Box::new(Disk(held.clone(), room)));
        let mut output = compress(compression, disk, None).unwrap();
        let text = b"what a trace holds, ".repeat(50);
        let result = output.as_write().write_all(&text).and_then(|()| output.as_write().flush());
        drop(output);
        let bytes = held.lock().unwrap().clone();
        (result, bytes)
    }

    #[test]
    fn an_error_of_the_last_write_is_reported() {
        for compression in [Compression::Gzip, Compression::Xz, Compression::Zstd] {
            let (result, whole) = write(compression, usize::MAX);
            result.unwrap();
            // All of it fits except the very last byte.
            let (result, _) = write(compression, whole.len() - 1);
            assert_eq!(result.unwrap_err().kind(), io::ErrorKind::StorageFull, "{compression:?}");
            let (result, _) = write(compression, whole.len());
            result.unwrap();
        }
    }

    #[test]
    fn nothing_is_written_after_the_end() {
        let held = Arc::new(Mutex::new(Vec::new()));
        let mut output =
            compress(Compression::Gzip, Output::Stream(Box::new(Disk(held.clone(), 1000))), None).unwrap();
        output.as_write().flush().unwrap();
        let whole = held.lock().unwrap().len();
        assert!(output.as_write().write_all(b"more").is_err());
        output.as_write().flush().unwrap();
        assert_eq!(held.lock().unwrap().len(), whole);
    }
}
