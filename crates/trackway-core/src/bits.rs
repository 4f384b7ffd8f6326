//! Bit cursors: fields of 0 to 64 bits, least significant bit first.

use crate::error::ErrorKind;

/// Reads bit fields, least significant bit of each byte first.
///
/// ```
/// use trackway_core::{BitReader, BitWriter};
/// let mut out = BitWriter::default();
/// out.put(0b101, 3);
/// out.put(0x1234, 16);
/// let bytes = out.into_bytes();
/// let mut bits = BitReader::new(&bytes);
/// assert_eq!(bits.take(3)?, 0b101);
/// assert_eq!(bits.take(16)?, 0x1234);
/// # Ok::<(), trackway_core::ErrorKind>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct BitReader<'a> {
    data: &'a [u8],
    at: u64,
}

impl<'a> BitReader<'a> {
    /// A cursor at the first bit of `data`.
    #[inline]
    pub fn new(data: &'a [u8]) -> Self {
        BitReader { data, at: 0 }
    }

    /// Takes `width` bits (at most 64).
    #[inline]
    pub fn take(&mut self, width: u32) -> Result<u64, ErrorKind> {
        debug_assert!(width <= 64);
        if u64::from(width) > self.left() {
            return Err(ErrorKind::Truncated);
        }
        let value = self.peek_at(self.at, width);
        self.at += u64::from(width);
        Ok(value)
    }

    /// Takes `width` bits; past the end the last bit repeats, as in sign-compressed packets.
    #[inline]
    pub fn take_extended(&mut self, width: u32) -> u64 {
        debug_assert!(width <= 64);
        let have = self.left().min(u64::from(width)) as u32;
        let low = self.peek_at(self.at, have);
        self.at += u64::from(have);
        if have == width {
            return low;
        }
        let sign = self.data.last().is_some_and(|byte| byte >> 7 == 1);
        let fill = if sign { u64::MAX.checked_shl(have).unwrap_or(0) } else { 0 };
        mask(low | fill, width)
    }

    #[inline]
    fn peek_at(&self, at: u64, width: u32) -> u64 {
        let byte = (at / 8) as usize;
        let shift = (at % 8) as u32;
        let mut word = [0u8; 16];
        let tail = &self.data[byte.min(self.data.len())..];
        let n = tail.len().min(9);
        word[..n].copy_from_slice(&tail[..n]);
        mask((u128::from_le_bytes(word) >> shift) as u64, width)
    }

    /// Bits taken so far.
    #[inline]
    pub fn position(&self) -> u64 {
        self.at
    }

    /// Bits left.
    #[inline]
    pub fn left(&self) -> u64 {
        self.data.len() as u64 * 8 - self.at
    }
}

/// Writes bit fields, least significant bit first.
#[derive(Clone, Debug, Default)]
pub struct BitWriter {
    bytes: Vec<u8>,
    /// Bits not yet in `bytes`, fewer than 8.
    pending: u8,
    count: u32,
}

impl BitWriter {
    /// Appends the low `width` bits (at most 64) of `value`.
    #[inline]
    pub fn put(&mut self, value: u64, width: u32) {
        debug_assert!(width <= 64);
        let mut word = (u128::from(mask(value, width)) << self.count) | u128::from(self.pending);
        let mut count = self.count + width;
        while count >= 8 {
            self.bytes.push(word as u8);
            word >>= 8;
            count -= 8;
        }
        self.pending = word as u8;
        self.count = count;
    }

    /// Bits written so far.
    pub fn len(&self) -> u64 {
        self.bytes.len() as u64 * 8 + u64::from(self.count)
    }

    /// True if nothing was written.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes, the last one filled up with zero bits.
    pub fn into_bytes(mut self) -> Vec<u8> {
        if self.count > 0 {
            self.bytes.push(self.pending);
        }
        self.bytes
    }

    /// The bytes, the last one filled up by repeating the last bit written.
    pub fn into_bytes_extended(mut self) -> Vec<u8> {
        if self.count > 0 {
            let sign = self.pending >> (self.count - 1) & 1;
            let fill = if sign == 1 { 0xffu8 << self.count } else { 0 };
            self.bytes.push(self.pending | fill);
        }
        self.bytes
    }
}

/// The low `width` bits of `value`.
#[inline]
pub const fn mask(value: u64, width: u32) -> u64 {
    if width >= 64 { value } else { value & ((1 << width) - 1) }
}

/// Extends bit `width - 1` of `value` through all bits above it.
#[inline]
pub const fn sign_extend(value: u64, width: u32) -> u64 {
    if width == 0 || width >= 64 {
        return value;
    }
    let shift = 64 - width;
    (((value << shift) as i64) >> shift) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn fields_come_back(fields in prop::collection::vec((any::<u64>(), 0u32..=64), 0..40)) {
            let mut out = BitWriter::default();
            for &(value, width) in &fields {
                out.put(value, width);
            }
            let total = out.len();
            prop_assert_eq!(total, fields.iter().map(|f| u64::from(f.1)).sum::<u64>());
            let bytes = out.into_bytes();
            let mut bits = BitReader::new(&bytes);
            for &(value, width) in &fields {
                prop_assert_eq!(bits.take(width), Ok(mask(value, width)));
            }
            prop_assert!(bits.left() < 8);
        }

        #[test]
        fn a_cut_tail_is_extended(value: u64, width in 1u32..=64, more in 0u32..=64) {
            // All bits of the last field and what follows it equal its sign: dropping bytes loses nothing.
            let mut out = BitWriter::default();
            out.put(value, width);
            let sign = value >> (width - 1) & 1;
            let bytes = out.into_bytes_extended();
            let mut bits = BitReader::new(&bytes);
            prop_assert_eq!(bits.take_extended(width), mask(value, width));
            prop_assert_eq!(bits.take_extended(more), if sign == 1 { mask(u64::MAX, more) } else { 0 });
        }

        #[test]
        fn sign_extension_is_arithmetic(value: i64, width in 1u32..=64) {
            let low = mask(value as u64, width);
            let fits = width == 64 || (-(1i64 << (width - 1))..(1i64 << (width - 1))).contains(&value);
            prop_assert_eq!(sign_extend(low, width) == value as u64, fits);
        }
    }
}
