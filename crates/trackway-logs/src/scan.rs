//! Words, numbers and digits of a line, byte by byte.

use crate::lines::Wrong;

/// The value of a hexadecimal digit; 0xff for any other byte.
static DIGITS: [u8; 256] = {
    let mut digits = [0xff; 256];
    let mut n = 0;
    while n < 16 {
        digits[b"0123456789abcdef"[n] as usize] = n as u8;
        digits[b"0123456789ABCDEF"[n] as usize] = n as u8;
        n += 1;
    }
    digits
};

/// The value of a hexadecimal digit.
#[inline(always)]
pub(crate) fn digit(byte: u8) -> Option<u8> {
    let digit = DIGITS[usize::from(byte)];
    (digit < 16).then_some(digit)
}

/// The value of eight hexadecimal digits, the highest first.
#[inline(always)]
fn eight_digits(digits: [u8; 8]) -> Option<u32> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HALVES: u64 = 0x10 * ONES;
    let bytes = u64::from_be_bytes(digits);
    // One in each byte that is a letter; its digit is nine above its low bits.
    let letters = (bytes >> 6) & ONES;
    let low = bytes & (HALVES - ONES);
    let high = bytes & !(HALVES - ONES) & !(letters << 5);
    let values = low + 9 * letters;
    let wrong = (high ^ (3 * HALVES + (letters << 4)))
        | ((values + 6 * (ONES - letters)) & HALVES)
        | (((low + 15 * letters) & HALVES) ^ (letters << 4));
    let pairs = (values | values >> 4) & 0x00ff_00ff_00ff_00ff;
    let quads = (pairs | pairs >> 8) & 0x0000_ffff_0000_ffff;
    (wrong == 0).then_some((quads | quads >> 16) as u32)
}

/// A place in a line that moves forward over what was read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scan<'l> {
    pub(crate) text: &'l [u8],
    pub(crate) at: usize,
}

impl<'l> Scan<'l> {
    /// At the start of a line.
    #[inline(always)]
    pub(crate) fn new(text: &'l [u8]) -> Self {
        Scan { text, at: 0 }
    }

    /// The rest of the line.
    #[inline(always)]
    pub(crate) fn rest(&self) -> &'l [u8] {
        &self.text[self.at..]
    }

    /// The next byte; 0 at the end.
    #[inline(always)]
    pub(crate) fn peek(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or(0)
    }

    /// The error that something else is expected here.
    #[cold]
    pub(crate) fn wrong<T>(&self, expected: &'static str) -> Result<T, Wrong> {
        Err(Wrong { column: self.at, expected })
    }

    /// Passes over blanks.
    #[inline(always)]
    pub(crate) fn blanks(&mut self) {
        while matches!(self.peek(), b' ' | b'\t') {
            self.at += 1;
        }
    }

    /// Passes over this byte, if it comes next.
    #[inline(always)]
    pub(crate) fn skip(&mut self, byte: u8) -> bool {
        let found = self.peek() == byte && byte != 0;
        self.at += usize::from(found);
        found
    }

    /// Passes over this byte, which has to come next.
    #[inline(always)]
    pub(crate) fn expect(&mut self, byte: u8, expected: &'static str) -> Result<(), Wrong> {
        if self.skip(byte) { Ok(()) } else { self.wrong(expected) }
    }

    /// Bytes up to the next blank or the end.
    #[inline(always)]
    pub(crate) fn word(&mut self) -> &'l [u8] {
        self.until(|byte| matches!(byte, b' ' | b'\t'))
    }

    /// The same, where the word is long as a rule.
    #[inline(always)]
    pub(crate) fn long_word(&mut self) -> &'l [u8] {
        let rest = self.rest();
        let length = memchr::memchr2(b' ', b'\t', rest).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    /// Bytes up to one that `ends`, or the end.
    #[inline(always)]
    pub(crate) fn until(&mut self, ends: impl Fn(u8) -> bool) -> &'l [u8] {
        let rest = self.rest();
        let length = rest.iter().position(|byte| ends(*byte)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    /// A decimal number of up to 19 digits.
    #[inline(always)]
    pub(crate) fn decimal(&mut self) -> Option<u64> {
        let start = self.at;
        let mut value: u64 = 0;
        while let byte @ b'0'..=b'9' = self.peek() {
            value = value.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
            self.at += 1;
        }
        (1..20).contains(&(self.at - start)).then_some(value)
    }

    /// Passes over eight hexadecimal digits, if they come next.
    #[inline(always)]
    pub(crate) fn eight_digits(&mut self) -> Option<u32> {
        let value = eight_digits(*self.rest().first_chunk()?)?;
        self.at += 8;
        Some(value)
    }

    /// A hexadecimal number of up to 16 digits, without a prefix, and how many it has.
    #[inline(always)]
    pub(crate) fn hex(&mut self, expected: &'static str) -> Result<(u64, usize), Wrong> {
        let start = self.at;
        let mut value: u64 = 0;
        while let Some(eight) = self.eight_digits() {
            value = value << 32 | u64::from(eight);
        }
        while let Some(digit) = digit(self.peek()) {
            value = value << 4 | u64::from(digit);
            self.at += 1;
        }
        let digits = self.at - start;
        if (1..=16).contains(&digits) { Ok((value, digits)) } else { Err(Wrong { column: start, expected }) }
    }
}

