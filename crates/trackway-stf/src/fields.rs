//! Field types of STF records: how each is read from and written to the wire.

use serde::{Deserialize, Serialize};
use trackway_core::{Bytes, ErrorKind};

use crate::values::reg_class;

/// Field widths that the header settles; [`Layout::note`] takes them from its records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// EVENT ids have 64 bits (feature bit 19).
    pub event64: bool,
    /// Content of a vector register, in 64-bit words; 0 without a VLEN_CONFIG.
    pub vector_words: u16,
    /// Bus protocol of transaction records (PROTOCOL_ID).
    pub protocol: u8,
}

/// A field on the wire.
pub(crate) trait Wire<'a>: Sized {
    fn read(bytes: &mut Bytes<'a>, layout: &Layout) -> Result<Self, ErrorKind>;
    fn write(&self, out: &mut Vec<u8>, layout: &Layout);
}

macro_rules! number {
    ($($ty:ident)*) => {$(
        impl Wire<'_> for $ty {
            #[inline(always)]
            fn read(bytes: &mut Bytes<'_>, _: &Layout) -> Result<Self, ErrorKind> {
                bytes.$ty()
            }
            #[inline(always)]
            fn write(&self, out: &mut Vec<u8>, _: &Layout) {
                out.extend_from_slice(&self.to_le_bytes());
            }
        }
    )*};
}
number!(u8 u16 u32 u64);

impl Wire<'_> for [u8; 3] {
    fn read(bytes: &mut Bytes<'_>, _: &Layout) -> Result<Self, ErrorKind> {
        bytes.array()
    }
    fn write(&self, out: &mut Vec<u8>, _: &Layout) {
        out.extend_from_slice(self);
    }
}

/// Declares a counted list: a count of type `$count`, then that many elements of `$width` bytes.
macro_rules! counted {
    ($($(#[$meta:meta])* $name:ident $count:ident $width:literal)*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name<'a>(pub &'a [u8]);

        impl<'a> Wire<'a> for $name<'a> {
            #[inline]
            fn read(bytes: &mut Bytes<'a>, _: &Layout) -> Result<Self, ErrorKind> {
                let count = bytes.$count()? as usize;
                // A byte count that overflows exceeds any input.
                bytes.take(count.checked_mul($width).ok_or(ErrorKind::Truncated)?).map($name)
            }
            fn write(&self, out: &mut Vec<u8>, _: &Layout) {
                // A list longer than its count can say is cut, never mis-framed.
                let count = <$count>::try_from(self.0.len() / $width).unwrap_or(<$count>::MAX);
                out.extend_from_slice(&count.to_le_bytes());
                out.extend_from_slice(&self.0[..count as usize * $width]);
            }
        }
    )*};
}
counted! {
    /// Text with a 32-bit length.
    Text32 u32 1
    /// Text with a 16-bit length.
    Text16 u16 1
    /// Page table entries, 16 bytes each: address of the entry, raw entry.
    Entries u8 16
    /// Data words of an event, 8 bytes each.
    Data u8 8
}

impl Data<'_> {
    /// The data as 64-bit words.
    pub fn words(&self) -> impl ExactSizeIterator<Item = u64> + '_ {
        self.0.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word))
    }
}

impl Entries<'_> {
    /// Address and raw content of each entry.
    pub fn pairs(&self) -> impl ExactSizeIterator<Item = (u64, u64)> + '_ {
        let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
        self.0.as_chunks::<16>().0.iter().map(move |pair| (word(&pair[..8]), word(&pair[8..])))
    }
}

/// The id of an EVENT: 32 or 64 bits on the wire, the two top bits of which are flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventId {
    /// An interrupt; otherwise an exception.
    pub interrupt: bool,
    /// A meta-event, such as a mode change.
    pub special: bool,
    /// Cause number, or the number of the meta-event.
    pub code: u64,
}

impl Wire<'_> for EventId {
    fn read(bytes: &mut Bytes<'_>, layout: &Layout) -> Result<Self, ErrorKind> {
        let (raw, width) = if layout.event64 { (bytes.u64()?, 64) } else { (u64::from(bytes.u32()?), 32) };
        Ok(EventId {
            interrupt: raw >> (width - 1) & 1 == 1,
            special: raw >> (width - 2) & 1 == 1,
            code: trackway_core::mask(raw, width - 2),
        })
    }
    fn write(&self, out: &mut Vec<u8>, layout: &Layout) {
        let width = if layout.event64 { 64 } else { 32 };
        let flags = u64::from(self.interrupt) << (width - 1) | u64::from(self.special) << (width - 2);
        let raw = flags | trackway_core::mask(self.code, width - 2);
        out.extend_from_slice(&raw.to_le_bytes()[..width as usize / 8]);
    }
}

