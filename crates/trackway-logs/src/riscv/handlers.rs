//! Where traps lead: the trap vectors that a log shows.

use memchr::memmem;
use trackway_core::{RegAccess, RegRole, Value};

use crate::scan::Scan;

/// Trap vectors and where in the log each was first written: an instruction there begins a handler from then on.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Handlers(Vec<(u64, u64)>);

/// Most vectors that are kept.
const MOST: usize = 64;

/// `mtvec` and `stvec`.
const VECTORS: [u16; 2] = [0x305, 0x105];

impl Handlers {
    /// Takes in those that a text at `offset` writes, where the value comes after `name`: a part of the text alone does
    /// not show them.
    pub(crate) fn of_text(&mut self, offset: u64, bytes: &[u8], name: &[u8]) {
        for at in memmem::find_iter(bytes, name) {
            if let Ok((value, _)) = Scan::new(&bytes[at + name.len()..]).hex("") {
                self.add(offset + at as u64, value);
            }
        }
    }

    fn add(&mut self, offset: u64, value: u64) {
        if self.0.len() < MOST && !self.0.iter().any(|(_, known)| *known == value) {
            self.0.push((offset, value));
        }
    }

    /// Takes in a register that was written at `offset`.
    pub(crate) fn learn(&mut self, access: &RegAccess, offset: u64) {
        if let (RegRole::Destination, Value::Word(value)) = (access.role, access.value)
            && VECTORS.contains(&access.reg.number)
        {
            self.add(offset, value);
        }
    }

    /// Does a handler begin at `pc`, by what was written before `offset`? In vectored mode, which the lowest bit says,
    /// each cause has its own.
    pub(crate) fn has(&self, pc: u64, offset: u64) -> bool {
        self.0.iter().any(|&(written, value)| {
            let ahead = pc.wrapping_sub(value & !3);
            let vectored = value & 1 != 0 && ahead < 4 * 64 && ahead.is_multiple_of(4);
            written < offset && (ahead == 0 || vectored)
        })
    }
}
