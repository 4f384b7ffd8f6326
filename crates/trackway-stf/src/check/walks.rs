//! Pages that page table walks have translated, and where translation is on.

use std::collections::HashSet;

use trackway_core::Isa;

/// Pages beyond this number are not followed.
const MOST: usize = 1 << 20;
/// The number of satp.
const SATP: u16 = 0x180;
/// The number of user mode.
const USER: u64 = 0;

/// Pages with a walk, and the state that decides whether an access is translated.
#[derive(Debug, Default)]
pub(super) struct Walks {
    /// Base and size of the pages.
    pages: HashSet<(u64, u64)>,
    sizes: Vec<u64>,
    mode: Option<u64>,
    /// Mode changes of the group: before the instruction, and after it.
    before: Option<u64>,
    after: Option<u64>,
    /// The group has a walk.
    walked: bool,
    /// Modes in which walks were seen.
    modes: Vec<Option<u64>>,
    /// satp is known, and translation is off.
    bare: bool,
}

impl Walks {
    /// Takes a walk.
    pub(super) fn note(&mut self, address: u64, size: u32) {
        self.walked = true;
        self.add(address, u64::from(size).next_power_of_two().max(4096));
    }

    fn add(&mut self, address: u64, size: u64) {
        if self.pages.len() < MOST {
            self.pages.insert((address & !(size - 1), size));
        }
        if !self.sizes.contains(&size) {
            self.sizes.push(size);
        }
    }

    /// Takes a change of mode.
    pub(super) fn mode(&mut self, mode: Option<u64>, trapped: bool) {
        if trapped {
            self.after = mode;
        } else if let Some(first) = self.before.replace(mode.unwrap_or(USER)) {
            // Two of them: the first is that of the instruction.
            (self.before, self.after) = (Some(first), mode);
        }
    }

    /// Takes the content of a register.
    pub(super) fn csr(&mut self, isa: Isa, number: u16, value: u64) {
        if number == SATP {
            self.bare = if isa == Isa::Rv32 { value >> 31 & 1 == 0 } else { value >> 60 == 0 };
        }
    }

    /// The instruction of the group; if it returns from a trap, a mode holds after it.
    pub(super) fn settle(&mut self, returns: bool) {
        if returns && self.after.is_none() {
            self.after = self.before.take();
        }
        self.mode = self.before.take().or(self.mode);
        if self.walked && !self.modes.contains(&self.mode) {
            self.modes.push(self.mode);
        }
    }

    pub(super) fn end_group(&mut self) {
        self.mode = self.after.take().or(self.mode);
        self.walked = false;
    }

    /// Is this the first access to a page, translated without a walk? Only user mode, and modes that have walks, are known
    /// to translate.
    pub(super) fn lacks(&mut self, address: u64) -> bool {
        let translated = !self.bare && (self.mode == Some(USER) || self.modes.contains(&self.mode));
        let known = |size: &u64| self.pages.contains(&(address & !(size - 1), *size));
        let lacks = translated && self.pages.len() < MOST && !self.sizes.iter().any(known);
        if lacks {
            self.add(address, 4096);
        }
        lacks
    }
}
