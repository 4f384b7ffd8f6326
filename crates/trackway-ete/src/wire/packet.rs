//! Packets: one enum, and for each of them how it is read, written and shown, in the order of the header table.

use std::fmt::Write;

use trackway_core::{Bytes, ErrorKind};

use super::address::{Address, History};
use super::atoms::{self, Atoms, SHORT_ATOMS};
use super::chain::{Chain, width};
use super::context::Context;
use super::exception::Exception;
use super::header::{Field, Kind, Kinds, extension, header};
use super::trace_info::TraceInfo;
use crate::config::{Config, Dialect};

/// A packet, with every bit that is on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet {
    /// Alignment Sync (K10.5.2.3): zero bytes, then `80`.
    AlignmentSync {
        /// Number of zero bytes; eleven or more.
        zeros: u32,
    },
    /// Discard (K10.5.2.4).
    Discard,
    /// Overflow (K10.5.2.5).
    Overflow,
    /// Trace Info (K10.5.2.6).
    TraceInfo(TraceInfo),
    /// Timestamp (K10.5.2.16.1).
    Timestamp {
        /// Low bits of the timestamp; bits that are not sent keep their value.
        value: Chain,
        /// Cycles since the last Cycle Count.
        count: Option<Chain>,
    },
    /// Trace On (K10.5.2.7).
    TraceOn,
    /// Function return (ETMv4, M profile).
    FunctionReturn,
    /// Exception (K10.5.2.13).
    Exception(Exception),
    /// Exception return (ETMv4).
    ExceptionReturn,
    /// Instrumentation.
    Instrumentation {
        /// Exception level in bits 1:0; the others should be zero.
        el: u8,
        /// The value that the instruction wrote.
        value: u64,
    },
    /// Transaction start (K10.5.2.15).
    TransactionStart,
    /// Transaction commit (K10.5.2.15).
    TransactionCommit,
    /// Cycle count, format 1; without a count, the count is unknown.
    CycleCount1 {
        /// P0 elements committed, with COMMOPT 0.
        commit: Option<Chain>,
        /// Cycles above the threshold.
        count: Option<Chain>,
    },
    /// Cycle count, format 2.
    CycleCount2 {
        /// F: AAAA counts down from the maximum depth.
        from_max: bool,
        /// AAAA in bits 7:4 (COMMOPT 0), BBBB in bits 3:0.
        payload: u8,
    },
    /// Cycle count, format 3: AA in bits 3:2 (COMMOPT 0), BB in bits 1:0.
    CycleCount3(u8),
    /// Commit (K10.5.2.8.1).
    Commit(Chain),
    /// Cancel, format 1.
    Cancel1 {
        /// A mispredict follows.
        mispredict: bool,
        /// P0 elements cancelled.
        count: Chain,
    },
    /// Mispredict, with atoms before it (0 none, 1 E, 2 EE, 3 N).
    Mispredict(u8),
    /// Cancel, format 2: atoms, then cancel 1, then mispredict.
    Cancel2(u8),
    /// Cancel, format 3: E if bit 0, then cancel bits 2:1 plus 2, then mispredict.
    Cancel3(u8),
    /// Ignore.
    Ignore,
    /// Events, one per bit (K10.5.2.17).
    Event(u8),
    /// Context; `None` repeats the last one.
    Context(Option<Context>),
    /// Target address with context.
    AddressContext(Address, Context),
    /// Timestamp marker.
    TimestampMarker,
    /// Target address.
    Address(Address),
    /// Q (K10.5.2.11); type 12 has a count only, type 15 nothing.
    Q {
        /// The address of the next instruction.
        address: Option<Address>,
        /// Number of instructions executed.
        count: Option<Chain>,
    },
    /// Source address (K10.5.2.12).
    SourceAddress(Address),
    /// Atoms (K10.5.2.10).
    Atom(Atoms),
}

impl Packet {
    /// The kind of the packet's header.
    pub const fn kind(&self) -> Kind {
        match self {
            Packet::AlignmentSync { .. } | Packet::Discard | Packet::Overflow => Kind::Extension,
            Packet::TraceInfo(_) => Kind::TraceInfo,
            Packet::Timestamp { .. } => Kind::Timestamp,
            Packet::TraceOn => Kind::TraceOn,
            Packet::FunctionReturn => Kind::FunctionReturn,
            Packet::Exception(_) => Kind::Exception,
            Packet::ExceptionReturn => Kind::ExceptionReturn,
            Packet::Instrumentation { .. } => Kind::Instrumentation,
            Packet::TransactionStart => Kind::TransactionStart,
            Packet::TransactionCommit => Kind::TransactionCommit,
            Packet::CycleCount2 { .. } => Kind::CycleCount2,
            Packet::CycleCount1 { .. } => Kind::CycleCount1,
            Packet::CycleCount3(_) => Kind::CycleCount3,
            Packet::Commit(_) => Kind::Commit,
            Packet::Cancel1 { .. } => Kind::Cancel1,
            Packet::Mispredict(_) => Kind::Mispredict,
            Packet::Cancel2(_) => Kind::Cancel2,
            Packet::Cancel3(_) => Kind::Cancel3,
            Packet::Ignore => Kind::Ignore,
            Packet::Event(_) => Kind::Event,
            Packet::Context(_) => Kind::Context,
            Packet::AddressContext(..) => Kind::AddressContext,
            Packet::TimestampMarker => Kind::TimestampMarker,
            Packet::Address(_) => Kind::Address,
            Packet::Q { .. } => Kind::Q,
            Packet::SourceAddress(_) => Kind::SourceAddress,
            Packet::Atom(_) => Kind::Atom,
        }
    }

