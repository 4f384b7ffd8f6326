//! Data packets to accesses: the history of each size, and split loads by their id.

use crate::config::Compress;
use crate::mirrored::{History, extend, low};
use crate::port::Dtype;
use crate::wire::data::{Layout, Packet, diff};

/// An access, as far as its packet determines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct DecodedAccess {
    /// Its type.
    pub dtype: Dtype,
    /// Logarithm of its size in bytes.
    pub dsize: u8,
    /// Address; `None` if packets have none, or if it is a difference to an unknown one.
    pub daddr: Option<u64>,
    /// Data, likewise.
    pub data: Option<u128>,
    /// Operand of an atomic or CSR access; `None` if packets have no data, and for read-only registers.
    pub operand: Option<u128>,
    /// Split: the data follow with this id.
    pub pending: Option<u32>,
}

/// The meaning of a data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decoded {
    /// An access, or its request.
    Access(DecodedAccess),
    /// The data of an access that was requested.
    Response {
        /// Id of the access.
        index: u32,
        /// The data; `Some(None)`: they are a difference to unknown ones; `None`: the access failed.
        data: Option<Option<u128>>,
    },
}

/// Decodes data packets.
#[derive(Clone, Debug)]
pub struct DataDecoder {
    layout: Layout,
    offers: Compress,
    /// References of compression.
    pub history: History,
}

impl DataDecoder {
    /// A decoder for these settings.
    pub fn new(config: &crate::Config, options: crate::Options) -> Self {
        DataDecoder {
            layout: Layout::new(config, options),
            offers: config.data.offers,
            history: History::default(),
        }
    }

    /// The layout in use.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Switches to these modes.
    pub fn set_options(&mut self, config: &crate::Config, options: crate::Options) {
        self.layout = Layout::new(config, options);
    }

    /// Decodes a packet; `None` for a reserved code.
    pub fn accept(&mut self, packet: &Packet) -> Option<Decoded> {
        let l = self.layout;
        Some(match *packet {
            Packet::LoadStore(p) => {
                let dtype = if p.store { Dtype::STORE } else { Dtype::LOAD };
                let code = self.code(p.diff)?;
                let shift = if p.unaligned { 0 } else { p.size };
                let daddr = self.address(dtype, p.size, code != diff::FULL, shift, p.address);
                let data = self.data(dtype, p.size, code, p.data, 8 * (p.data_len + 1));
                Decoded::Access(DecodedAccess {
                    dtype,
                    dsize: p.size as u8,
                    daddr,
                    data,
                    operand: None,
                    pending: None,
                })
            }
            Packet::Atomic(p) => {
                let dtype = Dtype(8 | p.subtype as u8);
                let code = self.code(p.diff)?;
                let daddr = self.address(dtype, p.size, code != diff::FULL, p.size, p.address);
                let data = self.data(dtype, p.size, code, p.data, 8 * (p.data_len + 1));
                let operand = l.has_data.then(|| value(p.operand, 8 * (p.op_len + 1), p.size));
                Decoded::Access(DecodedAccess {
                    dtype,
                    dsize: p.size as u8,
                    daddr,
                    data,
                    operand,
                    pending: None,
                })
            }
            Packet::LoadRequest(p) => {
                let shift = if p.unaligned { 0 } else { p.size };
                let daddr = self.address(Dtype::LOAD, p.size, p.diff == 1, shift, p.address);
                Decoded::Access(DecodedAccess {
                    dtype: Dtype::LOAD,
                    dsize: p.size as u8,
                    daddr,
                    data: None,
                    operand: None,
                    pending: Some(p.index),
                })
            }
            Packet::AtomicRequest(p) => {
                let dtype = Dtype(8 | p.subtype as u8);
                let daddr = self.address(dtype, p.size, p.diff != 0, p.size, p.address);
                let operand = l.has_data.then(|| value(p.operand, 8 * (p.op_len + 1), p.size));
                let dsize = p.size as u8;
                Decoded::Access(DecodedAccess {
                    dtype,
                    dsize,
                    daddr,
                    data: None,
                    operand,
                    pending: Some(p.index),
                })
            }
            Packet::LoadReply(p) => {
                let data = (p.resp != 0).then(|| self.resolve(Dtype::LOAD, p.size, p.resp, p.data, l.data));
                Decoded::Response { index: p.index, data }
            }
            Packet::AtomicReply(p) => {
                let data = (p.resp != 0).then(|| {
                    let size = p.size?;
                    self.resolve(Dtype::ATOMIC_SWAP, size, p.resp, p.data, 8 * (p.data_len + 1))
                });
                Decoded::Response { index: p.index, data }
            }
            Packet::Csr(p) => {
                let dtype = Dtype(4 | p.subtype as u8 & 3);
                let number = u64::from(p.addr_msbs << 6 | p.addr_lsbs);
                let size = if l.csr_len == 2 { 2 } else { 3 };
                let last = self.history.address(dtype, size as u8);
                let daddr = match (l.has_data, p.diff) {
                    (false, 1) => last.map(|last| last.wrapping_add(number) & 0xfff),
                    _ => Some(number),
                };
                self.history.set_address(dtype, size as u8, daddr);
                let data = if l.has_data {
                    let code = self.data_code(p.diff)?;
                    self.data(dtype, size, code, p.data, 8 * (p.data_len + 1))
                } else {
                    None
                };
                let operand =
                    (l.has_data && !p.is_read_only()).then(|| value(p.operand, 8 * (p.op_len + 1), size));
                Decoded::Access(DecodedAccess {
                    dtype,
                    dsize: size as u8,
                    daddr,
                    data,
                    operand,
                    pending: None,
                })
            }
        })
    }

