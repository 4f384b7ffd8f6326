//! What compression refers to: the last address and data of each size (7.1.3).

use crate::port::Dtype;

/// Last address and data by size. CSR accesses, which have no size field, are a class of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct History {
    addresses: [Option<u64>; 6],
    data: [Option<u128>; 6],
}

impl History {
    fn class(dtype: Dtype, dsize: u8) -> usize {
        if dtype.is_csr() { 5 } else { usize::from(dsize.min(4)) }
    }

    /// Forgets all, as at a synchronisation packet of the instruction trace.
    pub fn forget(&mut self) {
        *self = History::default();
    }

    /// Address of the last access of that size.
    pub fn address(&self, dtype: Dtype, dsize: u8) -> Option<u64> {
        self.addresses[Self::class(dtype, dsize)]
    }

    /// Data of the last access of that size.
    pub fn data(&self, dtype: Dtype, dsize: u8) -> Option<u128> {
        self.data[Self::class(dtype, dsize)]
    }

    /// Keeps an address.
    pub fn note_address(&mut self, dtype: Dtype, dsize: u8, address: Option<u64>) {
        self.addresses[Self::class(dtype, dsize)] = address;
    }

    /// Keeps data.
    pub fn note_data(&mut self, dtype: Dtype, dsize: u8, data: Option<u128>) {
        self.data[Self::class(dtype, dsize)] = data;
    }
}

/// The low `bits` bits.
pub(crate) const fn low(value: u128, bits: u32) -> u128 {
    if bits >= 128 { value } else { value & ((1 << bits) - 1) }
}

/// The low `bits` bits, the highest of them repeated above.
pub(crate) const fn extend(value: u128, bits: u32) -> u128 {
    if bits == 0 {
        return 0;
    }
    let unused = 128 - bits;
    (((value << unused) as i128) >> unused) as u128
}
