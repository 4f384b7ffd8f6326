//! Data accesses to packets: the history of each size, and the shortest form (7.1.3).

use crate::config::Compress;
use crate::mirrored::{History, extend, low};
use crate::port::{Access, Dtype, Transfer};
use crate::wire::data::{
    Atomic, AtomicReply, AtomicRequest, Csr, Layout, LoadReply, LoadRequest, LoadStore, Packet, diff,
};

/// Longest payload that every framing can hold: a header counts 31 bytes, which ids and types share.
const LONGEST: usize = 29;

/// A load or atomic in flight.
#[derive(Clone, Copy, Debug)]
struct Begun {
    dtype: Dtype,
    dsize: u8,
}

/// Encodes accesses as packets.
///
/// ```
/// use trackway_etrace::Config;
/// use trackway_etrace::encode::DataEncoder;
/// use trackway_etrace::port::{Access, Dtype, Transfer};
/// use trackway_etrace::wire::data::{Packet, diff};
///
/// let config = Config::from_toml("iaddress_width = 64\n[data]")?;
/// let mut encoder = DataEncoder::new(&config);
/// let load = |daddr, data| Transfer::Unified(Access { dtype: Dtype::LOAD, daddr, dsize: 3, data, operand: 0 });
/// // The first of its size is in full, the next one in its shortest form.
/// let Some(Packet::LoadStore(first)) = encoder.packet(&load(0x8000_1000, 7)) else { unreachable!() };
/// assert_eq!((first.diff, first.address), (diff::FULL, 0x8000_1000 >> 3));
/// let Some(Packet::LoadStore(second)) = encoder.packet(&load(0x8000_1008, 9)) else { unreachable!() };
/// assert_eq!((second.diff, second.address, second.data), (diff::FULL_DATA, 1, 9));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct DataEncoder {
    layout: Layout,
    offers: Compress,
    compress: Compress,
    /// Drop trailing bytes that sign extension restores.
    short: bool,
    /// References of compression.
    pub history: History,
    begun: Vec<Option<Begun>>,
}

impl DataEncoder {
    /// An encoder for these settings.
    pub fn new(config: &crate::Config) -> Self {
        DataEncoder {
            layout: Layout::new(config, config.options),
            offers: config.data.offers,
            compress: config.data.compress,
            short: config.encoder.compress,
            history: History::default(),
            begun: vec![None; 1 << config.params.lrid_width],
        }
    }

    /// The layout in use.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The packet for a transfer; `None` if the modes omit everything, a response has no request, or no packet can
    /// hold the access.
    pub fn packet(&mut self, transfer: &Transfer) -> Option<Packet> {
        let packet = match *transfer {
            Transfer::Unified(access) => self.unified(&access)?,
            Transfer::Request { access, lrid } => self.request(&access, lrid)?,
            Transfer::Response { lid, data } => self.response(lid, data)?,
        };
        Some(packet)
    }

    /// Length of a packet's payload in bytes.
    fn length(&self, packet: &Packet) -> usize {
        packet.write(&self.layout, self.short).map_or(usize::MAX, |payload| payload.bytes().len())
    }

    /// The shortest packet, the first of equals; `None` if no frame can hold it.
    fn shortest(&self, candidates: impl Iterator<Item = Packet>) -> Option<Packet> {
        let sized = candidates.map(|packet| (self.length(&packet), packet));
        sized
            .min_by_key(|(length, _)| *length)
            .filter(|(length, _)| *length <= LONGEST)
            .map(|(_, packet)| packet)
    }

    fn unified(&mut self, access: &Access) -> Option<Packet> {
        let access = &if access.dtype.is_csr() { self.as_wide_as_csrs(access) } else { *access };
        let Access { dtype, dsize, daddr, .. } = *access;
        let data = low(access.data, access.bits());
        let packet = if dtype.is_csr() {
            self.csr(access)?
        } else {
            if dtype.is_atomic() && !self.holds_atomic(access) {
                return None;
            }
            if self.layout.split && (dtype == Dtype::LOAD || dtype.is_atomic()) {
                return None; // with the split interface these come in two phases
            }
            let forms = self.forms(access);
            let chosen = forms.into_iter().flatten().map(|form| self.whole(access, form));
            self.shortest(chosen)?
        };
        self.note(
            dtype,
            dsize,
            self.layout.has_address.then_some(daddr),
            self.layout.has_data.then_some(data),
        );
        Some(packet)
    }

    /// CSRs have the width of the core's registers.
    fn as_wide_as_csrs(&self, access: &Access) -> Access {
        Access { dsize: if self.layout.csr_len == 2 { 2 } else { 3 }, ..*access }
    }