/// Digits of the longest vector register, 65536 bits.
const MOST_DIGITS: usize = 16384;

/// Whole words, and values of any width.
impl Scan<'_> {
    /// True at the end of the line.
    #[inline(always)]
    pub(crate) fn is_end(&self) -> bool {
        self.at >= self.text.len()
    }

    /// The error that something else is expected here, for those who do not return it at once.
    pub(crate) fn fault(&self, expected: &'static str) -> Wrong {
        Wrong { column: self.at, expected }
    }

    /// Passes over `text`, if it comes next.
    #[inline(always)]
    pub(crate) fn has(&mut self, text: &[u8]) -> bool {
        let has = self.rest().starts_with(text);
        self.at += if has { text.len() } else { 0 };
        has
    }

    /// Passes over `text`, which has to come next.
    #[inline(always)]
    pub(crate) fn pass(&mut self, text: &[u8], expected: &'static str) -> Result<(), Wrong> {
        if self.has(text) { Ok(()) } else { self.wrong(expected) }
    }

    /// A decimal number, which has to come next.
    #[inline(always)]
    pub(crate) fn number(&mut self, expected: &'static str) -> Result<u64, Wrong> {
        let column = self.at;
        self.decimal().ok_or(Wrong { column, expected })
    }

    /// Hexadecimal digits of any number as little-endian bytes at the end of `out`; returns their number.
    pub(crate) fn wide(&mut self, expected: &'static str, out: &mut Vec<u8>) -> Result<usize, Wrong> {
        let wrong = self.fault(expected);
        let digits = self.until(|letter| digit(letter).is_none());
        if digits.is_empty() || digits.len() > MOST_DIGITS {
            return Err(wrong);
        }
        let start = out.len();
        let value = |letter: &u8| digit(*letter).unwrap_or(0);
        out.extend(
            digits.rchunks(2).map(|pair| pair.iter().fold(0, |byte, letter| byte << 4 | value(letter))),
        );
        Ok(out.len() - start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_digits_are_those_of_one() {
        let mut seed = 1u64;
        for _ in 0..100_000 {
            seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            let text = format!("{:08x}", seed >> 32);
            let mut digits: [u8; 8] = text.into_bytes().try_into().unwrap();
            assert_eq!(eight_digits(digits), Some((seed >> 32) as u32));
            digits.make_ascii_uppercase();
            assert_eq!(eight_digits(digits), Some((seed >> 32) as u32));
            let (place, byte) = (seed as usize % 8, (seed >> 8) as u8);
            digits[place] = byte;
            assert_eq!(eight_digits(digits).is_some(), digit(byte).is_some(), "{byte:#x}");
        }
    }

    #[test]
    fn numbers_end_where_their_digits_end() {
        let mut scan = Scan::new(b"12 0xfFz 00112233445566778899");
        assert_eq!(scan.number("n"), Ok(12));
        assert!(scan.has(b" 0x"));
        assert_eq!(scan.hex("n"), Ok((0xff, 2)));
        assert_eq!(scan.hex("digits"), Err(Wrong { column: 7, expected: "digits" }));
        assert!(scan.has(b"z "));
        let mut bytes = vec![7];
        assert_eq!(scan.wide("digits", &mut bytes), Ok(10));
        assert_eq!(bytes, [7, 0x99, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0]);
        assert!(scan.is_end());
        assert!(Scan::new(b"99999999999999999999999").number("n").is_err());
    }
}
