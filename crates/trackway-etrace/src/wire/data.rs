//! Data trace packets, chapter 7: every field, declared once.
//!
//! Fields hold the values on the wire, except that `size` always means `2^size` bytes. Modes that omit addresses or
//! data omit their fields (tables 7.1, 7.2 and 7.3 are one packet in three forms).

use trackway_core::ErrorKind;

use super::bits::{Payload, Put, Show, Take, Wire};
use super::received::Received;
use crate::config::{Compress, Config};
use crate::modes::Options;

/// Widths of the fields, from the parameters and the modes that are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Bits of the format: 2 where there are only unified loads and stores (7.1.1).
    pub format: u32,
    /// Loads and atomics come in two phases.
    pub split: bool,
    /// Bits of the size of loads and stores (7.1.2).
    pub size: u32,
    /// Bits of the size of atomics (7.2.1).
    pub atomic_size: u32,
    /// The smallest size of an atomic: the meaning of 0 in its field.
    pub atomic_base: u32,
    /// Bits of the id of split loads.
    pub index: u32,
    /// Name of that id.
    pub index_name: &'static str,
    /// Bits of an address.
    pub address: u32,
    /// Bits of data that end a packet.
    pub data: u32,
    /// Bits of `diff` where there are data and no address.
    pub data_diff: u32,
    /// Bits of the lengths in CSR packets (7.3.2).
    pub csr_len: u32,
    /// Bits of the subtype in CSR packets that have an address only (table 7.13).
    pub csr_subtype: u32,
    /// Bits of `diff` in CSR packets that have an address only.
    pub csr_diff: u32,
    /// Packets have addresses.
    pub has_address: bool,
    /// Packets have data.
    pub has_data: bool,
}

impl Layout {
    /// The layout for these parameters with these modes on.
    pub fn new(config: &Config, options: Options) -> Self {
        let (params, data, dialect) = (&config.params, &config.data, config.dialect);
        let plain = !data.split && !config.has_atomics() && !config.has_csrs();
        let size = if dialect.data_size_is_logarithm() {
            clog2(clog2(params.data_width / 8 + 1)).max(1)
        } else if data.size_by_table {
            clog2(params.data_width / 8)
        } else if params.data_width < 128 {
            2
        } else {
            3
        };
        let draft_atomics = !dialect.data_size_is_logarithm();
        let daddress = if params.daddress_width == 0 { params.iaddress_width } else { params.daddress_width };
        Layout {
            format: if plain { 2 } else { 3 },
            split: data.split,
            size,
            atomic_size: if draft_atomics { 1 } else { size },
            atomic_base: if draft_atomics { 2 } else { 0 },
            index: params.lrid_width,
            index_name: dialect.split_id(),
            address: if dialect.data_address_is_iaddress() { params.iaddress_width } else { daddress },
            data: params.data_width,
            data_diff: if data.offers == Compress::Both { 2 } else { 1 },
            csr_len: if params.iaddress_width <= 32 { 2 } else { 3 },
            csr_subtype: data.csr_subtype_width,
            csr_diff: u32::from(data.csr_address_diff),
            has_address: !options.no_address,
            has_data: !options.no_data,
        }
    }
}

/// Smallest `n` with `2^n >= value`.
const fn clog2(value: u32) -> u32 {
    if value <= 1 { 0 } else { (value - 1).ilog2() + 1 }
}

/// Codes of `diff` with address and data (table 7.1), and of `resp` (table 7.5).
pub mod diff {
    /// Address and data in full. As a response: an error, without data.
    pub const FULL: u32 = 0;
    /// Address as a difference, data as exclusive or.
    pub const XOR: u32 = 1;
    /// Address as a difference, data in full.
    pub const FULL_DATA: u32 = 2;
    /// Address and data as differences.
    pub const DIFFERENCE: u32 = 3;
}

