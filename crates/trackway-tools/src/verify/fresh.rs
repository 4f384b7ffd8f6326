//! Control registers after a reset: of most of them, and of most of `mstatus`, the specification leaves open what they
//! hold (privileged 3.4). The trace says it when it first shows them; from then on it is checked.

use std::collections::BTreeMap;

use trackway_hart::CsrRules;
use trackway_hart::csr::{self, interrupt, status};

use super::suspects::{PROTECTION, stored};

/// Bits of control registers that nobody knows yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Fresh(BTreeMap<u16, u64>);

/// Fields of `mstatus` that a reset leaves open: all but MIE and MPRV.
const OPEN_STATUS: u64 = status::SIE
    | status::SPIE
    | status::MPIE
    | status::SPP
    | status::MPP
    | status::FS
    | status::SUM
    | status::MXR
    | status::TVM
    | status::TW
    | status::TSR;
/// Fields that `sstatus` shows.
const SUPERVISOR_STATUS: u64 =
    status::SIE | status::SPIE | status::SPP | status::FS | status::SUM | status::MXR;
/// R, W and X of each entry of memory protection: A and L are 0.
const OPEN_PROTECTION: u64 = 0x0707_0707_0707_0707;

impl Fresh {
    /// After a reset of a core with these rules: what they say is known.
    pub(super) fn after_reset(rules: CsrRules) -> Self {
        let is_said = |number: u16| {
            rules
                .iter()
                .any(|(known, rule)| *known == number && (rule.reset.is_some() || rule.read_only.is_some()))
        };
        let open = stored().chain(PROTECTION).filter(|number| !is_said(*number));
        Fresh(open.map(|number| (number, open_bits(number))).filter(|(_, bits)| *bits != 0).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Bits of the register that nobody knows.
    pub(super) fn of(&self, number: u16) -> u64 {
        self.0.get(&number).copied().unwrap_or(0)
    }

    /// These bits are known from now on.
    pub(super) fn forget(&mut self, number: u16, bits: u64) {
        if let Some(open) = self.0.get_mut(&number) {
            *open &= !bits;
            if *open == 0 {
                self.0.remove(&number);
            }
        }
    }
}

fn open_bits(number: u16) -> u64 {
    match number {
        csr::MSTATUS => OPEN_STATUS,
        csr::MISA | csr::MCONFIGPTR | csr::MSTATUSH | csr::MEDELEGH => 0,
        0x3a0..=0x3af => OPEN_PROTECTION,
        _ => u64::MAX,
    }
}

/// Bits of the register behind it that a view shows.
pub(super) fn visible(number: u16) -> u64 {
    match number {
        csr::SSTATUS => SUPERVISOR_STATUS,
        csr::SIE => interrupt::SUPERVISOR,
        _ => u64::MAX,
    }
}