    /// Can a packet hold the atomic? Its address must be aligned.
    fn holds_atomic(&self, access: &Access) -> bool {
        let size = u32::from(access.dsize);
        let l = &self.layout;
        let largest = l.atomic_base + (1 << l.atomic_size) - 1;
        (l.atomic_base..=largest).contains(&size) && l.format == 3 && access.daddr & ((1 << size) - 1) == 0
    }

    /// Is there a last address to refer to?
    fn refers(&self, access: &Access) -> bool {
        let last = self.history.address(access.dtype, access.dsize);
        let mask = (1 << access.dsize) - 1;
        last.is_some_and(|last| !access.dtype.is_atomic() || last & mask == 0)
    }

    /// Updates the history with address and data as they were sent.
    fn note(&mut self, dtype: Dtype, dsize: u8, address: Option<u64>, data: Option<u128>) {
        if address.is_some() {
            self.history.set_address(dtype, dsize, address);
        }
        if data.is_some() {
            self.history.set_data(dtype, dsize, data);
        }
    }

    /// Data as a field: in full, or relative to the last value; `None` without one.
    fn coded(&self, access: &Access, code: u32) -> Option<u128> {
        let bits = access.bits();
        let last = self.history.data(access.dtype, access.dsize);
        let value = match code {
            diff::XOR => access.data ^ last?,
            diff::DIFFERENCE => access.data.wrapping_sub(last?),
            _ => access.data,
        };
        Some(extend(low(value, bits), bits))
    }

    /// Codes that may be used for data.
    fn data_codes(&self) -> impl Iterator<Item = u32> + use<> {
        let compress = self.compress;
        [(diff::XOR, compress.has_xor()), (diff::DIFFERENCE, compress.has_difference())]
            .into_iter()
            .filter_map(|(code, has)| has.then_some(code))
    }

    /// Forms of the access: `diff` as in table 7.1, and the data field.
    fn forms(&self, access: &Access) -> [Option<(u32, u128)>; 4] {
        let l = &self.layout;
        let mut forms = [None; 4];
        forms[0] = self.coded(access, diff::FULL).map(|data| (diff::FULL, data));
        if self.compress == Compress::Off || access.dsize > 4 {
            return forms;
        }
        if l.has_address && !self.refers(access) {
            return forms;
        }
        if l.has_address {
            forms[1] = Some((diff::FULL_DATA, extend(low(access.data, access.bits()), access.bits())));
        }
        if l.has_data {
            for (n, code) in self.data_codes().enumerate() {
                forms[2 + n] = self.coded(access, code).map(|data| (code, data));
            }
        }
        forms
    }

    /// The address as a field, and whether it is unaligned. A difference is shifted only if the last address was
    /// aligned too, so that all readings of the text agree.
    fn address(&self, access: &Access, differential: bool) -> (u64, bool) {
        let bits = self.layout.address;
        let size = u32::from(access.dsize);
        let mask = (1u64 << size) - 1;
        let signed = |value: u64| extend(u128::from(value), bits) as u64;
        let narrow = |value: u64| trackway_core::mask(value, bits);
        let last = self.history.address(access.dtype, access.dsize).filter(|_| differential);
        let value = signed(access.daddr.wrapping_sub(last.unwrap_or(0)));
        let unaligned = access.daddr & mask != 0 || last.is_some_and(|last| last & mask != 0);
        if unaligned { (narrow(value), true) } else { (narrow(((value as i64) >> size) as u64), false) }
    }

    /// A load, store or atomic in one of its forms.
    fn whole(&self, access: &Access, (code, data): (u32, u128)) -> Packet {
        let l = &self.layout;
        let differential = code != diff::FULL;
        let (address, unaligned) = self.address(access, differential && l.has_address);
        let field = match (l.has_address, l.has_data) {
            (true, true) => code,
            (true, false) => u32::from(differential),
            // Table 7.3: 1 bit where only one way of compression is offered.
            (false, _) if self.offers == Compress::Both => code,
            (false, _) => u32::from(differential),
        };
        let size = u32::from(access.dsize);
        let data_len = bytes(data, size);
        if access.dtype.is_atomic() {
            let operand = extend(access.operand, access.bits());
            return Packet::Atomic(Atomic {
                subtype: u32::from(access.dtype.0 & 7),
                size,
                diff: field,
                op_len: bytes(operand, size),
                operand,
                data_len,
                data,
                address,
            });
        }
        let store = access.dtype == Dtype::STORE;
        Packet::LoadStore(LoadStore { store, unaligned, size, diff: field, data_len, data, address })
    }