/// A data trace packet, `te_data`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet {
    /// Load or store as a whole (tables 7.1 to 7.3).
    LoadStore(LoadStore),
    /// Request of a split load (table 7.4).
    LoadRequest(LoadRequest),
    /// Response of a split load (table 7.5).
    LoadReply(LoadReply),
    /// CSR access (tables 7.11 to 7.13).
    Csr(Csr),
    /// Atomic as a whole (tables 7.6 to 7.8).
    Atomic(Atomic),
    /// Request of a split atomic (table 7.9).
    AtomicRequest(AtomicRequest),
    /// Response of a split atomic (table 7.10).
    AtomicReply(AtomicReply),
}

/// Tables 7.1 to 7.3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadStore {
    /// A store, not a load.
    pub store: bool,
    /// The address is not shifted.
    pub unaligned: bool,
    /// The access has `2^size` bytes.
    pub size: u32,
    /// Encoding of address and data, see [`diff`].
    pub diff: u32,
    /// Bytes of data, less 1.
    pub data_len: u32,
    /// Data.
    pub data: u128,
    /// Address.
    pub address: u64,
}

/// Table 7.4.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadRequest {
    /// The address is not shifted.
    pub unaligned: bool,
    /// The access has `2^size` bytes.
    pub size: u32,
    /// Id of the load.
    pub index: u32,
    /// 1: the address is a difference.
    pub diff: u32,
    /// Address.
    pub address: u64,
}

/// Table 7.5.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadReply {
    /// The access has `2^size` bytes.
    pub size: u32,
    /// Id of the load.
    pub index: u32,
    /// 0: an error, without data; else the encoding of the data, see [`diff`].
    pub resp: u32,
    /// Data.
    pub data: u128,
}

/// Tables 7.6 to 7.8.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Atomic {
    /// Operation.
    pub subtype: u32,
    /// The access has `2^size` bytes.
    pub size: u32,
    /// Encoding of address and data, see [`diff`].
    pub diff: u32,
    /// Bytes of the operand, less 1.
    pub op_len: u32,
    /// Operand.
    pub operand: u128,
    /// Bytes of data, less 1.
    pub data_len: u32,
    /// Data.
    pub data: u128,
    /// Address.
    pub address: u64,
}

/// Table 7.9.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AtomicRequest {
    /// Operation.
    pub subtype: u32,
    /// The access has `2^size` bytes.
    pub size: u32,
    /// Id of the atomic.
    pub index: u32,
    /// 0: the address is full.
    pub diff: u32,
    /// Bytes of the operand, less 1.
    pub op_len: u32,
    /// Operand.
    pub operand: u128,
    /// Address.
    pub address: u64,
}

/// Table 7.10. It has no size field: the size is that of the request with the same id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AtomicReply {
    /// The access has `2^size` bytes; `None` where the request was not seen, so that the rest cannot be read.
    pub size: Option<u32>,
    /// Id of the atomic.
    pub index: u32,
    /// 0: an error, without data; else the encoding of the data, see [`diff`].
    pub resp: u32,
    /// Bytes of data, less 1.
    pub data_len: u32,
    /// Data.
    pub data: u128,
}

/// Tables 7.11 to 7.13.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Csr {
    /// Operation.
    pub subtype: u32,
    /// Encoding of the data, see [`diff`]; of the address where there are no data.
    pub diff: u32,
    /// Bytes of data, less 1.
    pub data_len: u32,
    /// Data.
    pub data: u128,
    /// Address, bits 11:6.
    pub addr_msbs: u32,
    /// Bytes of the operand, less 1; read-only registers have none.
    pub op_len: u32,
    /// Operand.
    pub operand: u128,
    /// Address, bits 5:0.
    pub addr_lsbs: u32,
}

impl Csr {
    /// A read-only register has no operand (table 7.12). Not meaningful where the address is a difference.
    pub(crate) const fn is_read_only(&self) -> bool {
        self.addr_msbs >> 4 == 3
    }
}

/// Sizes of split loads and atomics in flight, by id: the response of an atomic does not carry it (table 7.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes([u8; 256]);

impl Default for Sizes {
    fn default() -> Self {
        Sizes([u8::MAX; 256])
    }
}

