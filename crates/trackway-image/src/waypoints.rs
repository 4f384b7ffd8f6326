//! Which instructions end a run.

use trackway_isa::Control;

/// The instructions that end a run. Control transfers always do; the rest is chosen here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Waypoints {
    /// Arm ISB.
    pub isb: bool,
    /// WFI and WFE, timed forms included.
    pub wait: bool,
    /// Arm TSTART.
    pub transaction: bool,
    /// Instructions that always trap: system calls, breakpoints, permanently undefined ones.
    pub trap: bool,
}

impl Waypoints {
    /// Control transfers and nothing else.
    pub const TRANSFERS: Self = Waypoints { isb: false, wait: false, transaction: false, trap: false };

    /// E-Trace: transfers, and instructions that always trap (ECALL, EBREAK).
    pub const ETRACE: Self = Waypoints { trap: true, ..Self::TRANSFERS };

    /// The P0 instructions of ETE and ETMv4; `wait` is TRCIDR2.WFXMODE.
    pub const fn ete(wait: bool) -> Self {
        Waypoints { isb: true, wait, transaction: true, trap: false }
    }

    /// Does this end a run?
    #[inline]
    pub const fn ends(self, control: Control) -> bool {
        match control {
            Control::Sequential => false,
            Control::Isb => self.isb,
            Control::Wait => self.wait,
            Control::TransactionStart => self.transaction,
            Control::SystemCall | Control::Breakpoint | Control::Undefined => self.trap,
            _ => true,
        }
    }
}
