//! Addresses as packets send them (K10.5.2.14): in full, in part, or as an entry of the address history.

use std::fmt::Write;

use trackway_core::{Bytes, ErrorKind};

use super::header::{Field, Kind};

/// Low nibble of a Target Address header, which selects the payload.
pub(super) mod nibble {
    /// Exact matches are 0 to 2, the entry of the address history.
    pub(super) const EXACT_LAST: u8 = 2;
    pub(super) const SHORT_IS0: u8 = 0x5;
    pub(super) const SHORT_IS1: u8 = 0x6;
    pub(super) const LONG32_IS0: u8 = 0xa;
    pub(super) const LONG32_IS1: u8 = 0xb;
    pub(super) const LONG64_IS0: u8 = 0xd;
    pub(super) const LONG64_IS1: u8 = 0xe;
}

/// Header of the first Target Address packet; the low nibble selects the payload.
const TARGET: u8 = Kind::Address.header();

/// The same payloads by the low nibble of a Source Address header (K10.5.2.12); `0xff` is reserved.
const SOURCE_FORMS: [u8; 16] =
    [0x0, 0x1, 0x2, 0xff, 0x5, 0x6, 0xa, 0xb, 0xd, 0xe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];

/// Instruction set state in a packet (K10.5.6.2.1); together with the context's execution state it selects the
/// instruction set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum SubIsa {
    /// A64 or A32.
    #[default]
    Is0,
    /// T32.
    Is1,
}

/// How an address is encoded; the names have the number of bits or bytes sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddressForm {
    /// Entry 0, 1 or 2 of the address history.
    Exact(u8),
    /// One byte, A64 or A32.
    Short1Is0,
    /// Two bytes, A64 or A32.
    Short2Is0,
    /// One byte, T32.
    Short1Is1,
    /// Two bytes, T32.
    Short2Is1,
    /// 32 bits, A64 or A32.
    Long32Is0,
    /// 32 bits, T32.
    Long32Is1,
    /// 64 bits, A64 or A32.
    Long64Is0,
    /// 64 bits, T32.
    Long64Is1,
}

impl AddressForm {
    /// The instruction set state of this form; an exact match has that of its history entry.
    pub const fn sub_isa(self) -> Option<SubIsa> {
        use AddressForm::*;
        match self {
            Exact(_) => None,
            Short1Is0 | Short2Is0 | Long32Is0 | Long64Is0 => Some(SubIsa::Is0),
            Short1Is1 | Short2Is1 | Long32Is1 | Long64Is1 => Some(SubIsa::Is1),
        }
    }

    /// Mask of the address bits that are sent; the others come from the address history.
    pub const fn sent(self) -> u64 {
        use AddressForm::*;
        match self {
            Exact(_) => 0,
            Short1Is0 => 0x1ff,
            Short2Is0 => 0x1_ffff,
            Short1Is1 => 0xff,
            Short2Is1 => 0xffff,
            Long32Is0 | Long32Is1 => 0xffff_ffff,
            Long64Is0 | Long64Is1 => u64::MAX,
        }
    }
}

/// An address as sent (K10.5.2.14).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// The bits sent, at their position in the address.
    pub bits: u64,
    /// The encoding.
    pub form: AddressForm,
    /// Should-be-zero bits of the first and second payload byte of the long forms (bits 0 and 1).
    pub sbz: u8,
}

impl Address {
    /// The part of `address` that `form` sends.
    pub const fn new(form: AddressForm, address: u64) -> Self {
        let low = match form.sub_isa() {
            Some(SubIsa::Is0) => !3,
            _ => !1,
        };
        Address { bits: address & form.sent() & low, form, sbz: 0 }
    }