impl Sizes {
    /// Remembers the size of a request until its response.
    pub fn note(&mut self, packet: &Packet) {
        let (index, size) = match packet {
            Packet::LoadRequest(request) => (request.index, request.size as u8),
            Packet::AtomicRequest(request) => (request.index, request.size as u8),
            Packet::LoadReply(reply) => (reply.index, u8::MAX),
            Packet::AtomicReply(reply) => (reply.index, u8::MAX),
            Packet::LoadStore(_) | Packet::Csr(_) | Packet::Atomic(_) => return,
        };
        self.0[index as usize & 255] = size;
    }

    /// Is nothing in flight?
    pub(crate) fn is_empty(&self) -> bool {
        *self == Sizes::default()
    }

    /// The sizes that are known, by id.
    pub(crate) fn known(&self) -> impl Iterator<Item = (u8, u8)> + '_ {
        (0..=255).zip(self.0).filter(|(_, size)| *size != u8::MAX)
    }

    /// Knows these sizes and no others.
    pub(crate) fn of(known: &[(u8, u8)]) -> Self {
        let mut sizes = Sizes::default();
        known.iter().for_each(|(index, size)| sizes.0[usize::from(*index)] = *size);
        sizes
    }

    fn get(&self, index: u32) -> Option<u32> {
        let size = self.0[index as usize & 255];
        (size != u8::MAX).then_some(u32::from(size))
    }
}

/// Largest access: `2^4` bytes.
const MAX_SIZE: u32 = 4;

type Checked = Result<(), ErrorKind>;

/// A field of up to 128 bits.
#[inline]
fn wide<W: Wire>(w: &mut W, name: &'static str, high_name: &'static str, value: &mut u128, width: u32) {
    let mut low = *value as u64;
    w.bits(name, &mut low, width.min(64));
    let mut high = (*value >> 64) as u64;
    if width > 64 {
        w.bits(high_name, &mut high, width - 64);
    } else {
        high = 0;
    }
    *value = u128::from(high) << 64 | u128::from(low);
}

/// The size, in a field that counts from `base`.
#[inline]
fn size<W: Wire>(w: &mut W, value: &mut u32, width: u32, base: u32) -> Checked {
    let mut field = value.wrapping_sub(base);
    w.small("size", &mut field, width);
    *value = field.wrapping_add(base);
    if *value > MAX_SIZE {
        return Err(ErrorKind::Illegal { found: u64::from(field) });
    }
    Ok(())
}

