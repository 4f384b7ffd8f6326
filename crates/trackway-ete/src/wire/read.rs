//! Bytes to packets (K10.5.2).

use trackway_core::{Bytes, Error, ErrorKind, Result};

use crate::config::Dialect;
use crate::wire::packet::*;

/// Reads packets of one dialect.
///
/// ```
/// use trackway_ete::{Config, Packet, Reader};
/// let config = Config::from_registers("etm", Default::default(), Some(true))?;
/// let reader = Reader::new(&config.dialect);
/// let (packet, len) = reader.read(&[0x04, 0xf7], 0).unwrap();
/// assert_eq!((packet, len), (Packet::TraceOn, 1));
/// # Ok::<(), trackway_ete::Unusable>(())
/// ```
#[derive(Clone, Debug)]
pub struct Reader {
    /// What each header byte opens in this dialect.
    kinds: [Kind; 256],
    dialect: Dialect,
}

/// What is wrong, and in which field; the packet and its place are added by [`Reader::read`].
type Field<T> = std::result::Result<T, (ErrorKind, &'static str)>;

impl Reader {
    /// A reader of `dialect`.
    pub fn new(dialect: &Dialect) -> Self {
        let mut kinds = [Kind::Reserved; 256];
        for byte in 0..=255u8 {
            if let Some(row) = header(byte)
                && row.exists_in(dialect)
                && (row.kind != Kind::Q || dialect.q)
            {
                kinds[usize::from(byte)] = row.kind;
            }
        }
        Reader { kinds, dialect: *dialect }
    }

    /// What a header byte opens.
    #[inline]
    pub fn kind(&self, byte: u8) -> Kind {
        self.kinds[usize::from(byte)]
    }

    /// The packet at the start of `data` and its length. `offset` is its place, for errors.
    #[inline]
    pub fn read(&self, data: &[u8], offset: u64) -> Result<(Packet, usize)> {
        let Some(&first) = data.first() else {
            return Err(ErrorKind::Truncated.at(offset, "packet", "header", "K10.5.2.2"));
        };
        if first >= 0xc0 {
            return Ok((Packet::Atom(Atoms { header: first }), 1));
        }
        let mut bytes = Bytes::new(&data[1..]);
        match self.payload(first, &mut bytes) {
            Ok(packet) => Ok((packet, 1 + bytes.position())),
            Err((kind, field)) => Err(error(first, kind, field, offset)),
        }
    }

    #[inline(always)]
    fn payload(&self, first: u8, bytes: &mut Bytes<'_>) -> Field<Packet> {
        // Most packets that are no atoms are one of these two, in every dialect.
        match first {
            0x95 => return address(5, bytes).map(Packet::Address),
            0x9a => return address(0xa, bytes).map(Packet::Address),
            _ => {}
        }
        Ok(match self.kind(first) {
            Kind::Atom => Packet::Atom(Atoms { header: first }),
            Kind::Address => Packet::Address(address(first & 0xf, bytes)?),
            Kind::AddressContext => {
                let address = address(first & 7 | 8, bytes)?;
                Packet::AddressContext(address, self.context(bytes)?)
            }
            Kind::Context if first & 1 == 0 => Packet::Context(None),
            Kind::Context => Packet::Context(Some(self.context(bytes)?)),
            Kind::Event => Packet::Event(first & 0xf),
            Kind::Ignore => Packet::Ignore,
            Kind::TraceOn => Packet::TraceOn,
            Kind::TimestampMarker => Packet::TimestampMarker,
            Kind::TransactionStart => Packet::TransactionStart,
            Kind::TransactionCommit => Packet::TransactionCommit,
            Kind::FunctionReturn => Packet::FunctionReturn,
            Kind::ExceptionReturn => Packet::ExceptionReturn,
            Kind::Mispredict => Packet::Mispredict(first & 3),
            Kind::Cancel2 => Packet::Cancel2(first & 3),
            Kind::Cancel3 => Packet::Cancel3(first & 7),
            Kind::CycleCount3 => Packet::CycleCount3(first & 0xf),
            Kind::CycleCount2 => Packet::CycleCount2 {
                from_max: first & 1 == 1,
                payload: bytes.u8().map_err(|kind| (kind, "AAAABBBB"))?,
            },
            kind => self.rare(kind, first, bytes)?,
        })
    }

    /// Packets that are long or seldom.
    fn rare(&self, kind: Kind, first: u8, bytes: &mut Bytes<'_>) -> Field<Packet> {
        Ok(match kind {
            Kind::Extension => extension(bytes)?,
            Kind::TraceInfo => Packet::TraceInfo(trace_info(bytes)?),
            Kind::Timestamp => Packet::Timestamp {
                value: chain(bytes, u32::from(self.dialect.timestamp_bits), "TS")?,
                count: match first & 1 {
                    0 => None,
                    _ => Some(chain(bytes, width::CYCLES, "COUNT")?),
                },
            },
            Kind::Exception => Packet::Exception(self.exception(bytes)?),
            Kind::Instrumentation => Packet::Instrumentation {
                el: bytes.u8().map_err(|kind| (kind, "EL"))?,
                value: bytes.u64().map_err(|kind| (kind, "value"))?,
            },
            Kind::CycleCount1 => Packet::CycleCount1 {
                commit: match self.dialect.commopt {
                    true => None,
                    false => Some(chain(bytes, width::COUNT, "COMMIT")?),
                },
                count: match first & 1 {
                    0 => Some(chain(bytes, width::CYCLES, "COUNT")?),
                    _ => None,
                },
            },
            Kind::Commit => Packet::Commit(chain(bytes, width::COUNT, "COMMIT")?),
            Kind::Cancel1 => {
                Packet::Cancel1 { mispredict: first & 1 == 1, count: chain(bytes, width::COUNT, "CANCEL")? }
            }
            Kind::Q => Packet::Q {
                address: match first & 0xf {
                    0xc | 0xf => None,
                    form => Some(address(form, bytes)?),
                },
                count: match first & 0xf {
                    0xf => None,
                    _ => Some(chain(bytes, width::COUNT, "COUNT")?),
                },
            },
            Kind::SourceAddress => {
                Packet::SourceAddress(address(SOURCE_FORMS[usize::from(first & 0xf)], bytes)?)
            }
            Kind::Foreign => return Err((ErrorKind::Unsupported { found: first.into() }, "header")),
            _ => return Err((ErrorKind::Unknown { found: first.into() }, "header")),
        })
    }

    fn context(&self, bytes: &mut Bytes<'_>) -> Field<Context> {
        let info = bytes.u8().map_err(|kind| (kind, "info"))?;
        let mut context = Context { info, vmid: 0, context_id: 0 };
        if context.has_vmid() {
            context.vmid = sized(bytes, self.dialect.vmid_bytes, info, "VMID")?;
        }
        if context.has_context_id() {
            context.context_id = sized(bytes, self.dialect.context_id_bytes, info, "CONTEXTID")?;
        }
        Ok(context)
    }

    /// K10.5.2.13.1; the address packet is part of it.
    fn exception(&self, bytes: &mut Bytes<'_>) -> Field<Exception> {
        let info = bytes.u8().map_err(|kind| (kind, "info"))?;
        let info2 = match !self.dialect.ete && info & 0x80 != 0 {
            true => Some(bytes.u8().map_err(|kind| (kind, "info"))?),
            false => None,
        };
        let mut exception = Exception { info, info2, address: ExceptionAddress::Unknown };
        if !matches!(exception.e(), 1 | 2) {
            return Err((ErrorKind::Illegal { found: exception.e().into() }, "E"));
        }
        let first = bytes.u8().map_err(|kind| (kind, "address"))?;
        exception.address = match self.kind(first) {
            Kind::Address => ExceptionAddress::Address(address(first & 0xf, bytes)?),
            Kind::AddressContext => {
                let address = address(first & 7 | 8, bytes)?;
                ExceptionAddress::WithContext(address, self.context(bytes)?)
            }
            Kind::Ignore if self.dialect.ete => ExceptionAddress::Unknown,
            _ => return Err((ErrorKind::Illegal { found: first.into() }, "address")),
        };
        Ok(exception)
    }
}

/// The low header nibble of a target address with the same payload as source address `B0` + index.
pub(crate) const SOURCE_FORMS: [u8; 16] =
    [0x0, 0x1, 0x2, 0xff, 0x5, 0x6, 0xa, 0xb, 0xd, 0xe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];

#[cold]
fn error(first: u8, kind: ErrorKind, field: &'static str, offset: u64) -> Error {
    let (item, section) = match header(first) {
        Some(row) => (row.name, row.section),
        None => ("packet", "K10.5.2.2"),
    };
    kind.at(offset, item, field, section)
}

/// The payload of an address by the low nibble of its target address header.
#[inline(always)]
fn address(form: u8, bytes: &mut Bytes<'_>) -> Field<Address> {
    use AddressForm::*;
    let short = |kind| (kind, "address");
    Ok(match form {
        0..=2 => Address { bits: 0, form: Exact(form), sbz: 0 },
        5 => match bytes.u8().map_err(short)? {
            low @ 0..0x80 => Address { bits: u64::from(low) << 2, form: Short1Is0, sbz: 0 },
            low => {
                let high = u64::from(bytes.u8().map_err(short)?);
                Address { bits: high << 9 | u64::from(low & 0x7f) << 2, form: Short2Is0, sbz: 0 }
            }
        },
        6 => match bytes.u8().map_err(short)? {
            low @ 0..0x80 => Address { bits: u64::from(low) << 1, form: Short1Is1, sbz: 0 },
            low => {
                let high = u64::from(bytes.u8().map_err(short)?);
                Address { bits: high << 8 | u64::from(low & 0x7f) << 1, form: Short2Is1, sbz: 0 }
            }
        },
        0xa => long_is0(u64::from(bytes.u32().map_err(short)?), Long32Is0),
        0xd => long_is0(bytes.u64().map_err(short)?, Long64Is0),
        0xb => long_is1(u64::from(bytes.u32().map_err(short)?), Long32Is1),
        0xe => long_is1(bytes.u64().map_err(short)?, Long64Is1),
        _ => return Err((ErrorKind::Unknown { found: form.into() }, "address")),
    })
}

/// Two payload bytes with seven bits each, then plain bytes.
#[inline(always)]
fn long_is0(raw: u64, form: AddressForm) -> Address {
    let bits = (raw & 0x7f) << 2 | (raw & 0x7f00) << 1 | raw & !0xffff;
    Address { bits, form, sbz: (raw >> 7 & 1 | raw >> 14 & 2) as u8 }
}

/// One payload byte with seven bits, then plain bytes.
#[inline(always)]
fn long_is1(raw: u64, form: AddressForm) -> Address {
    Address { bits: (raw & 0x7f) << 1 | raw & !0xff, form, sbz: (raw >> 7 & 1) as u8 }
}

/// K10.5.6.4.3: 7-bit groups; the last byte that fits has eight bits.
fn chain(bytes: &mut Bytes<'_>, bits: u32, field: &'static str) -> Field<Chain> {
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

/// An identifier of `size` bytes; the ID registers say that one of 0 bytes cannot be there.
fn sized(bytes: &mut Bytes<'_>, size: u8, info: u8, field: &'static str) -> Field<u32> {
    match size {
        0 => Err(ErrorKind::Illegal { found: info.into() }),
        1 => bytes.u8().map(u32::from),
        2 => bytes.u16().map(u32::from),
        _ => bytes.u32(),
    }
    .map_err(|kind| (kind, field))
}

/// K10.5.2.3.1: more zeros than eleven are fine, fewer are not.
fn extension(bytes: &mut Bytes<'_>) -> Field<Packet> {
    let second = bytes.u8().map_err(|kind| (kind, "extension"))?;
    match second {
        3 => Ok(Packet::Discard),
        5 => Ok(Packet::Overflow),
        0 => {
            let mut zeros = 2;
            loop {
                match bytes.u8().map_err(|kind| (kind, "zeros"))? {
                    0 => zeros += 1,
                    0x80 if zeros >= MIN_ZEROS => return Ok(Packet::AlignmentSync { zeros }),
                    0x80 => return Err((ErrorKind::Illegal { found: zeros.into() }, "zeros")),
                    other => return Err((ErrorKind::Illegal { found: other.into() }, "zeros")),
                }
            }
        }
        other => Err((ErrorKind::Unknown { found: other.into() }, "extension")),
    }
}

/// Zero bytes that an alignment synchronisation has at least, the header included (K10.5.2.3).
pub(crate) const MIN_ZEROS: u32 = 11;

/// Sections by the bits of PLCTL; each is a chain of bytes that bit 7 continues.
fn trace_info(bytes: &mut Bytes<'_>) -> Field<TraceInfo> {
    let mut info = TraceInfo { plctl: chain(bytes, width::SECTION, "PLCTL")?, ..TraceInfo::default() };
    if info.plctl.value >> TraceInfo::SECTIONS.len() != 0 {
        return Err((ErrorKind::Unknown { found: info.plctl.value }, "PLCTL"));
    }
    for (index, name) in TraceInfo::SECTIONS.into_iter().enumerate() {
        if info.plctl.value >> index & 1 == 1 {
            info.sections[index] = chain(bytes, width::SECTION, name)?;
        }
    }
    Ok(info)
}
