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

    /// A hexadecimal number of up to 16 digits, without a prefix, and how many it has.
    #[inline(always)]
    pub(crate) fn hex(&mut self, expected: &'static str) -> Result<(u64, usize), Wrong> {
        let start = self.at;
        let mut value: u64 = 0;
        while let Some(digit) = digit(self.peek()) {
            value = value << 4 | u64::from(digit);
            self.at += 1;
        }
        let digits = self.at - start;
        if (1..=16).contains(&digits) { Ok((value, digits)) } else { Err(Wrong { column: start, expected }) }
    }
}
