//! Bits of a payload, in both directions and as text.
//!
//! A packet declares its fields once, as a function over a [`Wire`]; reading, writing and showing are three
//! kinds of it. Fields are packed least significant bit first, and a payload that ends early continues with copies
//! of its last bit (chapter 6, sign-based compression).

/// 64-bit words of the longest payload that the fields of any packet can fill, plus one to look ahead.
const WORDS: usize = 8;
/// Bytes of a payload that fields can reach.
pub(crate) const MAX_BYTES: usize = (WORDS - 1) * 8;

/// One direction of the wire.
pub(crate) trait Wire {
    /// Has a way of its own for [`signed`](Wire::signed).
    const SIGNED: bool = false;

    /// A field of `width` bits.
    fn bits(&mut self, name: &'static str, value: &mut u64, width: u32);

    /// A field of `width` bits, and fields of `repeated` bits in all that repeat its last one, at the end.
    fn signed(&mut self, _value: u64, _width: u32, _repeated: u32) {}

    /// A field of one bit.
    #[inline(always)]
    fn flag(&mut self, name: &'static str, value: &mut bool) {
        let mut bit = u64::from(*value);
        self.bits(name, &mut bit, 1);
        *value = bit == 1;
    }

    /// A field that is narrower than 33 bits.
    #[inline(always)]
    fn small(&mut self, name: &'static str, value: &mut u32, width: u32) {
        let mut wide = u64::from(*value);
        self.bits(name, &mut wide, width);
        *value = wide as u32;
    }

    /// A bit that means true by differing from the bit before it (6.6.1, 6.6.2).
    #[inline(always)]
    fn chained(&mut self, name: &'static str, value: &mut bool, last: &mut bool) {
        let mut raw = *value != *last;
        self.flag(name, &mut raw);
        *value = raw != *last;
        *last = raw;
    }
}

/// Reads fields from a payload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Take {
    words: [u64; WORDS],
    at: u32,
}

impl Take {
    /// The payload, extended by copies of its last bit. Bytes beyond [`MAX_BYTES`] belong to no field.
    #[inline]
    pub(crate) fn new(payload: &[u8]) -> Self {
        let sign = payload.last().is_some_and(|byte| byte >> 7 == 1);
        let fill = if sign { u64::MAX } else { 0 };
        let mut words = [fill; WORDS];
        let mut rest = &payload[..payload.len().min(MAX_BYTES)];
        let mut n = 0;
        while let Some((word, tail)) = rest.split_first_chunk::<8>() {
            words[n] = u64::from_le_bytes(*word);
            rest = tail;
            n += 1;
        }
        if !rest.is_empty() {
            let mut word = fill.to_le_bytes();
            word[..rest.len()].copy_from_slice(rest);
            words[n] = u64::from_le_bytes(word);
        }
        Take { words, at: 0 }
    }

    /// Bits taken so far.
    pub(crate) fn position(&self) -> u32 {
        self.at
    }
}

impl Wire for Take {
    #[inline(always)]
    fn bits(&mut self, _: &'static str, value: &mut u64, width: u32) {
        let word = (self.at / 64) as usize;
        let shift = self.at % 64;
        let low = self.words[word.min(WORDS - 1)] >> shift;
        let high = (self.words[(word + 1).min(WORDS - 1)] << 1) << (63 - shift);
        let mask = if width == 0 { 0 } else { u64::MAX >> (64 - width) };
        *value = (low | high) & mask;
        self.at += width;
    }
}

/// Reads fields from a payload of at most 16 bytes, as almost all are: an arithmetic shift repeats the last bit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TakeShort {
    bits: i128,
}

impl TakeShort {
    /// Longest payload.
    pub(crate) const MAX: usize = 16;

    /// The payload; its length is between 1 and [`MAX`](Self::MAX).
    #[inline(always)]
    pub(crate) fn new(payload: &[u8]) -> Self {
        let unused = 128 - 8 * payload.len() as u32;
        let bits = match payload.split_first_chunk::<8>() {
            Some((low, high)) => u128::from(u64::from_le_bytes(*low)) | u128::from(load(high)) << 64,
            None => u128::from(load(payload)),
        };
        TakeShort { bits: ((bits << unused) as i128) >> unused }
    }
}

