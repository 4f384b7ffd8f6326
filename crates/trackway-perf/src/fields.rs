//! Fields of a record, in the byte order of the machine that recorded it.

use trackway_core::{Error, ErrorKind, Result};

/// Byte order of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Little,
    Big,
}

/// Reads fields one after the other; an error has the offset in the file, the record and the field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Offset in the file of the first of `bytes`.
    base: u64,
    order: Order,
    item: &'static str,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(bytes: &'a [u8], base: u64, order: Order, item: &'static str) -> Self {
        Fields { bytes, at: 0, base, order, item }
    }

    /// The error at the current place.
    pub(crate) fn fail(&self, kind: ErrorKind, field: &'static str) -> Error {
        kind.at(self.base + self.at as u64, self.item, field, "")
    }

    fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N]> {
        let found = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk::<N>());
        let mut array = *found.ok_or_else(|| self.fail(ErrorKind::Truncated, field))?;
        self.at += N;
        if self.order == Order::Big {
            array.reverse();
        }
        Ok(array)
    }

    pub(crate) fn u16(&mut self, field: &'static str) -> Result<u16> {
        self.array(field).map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self, field: &'static str) -> Result<u32> {
        self.array(field).map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self, field: &'static str) -> Result<u64> {
        self.array(field).map(u64::from_le_bytes)
    }

    /// The next `count` bytes as they are.
    pub(crate) fn take(&mut self, count: usize, field: &'static str) -> Result<&'a [u8]> {
        let taken = self.bytes.get(self.at..).and_then(|rest| rest.get(..count));
        let taken = taken.ok_or_else(|| self.fail(ErrorKind::Truncated, field))?;
        self.at += count;
        Ok(taken)
    }

    /// Text up to a zero byte, at most `count` bytes.
    pub(crate) fn text(&self, count: usize) -> String {
        let rest = self.rest();
        let rest = &rest[..count.min(rest.len())];
        let end = rest.iter().position(|&byte| byte == 0).unwrap_or(rest.len());
        String::from_utf8_lossy(&rest[..end]).into_owned()
    }

    /// The bytes that are left.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// Offset in the file of the next byte.
    pub(crate) fn offset(&self) -> u64 {
        self.base + self.at as u64
    }
}
