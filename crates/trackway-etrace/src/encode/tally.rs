//! Counts of what a decoder of the packets will find, kept where packets are sent.

use super::Encoder;
use super::row::{Departure, PortTrap, Previous};

/// Instructions that have entered, and those a decoder finds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    /// Instructions before the current block, and with it.
    pub(super) entered: (u64, u64),
    /// The decoder follows execution; it has reached the instruction with this number.
    following: bool,
    reached: u64,
    /// Instructions that it finds.
    pub(crate) found: u64,
    /// Attempted instructions that it finds although none was recorded.
    pub(crate) attempts_invented: u64,
    /// Traps that it finds.
    pub(crate) traps: u64,
}

impl Tally {
    /// The next block has `instructions` instructions.
    #[inline(always)]
    pub(crate) fn enter(&mut self, instructions: u64) {
        self.entered = (self.entered.1, self.entered.1 + instructions);
    }

    /// A packet was sent that reports everything up to instruction `to`.
    #[inline]
    pub(super) fn reach(&mut self, to: u64) {
        if self.following {
            self.found += to.saturating_sub(self.reached);
            self.reached = self.reached.max(to);
        }
    }

    /// A synchronisation at instruction `to` was sent.
    pub(super) fn synchronise(&mut self, to: u64) {
        if !self.following {
            self.following = true;
            self.reached = to.saturating_sub(1);
        }
        self.reach(to);
    }

    /// The trace ends or is lost here.
    pub(super) fn stop(&mut self) {
        self.following = false;
    }
}

impl Encoder {
    /// A trap packet was sent; `attempted` says whether an instruction was attempted where a decoder sees the trap
    /// hit, if it sees that.
    pub(super) fn count_trap(&mut self, trap: &PortTrap, attempted: Option<bool>) {
        if self.lost {
            return;
        }
        self.tally.traps += 1;
        // An instruction that could not be fetched was not attempted.
        let is_attempt = !trap.interrupt && !matches!(trap.cause, 1 | 12 | 20);
        if let Some(attempted) = attempted.filter(|_| is_attempt) {
            self.tally.found += u64::from(attempted);
            self.tally.attempts_invented += u64::from(!attempted);
        }
    }

    /// Does a decoder that follows execution find the place of a trap after `previous` without an address?
    pub(super) fn infers_trap(&self, previous: &Previous) -> Option<bool> {
        if previous.trap.is_some() && !self.config.dialect.has_thaddr() {
            // The trap before is not in the trace: this one seems to hit at its place.
            return previous.trap_inferred;
        }
        let known = self.tally.following
            && previous.trap.is_none()
            && match previous.departure {
                Departure::Plain | Departure::Branch | Departure::Inferred => true,
                // The draft does not say whether the jump was the inferred one.
                Departure::InferredPair | Departure::InferredReturn => self.config.dialect.has_thaddr(),
                Departure::Updiscon | Departure::Mispredicted => false,
            };
        known.then_some(self.trap.attempted)
    }
}