    /// Reads the payload that the low nibble of a Target Address header announces.
    #[inline(always)]
    pub(super) fn read(nibble: u8, bytes: &mut Bytes<'_>) -> Field<Self> {
        use AddressForm::*;
        let fault = |kind| (kind, "address");
        Ok(match nibble {
            0..=nibble::EXACT_LAST => Address { bits: 0, form: Exact(nibble), sbz: 0 },
            nibble::SHORT_IS0 => match bytes.u8().map_err(fault)? {
                low @ 0..0x80 => Address { bits: u64::from(low) << 2, form: Short1Is0, sbz: 0 },
                low => {
                    let high = u64::from(bytes.u8().map_err(fault)?);
                    Address { bits: high << 9 | u64::from(low & 0x7f) << 2, form: Short2Is0, sbz: 0 }
                }
            },
            nibble::SHORT_IS1 => match bytes.u8().map_err(fault)? {
                low @ 0..0x80 => Address { bits: u64::from(low) << 1, form: Short1Is1, sbz: 0 },
                low => {
                    let high = u64::from(bytes.u8().map_err(fault)?);
                    Address { bits: high << 8 | u64::from(low & 0x7f) << 1, form: Short2Is1, sbz: 0 }
                }
            },
            nibble::LONG32_IS0 => long_is0(u64::from(bytes.u32().map_err(fault)?), Long32Is0),
            nibble::LONG64_IS0 => long_is0(bytes.u64().map_err(fault)?, Long64Is0),
            nibble::LONG32_IS1 => long_is1(u64::from(bytes.u32().map_err(fault)?), Long32Is1),
            nibble::LONG64_IS1 => long_is1(bytes.u64().map_err(fault)?, Long64Is1),
            _ => return Err((ErrorKind::Unknown { found: nibble.into() }, "address")),
        })
    }

    /// A Target Address packet at the start of `data` in a form that most have, and its length: the same in every dialect.
    #[inline(always)]
    pub(crate) fn read_usual(data: &[u8]) -> Option<(Self, usize)> {
        use AddressForm::*;
        const SHORT: u8 = TARGET | nibble::SHORT_IS0;
        const LONG: u8 = TARGET | nibble::LONG32_IS0;
        const EXACT: u8 = TARGET | nibble::EXACT_LAST;
        let (&header, payload) = data.split_first()?;
        match header {
            SHORT => {
                let [low, high] = *payload.first_chunk()?;
                let (bits, has_two) = (u64::from(low & 0x7f) << 2, low >= 0x80);
                let (form, high) = if has_two { (Short2Is0, u64::from(high) << 9) } else { (Short1Is0, 0) };
                Some((Address { bits: high | bits, form, sbz: 0 }, 2 + usize::from(has_two)))
            }
            LONG => {
                let raw = u32::from_le_bytes(*payload.first_chunk()?);
                Some((long_is0(raw.into(), Long32Is0), 5))
            }
            TARGET..=EXACT => Some((Address { bits: 0, form: Exact(header - TARGET), sbz: 0 }, 1)),
            _ => None,
        }
    }

    /// The low nibble of a Target Address header with this payload.
    pub(super) fn nibble(&self) -> u8 {
        use AddressForm::*;
        match self.form {
            Exact(n) => n.min(nibble::EXACT_LAST),
            Short1Is0 | Short2Is0 => nibble::SHORT_IS0,
            Short1Is1 | Short2Is1 => nibble::SHORT_IS1,
            Long32Is0 => nibble::LONG32_IS0,
            Long32Is1 => nibble::LONG32_IS1,
            Long64Is0 => nibble::LONG64_IS0,
            Long64Is1 => nibble::LONG64_IS1,
        }
    }

    /// Reads the payload after a Target Address header.
    #[inline(always)]
    pub(crate) fn read_target(first: u8, bytes: &mut Bytes<'_>) -> Field<Self> {
        Self::read(first & 0xf, bytes)
    }

    /// Reads the payload after a Target Address with Context header, which lacks bit 3 of the nibble.
    pub(super) fn read_with_context(first: u8, bytes: &mut Bytes<'_>) -> Field<Self> {
        Self::read(first & 7 | 8, bytes)
    }

    /// Writes a Target Address packet.
    pub(crate) fn write_target(&self, out: &mut Vec<u8>) {
        out.push(Kind::Address.header() | self.nibble());
        self.write(out);
    }

    /// Writes a Target Address with Context packet up to its context.
    pub(super) fn write_with_context(&self, out: &mut Vec<u8>) {
        out.push(Kind::Context.header() | self.nibble() & 7);
        self.write(out);
    }

    /// Reads the payload after a Source Address header.
    pub(super) fn read_source(first: u8, bytes: &mut Bytes<'_>) -> Field<Self> {
        Self::read(SOURCE_FORMS[usize::from(first & 0xf)], bytes)
    }