/// A length field of `width` bits and that many bytes, plus 1.
#[inline]
fn counted<W: Wire>(w: &mut W, names: [&'static str; 3], len: &mut u32, value: &mut u128, width: u32) {
    w.small(names[0], len, width);
    wide(w, names[1], names[2], value, 8 * (*len + 1));
}

const DATA: [&str; 3] = ["data_len", "data", "data_high"];
const OPERAND: [&str; 3] = ["op_len", "operand", "operand_high"];

impl LoadStore {
    #[inline]
    fn wire<W: Wire>(&mut self, w: &mut W, l: &Layout) -> Checked {
        size(w, &mut self.size, l.size, 0)?;
        match (l.has_address, l.has_data) {
            (true, true) => {
                w.small("diff", &mut self.diff, 2);
                counted(w, DATA, &mut self.data_len, &mut self.data, self.size);
                w.bits("address", &mut self.address, l.address);
            }
            (true, false) => {
                w.small("diff", &mut self.diff, 1);
                w.bits("address", &mut self.address, l.address);
            }
            (false, _) => {
                w.small("diff", &mut self.diff, l.data_diff);
                wide(w, DATA[1], DATA[2], &mut self.data, l.data);
            }
        }
        Ok(())
    }
}

impl LoadRequest {
    #[inline]
    fn wire<W: Wire>(&mut self, w: &mut W, l: &Layout) -> Checked {
        size(w, &mut self.size, l.size, 0)?;
        w.small(l.index_name, &mut self.index, l.index);
        if l.has_address {
            w.small("diff", &mut self.diff, 1);
            w.bits("address", &mut self.address, l.address);
        }
        Ok(())
    }
}

impl LoadReply {
    #[inline]
    fn wire<W: Wire>(&mut self, w: &mut W, l: &Layout) -> Checked {
        size(w, &mut self.size, l.size, 0)?;
        w.small(l.index_name, &mut self.index, l.index);
        w.small("resp", &mut self.resp, 2);
        if self.resp != 0 {
            wide(w, DATA[1], DATA[2], &mut self.data, l.data);
        }
        Ok(())
    }
}

impl Atomic {
    #[inline]
    fn wire<W: Wire>(&mut self, w: &mut W, l: &Layout) -> Checked {
        w.small("subtype", &mut self.subtype, 3);
        size(w, &mut self.size, l.atomic_size, l.atomic_base)?;
        match (l.has_address, l.has_data) {
            (true, true) => {
                w.small("diff", &mut self.diff, 2);
                counted(w, OPERAND, &mut self.op_len, &mut self.operand, self.size);
                counted(w, DATA, &mut self.data_len, &mut self.data, self.size);
                w.bits("address", &mut self.address, l.address);
            }
            (true, false) => {
                w.small("diff", &mut self.diff, 1);
                w.bits("address", &mut self.address, l.address);
            }
            (false, _) => {
                w.small("diff", &mut self.diff, l.data_diff);
                counted(w, OPERAND, &mut self.op_len, &mut self.operand, self.size);
                wide(w, DATA[1], DATA[2], &mut self.data, l.data);
            }
        }
        Ok(())
    }
}

impl AtomicRequest {
    #[inline]
    fn wire<W: Wire>(&mut self, w: &mut W, l: &Layout) -> Checked {
        w.small("subtype", &mut self.subtype, 3);
        size(w, &mut self.size, l.atomic_size, l.atomic_base)?;
        w.small(l.index_name, &mut self.index, l.index);
        if l.has_address {
            w.small("diff", &mut self.diff, if l.has_data { l.data_diff } else { 1 });
        }
        if l.has_data {
            counted(w, OPERAND, &mut self.op_len, &mut self.operand, self.size);
        }
        if l.has_address {
            w.bits("address", &mut self.address, l.address);
        }
        Ok(())
    }
}

impl AtomicReply {
    #[inline]
    fn wire<W: Wire>(&mut self, w: &mut W, l: &Layout) {
        w.small(l.index_name, &mut self.index, l.index);
        w.small("resp", &mut self.resp, 2);
        if let Some(size) = self.size.filter(|_| self.resp != 0) {
            counted(w, DATA, &mut self.data_len, &mut self.data, size.min(MAX_SIZE));
        }
    }
}

impl Csr {
    #[inline]
    fn wire<W: Wire>(&mut self, w: &mut W, l: &Layout) {
        if !l.has_data {
            w.small("subtype", &mut self.subtype, l.csr_subtype);
            w.small("diff", &mut self.diff, l.csr_diff);
            w.small("addr_msbs", &mut self.addr_msbs, 6);
            w.small("addr_lsbs", &mut self.addr_lsbs, 6);
            return;
        }
        w.small("subtype", &mut self.subtype, 2);
        w.small("diff", &mut self.diff, l.data_diff);
        counted(w, DATA, &mut self.data_len, &mut self.data, l.csr_len);
        w.small("addr_msbs", &mut self.addr_msbs, 6);
        if !self.is_read_only() {
            counted(w, OPERAND, &mut self.op_len, &mut self.operand, l.csr_len);
        }
        w.small("addr_lsbs", &mut self.addr_lsbs, 6);
    }
}

impl Packet {
    /// Its name in listings and counts.
    pub const fn name(&self) -> &'static str {
        match self {
            Packet::LoadStore(LoadStore { store: false, .. }) => "load",
            Packet::LoadStore(_) => "store",
            Packet::LoadRequest(_) => "load-request",
            Packet::LoadReply(_) => "load-data",
            Packet::Csr(_) => "csr",
            Packet::Atomic(_) => "atomic",
            Packet::AtomicRequest(_) => "atomic-request",
            Packet::AtomicReply(_) => "atomic-data",
        }
    }

    /// The section that describes it.
    pub const fn section(&self) -> &'static str {
        match self {
            Packet::LoadStore(_) | Packet::LoadRequest(_) | Packet::LoadReply(_) => "E-Trace 7.1",
            Packet::Csr(_) => "E-Trace 7.3",
            _ => "E-Trace 7.2",
        }
    }

    /// Format code (7.1.1).
    const fn code(&self) -> u32 {
        match self {
            Packet::LoadStore(packet) => (packet.store as u32) << 1 | packet.unaligned as u32,
            Packet::LoadRequest(packet) => packet.unaligned as u32,
            Packet::LoadReply(_) => 4,
            Packet::Csr(_) => 5,
            Packet::Atomic(_) | Packet::AtomicRequest(_) => 6,
            Packet::AtomicReply(_) => 7,
        }
    }

    fn wire<W: Wire>(&mut self, w: &mut W, l: &Layout) -> Checked {
        match self {
            Packet::LoadStore(packet) => packet.wire(w, l)?,
            Packet::LoadRequest(packet) => packet.wire(w, l)?,
            Packet::LoadReply(packet) => packet.wire(w, l)?,
            Packet::Csr(packet) => packet.wire(w, l),
            Packet::Atomic(packet) => packet.wire(w, l)?,
            Packet::AtomicRequest(packet) => packet.wire(w, l)?,
            Packet::AtomicReply(packet) => packet.wire(w, l),
        }
        Ok(())
    }

    /// Reads a payload. [`Received`] also keeps its length and spare bits.
    pub fn read(payload: &[u8], l: &Layout, sizes: &Sizes) -> Result<Packet, ErrorKind> {
        if payload.is_empty() {
            return Err(ErrorKind::Truncated);
        }
        Packet::take(&mut Take::new(payload), l, sizes)
    }

    fn take(take: &mut Take, l: &Layout, sizes: &Sizes) -> Result<Packet, ErrorKind> {
        let mut format = 0;
        take.small("format", &mut format, l.format);
        let mut packet = match format {
            0 | 1 if l.split => {
                Packet::LoadRequest(LoadRequest { unaligned: format & 1 == 1, ..LoadRequest::default() })
            }
            0..=3 => Packet::LoadStore(LoadStore {
                store: format & 2 == 2,
                unaligned: format & 1 == 1,
                ..LoadStore::default()
            }),
            4 if l.split => Packet::LoadReply(LoadReply::default()),
            5 => Packet::Csr(Csr::default()),
            6 if l.split => Packet::AtomicRequest(AtomicRequest::default()),
            6 => Packet::Atomic(Atomic::default()),
            // Version 2 prints 110 in this place, which is the request's.
            7 if l.split => Packet::AtomicReply(AtomicReply::default()),
            _ => return Err(ErrorKind::Unknown { found: u64::from(format) }),
        };
        if let Packet::AtomicReply(reply) = &mut packet {
            // The id comes first, and determines the size.
            let mut ahead = *take;
            ahead.small(l.index_name, &mut reply.index, l.index);
            reply.size = sizes.get(reply.index);
        }
        packet.wire(take, l)?;
        Ok(packet)
    }

    /// Writes the payload; an error if the size has no code.
    pub fn write(&self, l: &Layout, compress: bool) -> Result<Payload, ErrorKind> {
        let mut put = Put::default();
        let mut format = self.code();
        put.small("format", &mut format, l.format);
        // The same declaration as for reading; the packet does not change.
        let mut packet = *self;
        packet.wire(&mut put, l)?;
        Ok(put.finish(compress))
    }

    /// Calls `show` with each field's name, value and width, in wire order.
    pub fn fields(&self, l: &Layout, show: &mut dyn FnMut(&'static str, u64, u32)) {
        let mut packet = *self;
        // Reading has refused illegal sizes.
        let _ = packet.wire(&mut Show(show), l);
    }
}

impl Received<Packet> {
    /// Reads a payload of `bits` bits; bits above them in the last byte are copies of the last one.
    pub fn read(payload: &[u8], bits: u32, l: &Layout, sizes: &Sizes) -> Result<Self, ErrorKind> {
        Received::read_with(payload, bits, |take| Packet::take(take, l, sizes))
    }

    /// Writes the payload as it was received.
    pub fn write(&self, l: &Layout) -> Result<Vec<u8>, ErrorKind> {
        Ok(self.with_spare(self.packet.write(l, false)?.bytes()))
    }
}
