//! Items to bytes.

use std::io::Write;

use trackway_core::Result;

use crate::config::{Config, Widths};
use crate::group::Group;
use crate::record::Record;

/// Bytes that are collected before they are written.
const BLOCK: usize = 1 << 16;

/// Writes a trace, item by item.
pub struct Writer<W: Write> {
    out: W,
    widths: Widths,
    buffer: Vec<u8>,
    written: u64,
}

impl<W: Write> std::fmt::Debug for Writer<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("widths", &self.widths).field("written", &self.position()).finish()
    }
}

impl<W: Write> Writer<W> {
    /// Creates a writer with the widths of `config`.
    pub fn new(out: W, config: &Config) -> Result<Self> {
        Ok(Writer { out, widths: config.widths()?, buffer: Vec::with_capacity(BLOCK + 64), written: 0 })
    }

    /// Appends an item; refuses values that their fields cannot hold.
    pub fn write(&mut self, record: &Record) -> Result<()> {
        if let Err(error) = record.write(&mut self.buffer, &self.widths) {
            return Err(trackway_core::Error { offset: self.position(), ..error });
        }
        if self.buffer.len() >= BLOCK {
            self.flush_block()?;
        }
        Ok(())
    }

    /// Appends a group unchanged.
    pub fn write_group(&mut self, group: &Group) -> Result<()> {
        group.wire().try_for_each(|record| self.write(&record))
    }

    /// Bytes written so far.
    pub fn position(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    fn flush_block(&mut self) -> Result<()> {
        self.out.write_all(&self.buffer)?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Writes the collected bytes.
    pub fn finish(&mut self) -> Result<()> {
        self.flush_block()?;
        Ok(self.out.flush()?)
    }

    /// Writes the collected bytes and returns the output.
    pub fn into_inner(mut self) -> Result<W> {
        self.finish()?;
        Ok(self.out)
    }
}

/// The bytes of a sequence of items.
pub fn to_bytes<'a>(records: impl IntoIterator<Item = &'a Record>, config: &Config) -> Result<Vec<u8>> {
    let mut writer = Writer::new(Vec::new(), config)?;
    records.into_iter().try_for_each(|record| writer.write(record))?;
    writer.into_inner()
}
