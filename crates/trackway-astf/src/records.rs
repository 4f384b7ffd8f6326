//! Content to records: whole chunks of them, or one by one.

use trackway_core::{Error, ErrorKind, Input, Result};
use trackway_io::payload::Content;

use crate::layout::{RECORD, Words, from_bytes};
use crate::record::Record;

/// Offset of the first record in the decompressed stream, and whole records as they are in memory.
pub type Chunk<'a> = (u64, &'a [[u8; RECORD]]);

/// The records of a trace: whole chunks of them for a fast scan, or one by one.
///
/// ```
/// use trackway_astf::{ReadConfig, Instruction, Storage, Trace};
/// use trackway_core::Input;
///
/// // Count instructions and sum their addresses, straight off the bytes.
/// let bytes = trackway_astf::example(Storage::Raw);
/// let mut records = Trace::open(Input::from_vec(bytes), ReadConfig::default())?.records();
/// let (mut count, mut sum) = (0, 0u64);
/// while let Some((_, chunk)) = records.chunk()? {
///     for record in chunk {
///         if record[0] == Instruction::ID {
///             count += 1;
///             sum = sum.wrapping_add(Instruction::read(&trackway_astf::from_bytes(record)).pc);
///         }
///     }
///     let n = chunk.len();
///     records.consume(n);
/// }
/// assert_eq!(count, 11);
/// # let _ = sum;
/// # Ok::<(), trackway_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Records {
    content: Content,
    /// The Header says compressed, but the payload begins like a record.
    maybe_raw: bool,
    /// The Header says compressed, and nothing follows it: not even an empty stream.
    pub(crate) missing: bool,
}

impl Records {
    pub(crate) fn new(content: Content, maybe_raw: bool) -> Self {
        Records { content, maybe_raw, missing: false }
    }

    /// The whole records available and the offset of the first; `None` at the end. Input that ends inside a
    /// record is [`ErrorKind::Truncated`] at the end of the last whole one.
    #[inline]
    pub fn chunk(&mut self) -> Result<Option<Chunk<'_>>> {
        while self.content.bytes().len() < RECORD {
            let at = self.offset();
            if !self.content.more().map_err(|error| self.placed(error, at))? {
                return if std::mem::take(&mut self.missing) {
                    Err(ErrorKind::Truncated.at(at, "payload", "", "ASTF 4.2.1"))
                } else if self.content.bytes().is_empty() {
                    Ok(None)
                } else {
                    Err(ErrorKind::Truncated.at(at, "record", "", "ASTF 4"))
                };
            }
        }
        Ok(Some((self.content.offset(), self.content.bytes().as_chunks().0)))
    }

    /// Places damage at the first record that is not whole. Where a payload that looks raw does not decode at all, the
    /// Header's flag is wrong, not the payload.
    #[cold]
    fn placed(&self, error: Error, at: u64) -> Error {
        if self.maybe_raw && at == RECORD as u64 && error.kind == ErrorKind::Compression {
            return ErrorKind::Impossible { found: 1 }.at(8, "Header", "compressed", "ASTF 4.2.1");
        }
        Error { offset: at, ..error }
    }

    /// All remaining records, where the input is in memory and not compressed; else none.
    pub(crate) fn mapped(&self) -> &[[u8; RECORD]] {
        if self.content.is_whole() { self.content.bytes().as_chunks().0 } else { &[] }
    }

    /// Steps over `n` records of the current chunk.
    #[inline]
    pub fn consume(&mut self, n: usize) {
        self.content.consume(n * RECORD);
    }

    /// The next record and its offset; `None` at the end.
    pub fn next_record(&mut self) -> Result<Option<(u64, Record)>> {
        Ok(self.next_words()?.map(|(offset, words)| (offset, Record::read(&words))))
    }

    pub(crate) fn next_words(&mut self) -> Result<Option<(u64, Words)>> {
        let Some((offset, chunk)) = self.chunk()? else { return Ok(None) };
        let words = from_bytes(&chunk[0]);
        self.consume(1);
        Ok(Some((offset, words)))
    }

    /// The decompressed stream from here on.
    pub fn into_input(self) -> Input {
        self.content.into_input()
    }

    /// Offset of the next record in the decompressed stream.
    pub fn offset(&self) -> u64 {
        self.content.offset()
    }

    /// Bytes of the file used so far.
    pub fn position(&self) -> u64 {
        self.content.position()
    }

    /// Bytes of the file, where known.
    pub fn size(&self) -> Option<u64> {
        self.content.size()
    }

    /// Blocks that can be sought and decoded on their own; 1 where the storage has none.
    pub(crate) fn block_count(&self) -> usize {
        self.content.block_count()
    }

    /// Bytes of the decompressed stream, where [`seek`](Records::seek) need not read all of them.
    pub(crate) fn seekable_len(&self) -> Option<u64> {
        self.content.seekable_len()
    }

    /// Continues at record `number` (the Header is 0), skipping whole blocks where the storage has an index. Returns the
    /// number of the next record: a smaller one where the trace ends before.
    pub fn seek(&mut self, number: u64) -> Result<u64> {
        let wanted = number.saturating_mul(RECORD as u64);
        self.content.skip_to_block_of(wanted);
        while self.offset() < wanted {
            let missing = (wanted - self.offset()) / RECORD as u64;
            let Some((_, chunk)) = self.chunk()? else { break };
            let n = (chunk.len() as u64).min(missing) as usize;
            self.consume(n);
        }
        Ok(self.offset() / RECORD as u64)
    }

    /// After an error: continues at the next block that can be decoded on its own. Returns the bytes skipped, or `None`
    /// where there is no such block.
    pub fn resync(&mut self) -> Option<u64> {
        self.content.skip_to_next_block()
    }
}
