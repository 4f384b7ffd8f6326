//! Groups of records to a file: plain, or ZSTF with its chunks and index.

use std::io::{Seek, SeekFrom, Write};

use trackway_core::{ErrorKind, Output, Result};
use trackway_io::compress;

use crate::config::{Container, WriteConfig};
use crate::container::{HEADER, ZSTF_MAGIC};

/// Compression level of chunks.
const LEVEL: i32 = 3;

/// Bytes that are collected before they are written to a plain file.
const PLAIN_BLOCK: usize = 1 << 18;

/// Groups for which the buffer of a plain file is lent at once.
const LENT: u64 = 1 << 12;

/// Writes a trace: the header, groups that end with a marker record, then the remaining records.
///
/// A ZSTF file gets an index when the number of chunks has doubled, and at the end; chunks are readable without one.
/// Records after the last instruction go into the last chunk.
pub struct Writer {
    out: Output,
    config: WriteConfig,
    /// The chunk that is being collected.
    raw: Vec<u8>,
    /// Markers in it.
    markers: u64,
    /// Address of its first instruction.
    start_pc: u64,
    /// Address after the last group.
    next_pc: u64,
    /// Full chunks that are not compressed yet: address of the first instruction, bytes.
    sealed: Vec<(u64, Vec<u8>)>,
    /// Offset, address and size of the chunks written.
    index: Vec<[u64; 3]>,
    /// Offset of the next chunk in the file.
    at: u64,
    /// Chunks in the index of the file; 0 while it has none.
    indexed: usize,
    /// The header comes later: nothing is written before it.
    waits: bool,
    /// Reused from chunk to chunk, one per thread.
    compressors: Vec<zstd::bulk::Compressor<'static>>,
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Writer({:?}, {} chunks)", self.config, self.index.len())
    }
}

impl Writer {
    /// Creates a file.
    pub fn new(out: Output, config: WriteConfig) -> Result<Self> {
        let out = match (config.container, out) {
            (Container::Zstf, Output::Stream(_)) => {
                let kind = ErrorKind::Unsupported { found: 0 };
                return Err(kind.at(0, "ZSTF", "output that cannot seek", "ZSTF"));
            }
            (Container::Zstf, mut out) => {
                let mut header = Vec::from(ZSTF_MAGIC);
                header.extend_from_slice(&config.chunk.to_le_bytes());
                header.extend_from_slice(&0u64.to_le_bytes());
                out.as_write().write_all(&header)?;
                out
            }
            // A plain file is written in order, in large pieces.
            (Container::Plain, Output::File(file)) => Output::Stream(Box::new(std::io::BufWriter::new(file))),
            (Container::Plain, out) => out,
            (Container::Compressed(compression), out) => compress(compression, out, config.level)?,
        };
        Ok(Writer {
            out,
            config,
            raw: Vec::new(),
            markers: 0,
            start_pc: 0,
            next_pc: 0,
            sealed: Vec::new(),
            index: Vec::new(),
            at: HEADER,
            indexed: 0,
            waits: false,
            compressors: Vec::new(),
        })
    }

    /// Keeps the groups until [`late_header`](Writer::late_header).
    pub(crate) fn without_header(mut self) -> Self {
        self.waits = true;
        self
    }

    /// Puts the header before the groups so far.
    pub(crate) fn late_header(&mut self, bytes: &[u8]) -> Result<()> {
        self.waits = false;
        if self.config.container != Container::Zstf {
            return Ok(self.out.as_write().write_all(bytes)?);
        }
        let first = self.sealed.first_mut().map_or(&mut self.raw, |(_, raw)| raw);
        first.splice(..0, bytes.iter().copied());
        self.write_sealed(false)
    }

    /// Writes the header records.
    pub fn header(&mut self, bytes: &[u8]) {
        self.raw.extend_from_slice(bytes);
    }

    /// Writes a group, whose last record is a marker. The next instruction is at `next_pc`.
    #[inline]
    pub fn group(&mut self, bytes: &[u8], next_pc: u64) -> Result<()> {
        let mut raw = self.begin_group(next_pc)?;
        raw.extend_from_slice(bytes);
        self.end_group(raw);
        Ok(())
    }

    /// Like [`group`](Writer::group), but lends the buffer: the caller appends the records and returns it with
    /// [`end_group`](Writer::end_group).
    #[inline]
    pub(crate) fn begin_group(&mut self, next_pc: u64) -> Result<Vec<u8>> {
        match self.config.container {
            Container::Zstf if self.markers == self.config.chunk.max(1) => self.seal()?,
            Container::Plain | Container::Compressed(_) if self.is_block() => self.write_plain()?,
            _ => {}
        }
        self.markers += 1;
        self.next_pc = next_pc;
        Ok(std::mem::take(&mut self.raw))
    }

    /// Is there enough to be written to a plain file?
    #[inline]
    fn is_block(&self) -> bool {
        self.raw.len() > PLAIN_BLOCK && !self.waits
    }

    /// Takes the buffer back after a group.
    #[inline]
    pub(crate) fn end_group(&mut self, raw: Vec<u8>) {
        self.raw = raw;
    }

