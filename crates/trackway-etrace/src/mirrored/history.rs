//! Reference values of data compression: the last address and data of each size (7.1.3).

use crate::port::Dtype;

/// Last address and data by size. CSR accesses, which have no size field, count as a size of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct History {
    addresses: [Option<u64>; 6],
    data: [Option<u128>; 6],
}

impl History {
    fn class(dtype: Dtype, dsize: u8) -> usize {
        if dtype.is_csr() { 5 } else { usize::from(dsize.min(4)) }
    }

    /// Clears it, as at a synchronisation packet of the instruction trace.
    pub fn clear(&mut self) {
        *self = History::default();
    }

    /// It, and where it has no value the one of an earlier history.
    pub(crate) fn or(&self, earlier: &History) -> History {
        let mut history = *self;
        for (value, before) in history.addresses.iter_mut().zip(earlier.addresses) {
            *value = value.or(before);
        }
        for (value, before) in history.data.iter_mut().zip(earlier.data) {
            *value = value.or(before);
        }
        history
    }

    /// Address of the last access of that size.
    pub fn address(&self, dtype: Dtype, dsize: u8) -> Option<u64> {
        self.addresses[Self::class(dtype, dsize)]
    }

    /// Data of the last access of that size.
    pub fn data(&self, dtype: Dtype, dsize: u8) -> Option<u128> {
        self.data[Self::class(dtype, dsize)]
    }

    /// Sets the last address.
    pub(crate) fn set_address(&mut self, dtype: Dtype, dsize: u8, address: Option<u64>) {
        self.addresses[Self::class(dtype, dsize)] = address;
    }

    /// Sets the last data.
    pub fn set_data(&mut self, dtype: Dtype, dsize: u8, data: Option<u128>) {
        self.data[Self::class(dtype, dsize)] = data;
    }
}

/// The low `bits` bits, zero-extended.
pub(crate) const fn low(value: u128, bits: u32) -> u128 {
    if bits >= 128 { value } else { value & ((1 << bits) - 1) }
}

/// The low `bits` bits, sign-extended.
pub(crate) const fn extend(value: u128, bits: u32) -> u128 {
    if bits == 0 {
        return 0;
    }
    let unused = 128 - bits;
    (((value << unused) as i128) >> unused) as u128
}