    fn csr(&self, access: &Access) -> Option<Packet> {
        let l = &self.layout;
        if l.format < 3 {
            return None;
        }
        let number = access.daddr as u32 & 0xfff;
        let subtype = u32::from(access.dtype.0 & 3);
        if !l.has_data {
            let last =
                self.history.address(access.dtype, access.dsize).filter(|_| self.compress != Compress::Off);
            let of = |number: u32, diff: u32| {
                let (addr_msbs, addr_lsbs) = (number >> 6 & 63, number & 63);
                Packet::Csr(Csr { subtype, diff, addr_msbs, addr_lsbs, ..Csr::default() })
            };
            let full = of(number, 0);
            let other = last.filter(|_| l.csr_diff > 0).map(|last| of(number.wrapping_sub(last as u32), 1));
            return self.shortest([full].into_iter().chain(other));
        }
        let wide = access.dsize;
        let operand = extend(access.operand, access.bits());
        let codes = [diff::FULL].into_iter().chain(self.data_codes());
        let made = codes.filter_map(|code| {
            let data = self.coded(access, code)?;
            let field = if self.offers == Compress::Both { code } else { u32::from(code != diff::FULL) };
            Some(Packet::Csr(Csr {
                subtype,
                diff: field,
                data_len: bytes(data, u32::from(wide)),
                data,
                addr_msbs: number >> 6,
                op_len: bytes(operand, u32::from(wide)),
                operand,
                addr_lsbs: number & 63,
            }))
        });
        self.shortest(made)
    }

    fn request(&mut self, access: &Access, lrid: u32) -> Option<Packet> {
        let l = &self.layout;
        let Access { dtype, dsize, daddr, .. } = *access;
        if !l.split || (dtype.is_atomic() && !self.holds_atomic(access)) {
            return None;
        }
        self.begun.get(lrid as usize)?;
        let size = u32::from(dsize);
        let known = self.compress != Compress::Off && self.refers(access);
        let made = [Some(false), known.then_some(true)].into_iter().flatten().map(|differential| {
            let (address, unaligned) = self.address(access, differential);
            let diff = u32::from(differential);
            if dtype.is_atomic() {
                let operand = extend(access.operand, access.bits());
                Packet::AtomicRequest(AtomicRequest {
                    subtype: u32::from(dtype.0 & 7),
                    size,
                    index: lrid,
                    // A request has no data: the code is that of data in full (table 7.6).
                    diff: if differential && self.offers == Compress::Both && l.has_data {
                        diff::FULL_DATA
                    } else {
                        diff
                    },
                    op_len: bytes(operand, size),
                    operand,
                    address,
                })
            } else {
                Packet::LoadRequest(LoadRequest { unaligned, size, index: lrid, diff, address })
            }
        });
        let packet = self.shortest(made)?;
        let address = l.has_address.then_some(daddr);
        self.begun[lrid as usize] = Some(Begun { dtype, dsize });
        self.note(dtype, dsize, address, None);
        Some(packet)
    }

    fn response(&mut self, lid: u32, data: Option<u128>) -> Option<Packet> {
        let Begun { dtype, dsize } = self.begun.get_mut(lid as usize)?.take()?;
        let size = u32::from(dsize);
        let atomic = dtype.is_atomic();
        let reply = |resp: u32, data: u128| {
            if !atomic {
                return Packet::LoadReply(LoadReply { size, index: lid, resp, data });
            }
            Packet::AtomicReply(AtomicReply {
                size: Some(size),
                index: lid,
                resp,
                data_len: if resp == 0 { 0 } else { bytes(data, size) },
                data,
            })
        };
        let Some(data) = data else { return Some(reply(0, 0)) };
        if !self.layout.has_data {
            return None;
        }
        let access = Access { dtype, dsize, data, ..Access::default() };
        let codes = [diff::FULL_DATA].into_iter().chain(self.data_codes());
        let made = codes.filter_map(|code| self.coded(&access, code).map(|data| reply(code, data)));
        let packet = self.shortest(made)?;
        self.note(dtype, dsize, None, Some(low(data, access.bits())));
        Some(packet)
    }
}

/// Bytes needed for a sign-extended value of `2^size` bytes, less 1.
fn bytes(value: u128, size: u32) -> u32 {
    let signed = value as i128;
    let significant = 129 - if signed < 0 { (!signed).leading_zeros() } else { signed.leading_zeros() };
    significant.div_ceil(8).clamp(1, 1 << size) - 1
}
