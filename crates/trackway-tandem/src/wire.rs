//! The fields of items on the wire: one list of fields per item (`record.rs`), run in three directions.

use trackway_core::{Bytes, ErrorKind};

use crate::config::Widths;
use crate::mem_op::MemOp;

/// Why an item cannot be read or written: the field, and its offset from the start of the item.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    pub(crate) kind: ErrorKind,
    pub(crate) at: u64,
    pub(crate) field: &'static str,
    pub(crate) section: &'static str,
}

/// Sections, for errors.
pub(crate) const TABLE: &str = "Tandem 2";
pub(crate) const NOTES: &str = "Tandem 3";

/// A direction through the fields of an item: [`Reading`], [`Writing`] or [`Measuring`].
pub(crate) trait Wire {
    /// Field widths of the trace.
    fn widths(&self) -> &Widths;

    /// A little-endian field of `width` bytes.
    fn word(&mut self, field: &'static str, value: &mut u64, width: u8) -> Result<(), Fault>;

    /// Two fields of 4 bits in one byte.
    #[inline(always)]
    fn nibbles(&mut self, field: &'static str, low: &mut u8, high: &mut u8) -> Result<(), Fault> {
        let mut packed = *low & 0xf | *high << 4;
        self.number(field, &mut packed, 1)?;
        (*low, *high) = (packed & 0xf, packed >> 4);
        Ok(())
    }

    /// The size of store data, which is in the identifier: 4 to 7.
    fn size_in_identifier(&mut self, _size: &mut u8) -> Result<(), Fault> {
        Ok(())
    }

    /// Refuses a field of the last byte that is greater than `most`.
    fn at_most(&self, _field: &'static str, _value: u8, _most: u8) -> Result<(), Fault> {
        Ok(())
    }

    /// Width in bytes of the register at `address`; refuses addresses without a register.
    fn register(&self, address: u16) -> Result<u8, Fault> {
        Ok(self.widths().register(address).unwrap_or(0))
    }

    /// Does a memory response carry data? The request before it decides; `present` is the record's own state.
    fn is_answered(&self, present: bool) -> Result<bool, Fault> {
        Ok(present)
    }

    /// Refuses data that the item has no field for.
    fn absent(&self, _field: &'static str, _value: u64) -> Result<(), Fault> {
        Ok(())
    }

    /// A field of `width` bytes, of any number type.
    #[inline(always)]
    fn number<T: Number>(&mut self, field: &'static str, value: &mut T, width: u8) -> Result<(), Fault> {
        let mut word = value.to_word();
        self.word(field, &mut word, width)?;
        *value = T::from_word(word);
        Ok(())
    }
}

/// A number type of a field.
pub(crate) trait Number: Copy {
    fn to_word(self) -> u64;
    fn from_word(word: u64) -> Self;
}

macro_rules! numbers {
    ($($ty:ident $unsigned:ident)*) => {$(
        impl Number for $ty {
            #[inline(always)]
            fn to_word(self) -> u64 {
                (self as $unsigned).into()
            }
            #[inline(always)]
            fn from_word(word: u64) -> Self {
                word as $ty
            }
        }
    )*};
}
numbers! { u8 u8  i8 u8  u16 u16  u32 u32  u64 u64 }

/// Fills the fields of a blank item from bytes.
pub(crate) struct Reading<'r, 'b> {
    pub(crate) bytes: &'r mut Bytes<'b>,
    pub(crate) widths: &'r Widths,
    /// Position of the item in `bytes`.
    pub(crate) start: usize,
    pub(crate) identifier: u8,
    /// Operation of the request just before, which decides about the data of a response.
    pub(crate) request: Option<MemOp>,
}

impl Wire for Reading<'_, '_> {
    fn widths(&self) -> &Widths {
        self.widths
    }

    #[inline(always)]
    fn word(&mut self, field: &'static str, value: &mut u64, width: u8) -> Result<(), Fault> {
        let word = match width {
            8 => self.bytes.u64(),
            4 => self.bytes.u32().map(u64::from),
            1 => self.bytes.u8().map(u64::from),
            2 => self.bytes.u16().map(u64::from),
            _ => self.bytes.take(width.min(8).into()).map(|taken| {
                let mut le = [0; 8];
                le[..taken.len()].copy_from_slice(taken);
                u64::from_le_bytes(le)
            }),
        };
        match word {
            Ok(word) => *value = word,
            Err(kind) => return Err(Fault { kind, at: 0, field, section: TABLE }),
        }
        Ok(())
    }