    /// The packet's name, from the header table.
    pub fn name(&self) -> &'static str {
        match self {
            Packet::AlignmentSync { .. } => "Alignment Sync",
            Packet::Discard => "Discard",
            Packet::Overflow => "Overflow",
            _ => header(self.kind().header()).map_or("packet", |row| row.name),
        }
    }

    /// The address in the packet.
    pub(crate) fn address(&self) -> Option<Address> {
        match self {
            Packet::Address(address) | Packet::SourceAddress(address) => Some(*address),
            Packet::AddressContext(address, _) => Some(*address),
            Packet::Q { address, .. } => *address,
            Packet::Exception(exception) => exception.address.address(),
            _ => None,
        }
    }

    /// The context in the packet.
    pub(crate) fn context(&self) -> Option<Context> {
        match self {
            Packet::Context(context) => *context,
            Packet::AddressContext(_, context) => Some(*context),
            Packet::Exception(exception) => exception.address.context(),
            _ => None,
        }
    }

    /// Calls `field` with the name, value and width of each number of variable length.
    pub(crate) fn for_each_chain(&self, dialect: &Dialect, field: &mut dyn FnMut(&'static str, Chain, u32)) {
        match self {
            Packet::TraceInfo(info) => {
                let sections = TraceInfo::SECTIONS.into_iter().zip(info.sections);
                sections.filter(|section| section.1.len > 0).for_each(|(name, section)| {
                    field(name, section, width::SECTION);
                });
            }
            Packet::Timestamp { value, count } => {
                field("TS", *value, dialect.timestamp_bits.into());
                count.iter().for_each(|count| field("COUNT", *count, width::CYCLES));
            }
            Packet::CycleCount1 { commit, count } => {
                commit.iter().for_each(|commit| field("COMMIT", *commit, width::COUNT));
                count.iter().for_each(|count| field("COUNT", *count, width::CYCLES));
            }
            Packet::Commit(count) => field("COMMIT", *count, width::COUNT),
            Packet::Cancel1 { count, .. } => field("CANCEL", *count, width::COUNT),
            Packet::Q { count, .. } => {
                count.iter().for_each(|count| field("COUNT", *count, width::COUNT));
            }
            _ => {}
        }
    }

    /// Reads the packet that header byte `first` opens.
    #[inline(always)]
    pub(super) fn read(first: u8, kinds: &Kinds, dialect: &Dialect, bytes: &mut Bytes<'_>) -> Field<Self> {
        Ok(match kinds.get(first) {
            Kind::Atom => Packet::Atom(Atoms { header: first }),
            Kind::Address => Packet::Address(Address::read_target(first, bytes)?),
            Kind::AddressContext => {
                let address = Address::read_with_context(first, bytes)?;
                Packet::AddressContext(address, Context::read(bytes, dialect)?)
            }
            Kind::Context if first & 1 == 0 => Packet::Context(None),
            Kind::Context => Packet::Context(Some(Context::read(bytes, dialect)?)),
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
            kind => Self::read_rare(kind, first, kinds, dialect, bytes)?,
        })
    }

    /// Packets that are long or rare.
    fn read_rare(
        kind: Kind,
        first: u8,
        kinds: &Kinds,
        dialect: &Dialect,
        bytes: &mut Bytes<'_>,
    ) -> Field<Self> {
        let has_bit_0 = first & 1 == 1;
        Ok(match kind {
            Kind::Extension => read_extension(bytes)?,
            Kind::TraceInfo => Packet::TraceInfo(TraceInfo::read(bytes)?),
            Kind::Timestamp => Packet::Timestamp {
                value: Chain::read(bytes, u32::from(dialect.timestamp_bits), "TS")?,
                count: if has_bit_0 { Some(Chain::read(bytes, width::CYCLES, "COUNT")?) } else { None },
            },
            Kind::Exception => Packet::Exception(Exception::read(bytes, kinds, dialect)?),
            Kind::Instrumentation => Packet::Instrumentation {
                el: bytes.u8().map_err(|kind| (kind, "EL"))?,
                value: bytes.u64().map_err(|kind| (kind, "value"))?,
            },
            Kind::CycleCount1 => Packet::CycleCount1 {
                commit: if dialect.commopt {
                    None
                } else {
                    Some(Chain::read(bytes, width::COUNT, "COMMIT")?)
                },
                count: if has_bit_0 { None } else { Some(Chain::read(bytes, width::CYCLES, "COUNT")?) },
            },
            Kind::Commit => Packet::Commit(Chain::read(bytes, width::COUNT, "COMMIT")?),
            Kind::Cancel1 => {
                Packet::Cancel1 { mispredict: has_bit_0, count: Chain::read(bytes, width::COUNT, "CANCEL")? }
            }
            Kind::Q => Packet::Q {
                address: match first & 0xf {
                    Q_COUNT | Q_EMPTY => None,
                    nibble => Some(Address::read(nibble, bytes)?),
                },
                count: match first & 0xf {
                    Q_EMPTY => None,
                    _ => Some(Chain::read(bytes, width::COUNT, "COUNT")?),
                },
            },
            Kind::SourceAddress => Packet::SourceAddress(Address::read_source(first, bytes)?),
            Kind::Foreign => return Err((ErrorKind::Unsupported { found: first.into() }, "header")),
            _ => return Err((ErrorKind::Unknown { found: first.into() }, "header")),
        })
    }

    /// Appends the packet's bytes to `out`; `dialect` has the widths of identifiers and timestamps. A packet from
    /// [`Reader::read`](crate::Reader::read) is written back byte for byte.
    pub fn write(&self, dialect: &Dialect, out: &mut Vec<u8>) {
        let header = self.kind().header();
        match *self {
            Packet::AlignmentSync { zeros } => {
                out.resize(out.len() + zeros as usize, header);
                out.push(extension::SYNC_END);
            }
            Packet::Discard => out.extend([header, extension::DISCARD]),
            Packet::Overflow => out.extend([header, extension::OVERFLOW]),
            Packet::TraceInfo(info) => {
                out.push(header);
                info.write(out);
            }
            Packet::Timestamp { value, count } => {
                out.push(header | u8::from(count.is_some()));
                value.write(u32::from(dialect.timestamp_bits), out);
                count.unwrap_or_default().write(width::CYCLES, out);
            }
            Packet::Exception(exception) => {
                out.push(header);
                exception.write(dialect, out);
            }
            Packet::Instrumentation { el, value } => {
                out.extend([header, el]);
                out.extend(value.to_le_bytes());
            }
            Packet::CycleCount2 { from_max, payload } => out.extend([header | u8::from(from_max), payload]),
            Packet::CycleCount1 { commit, count } => {
                out.push(header | u8::from(count.is_none()));
                commit.unwrap_or_default().write(width::COUNT, out);
                count.unwrap_or_default().write(width::CYCLES, out);
            }
            Packet::CycleCount3(bits) => out.push(header | bits & 0xf),
            Packet::Commit(count) => {
                out.push(header);
                count.write(width::COUNT, out);
            }
            Packet::Cancel1 { mispredict, count } => {
                out.push(header | u8::from(mispredict));
                count.write(width::COUNT, out);
            }
            Packet::Mispredict(atoms) | Packet::Cancel2(atoms) => out.push(header | atoms & 3),
            Packet::Cancel3(bits) => out.push(header | bits & 7),
            Packet::Event(events) => out.push(header & 0xf0 | events & 0xf),
            Packet::Context(None) => out.push(header),
            Packet::Context(Some(context)) => {
                out.push(header | 1);
                context.write(dialect, out);
            }
            Packet::AddressContext(address, context) => {
                address.write_with_context(out);
                context.write(dialect, out);
            }
            Packet::Address(address) => address.write_target(out),
            Packet::Q { address, count } => {
                let nibble = match (address, count) {
                    (Some(address), _) => address.nibble(),
                    (None, Some(_)) => Q_COUNT,
                    (None, None) => Q_EMPTY,
                };
                out.push(header | nibble);
                if let Some(address) = address {
                    address.write(out);
                }
                count.unwrap_or_default().write(width::COUNT, out);
            }
            Packet::SourceAddress(address) => address.write_source(out),
            Packet::Atom(atoms) => out.push(atoms.header | header),
            Packet::TraceOn
            | Packet::FunctionReturn
            | Packet::ExceptionReturn
            | Packet::TransactionStart
            | Packet::TransactionCommit
            | Packet::Ignore
            | Packet::TimestampMarker => out.push(header),
        }
    }

    /// Appends the packet's fields as text; addresses and timestamps in full where `previous` completes them.
    pub(crate) fn show(&self, config: &Config, previous: &mut Previous, out: &mut String) {
        let mut number = |name: &str, value: Option<u64>| {
            if let Some(value) = value {
                let _ = write!(out, " {name}={value}");
            }
        };
        match *self {
            Packet::AlignmentSync { zeros } => number("zeros", Some(zeros.into())),
            Packet::TraceInfo(info) => {
                *previous = Previous::default();
                info.show(out);
            }
            Packet::Timestamp { value, count } => {
                let bits = u32::from(config.dialect.timestamp_bits);
                previous.timestamp = value.replace(previous.timestamp, bits);
                let _ = write!(out, " {:#x}", previous.timestamp);
                if let Some(count) = count {
                    let _ = write!(out, " count={}", count.get(width::CYCLES));
                }
            }
            Packet::Exception(exception) => exception.show(config.profile, &mut previous.history, out),
            Packet::Instrumentation { el, value } => {
                let _ = write!(out, " EL{} {value:#x}", el & 3);
            }
            Packet::CycleCount2 { from_max, payload } => {
                let _ = write!(out, " F={} A={} B={}", u8::from(from_max), payload >> 4, payload & 0xf);
            }
            Packet::CycleCount1 { commit, count } => {
                number("commit", commit.map(|commit| commit.get(width::COUNT)));
                number("count", count.map(|count| count.get(width::CYCLES)));
                if count.is_none() {
                    out.push_str(" count unknown");
                }
            }
            Packet::CycleCount3(bits) => {
                let _ = write!(out, " A={} B={}", bits >> 2, bits & 3);
            }
            Packet::Commit(count) => {
                let _ = write!(out, " {}", count.get(width::COUNT));
            }
            Packet::Cancel1 { mispredict, count } => {
                let then = if mispredict { " then mispredict" } else { "" };
                let _ = write!(out, " {}{then}", count.get(width::COUNT));
            }
            Packet::Mispredict(bits) => atoms::show(SHORT_ATOMS[usize::from(bits & 3)], out),
            Packet::Cancel2(bits) => {
                atoms::show(SHORT_ATOMS[usize::from(bits & 3)], out);
                out.push_str(" 1 then mispredict");
            }
            Packet::Cancel3(bits) => {
                atoms::show(SHORT_ATOMS[usize::from(bits & 1)], out);
                let _ = write!(out, " {} then mispredict", (bits >> 1 & 3) + 2);
            }
            Packet::Event(events) => {
                let _ = write!(out, " {events:04b}");
            }
            Packet::Context(None) => out.push_str(" as before"),
            Packet::Context(Some(context)) => context.show(out),
            Packet::AddressContext(address, context) => {
                address.show(&mut previous.history, out);
                context.show(out);
            }
            Packet::Address(address) | Packet::SourceAddress(address) => {
                address.show(&mut previous.history, out);
            }
            Packet::Q { address, count } => {
                if let Some(address) = address {
                    address.show(&mut previous.history, out);
                }
                if let Some(count) = count {
                    let _ = write!(out, " count={}", count.get(width::COUNT));
                }
            }
            Packet::Atom(header) => atoms::show(header.get(), out),
            Packet::Discard
            | Packet::Overflow
            | Packet::TraceOn
            | Packet::FunctionReturn
            | Packet::ExceptionReturn
            | Packet::TransactionStart
            | Packet::TransactionCommit
            | Packet::Ignore
            | Packet::TimestampMarker => {}
        }
    }
}

