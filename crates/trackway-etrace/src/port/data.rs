//! The data interface between core and encoder (4.4, table 4.9).

/// Type of a data access (table 4.9).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
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
    /// A CSR access?
    pub const fn is_csr(self) -> bool {
        matches!(self.0, 4..=7)
    }

    /// An atomic?
    pub const fn is_atomic(self) -> bool {
        matches!(self.0, 8..=15)
    }

    /// Its name.
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

/// One data access, whatever way the core shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// What it does.
    pub dtype: Dtype,
    /// Address; the number of a CSR.
    pub daddr: u64,
    /// It has `2^dsize` bytes.
    pub dsize: u8,
    /// What was loaded, or stored by a plain store; what an atomic found in memory, a CSR access in the register.
    pub data: u128,
    /// What an atomic or a CSR access brought: the source register before the operation.
    pub operand: u128,
}

impl Access {
    /// Bits of its data.
    pub const fn bits(&self) -> u32 {
        8 << self.dsize
    }
}

/// Load response (table 4.9).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lresp {
    /// None.
    #[default]
    None,
    /// The load succeeded.
    Okay,
    /// The load failed; there are no data.
    Error,
}

/// What the data interface shows in one cycle (table 4.9).
///
/// A core has the unified signals (`data`) or the split ones (`lrid`, `lresp`, `lid`, `sdata`, `ldata`). Atomics
/// and CSR accesses show two values: the operand in the low half of `data`, what was read in the high half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataPort {
    /// A data access retires.
    pub dretire: bool,
    /// Its type.
    pub dtype: Dtype,
    /// Its address.
    pub daddr: u64,
    /// It has `2^dsize` bytes.
    pub dsize: u8,
    /// Unified: the data, or both values.
    pub data: u128,
    /// Low bits of the instruction's address.
    pub iaddr_lsbs: u32,
    /// Which block of the cycle the instruction is in.
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

/// What the encoder takes: an access as a whole, or one phase of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// All of it at once; stores and CSR accesses always.
    Unified(Access),
    /// The request phase of a load or atomic; its data are not known yet.
    Request {
        /// The access, without loaded data.
        access: Access,
        /// Its id.
        lrid: u32,
    },
    /// The response phase.
    Response {
        /// Id of the load or atomic.
        lid: u32,
        /// What was loaded; `None` is an error.
        data: Option<u128>,
    },
}

impl DataPort {
    /// What the signals say: at most one access or request, and at most one response. With the split interface
    /// (`split`), loads and atomics come in two phases.
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

    /// The address of the access's instruction: that of the block whose first instruction is at `iaddr`, with the
    /// bits that the core tells. `width` is `iaddr_lsbs_width`.
    pub fn iaddr(&self, iaddr: u64, width: u32) -> u64 {
        if width == 0 {
            return iaddr;
        }
        // The instruction lies at the block's start or behind it, at most 2^width half-words on.
        let mask = (2u64 << width) - 1;
        iaddr.wrapping_add((u64::from(self.iaddr_lsbs) << 1).wrapping_sub(iaddr) & mask)
    }
}