    /// `diff` as in table 7.1.
    fn code(&self, field: u32) -> Option<u32> {
        match (self.layout.has_address, self.layout.has_data) {
            (true, true) => Some(field),
            (true, false) => Some(if field == 0 { diff::FULL } else { diff::FULL_DATA }),
            (false, _) => self.data_code(field),
        }
    }

    /// `diff` where it describes data alone (table 7.3).
    fn data_code(&self, field: u32) -> Option<u32> {
        match (self.offers, field) {
            (_, 0) => Some(diff::FULL),
            (Compress::Both, diff::FULL_DATA) => None,
            (Compress::Both, code) => Some(code),
            (Compress::Difference, _) => Some(diff::DIFFERENCE),
            _ => Some(diff::XOR),
        }
    }

    fn address(
        &mut self,
        dtype: Dtype,
        size: u32,
        differential: bool,
        shift: u32,
        field: u64,
    ) -> Option<u64> {
        if !self.layout.has_address {
            return None;
        }
        let bits = self.layout.address;
        let base = if differential { self.history.address(dtype, size as u8) } else { Some(0) };
        let address = base.map(|base| trackway_core::mask(base.wrapping_add(field << shift), bits));
        self.history.set_address(dtype, size as u8, address);
        address
    }

    /// Data of a packet, in a field of `bits` bits if the packet has a length field.
    fn data(&mut self, dtype: Dtype, size: u32, code: u32, field: u128, bits: u32) -> Option<u128> {
        if !self.layout.has_data {
            return None;
        }
        let bits = if self.layout.has_address || dtype.is_csr() { bits } else { self.layout.data };
        self.resolve(dtype, size, code, field, bits)
    }

    /// Data in full, or relative to the last value.
    fn resolve(&mut self, dtype: Dtype, size: u32, code: u32, field: u128, bits: u32) -> Option<u128> {
        let field = value(field, bits, size);
        let last = self.history.data(dtype, size as u8);
        let data = match code {
            diff::XOR => last.map(|last| last ^ field),
            diff::DIFFERENCE => last.map(|last| low(last.wrapping_add(field), 8 << size)),
            _ => Some(field),
        };
        self.history.set_data(dtype, size as u8, data);
        data
    }
}

/// A field of `bits` bits as a value of `2^size` bytes.
fn value(field: u128, bits: u32, size: u32) -> u128 {
    low(extend(field, bits.min(128)), 8 << size)
}
