//! Numbers of variable length.

use trackway_core::Bytes;

use super::header::Field;

/// A number in 7-bit groups, lowest first (K10.5.6.4.3). The number of bytes is kept, so that over-long forms and
/// should-be-zero bits are written back as they were read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    /// All bits sent, from bit 0.
    pub value: u64,
    /// Number of bytes; 0 if the field is absent.
    pub len: u8,
}

impl Chain {
    /// The maximum number of bytes of a field of `bits` bits; a byte at that place holds eight bits.
    pub(crate) const fn max_len(bits: u32) -> u32 {
        (bits - 8).div_ceil(7) + 1
    }

    /// The shortest form of `value` in a field of `bits` bits.
    pub fn shortest(value: u64, bits: u32) -> Self {
        let max = Self::max_len(bits);
        let mut len = 1;
        while len < max && value >> (7 * len) != 0 {
            len += 1;
        }
        Chain { value, len: len as u8 }
    }

    /// The number of bits sent, of a field of `bits` bits.
    pub(crate) const fn bits_sent(self, bits: u32) -> u32 {
        let sent = if self.len as u32 == Self::max_len(bits) { bits } else { 7 * self.len as u32 };
        if sent > bits { bits } else { sent }
    }

    /// The value of a field of `bits` bits, without the should-be-zero bits above it.
    pub const fn get(self, bits: u32) -> u64 {
        if bits >= 64 { self.value } else { self.value & ((1 << bits) - 1) }
    }

    /// `previous` with the bits that were sent replaced, in a field of `bits` bits (timestamps).
    pub const fn replace(self, previous: u64, bits: u32) -> u64 {
        let sent = match self.bits_sent(bits) {
            0 => 1,
            sent => sent,
        };
        let mask = u64::MAX >> (64 - sent);
        previous & !mask | self.value & mask
    }

    pub(super) fn read(bytes: &mut Bytes<'_>, bits: u32, field: &'static str) -> Field<Self> {
        let max = Chain::max_len(bits);
        let mut chain = Chain::default();
        loop {
            let byte = bytes.u8().map_err(|kind| (kind, field))?;
            let shift = 7 * u32::from(chain.len);
            chain.len += 1;
            if u32::from(chain.len) == max {
                chain.value |= u64::from(byte) << shift;
                return Ok(chain);
            }
            chain.value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(chain);
            }
        }
    }

    pub(super) fn write(self, bits: u32, out: &mut Vec<u8>) {
        let max = Chain::max_len(bits);
        for index in 0..u32::from(self.len) {
            let group = (self.value >> (7 * index)) as u8;
            out.push(match index + 1 {
                n if n == max => group,
                n if n == u32::from(self.len) => group & 0x7f,
                _ => group | 0x80,
            });
        }
    }
}

/// Widths in bits of the fields that are chains.
pub mod width {
    /// Commit, cancel and Q counts (K10.5.2.8, K10.5.2.11).
    pub const COUNT: u32 = 32;
    /// Cycle counts (K10.5.2.16).
    pub const CYCLES: u32 = 20;
    /// Sections of Trace Info.
    pub const SECTION: u32 = 64;
    /// Short addresses (K10.5.2.14.4).
    pub const SHORT: u32 = 15;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k10_5_6_4_3_lengths_of_chains() {
        assert_eq!([15, 20, 32, 48, 64].map(Chain::max_len), [2, 3, 5, 7, 9]);
        assert_eq!(Chain::shortest(0x7f, 20), Chain { value: 0x7f, len: 1 });
        assert_eq!(Chain::shortest(0x80, 20), Chain { value: 0x80, len: 2 });
        assert_eq!(Chain::shortest(u64::MAX, 64).len, 9);
        assert_eq!(Chain { value: 0, len: 9 }.bits_sent(64), 64);
        assert_eq!(Chain { value: 0, len: 2 }.bits_sent(64), 14);
    }
}
