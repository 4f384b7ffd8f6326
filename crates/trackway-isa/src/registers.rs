//! The registers that an instruction reads and writes, in words that both architectures share.

use trackway_core::{Reg, RegClass, RegRole};

/// Registers that an instruction reads ([`RegRole::Source`]) and writes ([`RegRole::Destination`]), each once per role.
///
/// Flags, rounding modes and vector settings that it touches without naming them are listed as the CSRs or system
/// registers that hold them. Registers that are always zero are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registers {
    list: [(Reg, RegRole); Registers::MOST],
    len: u8,
    /// Which entries of the list are part of an address, as bits.
    addresses: u16,
    /// It may touch further registers of the vector file: a group of them counts as its first.
    pub grouped: bool,
    /// Base register that the address computation updates, besides the result of a load.
    pub writeback: Option<Reg>,
}

impl Default for Registers {
    fn default() -> Self {
        let none = (Reg { class: RegClass::Other, number: 0 }, RegRole::Source);
        Registers { list: [none; Self::MOST], len: 0, addresses: 0, grouped: false, writeback: None }
    }
}

impl Registers {
    const MOST: usize = 12;

    /// All of them, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = (Reg, RegRole)> + '_ {
        self.list[..usize::from(self.len)].iter().copied()
    }

    /// Those that it reads.
    pub fn sources(&self) -> impl Iterator<Item = Reg> + '_ {
        self.iter().filter(|(_, role)| *role == RegRole::Source).map(|(reg, _)| reg)
    }

    /// Those that it writes.
    pub fn destinations(&self) -> impl Iterator<Item = Reg> + '_ {
        self.iter().filter(|(_, role)| *role == RegRole::Destination).map(|(reg, _)| reg)
    }

    /// Is the entry with this place in the list part of an address?
    pub fn is_address(&self, place: usize) -> bool {
        place < Self::MOST && self.addresses >> place & 1 == 1
    }

    /// Marks a source as part of an address.
    pub(crate) fn mark_address(&mut self, reg: Reg) {
        let place = self.iter().position(|item| item == (reg, RegRole::Source));
        self.addresses |= place.map_or(0, |place| 1 << place);
    }

    /// Adds a register; a second mention in the same role changes nothing.
    pub(crate) fn add(&mut self, class: RegClass, number: u16, role: RegRole) {
        let item = (Reg { class, number }, role);
        let len = usize::from(self.len);
        if len < Self::MOST && !self.list[..len].contains(&item) {
            self.list[len] = item;
            self.len += 1;
        }
    }
}