/// Register class, role and content (STF InstRegRecord).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register<'a> {
    /// Register number within its class.
    pub number: u16,
    /// Class in bits 3:0, role in bits 7:4.
    pub meta: u8,
    /// Little-endian content: 8 bytes, or the vector length.
    pub content: &'a [u8],
}

impl Register<'_> {
    /// Register class, one of [`reg_class`](crate::values::reg_class).
    #[inline]
    pub fn class(&self) -> u8 {
        self.meta & 0xf
    }

    /// Operand role, one of [`reg_role`](crate::values::reg_role).
    #[inline]
    pub fn role(&self) -> u8 {
        self.meta >> 4
    }
}

impl<'a> Wire<'a> for Register<'a> {
    #[inline]
    fn read(bytes: &mut Bytes<'a>, layout: &Layout) -> Result<Self, ErrorKind> {
        let (number, meta) = (bytes.u16()?, bytes.u8()?);
        // Without a vector length the content is one word, as in version 1.3.
        let vector = meta & 0xf == reg_class::VECTOR && layout.vector_words > 0;
        let words = if vector { layout.vector_words.into() } else { 1 };
        Ok(Register { number, meta, content: bytes.take(8 * words)? })
    }
    #[inline]
    fn write(&self, out: &mut Vec<u8>, _: &Layout) {
        let [low, high] = self.number.to_le_bytes();
        match *self.content {
            // The common case, as one copy of constant length.
            [a, b, c, d, e, f, g, h] => {
                out.extend_from_slice(&[low, high, self.meta, a, b, c, d, e, f, g, h])
            }
            _ => {
                out.extend_from_slice(&[low, high, self.meta]);
                out.extend_from_slice(self.content);
            }
        }
    }
}

/// Typed values of a transaction: a count, then for each a type byte and 1, 2, 4 or 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata<'a> {
    /// Number of values.
    pub count: u16,
    /// The values in wire form.
    pub raw: &'a [u8],
}

impl<'a> Wire<'a> for Metadata<'a> {
    fn read(bytes: &mut Bytes<'a>, _: &Layout) -> Result<Self, ErrorKind> {
        let count = bytes.u16()?;
        let mut look = *bytes;
        for _ in 0..count {
            match look.u8()? {
                kind @ 0..=3 => look.take(1 << kind)?,
                found => return Err(ErrorKind::Unknown { found: found.into() }),
            };
        }
        let raw = bytes.take(look.position() - bytes.position())?;
        Ok(Metadata { count, raw })
    }
    fn write(&self, out: &mut Vec<u8>, _: &Layout) {
        out.extend_from_slice(&self.count.to_le_bytes());
        out.extend_from_slice(self.raw);
    }
}

/// Protocol-specific part of a transaction, in wire form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Protocol<'a>(pub &'a [u8]);

/// TileLink, the only protocol with a known layout.
pub(crate) const TILELINK: u8 = 1;

impl<'a> Wire<'a> for Protocol<'a> {
    fn read(bytes: &mut Bytes<'a>, layout: &Layout) -> Result<Self, ErrorKind> {
        match layout.protocol {
            0 => Ok(Protocol(&[])),
            TILELINK => {
                let mut look = *bytes;
                tilelink(&mut look)?;
                bytes.take(look.position() - bytes.position()).map(Protocol)
            }
            found => Err(ErrorKind::Unsupported { found: found.into() }),
        }
    }
    fn write(&self, out: &mut Vec<u8>, _: &Layout) {
        out.extend_from_slice(self.0);
    }
}

/// Steps over a TileLink message: channels A to E are 1 to 5.
fn tilelink(bytes: &mut Bytes<'_>) -> Result<(), ErrorKind> {
    let channel = bytes.u8()?;
    if !(1..=5).contains(&channel) {
        return Err(ErrorKind::Unknown { found: channel.into() });
    }
    if channel < 5 {
        bytes.take(3)?; // code, param, size
        bytes.u64()?; // source
        let data = bytes.u16()?;
        bytes.take(data.into())?;
    }
    bytes.u64()?; // address, or sink for D and E
    if channel < 3 {
        let mask = bytes.u16()?;
        bytes.take(usize::from(mask).div_ceil(8))?;
    }
    Ok(())
}