/// Low header nibble of a Q packet with a count only, and of one without a payload (K10.5.2.11).
const Q_COUNT: u8 = 0xc;
const Q_EMPTY: u8 = 0xf;

/// The earlier packets that text is relative to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Previous {
    history: History,
    timestamp: u64,
}

/// K10.5.2.3.1: an Alignment Sync may have more than eleven zeros, but not fewer.
fn read_extension(bytes: &mut Bytes<'_>) -> Field<Packet> {
    let second = bytes.u8().map_err(|kind| (kind, "extension"))?;
    match second {
        extension::DISCARD => Ok(Packet::Discard),
        extension::OVERFLOW => Ok(Packet::Overflow),
        extension::ALIGNMENT_SYNC => {
            let mut zeros = 2;
            loop {
                match bytes.u8().map_err(|kind| (kind, "zeros"))? {
                    0 => zeros += 1,
                    extension::SYNC_END if zeros >= extension::MIN_ZEROS => {
                        return Ok(Packet::AlignmentSync { zeros });
                    }
                    extension::SYNC_END => return Err((ErrorKind::Illegal { found: zeros.into() }, "zeros")),
                    other => return Err((ErrorKind::Illegal { found: other.into() }, "zeros")),
                }
            }
        }
        other => Err((ErrorKind::Unknown { found: other.into() }, "extension")),
    }
}
