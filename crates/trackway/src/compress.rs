//! Compressed output whose last write is told like any other.

use std::io::{self, BufWriter, Write};

use trackway_core::Output;

use crate::error::{Error, Result};

/// What the three compressors have in common.
trait Encoder: Write + Send {
    /// Writes what is left and the end of the stream, down to the output.
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

/// Ends its stream when it is flushed. Every writer flushes once, when it is finished, and so is told what
/// goes wrong with the last bytes; an encoder that ends when it is dropped could tell nobody.
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

/// Output through a compressor: `gzip`, `xz` or `zstd`.
pub(crate) fn compress(word: &str, output: Output, level: Option<i32>) -> Result<Output> {
    let inner: Inner = match output {
        Output::File(file) => Box::new(BufWriter::new(file)),
        Output::Stream(stream) => stream,
    };
    let level_or = |default: u32| level.and_then(|level| u32::try_from(level).ok()).unwrap_or(default).min(9);
    let encoder: Box<dyn Encoder> = match word {
        "gzip" => Box::new(flate2::write::GzEncoder::new(inner, flate2::Compression::new(level_or(6)))),
        "xz" => Box::new(liblzma::write::XzEncoder::new(inner, level_or(6))),
        "zstd" => {
            let encoder = zstd::stream::write::Encoder::new(inner, level.unwrap_or(3));
            Box::new(encoder.map_err(|error| Error::Trace(error.into()))?)
        }
        other => {
            let words = "plain, zstf, gzip, xz, zstd";
            return Err(Error::Config(format!("--container: {other:?} is not one of {words}")));
        }
    };
    Ok(Output::Stream(Box::new(Ending { encoder: Some(encoder) })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    /// A disk with room for so many bytes.
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

    fn write(word: &str, room: usize) -> (io::Result<()>, Vec<u8>) {
        let held = Arc::new(Mutex::new(Vec::new()));
        let disk = Output::Stream(Box::new(Disk(held.clone(), room)));
        let mut output = compress(word, disk, None).unwrap();
        let text = b"what a trace holds, ".repeat(50);
        let result = output.as_write().write_all(&text).and_then(|()| output.as_write().flush());
        drop(output);
        let bytes = held.lock().unwrap().clone();
        (result, bytes)
    }

    #[test]
    fn an_error_of_the_last_write_is_told() {
        for word in ["gzip", "xz", "zstd"] {
            let (result, whole) = write(word, usize::MAX);
            result.unwrap();
            // All of it fits but for the very last byte.
            let (result, _) = write(word, whole.len() - 1);
            assert_eq!(result.unwrap_err().kind(), io::ErrorKind::StorageFull, "{word}");
            let (result, _) = write(word, whole.len());
            result.unwrap();
        }
    }

    #[test]
    fn nothing_is_written_behind_the_end() {
        let held = Arc::new(Mutex::new(Vec::new()));
        let mut output = compress("gzip", Output::Stream(Box::new(Disk(held.clone(), 1000))), None).unwrap();
        output.as_write().flush().unwrap();
        let whole = held.lock().unwrap().len();
        assert!(output.as_write().write_all(b"more").is_err());
        output.as_write().flush().unwrap();
        assert_eq!(held.lock().unwrap().len(), whole);
    }
}
