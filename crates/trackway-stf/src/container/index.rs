//! The header and the index of a ZSTF file. The index is a hint: frames are walked where it contradicts them.

use trackway_core::{Bytes, Error, ErrorKind, Result, SharedBytes};

use super::frame::{Extent, MAGIC, extent, next_magic};

/// Bytes of the ZSTF header: magic, instructions per chunk, index offset.
pub(crate) const HEADER: u64 = 20;
/// Bytes of an index entry: offset, start pc, uncompressed size.
pub(super) const ENTRY: u64 = 24;

/// One chunk of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Offset of the frame in the file.
    pub offset: u64,
    /// Upper bound on the end of the frame.
    pub end: u64,
    /// Address of the first instruction; 0 for the first chunk, `None` if the index does not say.
    pub start_pc: Option<u64>,
    /// Bytes after decompression, if the index says.
    pub size: Option<u64>,
}

/// A place where the index contradicts the file. The records are right, and all of them are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// Offset in the file.
    pub offset: u64,
    /// The field.
    pub field: &'static str,
    /// Its value.
    pub found: u64,
}

/// The chunks of a file.
#[derive(Debug, Default)]
pub(super) struct Index {
    pub(super) chunks: Vec<Chunk>,
    pub(super) doubts: Vec<Doubt>,
    /// The file ends too early, or its index was never written.
    pub(super) damage: Option<Error>,
}

/// Instructions per chunk, and the offset of the index.
pub(super) fn read_header(bytes: &[u8]) -> Result<(u64, u64)> {
    let mut cursor = Bytes::new(bytes);
    let fields = (|| Ok((cursor.u32()?, cursor.u64()?, cursor.u64()?)))();
    match fields {
        Ok((_, per_chunk, index_at)) => Ok((per_chunk, index_at)),
        Err(kind) => Err(ErrorKind::at(kind, bytes.len() as u64, "ZSTF header", "", "ZSTF").in_container()),
    }
}

/// The error of a file whose index was never written.
pub(super) fn unfinished(index_at: u64) -> Option<Error> {
    (index_at == 0).then(|| ErrorKind::Missing.at(12, "ZSTF header", "index offset", "ZSTF").in_container())
}

/// The error of a file that ends inside its index.
pub(super) fn cut(end: u64) -> Error {
    ErrorKind::Truncated.at(end, "ZSTF index", "", "ZSTF").in_container()
}

/// The chunks by the index, or by their frames where the index cannot be right.
pub(super) fn read(file: &SharedBytes, index_at: u64) -> Index {
    let found = match by_index(file, index_at) {
        Ok(chunks) => Index { chunks, ..Index::default() },
        Err(doubt) => by_frames(file, index_at, doubt),
    };
    // Nothing of it has been read yet.
    file.release(0..0);
    found
}

/// Every chunk is looked at, and together they are as long as the file: what was passed need not stay in memory.
fn passed(file: &SharedBytes, chunks: &[Chunk], at: u64) {
    const TOGETHER: usize = 32;
    let first = chunks.len().checked_sub(TOGETHER).filter(|first| first.is_multiple_of(TOGETHER));
    if let Some(first) = first {
        file.release(chunks[first].offset as usize..at as usize);
    }
}

fn word(all: &[u8], at: u64) -> Option<u64> {
    let bytes = all.get(usize::try_from(at).ok()?..)?.first_chunk()?;
    Some(u64::from_le_bytes(*bytes))
}

