//! Records to bytes.

use std::io::Write;

use trackway_core::{Error, ErrorKind, Gap, GapReason, Result};
use trackway_io::payload::{Encoder, EncoderOptions};

use crate::config::WriteConfig;
use crate::gap;
use crate::layout::{RECORD, Words, to_bytes};
use crate::record::{Header, Record, StringContinuation, StringRecord};
use crate::records::Records;

/// Bytes collected per call of the encoder.
const BUFFER: usize = 1 << 16;

/// Writes a trace: the Header raw, the records after it in the storage of the settings.
///
/// It writes any record in any order; for legal sequences use a [`Producer`](crate::Producer).
pub struct Writer<W: Write> {
    encoder: Option<Encoder<W>>,
    buffer: Vec<u8>,
}

impl<W: Write> std::fmt::Debug for Writer<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("buffered", &self.buffer.len()).finish_non_exhaustive()
    }
}

impl<W: Write> Writer<W> {
    /// Writes the Header, with the flags of its storage.
    pub fn create(mut inner: W, header: Header, config: &WriteConfig) -> Result<Self> {
        let (compressed, use_zlib) = config.storage.flags();
        let header = Header { compressed, use_zlib, ..header };
        inner.write_all(&to_bytes(&header.write()))?;
        let options = EncoderOptions {
            preset: config.preset,
            block: config.block,
            unit: RECORD as u64,
            threads: config.threads,
        };
        let refused = |_| ErrorKind::Unsupported { found: 0 }.at(0, "settings", "storage", "ASTF 4.2.1");
        let encoder = Encoder::create(inner, config.storage.compression(), &options).map_err(refused)?;
        Ok(Writer { encoder: Some(encoder), buffer: Vec::with_capacity(BUFFER) })
    }

    /// Writes a record.
    #[inline]
    pub fn put(&mut self, record: &Record) -> Result<()> {
        self.put_words(&record.write())
    }

    #[inline]
    pub(crate) fn put_words(&mut self, words: &Words) -> Result<()> {
        self.buffer.extend_from_slice(&to_bytes(words));
        if self.buffer.len() >= BUFFER { self.flush_buffer() } else { Ok(()) }
    }

    fn put_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.flush_buffer()?;
        self.encoder.as_mut().ok_or_else(finished)?.write_all(bytes)?;
        Ok(())
    }

    fn flush_buffer(&mut self) -> Result<()> {
        self.encoder.as_mut().ok_or_else(finished)?.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    /// Ends the storage and returns the output.
    pub fn finish(&mut self) -> Result<W> {
        self.flush_buffer()?;
        let encoder = self.encoder.take().ok_or_else(finished)?;
        Ok(encoder.finish()?)
    }
}

fn finished() -> Error {
    ErrorKind::Impossible { found: 0 }.at(0, "trace", "finish", "")
}

/// A string of `size` bytes with its continuations (ASTF 4.8).
pub(crate) fn string_records(size: u16, bytes: &[u8]) -> Vec<Words> {
    let take = |from: usize, n: usize| bytes.get(from + n).copied().unwrap_or(0);
    let first = StringRecord { size, string: std::array::from_fn(|n| take(0, n)), ..Default::default() };
    let part = |from| StringContinuation { string: std::array::from_fn(|n| take(from, n)) }.write();
    std::iter::once(first.write()).chain((28..bytes.len()).step_by(31).map(part)).collect()
}

/// Copies a trace into another storage: every record verbatim, except for the Header's storage flags. Returns the
/// number of records, the Header included. A damaged block is replaced by a String that reports the loss; the error is
/// returned after all other blocks have been copied.
///
/// ```
/// use trackway_astf::{ReadConfig, Storage, Trace, WriteConfig, copy};
/// use trackway_core::Input;
///
/// let raw = Trace::open(Input::from_vec(trackway_astf::example(Storage::Raw)), ReadConfig::default())?;
/// let config = WriteConfig { storage: Storage::Xz, ..WriteConfig::default() };
/// let mut compressed = Vec::new();
/// assert_eq!(copy(&mut raw.records(), &mut compressed, &config)?, 21);
/// assert_eq!(&compressed[32..38], b"\xfd7zXZ\0");
/// # Ok::<(), trackway_core::Error>(())
/// ```
pub fn copy(records: &mut Records, out: impl Write, config: &WriteConfig) -> Result<u64> {
    let Some((_, Record::Header(header))) = records.next_record()? else {
        return Err(ErrorKind::Missing.at(records.offset(), "Header", "", "ASTF 4.2"));
    };
    let mut writer = Writer::create(out, header, config)?;
    let (mut count, mut damage) = (1, None);
    loop {
        match records.chunk() {
            Ok(Some((_, chunk))) => {
                let n = chunk.len();
                writer.put_bytes(chunk.as_flattened())?;
                records.consume(n);
                count += n as u64;
            }
            Ok(None) => break,
            Err(error) => {
                damage.get_or_insert(error);
                let Some(bytes) = records.resync() else { break };
                let text = gap::text(&Gap { bytes: Some(bytes), ..Gap::new(GapReason::BadInput) });
                for words in string_records(text.len() as u16, text.as_bytes()) {
                    writer.put_words(&words)?;
                }
            }
        }
    }
    writer.finish()?;
    damage.map_or(Ok(count), Err)
}
