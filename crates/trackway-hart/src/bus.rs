//! The way from a core to memory and devices.

/// Physical memory as a core sees it. `None` or `false` is an access fault.
///
/// An access is 1, 2, 4 or 8 bytes and little-endian. It may be misaligned where the core does misaligned
/// accesses in hardware; it never crosses a 4 KiB page.
pub trait Bus {
    /// Loads `size` bytes, zero-extended.
    fn read(&mut self, address: u64, size: usize) -> Option<u64>;

    /// Loads an entry of a page table.
    fn entry(&mut self, address: u64, size: usize) -> Option<u64> {
        self.read(address, size)
    }

    /// Stores the low `size` bytes.
    fn write(&mut self, address: u64, size: usize, value: u64) -> bool;

    /// Fetches 16 bits of an instruction.
    fn fetch(&mut self, address: u64) -> Option<u16> {
        self.read(address, 2).map(|half| half as u16)
    }

    /// Did an access change more than memory, so that somebody else has to act before the next instruction?
    #[inline(always)]
    fn is_changed(&self) -> bool {
        false
    }

    /// Could a store be done here? Asked before an atomic reads.
    fn writable(&mut self, address: u64, size: usize) -> bool {
        self.read(address, size).is_some()
    }
}

/// Loads `size` bytes, at most 8, at `at`; `None` outside.
#[inline(always)]
pub fn load(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    macro_rules! word {
        ($int:ty) => {
            bytes.get(at..)?.first_chunk().map(|chunk| u64::from(<$int>::from_le_bytes(*chunk)))
        };
    }
    match size {
        1 => bytes.get(at).map(|byte| u64::from(*byte)),
        2 => word!(u16),
        4 => word!(u32),
        8 => word!(u64),
        _ => None,
    }
}

/// Stores the low `size` bytes, at most 8, at `at`; false outside.
#[inline(always)]
pub fn store(bytes: &mut [u8], at: usize, size: usize, value: u64) -> bool {
    macro_rules! word {
        ($int:ty) => {
            match bytes.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
                Some(chunk) => {
                    *chunk = (value as $int).to_le_bytes();
                    true
                }
                None => false,
            }
        };
    }
    match size {
        1 => word!(u8),
        2 => word!(u16),
        4 => word!(u32),
        8 => word!(u64),
        _ => false,
    }
}
