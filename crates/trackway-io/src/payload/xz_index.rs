//! The index of an .xz file: where its blocks are, so that a reader can jump to one.
//!
//! Only the index of a file with a single stream is used; anything else is read from the start.

use super::compression::XZ_MAGIC;

/// A block of an .xz stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// Offset of its first byte in the stream.
    pub(super) at: u64,
    /// Offset after its last byte in the stream.
    pub(super) end: u64,
    /// Offset of its first byte in the content.
    pub(super) start: u64,
    /// Bytes of content.
    pub(super) len: u64,
}

/// Positions of the blocks of an .xz stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Index {
    /// In the order of the stream; at least one.
    pub(super) blocks: Vec<Block>,
    /// Offset after the last block, where the index begins, in the stream.
    pub(super) end: u64,
    /// Bytes of all content.
    pub(super) len: u64,
}

/// Length of the stream header and of the stream footer.
pub(super) const STREAM_HEADER: usize = 12;
/// Offset of the byte in the stream header that names the check at the end of each block.
pub(super) const CHECK_KIND: usize = 7;
/// The check is a CRC32, in the last four bytes of the block.
pub(super) const CRC32: u8 = 1;

impl Index {
    /// Reads the index of a file that is one .xz stream; `None` where it is not, or does not add up.
    pub(super) fn read(stream: &[u8]) -> Option<Index> {
        let body = stream.len().checked_sub(STREAM_HEADER)?;
        let (stream_without_footer, footer) = stream.split_at(body);
        if !stream.starts_with(&XZ_MAGIC) || footer[10..] != *b"YZ" || footer[8..10] != stream[6..8] {
            return None;
        }
        let size = (u64::from(u32::from_le_bytes(footer[4..8].try_into().ok()?)) + 1) * 4;
        let end = (body as u64).checked_sub(size).filter(|end| *end >= STREAM_HEADER as u64)?;
        let (mut index, check) = stream_without_footer[end as usize..].split_last_chunk()?;
        if crc(index) != *check || crc(&footer[4..10]) != footer[..4] {
            return None;
        }
        // Indicator 0, count, then pairs of unpadded size and content size.
        let (0, rest) = (*index.first()?, index.get(1..)?) else { return None };
        index = rest;
        let count = number(&mut index)?;
        let mut blocks = Vec::new();
        let (mut at, mut start) = (STREAM_HEADER as u64, 0u64);
        for _ in 0..count {
            let (unpadded, content) = (number(&mut index)?, number(&mut index)?);
            let next = at.checked_add(unpadded.checked_next_multiple_of(4)?)?;
            blocks.push(Block { at, end: next, start, len: content });
            (at, start) = (next, start.checked_add(content)?);
        }
        (at == end && count > 0).then_some(Index { blocks, end, len: start })
    }

    /// Number of the block that holds byte `at` of the content, or of the last one.
    pub(super) fn block_of(&self, at: u64) -> usize {
        self.blocks.partition_point(|block| block.start <= at).max(1) - 1
    }
}

fn crc(bytes: &[u8]) -> [u8; 4] {
    crc32fast::hash(bytes).to_le_bytes()
}

/// A variable-length integer: up to nine groups of seven bits, lowest first.
fn number(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for n in 0..9 {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << (7 * n);
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}
