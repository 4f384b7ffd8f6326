//! Targets of returns and of indirect jumps.

/// Addresses that a [`ReturnStack`] keeps.
pub(super) const FRAMES: usize = 16;
/// Targets that a [`TargetCache`] keeps.
pub(super) const TARGETS: usize = 512;

/// Return addresses; the oldest one is lost when there are too many.
#[derive(Debug, Default)]
pub(super) struct ReturnStack {
    ring: [u64; FRAMES],
    top: usize,
    kept: usize,
    /// Older addresses that were overwritten.
    lost: u64,
}

impl ReturnStack {
    pub(super) fn push(&mut self, address: u64) {
        self.top = (self.top + 1) % FRAMES;
        self.ring[self.top] = address;
        self.lost += u64::from(self.kept == FRAMES);
        self.kept = (self.kept + 1).min(FRAMES);
    }

    /// The address, or none if it was lost; `None` where the call is not in the trace, so that nothing can be said.
    pub(super) fn pop(&mut self) -> Option<Option<u64>> {
        if self.kept == 0 {
            self.lost = self.lost.checked_sub(1)?;
            return Some(None);
        }
        self.kept -= 1;
        let address = self.ring[self.top];
        self.top = (self.top + FRAMES - 1) % FRAMES;
        Some(Some(address))
    }
}

/// The last target of each indirect jump; jumps whose addresses differ only in high bits share a place.
#[derive(Debug)]
pub(super) struct TargetCache(Box<[Option<(u64, u64)>]>);

impl Default for TargetCache {
    fn default() -> Self {
        TargetCache(vec![None; TARGETS].into())
    }
}

impl TargetCache {
    pub(super) fn predict(&self, key: u64) -> Option<u64> {
        self.0[key as usize % TARGETS].filter(|(jump, _)| *jump == key).map(|(_, target)| target)
    }

    pub(super) fn learn(&mut self, key: u64, target: u64) {
        self.0[key as usize % TARGETS] = Some((key, target));
    }
}