    fn size_in_identifier(&mut self, size: &mut u8) -> Result<(), Fault> {
        *size = self.identifier & 3;
        Ok(())
    }

    fn at_most(&self, field: &'static str, value: u8, most: u8) -> Result<(), Fault> {
        if value <= most {
            return Ok(());
        }
        let at = (self.bytes.position() - self.start - 1) as u64;
        Err(Fault { kind: ErrorKind::Unknown { found: value.into() }, at, field, section: TABLE })
    }

    #[inline(always)]
    fn register(&self, address: u16) -> Result<u8, Fault> {
        let unknown = || Fault {
            kind: ErrorKind::Unknown { found: address.into() },
            at: 1,
            field: "address",
            section: NOTES,
        };
        self.widths.register(address).ok_or_else(unknown)
    }

    fn is_answered(&self, _: bool) -> Result<bool, Fault> {
        match self.request {
            Some(op) => Ok(op.returns()),
            None => Err(Fault { kind: ErrorKind::Missing, at: 0, field: "request", section: NOTES }),
        }
    }
}

/// Appends the fields to a buffer; refuses values that they cannot hold.
pub(crate) struct Writing<'w> {
    pub(crate) out: &'w mut Vec<u8>,
    pub(crate) widths: &'w Widths,
}

impl Writing<'_> {
    #[inline(always)]
    fn fits(good: bool, field: &'static str, found: u64) -> Result<(), Fault> {
        let fault = Fault { kind: ErrorKind::Impossible { found }, at: 0, field, section: TABLE };
        if good { Ok(()) } else { Err(fault) }
    }
}

impl Wire for Writing<'_> {
    fn widths(&self) -> &Widths {
        self.widths
    }

    #[inline(always)]
    fn word(&mut self, field: &'static str, value: &mut u64, width: u8) -> Result<(), Fault> {
        Self::fits(width >= 8 || *value >> (8 * width) == 0, field, *value)?;
        let [a, b, c, d, ..] = value.to_le_bytes();
        match width {
            8.. => self.out.extend_from_slice(&value.to_le_bytes()),
            4 => self.out.extend_from_slice(&[a, b, c, d]),
            2 => self.out.extend_from_slice(&[a, b]),
            1 => self.out.push(a),
            _ => self.out.extend_from_slice(&value.to_le_bytes()[..width.into()]),
        }
        Ok(())
    }

    #[inline(always)]
    fn nibbles(&mut self, field: &'static str, low: &mut u8, high: &mut u8) -> Result<(), Fault> {
        Self::fits(*low <= 0xf && *high <= 0xf, field, (*low).max(*high).into())?;
        self.out.push(*low | *high << 4);
        Ok(())
    }

    #[inline(always)]
    fn size_in_identifier(&mut self, size: &mut u8) -> Result<(), Fault> {
        self.at_most("size", *size, 3)?;
        if let Some(identifier) = self.out.last_mut() {
            *identifier += *size;
        }
        Ok(())
    }

    fn at_most(&self, field: &'static str, value: u8, most: u8) -> Result<(), Fault> {
        Self::fits(value <= most, field, value.into())
    }

    #[inline(always)]
    fn register(&self, address: u16) -> Result<u8, Fault> {
        let width = self.widths.register(address);
        Self::fits(width.is_some(), "address", address.into())?;
        Ok(width.unwrap_or(0))
    }

    fn absent(&self, field: &'static str, value: u64) -> Result<(), Fault> {
        Self::fits(value == 0, field, value)
    }
}

/// Sums the lengths of the fields.
pub(crate) struct Measuring<'w> {
    pub(crate) len: usize,
    pub(crate) widths: &'w Widths,
}

impl Wire for Measuring<'_> {
    fn widths(&self) -> &Widths {
        self.widths
    }

    fn word(&mut self, _: &'static str, _: &mut u64, width: u8) -> Result<(), Fault> {
        self.len += usize::from(width);
        Ok(())
    }
}
