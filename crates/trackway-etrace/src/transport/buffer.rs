//! A buffer between encoder and transport.

/// A buffer between encoder and transport that fills and drains (8.3; table 2.1, stallEnable).
#[derive(Clone, Debug)]
pub(crate) struct Buffer {
    /// Capacity in 1/256 bytes; 0: unlimited.
    capacity: u64,
    drain: u64,
    level: u64,
    cycle: u64,
}

impl Buffer {
    /// A buffer of `bytes` bytes, or without a limit where that is 0, that drains `drain` / 256 bytes per cycle.
    pub(crate) fn new(bytes: u32, drain: u32) -> Self {
        Buffer { capacity: u64::from(bytes) * 256, drain: u64::from(drain), level: 0, cycle: 0 }
    }

    /// Lets transport work until `cycle`; then, is there room for `bytes`?
    pub(crate) fn has_room(&mut self, cycle: u64, bytes: u64) -> bool {
        if self.capacity == 0 {
            return true;
        }
        let passed = cycle.saturating_sub(self.cycle);
        self.level = self.level.saturating_sub(passed.saturating_mul(self.drain));
        self.cycle = self.cycle.max(cycle);
        self.level + bytes * 256 <= self.capacity.max(bytes * 256)
    }

    /// Puts bytes in.
    pub(crate) fn put(&mut self, bytes: u64) {
        self.level += bytes * 256;
    }

    /// Cycles until there is room for `bytes`.
    pub(crate) fn wait(&self, bytes: u64) -> u64 {
        let excess = (self.level + bytes * 256).saturating_sub(self.capacity.max(bytes * 256));
        excess.div_ceil(self.drain.max(1))
    }
}
