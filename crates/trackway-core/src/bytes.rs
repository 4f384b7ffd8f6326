//! Byte cursor: little-endian fields out of a slice, and into a `Vec<u8>`.

use crate::error::ErrorKind;

/// Reads fields from a slice. Running out is [`ErrorKind::Truncated`]; the caller that knows the item
/// adds the place.
///
/// ```
/// use trackway_core::Bytes;
/// let mut bytes = Bytes::new(&[1, 0x34, 0x12, 7]);
/// assert_eq!(bytes.u8()?, 1);
/// assert_eq!(bytes.u16()?, 0x1234);
/// assert_eq!(bytes.rest(), &[7]);
/// assert!(bytes.u32().is_err());
/// # Ok::<(), trackway_core::ErrorKind>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Bytes<'a> {
    data: &'a [u8],
    at: usize,
}

macro_rules! little_endian {
    ($($name:ident $ty:ty),*) => {$(
        /// Takes one little-endian field.
        #[inline(always)]
        pub fn $name(&mut self) -> Result<$ty, ErrorKind> {
            self.array().map(<$ty>::from_le_bytes)
        }
    )*};
}

impl<'a> Bytes<'a> {
    /// A cursor at the start of `data`.
    #[inline]
    pub fn new(data: &'a [u8]) -> Self {
        Bytes { data, at: 0 }
    }

    little_endian!(u8 u8, u16 u16, u32 u32, u64 u64);

    /// Takes the next `N` bytes.
    #[inline(always)]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], ErrorKind> {
        match self.data.get(self.at..).and_then(|rest| rest.first_chunk::<N>()) {
            Some(chunk) => {
                self.at += N;
                Ok(*chunk)
            }
            None => Err(ErrorKind::Truncated),
        }
    }

    /// Takes the next `n` bytes.
    #[inline]
    pub fn take(&mut self, n: usize) -> Result<&'a [u8], ErrorKind> {
        match self.data.get(self.at..).and_then(|rest| rest.get(..n)) {
            Some(taken) => {
                self.at += n;
                Ok(taken)
            }
            None => Err(ErrorKind::Truncated),
        }
    }

    /// Position from the start of the slice.
    #[inline]
    pub fn position(&self) -> usize {
        self.at
    }

    /// The bytes that are left.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        &self.data[self.at..]
    }

    /// True at the end.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.at == self.data.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn reads_what_was_written_and_stops_at_any_cut(a: u8, b: u16, c: u32, d: u64, cut in 0usize..15) {
            let mut out = vec![a];
            out.extend(b.to_le_bytes());
            out.extend(c.to_le_bytes());
            out.extend(d.to_le_bytes());
            let read = |data: &[u8]| -> Result<_, ErrorKind> {
                let mut bytes = Bytes::new(data);
                Ok((bytes.u8()?, bytes.u16()?, bytes.u32()?, bytes.u64()?, bytes.is_empty()))
            };
            prop_assert_eq!(read(&out), Ok((a, b, c, d, true)));
            prop_assert_eq!(read(&out[..cut]), Err(ErrorKind::Truncated));
        }

        #[test]
        fn take_never_overruns(data: Vec<u8>, n: usize) {
            let mut bytes = Bytes::new(&data);
            match bytes.take(n) {
                Ok(taken) => prop_assert_eq!(taken, &data[..n]),
                Err(kind) => { prop_assert_eq!(kind, ErrorKind::Truncated); prop_assert_eq!(bytes.position(), 0) }
            }
        }
    }
}