    /// Writes a Source Address packet.
    pub(super) fn write_source(&self, out: &mut Vec<u8>) {
        let nibble = self.nibble();
        let low = SOURCE_FORMS.iter().position(|&form| form == nibble).unwrap_or(0);
        out.push(Kind::SourceAddress.header() | low as u8);
        self.write(out);
    }

    /// Writes the payload.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        use AddressForm::*;
        let Address { bits, form, sbz } = *self;
        let sbz = u64::from(sbz);
        let long_is0 = bits >> 2 & 0x7f
            | (sbz & 1) << 7
            | (bits >> 9 & 0x7f) << 8
            | (sbz >> 1 & 1) << 15
            | bits & !0xffff;
        let long_is1 = bits >> 1 & 0x7f | (sbz & 1) << 7 | bits & !0xff;
        match form {
            Exact(_) => {}
            Short1Is0 => out.push((bits >> 2) as u8 & 0x7f),
            Short1Is1 => out.push((bits >> 1) as u8 & 0x7f),
            Short2Is0 => out.extend([(bits >> 2) as u8 | 0x80, (bits >> 9) as u8]),
            Short2Is1 => out.extend([(bits >> 1) as u8 | 0x80, (bits >> 8) as u8]),
            Long32Is0 => out.extend((long_is0 as u32).to_le_bytes()),
            Long32Is1 => out.extend((long_is1 as u32).to_le_bytes()),
            Long64Is0 => out.extend(long_is0.to_le_bytes()),
            Long64Is1 => out.extend(long_is1.to_le_bytes()),
        }
    }

    /// Shows the full address, which becomes the newest in `history`, and how it was sent.
    pub(super) fn show(&self, history: &mut History, out: &mut String) {
        let entry = history.apply(self);
        let form = match self.form {
            AddressForm::Exact(n) => format!("exact match {n}"),
            AddressForm::Short1Is0 | AddressForm::Short1Is1 => "short".to_string(),
            AddressForm::Short2Is0 | AddressForm::Short2Is1 => "short, 2 bytes".to_string(),
            AddressForm::Long32Is0 | AddressForm::Long32Is1 => "32 bits".to_string(),
            AddressForm::Long64Is0 | AddressForm::Long64Is1 => "64 bits".to_string(),
        };
        let is = if entry.sub_isa == SubIsa::Is0 { "IS0" } else { "IS1" };
        let _ = write!(out, " {:#x} {is} ({form})", entry.address);
    }
}

/// Payload of the 64-bit and 32-bit forms in IS0: two bytes with seven bits each, then plain bytes.
#[inline(always)]
fn long_is0(raw: u64, form: AddressForm) -> Address {
    let bits = (raw & 0x7f) << 2 | (raw & 0x7f00) << 1 | raw & !0xffff;
    Address { bits, form, sbz: (raw >> 7 & 1 | raw >> 14 & 2) as u8 }
}

/// The same in IS1: one byte with seven bits, then plain bytes.
#[inline(always)]
fn long_is1(raw: u64, form: AddressForm) -> Address {
    Address { bits: (raw & 0x7f) << 1 | raw & !0xff, form, sbz: (raw >> 7 & 1) as u8 }
}

/// One entry of the address history (K10.5.6.3.9).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Entry {
    /// The full virtual address.
    pub address: u64,
    /// Instruction set state at the address.
    pub sub_isa: SubIsa,
}

/// The last three addresses, newest first (K10.5.6.3.10).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct History(pub(crate) [Entry; 3]);

impl History {
    /// Adds `entry` as the newest.
    #[inline]
    pub(crate) fn add(&mut self, entry: Entry) {
        self.0 = [entry, self.0[0], self.0[1]];
    }

    /// The full address of `address`.
    #[inline]
    pub(crate) fn find(&self, address: &Address) -> Entry {
        match address.form {
            AddressForm::Exact(n) => self.0[usize::from(n.min(2))],
            form => Entry {
                address: self.0[0].address & !form.sent() | address.bits,
                sub_isa: match form.sub_isa() {
                    Some(sub_isa) => sub_isa,
                    None => SubIsa::Is0,
                },
            },
        }
    }

    /// The full address of `address`, which becomes the newest entry.
    #[inline]
    pub(crate) fn apply(&mut self, address: &Address) -> Entry {
        let entry = self.find(address);
        self.add(entry);
        entry
    }
}
