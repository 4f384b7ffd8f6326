//! Trace Info (K10.5.2.6).

use std::fmt::Write;

use trackway_core::{Bytes, ErrorKind};

use super::chain::{Chain, width};
use super::header::Field;

/// Trace Info (K10.5.2.6): sections in the order of PLCTL's bits, each a chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceInfo {
    /// The sections that follow: INFO in bit 0, KEY 1, SPEC 2, CYCT 3, WINDOW 4.
    pub plctl: Chain,
    /// The sections; absent ones have no bytes.
    pub sections: [Chain; 5],
}

impl TraceInfo {
    /// Names of the sections.
    pub const SECTIONS: [&'static str; 5] = ["INFO", "KEY", "SPEC", "CYCT", "WINDOW"];

    /// A Trace Info with the sections that are not zero.
    pub fn new(info: u64, spec: u64, cyct: u64) -> Self {
        let mut trace_info = TraceInfo::default();
        let mut plctl = 0;
        for (section, value) in [(0, info), (2, spec), (3, cyct)] {
            if value != 0 {
                plctl |= 1 << section;
                trace_info.sections[section] = Chain::shortest(value, width::SECTION);
            }
        }
        trace_info.plctl = Chain { value: plctl, len: 1 };
        trace_info
    }

    /// INFO.CC_ENABLED: cycle counting is on.
    pub(crate) const fn cycle_counting(&self) -> bool {
        self.sections[0].value & 1 != 0
    }
    /// INFO.IN_TRANS: the core is in a transaction.
    pub const fn in_transaction(&self) -> bool {
        self.sections[0].value & 0x40 != 0
    }
    /// SPEC: number of unresolved P0 elements.
    pub const fn depth(&self) -> u64 {
        self.sections[2].value
    }
    /// CYCT: cycle count threshold; 0 without cycle counting.
    pub const fn threshold(&self) -> u64 {
        if self.cycle_counting() { self.sections[3].value } else { 0 }
    }

    pub(super) fn read(bytes: &mut Bytes<'_>) -> Field<Self> {
        let plctl = Chain::read(bytes, width::SECTION, "PLCTL")?;
        if plctl.value >> Self::SECTIONS.len() != 0 {
            return Err((ErrorKind::Unknown { found: plctl.value }, "PLCTL"));
        }
        let mut info = TraceInfo { plctl, ..TraceInfo::default() };
        for (index, name) in Self::SECTIONS.into_iter().enumerate() {
            if plctl.value >> index & 1 == 1 {
                info.sections[index] = Chain::read(bytes, width::SECTION, name)?;
            }
        }
        Ok(info)
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        self.plctl.write(width::SECTION, out);
        for section in self.sections {
            section.write(width::SECTION, out);
        }
    }

    pub(super) fn show(&self, out: &mut String) {
        for (name, section) in Self::SECTIONS.iter().zip(self.sections) {
            if section.len > 0 {
                let _ = write!(out, " {name}={:#x}", section.value);
            }
        }
    }
}