impl TakeShort {
    /// As [`new`](Self::new), for the first `len` of 16 readable bytes.
    #[inline(always)]
    pub(crate) fn within(bytes: &[u8; 16], len: u32) -> Self {
        let unused = 128 - 8 * len;
        TakeShort { bits: ((u128::from_le_bytes(*bytes) << unused) as i128) >> unused }
    }
}

/// Up to 8 bytes, little-endian.
#[inline(always)]
fn load(bytes: &[u8]) -> u64 {
    let len = bytes.len();
    if let (Some(low), Some(high)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        let high = u64::from(u32::from_le_bytes(*high)) << (8 * (len - 4));
        return u64::from(u32::from_le_bytes(*low)) | high;
    }
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

impl Wire for TakeShort {
    #[inline(always)]
    fn bits(&mut self, _: &'static str, value: &mut u64, width: u32) {
        let mask = if width == 0 { 0 } else { u64::MAX >> (64 - width) };
        *value = self.bits as u64 & mask;
        self.bits >>= width;
    }
}

/// Writes fields to a payload.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Put {
    words: [u64; WORDS],
    at: u32,
}

impl Wire for Put {
    #[inline(always)]
    fn bits(&mut self, _: &'static str, value: &mut u64, width: u32) {
        if width == 0 {
            return;
        }
        let value = *value & (u64::MAX >> (64 - width));
        let word = (self.at / 64) as usize;
        let shift = self.at % 64;
        self.words[word] |= value << shift;
        self.words[word + 1] |= (value >> 1) >> (63 - shift);
        self.at += width;
    }
}

/// Writes a payload of at most 8 bytes, as almost all packets of formats 1 and 2 have.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PutShort {
    bits: i64,
    at: u32,
    /// Bits after those that repeat the last one.
    repeated: u32,
    is_long: bool,
}

impl PutShort {
    /// As [`Put::finish`]; `None` if the payload is longer.
    #[inline(always)]
    pub(crate) fn finish(self, compress: bool) -> Option<ShortPayload> {
        let field_bits = self.at + self.repeated;
        let unused = 64u32.saturating_sub(self.at.max(1));
        let extended = self.bits << unused >> unused;
        let mut len = ((field_bits + 7) >> 3).max(1);
        if compress {
            let same = (extended ^ (extended >> 63)).leading_zeros();
            len = len.min((65 - same).div_ceil(8));
        }
        let short = ShortPayload { bytes: extended.to_le_bytes(), len: len as usize, field_bits };
        if self.is_long | (len > 8) { None } else { Some(short) }
    }
}

/// A written payload of at most 8 bytes: copying a fixed length is one move.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShortPayload {
    pub(crate) bytes: [u8; 8],
    pub(crate) len: usize,
    field_bits: u32,
}

impl ShortPayload {
    /// As [`Payload::saved`].
    #[inline(always)]
    pub(crate) fn saved(&self) -> u32 {
        saved_bits(self.field_bits, self.len)
    }
}

impl From<ShortPayload> for Payload {
    fn from(short: ShortPayload) -> Self {
        let mut bytes = [0; WORDS * 8];
        bytes[..8].copy_from_slice(&short.bytes);
        Payload { bytes, len: short.len, field_bits: short.field_bits }
    }
}

#[inline(always)]
fn saved_bits(field_bits: u32, len: usize) -> u32 {
    ((field_bits + 7) >> 3).saturating_sub(len as u32) * 8
}

impl Wire for PutShort {
    const SIGNED: bool = true;

    #[inline(always)]
    fn signed(&mut self, value: u64, width: u32, repeated: u32) {
        let value = trackway_core::sign_extend(value, width) as i64;
        let placed = value << (self.at % 64);
        self.is_long |= placed >> (self.at % 64) != value;
        self.bits |= placed;
        self.at += width;
        self.repeated = repeated;
    }

    #[inline(always)]
    fn bits(&mut self, _: &'static str, value: &mut u64, width: u32) {
        let mask = if width == 0 { 0 } else { u64::MAX >> (64 - width) };
        self.bits |= ((*value & mask) << (self.at % 64)) as i64;
        self.at += width;
        self.is_long |= self.at > 64;
    }
}

