//! Numbers as hexadecimal digits: the formatting machinery is too slow for millions of them.

/// All sixteen digits.
pub(crate) fn digits(value: u64) -> [u8; 16] {
    let mut text = [0; 16];
    text[..8].copy_from_slice(&eight((value >> 32) as u32));
    text[8..].copy_from_slice(&eight(value as u32));
    text
}

/// Eight digits: each nibble in a byte of its own, then its letter.
pub(crate) fn eight(value: u32) -> [u8; 8] {
    let mut nibbles = u64::from(value);
    nibbles = (nibbles | nibbles << 16) & 0x0000_ffff_0000_ffff;
    nibbles = (nibbles | nibbles << 8) & 0x00ff_00ff_00ff_00ff;
    nibbles = (nibbles | nibbles << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    // 6 carries a nibble above 9 into the upper half of its byte.
    let letters = (nibbles + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101;
    let from_nine = u64::from(b'a' - b'9' - 1);
    (nibbles + 0x3030_3030_3030_3030 + letters * from_nine).to_be_bytes()
}

#[cfg(test)]
mod tests {
    #[test]
    fn digits_are_those_of_format() {
        for value in [0, 1, 0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210, u64::MAX, 1 << 63] {
            assert_eq!(super::digits(value), *format!("{value:016x}").as_bytes());
        }
    }
}
