//! Counts of what has entered the encoder, up to a place.

/// Where a decoder sees a trap hit, if it does: the address, where it is known here, and the instruction attempted
/// there, with whether it is marked as attempted in the events.
pub(super) type Hit = (Option<u64>, Option<bool>);

/// Counts up to a place in the trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) instructions: u64,
    /// Branches and jumps: a decoder finds whether they were taken.
    pub(crate) transfers: u64,
    /// Those whose outcome is in the events.
    pub(crate) outcomes: u64,
    /// Instructions that follow a jump with that target: a decoder finds it where it follows both.
    pub(crate) targets: u64,
    /// Instructions that are other ones in the program.
    pub(crate) altered: u64,
}

/// Counts of one instruction alone: each is 0 or 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Single {
    pub(crate) instructions: u8,
    pub(crate) transfers: u8,
    pub(crate) outcomes: u8,
    pub(crate) targets: u8,
}

impl From<Single> for Progress {
    fn from(one: Single) -> Self {
        Progress {
            instructions: one.instructions.into(),
            transfers: one.transfers.into(),
            outcomes: one.outcomes.into(),
            targets: one.targets.into(),
            altered: 0,
        }
    }
}

impl Progress {
    #[inline(always)]
    pub(crate) fn plus(self, more: Progress) -> Self {
        Progress {
            instructions: self.instructions + more.instructions,
            transfers: self.transfers + more.transfers,
            outcomes: self.outcomes + more.outcomes,
            targets: self.targets + more.targets,
            altered: self.altered + more.altered,
        }
    }

    #[inline(always)]
    pub(super) fn less(self, before: Progress) -> Self {
        let less = Progress {
            instructions: self.instructions.wrapping_sub(before.instructions),
            transfers: self.transfers.wrapping_sub(before.transfers),
            outcomes: self.outcomes.wrapping_sub(before.outcomes),
            targets: self.targets.wrapping_sub(before.targets),
            altered: self.altered.wrapping_sub(before.altered),
        };
        // Nearly always nothing is below zero.
        let all = less.instructions | less.transfers | less.outcomes | less.targets | less.altered;
        if all >> 63 == 0 { less } else { self.saturating_less(before) }
    }

    #[cold]
    fn saturating_less(self, before: Progress) -> Self {
        Progress {
            instructions: self.instructions.saturating_sub(before.instructions),
            transfers: self.transfers.saturating_sub(before.transfers),
            outcomes: self.outcomes.saturating_sub(before.outcomes),
            targets: self.targets.saturating_sub(before.targets),
            altered: self.altered.saturating_sub(before.altered),
        }
    }
}
