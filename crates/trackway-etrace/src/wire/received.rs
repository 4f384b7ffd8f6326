//! A packet as it was received, for writing it back byte for byte.

use trackway_core::ErrorKind;

use super::bits::Take;

/// A packet with what its fields do not hold: its length on the wire, and bits that are not sign extension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received<P> {
    /// The packet.
    pub packet: P,
    /// Length of the payload as received, in bits.
    pub bits: u32,
    /// Length of all fields together, in bits.
    pub field_bits: u32,
    /// Bits after the last field, where they are not copies of its last bit.
    pub spare: Vec<u8>,
}

impl<P> Received<P> {
    /// Bits that compression saved; negative where the packet was longer than necessary.
    pub fn saved(&self) -> i64 {
        i64::from(self.field_bits) - i64::from(self.bits)
    }

    /// Is it at least a byte longer than the shortest payload? A payload may share its first byte with the frame.
    pub(crate) fn wastes(&self, shortest: &[u8]) -> bool {
        8 * (shortest.len() as u32 + 1) <= self.bits
    }

    /// Reads a payload of `bits` bits; `packet` reads the fields.
    pub(crate) fn read_with(
        payload: &[u8],
        bits: u32,
        packet: impl FnOnce(&mut Take) -> Result<P, ErrorKind>,
    ) -> Result<Self, ErrorKind> {
        if payload.is_empty() {
            return Err(ErrorKind::Truncated);
        }
        let mut take = Take::new(payload);
        let packet = packet(&mut take)?;
        let field_bits = take.position();
        Ok(Received { packet, bits, field_bits, spare: spare_bits(payload, bits, field_bits) })
    }

    /// The payload as it was received, from its uncompressed fields.
    pub(crate) fn with_spare(&self, full: &[u8]) -> Vec<u8> {
        let (bits, field_bits) = (self.bits, self.field_bits);
        let len = bits.div_ceil(8) as usize;
        let sign = full.last().is_some_and(|byte| byte >> 7 == 1);
        let mut bytes = full.to_vec();
        bytes.resize(len, if sign { 0xff } else { 0 });
        if !self.spare.is_empty() {
            let last = bits - 1;
            let mut sign = 0;
            for n in field_bits..len as u32 * 8 {
                let at = n - field_bits;
                if n <= last {
                    sign = self.spare[(at / 8) as usize] >> (at % 8) & 1;
                }
                let byte = &mut bytes[(n / 8) as usize];
                *byte = *byte & !(1 << (n % 8)) | sign << (n % 8);
            }
        }
        bytes
    }
}

/// The bits after the last field, where they are not copies of its last bit; else nothing.
fn spare_bits(payload: &[u8], bits: u32, field_bits: u32) -> Vec<u8> {
    let bit = |n: u32| payload[(n / 8) as usize] >> (n % 8) & 1;
    if bits <= field_bits || (field_bits..bits).all(|n| bit(n) == bit(field_bits - 1)) {
        return Vec::new();
    }
    let mut spare = vec![0; (bits - field_bits).div_ceil(8) as usize];
    for n in field_bits..bits {
        spare[((n - field_bits) / 8) as usize] |= bit(n) << ((n - field_bits) % 8);
    }
    spare
}