    /// Lends the buffer for several groups, with their largest number; [`take_back`](Writer::take_back) ends them.
    #[inline]
    pub(crate) fn lend(&mut self) -> (Vec<u8>, usize) {
        let room = match self.config.container {
            Container::Zstf => self.config.chunk.max(1).saturating_sub(self.markers),
            _ if self.is_block() => 0,
            _ => LENT,
        };
        (std::mem::take(&mut self.raw), room as usize)
    }

    /// Takes the buffer back after `count` groups. The next instruction is at `next_pc`.
    #[inline]
    pub(crate) fn take_back(&mut self, raw: Vec<u8>, count: u64, next_pc: u64) {
        self.raw = raw;
        if count > 0 {
            self.markers += count;
            self.next_pc = next_pc;
        }
    }

    /// Writes the records after the last marker, and completes the file.
    pub fn finish(mut self, rest: &[u8]) -> Result<()> {
        self.raw.extend_from_slice(rest);
        if self.config.container == Container::Zstf {
            self.seal()?;
            self.write_sealed(true)?;
            self.write_index()?;
        } else {
            self.write_plain()?;
        }
        Ok(self.out.as_write().flush()?)
    }

    fn write_plain(&mut self) -> Result<()> {
        self.out.as_write().write_all(&self.raw)?;
        self.raw.clear();
        Ok(())
    }

    fn seal(&mut self) -> Result<()> {
        if self.raw.is_empty() {
            return Ok(());
        }
        // The first entry has no address; FORCE_PC in the header does.
        let first = self.index.is_empty() && self.sealed.is_empty();
        let start_pc = if first { 0 } else { self.start_pc };
        self.sealed.push((start_pc, std::mem::take(&mut self.raw)));
        self.markers = 0;
        self.start_pc = self.next_pc;
        if self.waits { Ok(()) } else { self.write_sealed(false) }
    }

    /// Writes the full chunks, as many at a time as there are threads; fewer only if they are the last.
    fn write_sealed(&mut self, are_last: bool) -> Result<()> {
        let threads = self.config.threads.max(1);
        let mut sealed = std::mem::take(&mut self.sealed).into_iter();
        while sealed.len() >= threads || are_last && sealed.len() > 0 {
            self.write_chunks(sealed.by_ref().take(threads).collect())?;
        }
        self.sealed = sealed.collect();
        Ok(())
    }

    /// Compresses chunks, each on its own thread, and writes them in order.
    fn write_chunks(&mut self, sealed: Vec<(u64, Vec<u8>)>) -> Result<()> {
        let level = self.config.level.unwrap_or(LEVEL);
        while self.compressors.len() < sealed.len() {
            let mut compressor = zstd::bulk::Compressor::new(level)?;
            // Without a checksum damage can go unnoticed.
            compressor.include_checksum(true)?;
            self.compressors.push(compressor);
        }
        let mut compressors = self.compressors.iter_mut();
        let frames: Vec<std::io::Result<Vec<u8>>> = match &sealed[..] {
            [(_, raw)] => compressors.next().map(|compressor| compressor.compress(raw)).into_iter().collect(),
            several => std::thread::scope(|scope| {
                let threads: Vec<_> = several
                    .iter()
                    .zip(compressors)
                    .map(|((_, raw), compressor)| scope.spawn(move || compressor.compress(raw)))
                    .collect();
                let lost = || Err(std::io::Error::from(std::io::ErrorKind::Other));
                threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| lost())).collect()
            }),
        };
        for ((start_pc, raw), frame) in sealed.into_iter().zip(frames) {
            self.write_chunk(start_pc, raw.len() as u64, &frame?)?;
            if self.raw.capacity() == 0 {
                self.raw = raw;
                self.raw.clear();
            }
        }
        Ok(())
    }

    /// Writes a frame over the index, if there is one, and a new index when the number of chunks has doubled.
    fn write_chunk(&mut self, start_pc: u64, size: u64, frame: &[u8]) -> Result<()> {
        self.index.push([self.at, start_pc, size]);
        let Output::File(file) = &mut self.out else { return Ok(()) };
        if std::mem::take(&mut self.indexed) > 0 {
            // No index is valid while it is being overwritten.
            set_index_offset(file, 0)?;
        }
        file.seek(SeekFrom::Start(self.at))?;
        file.write_all(frame)?;
        self.at += frame.len() as u64;
        if self.index.len().is_power_of_two() { self.write_index() } else { Ok(()) }
    }

    /// Writes the index after the last chunk, then sets the header's index offset.
    fn write_index(&mut self) -> Result<()> {
        let Output::File(file) = &mut self.out else { return Ok(()) };
        if self.indexed == self.index.len() {
            return Ok(());
        }
        let mut tail = Vec::with_capacity(8 + 24 * self.index.len());
        tail.extend_from_slice(&(self.index.len() as u64).to_le_bytes());
        for word in self.index.as_flattened() {
            tail.extend_from_slice(&word.to_le_bytes());
        }
        file.seek(SeekFrom::Start(self.at))?;
        file.write_all(&tail)?;
        set_index_offset(file, self.at)?;
        file.flush()?;
        self.indexed = self.index.len();
        Ok(())
    }
}

/// Sets the header's index offset.
fn set_index_offset(file: &mut (impl Write + Seek), index_at: u64) -> Result<()> {
    file.seek(SeekFrom::Start(12))?;
    Ok(file.write_all(&index_at.to_le_bytes())?)
}
