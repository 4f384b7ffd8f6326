//! Exception packets (K10.5.2.13), which include the address packet that follows their information bytes.

use std::fmt::Write;

use trackway_core::{Bytes, ErrorKind};

use super::address::{Address, Entry, History};
use super::context::Context;
use super::header::{Field, Kind, Kinds};
use crate::config::Dialect;
use crate::profile::Profile;

/// The packet that completes an Exception packet (K10.5.2.13.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExceptionAddress {
    /// A Target Address packet.
    Address(Address),
    /// A Target Address with Context packet.
    WithContext(Address, Context),
    /// `70`: the address is unknown (ETE).
    Unknown,
}

impl ExceptionAddress {
    pub(super) fn address(&self) -> Option<Address> {
        match self {
            ExceptionAddress::Address(address) | ExceptionAddress::WithContext(address, _) => Some(*address),
            ExceptionAddress::Unknown => None,
        }
    }

    pub(super) fn context(&self) -> Option<Context> {
        match self {
            ExceptionAddress::WithContext(_, context) => Some(*context),
            ExceptionAddress::Address(_) | ExceptionAddress::Unknown => None,
        }
    }
}

/// An Exception packet with its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exception {
    /// First information byte: E in bits 6 and 0, type in 5:1, bit 7 announces a second byte (ETMv4).
    pub info: u8,
    /// Second information byte (ETMv4).
    pub info2: Option<u8>,
    /// The address packet.
    pub address: ExceptionAddress,
}

impl Exception {
    /// E, bits 6 and 0: 1 return address; 2 the return address is also the target of the last branch.
    pub const fn e(&self) -> u8 {
        self.info >> 5 & 2 | self.info & 1
    }
    /// A fault is pending (ETMv4, M profile).
    pub(crate) const fn fault_pending(&self) -> bool {
        matches!(self.info2, Some(info) if info & 0x20 != 0)
    }
    /// The exception type, five bits or ten.
    pub const fn exception_type(&self) -> u16 {
        let low = (self.info >> 1 & 0x1f) as u16;
        match self.info2 {
            Some(high) => low | ((high & 0x1f) as u16) << 5,
            None => low,
        }
    }

    pub(super) fn read(bytes: &mut Bytes<'_>, kinds: &Kinds, dialect: &Dialect) -> Field<Self> {
        let info = bytes.u8().map_err(|kind| (kind, "info"))?;
        let info2 = if !dialect.ete && info & 0x80 != 0 {
            Some(bytes.u8().map_err(|kind| (kind, "info"))?)
        } else {
            None
        };
        let mut exception = Exception { info, info2, address: ExceptionAddress::Unknown };
        if !matches!(exception.e(), 1 | 2) {
            return Err((ErrorKind::Illegal { found: exception.e().into() }, "E"));
        }
        let first = bytes.u8().map_err(|kind| (kind, "address"))?;
        exception.address = match kinds.get(first) {
            Kind::Address => ExceptionAddress::Address(Address::read_target(first, bytes)?),
            Kind::AddressContext => {
                let address = Address::read_with_context(first, bytes)?;
                ExceptionAddress::WithContext(address, Context::read(bytes, dialect)?)
            }
            Kind::Ignore if dialect.ete => ExceptionAddress::Unknown,
            _ => return Err((ErrorKind::Illegal { found: first.into() }, "address")),
        };
        Ok(exception)
    }

    pub(super) fn write(&self, dialect: &Dialect, out: &mut Vec<u8>) {
        out.push(self.info);
        out.extend(self.info2);
        match self.address {
            ExceptionAddress::Address(address) => address.write_target(out),
            ExceptionAddress::WithContext(address, context) => {
                address.write_with_context(out);
                context.write(dialect, out);
            }
            ExceptionAddress::Unknown => out.push(Kind::Ignore.header()),
        }
    }

    pub(super) fn show(&self, profile: Profile, history: &mut History, out: &mut String) {
        let _ = write!(out, " type={} E={:02b}", self.exception_type(), self.e());
        if let Some(name) = profile.exception_name(self.exception_type()) {
            let _ = write!(out, " ({name})");
        }
        if self.fault_pending() {
            out.push_str(" fault pending");
        }
        match &self.address {
            ExceptionAddress::Address(address) => address.show(history, out),
            ExceptionAddress::WithContext(address, context) => {
                address.show(history, out);
                context.show(out);
            }
            ExceptionAddress::Unknown => {
                history.add(Entry::default());
                out.push_str(" address unknown");
            }
        }
    }
}
