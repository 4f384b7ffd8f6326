//! Numbers in as few bytes as they need, seven bits in each, the lowest first.

/// Appends a number.
#[inline]
pub(crate) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Takes one off the front; `None` at the end, or where there is none.
#[inline]
pub(crate) fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for n in 0..10 {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << (7 * n);
        if *byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        let numbers = [0, 1, 0x7f, 0x80, 0x3fff, 0x4000, u64::from(u32::MAX), u64::MAX - 1, u64::MAX];
        let mut bytes = Vec::new();
        numbers.iter().for_each(|number| put(&mut bytes, *number));
        let mut rest = &bytes[..];
        assert_eq!(std::iter::from_fn(|| take(&mut rest)).collect::<Vec<_>>(), numbers);
        assert_eq!(take(&mut &[0x80; 11][..]), None);
    }
}
