//! Plain memory.

use crate::bus::{Bus, load, store};

/// Memory at one place; everything else faults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ram {
    base: u64,
    bytes: Vec<u8>,
}

impl Ram {
    /// `size` bytes of 0 at `base`.
    pub fn new(base: u64, size: usize) -> Self {
        Self { base, bytes: vec![0; size] }
    }

    /// Where it begins.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// Its content.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Copies bytes in; false where they do not fit.
    pub fn load(&mut self, address: u64, bytes: &[u8]) -> bool {
        if bytes.is_empty() {
            return true;
        }
        let Ok(at) = usize::try_from(address.wrapping_sub(self.base)) else { return false };
        let place = at.checked_add(bytes.len()).and_then(|end| self.bytes.get_mut(at..end));
        place.map(|place| place.copy_from_slice(bytes)).is_some()
    }
}

impl Bus for Ram {
    #[inline(always)]
    fn read(&mut self, address: u64, size: usize) -> Option<u64> {
        load(&self.bytes, address.wrapping_sub(self.base) as usize, size)
    }

    #[inline(always)]
    fn write(&mut self, address: u64, size: usize, value: u64) -> bool {
        store(&mut self.bytes, address.wrapping_sub(self.base) as usize, size, value)
    }
}
