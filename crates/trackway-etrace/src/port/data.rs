//! The data side of the port (4.4, table 4.9).

/// Type of a data access (table 4.9).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Dtype(pub u8);

#[allow(missing_docs)] // the names are table 4.9's
impl Dtype {
    pub const LOAD: Dtype = Dtype(0);
    pub const STORE: Dtype = Dtype(1);
    pub const CSR_READ_WRITE: Dtype = Dtype(4);
    pub const CSR_READ_SET: Dtype = Dtype(5);
    pub const CSR_READ_CLEAR: Dtype = Dtype(6);
    pub const ATOMIC_SWAP: Dtype = Dtype(8);
    pub const ATOMIC_ADD: Dtype = Dtype(9);
    pub const ATOMIC_AND: Dtype = Dtype(10);
    pub const ATOMIC_OR: Dtype = Dtype(11);
    pub const ATOMIC_XOR: Dtype = Dtype(12);
    pub const ATOMIC_MAX: Dtype = Dtype(13);
    pub const ATOMIC_MIN: Dtype = Dtype(14);
}

impl Dtype {
    /// Is it a CSR access?
    pub const fn is_csr(self) -> bool {
        matches!(self.0, 4..=7)
    }

    /// Is it an atomic?
    pub const fn is_atomic(self) -> bool {
        matches!(self.0, 8..=15)
    }

    /// Its name in settings and listings.
    pub const fn name(self) -> &'static str {
        match self.0 {
            0 => "load",
            1 => "store",
            4 => "csr-read-write",
            5 => "csr-read-set",
            6 => "csr-read-clear",
            8 => "atomic-swap",
            9 => "atomic-add",
            10 => "atomic-and",
            11 => "atomic-or",
            12 => "atomic-xor",
            13 => "atomic-max",
            14 => "atomic-min",
            _ => "reserved",
        }
    }
}

/// A data access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Its type.
    pub dtype: Dtype,
    /// Address, or the number of a CSR.
    pub daddr: u64,
    /// Logarithm of its size in bytes.
    pub dsize: u8,
    /// The value loaded, or stored by a plain store; for atomics and CSR accesses, the value read.
    pub data: u128,
    /// Atomics and CSR accesses: the source operand.
    pub operand: u128,
}

impl Access {
    /// Width of its data in bits.
    pub const fn bits(&self) -> u32 {
        8 << self.dsize
    }
}

/// Load response (table 4.9).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lresp {
    /// No load ends.
    #[default]
    None,
    /// The load succeeded.
    Okay,
    /// The load failed; there are no data.
    Error,
}

/// The signals of the data interface in one cycle (table 4.9).
///
/// A core has the unified signals (`data`) or the split ones (`lrid`, `lresp`, `lid`, `sdata`, `ldata`). Atomics
/// and CSR accesses have two values: the operand in the low half of `data`, the value read in the high half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataPort {
    /// A data access retires.
    pub dretire: bool,
    /// Type of the access.
    pub dtype: Dtype,
    /// Address of the access.
    pub daddr: u64,
    /// Logarithm of its size in bytes.
    pub dsize: u8,
    /// Unified: the data, or both values.
    pub data: u128,
    /// Low bits of the instruction's address.
    pub iaddr_lsbs: u32,
    /// Number of the instruction's block in the cycle.
    pub dblock: u8,
    /// Split: id of the load that begins.
    pub lrid: u32,
    /// Split: a load ends.
    pub lresp: Lresp,
    /// Split: id of the load that ends.
    pub lid: u32,
    /// Split: stored data, or an atomic's operand.
    pub sdata: u128,
    /// Split: loaded data.
    pub ldata: u128,
}

/// A whole access or one phase of it, as the encoder takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// A whole access; stores and CSR accesses always are.
    Unified(Access),
    /// The request phase of a load or atomic, without its data.
    Request {
        /// The access, without loaded data.
        access: Access,
        /// Id of the load or atomic.
        lrid: u32,
    },
    /// The response phase.
    Response {
        /// Id of the load or atomic.
        lid: u32,
        /// The value loaded; `None` is an error.
        data: Option<u128>,
    },
}

impl DataPort {
    /// The transfers of the cycle: at most one access or request, and at most one response. With the split
    /// interface (`split`), loads and atomics come in two phases.
    pub fn transfers(&self, split: bool) -> impl Iterator<Item = Transfer> {
        let DataPort { dtype, daddr, dsize, lrid, lid, .. } = *self;
        let access = Access { dtype, daddr, dsize, ..Access::default() };
        let retired = self.dretire.then(|| {
            let phased = split && (dtype == Dtype::LOAD || dtype.is_atomic());
            let half = access.bits().min(64);
            let low = |value: u128, bits: u32| if bits >= 128 { value } else { value & ((1 << bits) - 1) };
            if phased {
                return Transfer::Request { access: Access { operand: self.sdata, ..access }, lrid };
            }
            Transfer::Unified(if dtype.is_atomic() || dtype.is_csr() {
                Access { operand: low(self.data, half), data: low(self.data >> half, half), ..access }
            } else if split {
                Access { data: self.sdata, ..access }
            } else {
                Access { data: self.data, ..access }
            })
        });
        let data = (self.lresp == Lresp::Okay).then_some(self.ldata);
        let response = (self.lresp != Lresp::None).then_some(Transfer::Response { lid, data });
        retired.into_iter().chain(response)
    }

    /// Address of the access's instruction, from that of the first instruction of its block and the low bits on
    /// the interface. `width` is `iaddr_lsbs_width`.
    pub fn iaddr(&self, iaddr: u64, width: u32) -> u64 {
        if width == 0 {
            return iaddr;
        }
        // The instruction is at most 2^width half-words after the block's start.
        let mask = (2u64 << width) - 1;
        iaddr.wrapping_add((u64::from(self.iaddr_lsbs) << 1).wrapping_sub(iaddr) & mask)
    }
}