/// A written payload.
#[derive(Clone, Copy, Debug)]
pub struct Payload {
    bytes: [u8; WORDS * 8],
    len: usize,
    /// Bits that all fields have together, before compression.
    pub field_bits: u32,
}

impl Payload {
    /// The bytes to send.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Bits that compression saved.
    #[inline]
    pub fn saved(&self) -> u32 {
        saved_bits(self.field_bits, self.len)
    }
}

impl Put {
    /// The payload: all fields, extended to a byte; if `compress`, without the bytes that sign extension restores.
    #[inline]
    pub(crate) fn finish(mut self, compress: bool) -> Payload {
        let last = self.at.max(1) - 1;
        let sign = self.words[(last / 64) as usize] >> (last % 64) & 1 == 1;
        let (word, bit) = ((self.at / 64) as usize, self.at % 64);
        if sign {
            self.words[word] |= u64::MAX << bit;
            self.words[word + 1..].fill(u64::MAX);
        }
        let mut len = self.at.div_ceil(8).max(1) as usize;
        if compress {
            // Keep the highest bit that differs from the sign, and one copy of the sign above it.
            let fill = if sign { u64::MAX } else { 0 };
            let top = (0..=word).rev().find(|&n| self.words[n] != fill);
            let bits = top.map_or(1, |n| n as u32 * 64 + 65 - (self.words[n] ^ fill).leading_zeros());
            len = len.min(bits.div_ceil(8) as usize);
        }
        let mut bytes = [0; WORDS * 8];
        for (chunk, word) in bytes.chunks_exact_mut(8).zip(self.words) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        Payload { bytes, len, field_bits: self.at }
    }
}

/// Passes fields to a closure, by name.
pub(crate) struct Show<'a>(pub(crate) &'a mut dyn FnMut(&'static str, u64, u32));

impl Wire for Show<'_> {
    fn bits(&mut self, name: &'static str, value: &mut u64, width: u32) {
        (self.0)(name, *value, width);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use trackway_core::{BitReader, BitWriter};

    proptest! {
        #[test]
        fn agrees_with_the_plain_bit_cursors(
            fields in prop::collection::vec((any::<u64>(), 1u32..=64), 1..6),
            extreme: bool,
            compress: bool,
        ) {
            let mut put = Put::default();
            let mut plain = BitWriter::default();
            for &(value, width) in &fields {
                let mut value = if extreme { (value as i64 >> 63) as u64 } else { value };
                put.bits("", &mut value, width);
                plain.put(value, width);
            }
            let whole = plain.into_bytes_extended();
            let payload = put.finish(compress);
            if !compress {
                prop_assert_eq!(payload.bytes(), &whole[..]);
            }
            let mut short = PutShort::default();
            for &(value, width) in &fields {
                let mut value = if extreme { (value as i64 >> 63) as u64 } else { value };
                short.bits("", &mut value, width);
            }
            if let Some(short) = short.finish(compress) {
                prop_assert_eq!(payload.bytes(), &short.bytes[..short.len]);
            }
            prop_assert!(payload.bytes().len() <= whole.len() && !payload.bytes().is_empty());
            let mut take = Take::new(payload.bytes());
            let mut short = (payload.bytes().len() <= TakeShort::MAX).then(|| TakeShort::new(payload.bytes()));
            let mut reader = BitReader::new(payload.bytes());
            for &(value, width) in &fields {
                let value = if extreme { (value as i64 >> 63) as u64 } else { value };
                let mut got = 0;
                take.bits("", &mut got, width);
                prop_assert_eq!(got, trackway_core::mask(value, width));
                prop_assert_eq!(got, reader.take_extended(width));
                if let Some(short) = &mut short {
                    let mut same = 0;
                    short.bits("", &mut same, width);
                    prop_assert_eq!(got, same);
                }
            }
            // One byte less would not bring the packet back.
            if compress && payload.bytes().len() > 1 {
                let less = &payload.bytes()[..payload.bytes().len() - 1];
                let sign = less.last().unwrap() >> 7;
                let gone = payload.bytes().last().unwrap();
                prop_assert_ne!(*gone, if sign == 1 { 0xff } else { 0 });
            }
        }
    }
}
