//! Elements that hold a doubtful value, and the root cause of each doubt.

use std::collections::{BTreeMap, HashMap};

use trackway_core::{Reg, RegClass};
use trackway_hart::csr;

/// A root cause: its place in the report, plus 1.
pub(crate) type Root = u32;

/// Doubtful elements. Each stays so until it is written and agrees.
#[derive(Debug, Default)]
pub(crate) struct Suspects {
    pub(crate) x: [Root; 32],
    pub(crate) f: [Root; 32],
    pub(crate) csrs: BTreeMap<u16, Root>,
    pub(crate) memory: HashMap<u64, Root>,
    pub(crate) pc: Root,
    /// The pc agreed once: what memory holds there counts again, but its mismatches are still follow-ups.
    pub(crate) pc_on_trial: bool,
    pub(crate) level: Root,
    /// Instructions ran in the wrong level or place: accessed and dirty bits of pages may be wrong for good.
    pub(crate) pages: Root,
    /// The trace stored somewhere, and where that is in physical memory is not known.
    pub(crate) stray: Root,
    /// Anything at all?
    pub(crate) any: bool,
}

/// Registers of physical memory protection.
pub(crate) const PROTECTION: std::ops::Range<u16> = 0x3a0..0x3f0;

/// The register that holds the state that this one shows.
pub(crate) fn canonical(number: u16) -> u16 {
    match number {
        csr::SSTATUS => csr::MSTATUS,
        csr::SIE => csr::MIE,
        csr::SIP => csr::MIP,
        csr::FCSR => csr::FFLAGS,
        number => number,
    }
}

impl Suspects {
    pub(crate) fn csr(&mut self, number: u16, root: Root) {
        self.csrs.insert(canonical(number), root);
        if number == csr::FCSR {
            self.csrs.insert(csr::FRM, root);
        }
        self.any = true;
    }

    pub(crate) fn bytes(&mut self, address: u64, size: u64, root: Root) {
        for n in 0..size.min(16) {
            self.memory.insert(address.wrapping_add(n), root);
        }
        self.any = true;
    }

    pub(crate) fn clear_csr(&mut self, number: u16) {
        self.csrs.remove(&canonical(number));
        if number == csr::FCSR {
            self.csrs.remove(&csr::FRM);
        }
    }

    pub(crate) fn clear_bytes(&mut self, address: u64, size: u64) {
        if !self.memory.is_empty() {
            (0..size).for_each(|n| {
                self.memory.remove(&address.wrapping_add(n));
            });
        }
    }

    pub(crate) fn of_bytes(&self, address: u64, size: u64) -> Option<Root> {
        if self.memory.is_empty() {
            return None;
        }
        (0..size).find_map(|n| self.memory.get(&address.wrapping_add(n)).copied())
    }

    /// A doubtful register that an instruction reads, and its root cause.
    pub(crate) fn of_sources(&self, decoded: &super::decode::Decoded) -> Option<(Reg, Root)> {
        let in_file = |class: RegClass, sources: u32, file: &[Root; 32]| {
            let read = (0..32u16).filter(|n| sources >> n & 1 != 0);
            read.map(|number| (Reg { class, number }, file[usize::from(number)])).find(|(_, root)| *root != 0)
        };
        in_file(RegClass::Int, decoded.x_sources, &self.x)
            .or_else(|| in_file(RegClass::Float, decoded.f_sources, &self.f))
    }

    /// Translation and protection decide about every access.
    pub(crate) fn environment(&self) -> Option<(u16, Root)> {
        let decides = |number: &u16| *number == csr::SATP || PROTECTION.contains(number);
        self.csrs.iter().find(|(number, _)| decides(number)).map(|(number, root)| (*number, *root))
    }

    pub(crate) fn update_any(&mut self) {
        self.any = self.pc != 0
            || self.level != 0
            || self.x.iter().chain(&self.f).any(|root| *root != 0)
            || !self.csrs.is_empty()
            || !self.memory.is_empty();
    }
}