/// Reads the index; every number in it is validated before use.
fn by_index(file: &SharedBytes, index_at: u64) -> Result<Vec<Chunk>, Doubt> {
    let all = (**file).as_ref();
    let len = all.len() as u64;
    let doubt = |offset, field, found| Doubt { offset, field, found };
    let count = match word(all, index_at) {
        Some(count) if index_at >= HEADER => count,
        _ => return Err(doubt(12, "index offset", index_at)),
    };
    // Only an empty file has an empty index, and nothing follows it.
    let room = (len - index_at - 8) / ENTRY;
    if count != room || !(len - index_at - 8).is_multiple_of(ENTRY) || (count == 0) != (index_at == HEADER) {
        return Err(doubt(index_at, "chunk count", count));
    }
    let mut chunks: Vec<Chunk> = Vec::with_capacity(count as usize);
    let mut total = 0u64;
    for n in 0..count {
        let at = index_at + 8 + ENTRY * n;
        let [offset, start_pc, size] = [0, 8, 16].map(|field| word(all, at + field).unwrap_or(0));
        let lowest = chunks.last().map_or(HEADER, |chunk| chunk.offset + 1);
        let ascends = offset >= lowest && offset < index_at && (n > 0 || offset == HEADER);
        if !ascends || !begins(all, chunks.last(), offset) {
            return Err(doubt(at, "chunk offset", offset));
        }
        if let Some(before) = chunks.last_mut() {
            before.end = offset;
        }
        passed(file, &chunks, offset);
        chunks.push(Chunk { offset, end: index_at, start_pc: Some(start_pc), size: Some(size) });
        total = match total.checked_add(size) {
            Some(total) => total,
            None => return Err(doubt(at + 16, "uncompressed size", size)),
        };
    }
    Ok(chunks)
}

/// Does a frame begin at `offset`? A damaged one does if the frame before it ends there.
fn begins(all: &[u8], before: Option<&Chunk>, offset: u64) -> bool {
    all[offset as usize..].starts_with(MAGIC)
        || before.is_none_or(|before| match extent(&all[before.offset as usize..]) {
            Extent::Ends(length) => before.offset + length as u64 == offset,
            Extent::Cut | Extent::Unknown => true,
        })
}

/// Walks the frames. An index with as many chunks is still taken as a hint.
fn by_frames(file: &SharedBytes, index_at: u64, doubt: Doubt) -> Index {
    let all = (**file).as_ref();
    let mut chunks = Vec::new();
    let mut at = HEADER as usize;
    loop {
        let end = match frame_end(&all[at..], chunks.len() as u64) {
            Some(0) => break,
            Some(length) => at + length,
            None => all.len(),
        };
        chunks.push(Chunk { offset: at as u64, end: end as u64, start_pc: None, size: None });
        at = end;
        passed(file, &chunks, at as u64);
        if at == all.len() {
            break;
        }
    }
    let (at, count) = (at as u64, chunks.len() as u64);
    let whole =
        word(all, at).is_some_and(|found| found == count) && all.len() as u64 >= at + 8 + ENTRY * count;
    if whole {
        for (n, chunk) in chunks.iter_mut().enumerate() {
            let entry = at + 8 + ENTRY * n as u64;
            chunk.start_pc = word(all, entry + 8);
            chunk.size = word(all, entry + 16).filter(|&size| size <= super::frame::AT_ONCE as u64);
        }
    }
    let damage = match unfinished(index_at) {
        Some(damage) => Some(damage),
        // A wrong count is doubtful; an index that ends too early, or is not there at all, is damage.
        None => (!whole && (all.len() as u64) < at + 8 + ENTRY * count).then(|| cut(all.len() as u64)),
    };
    Index { chunks, doubts: if damage.is_none() { vec![doubt] } else { Vec::new() }, damage }
}

/// Length of the frame at the start of `rest`, which `before` others precede; 0 if the index begins here, `None` if the
/// frame does not end. A damaged frame ends where the next one begins.
pub(super) fn frame_end(rest: &[u8], before: u64) -> Option<usize> {
    let is_index = |rest: &[u8], count: u64| {
        let found = rest.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
        rest.len() < 5 || found == Some(count)
    };
    match extent(rest) {
        Extent::Ends(length) => Some(length),
        Extent::Unknown if !rest.starts_with(MAGIC) && is_index(rest, before) => Some(0),
        _ => match next_magic(rest) {
            None if !rest.starts_with(MAGIC) => Some(0),
            next => next,
        },
    }
}
