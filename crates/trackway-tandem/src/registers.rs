//! Register values as far as the trace recorded them; increments are relative to these.

use crate::config::Widths;
use crate::record::Record;
use crate::register;

/// Addresses of CSRs and of both register files.
const ADDRESSES: usize = register::END as usize;

/// CSRs that share state with this one: fflags, frm and fcsr; xstatus, xie, xip. A write makes the others unknown.
const fn aliases(address: u16) -> &'static [u16] {
    match address {
        1..=3 => &[1, 2, 3],
        0x000 | 0x100 | 0x300 => &[0x000, 0x100, 0x300],
        0x004 | 0x104 | 0x304 => &[0x004, 0x104, 0x304],
        0x044 | 0x144 | 0x344 => &[0x044, 0x144, 0x344],
        _ => &[],
    }
}

/// Register values, as far as they are known.
#[derive(Clone, Debug)]
pub struct Registers {
    values: Vec<u64>,
    known: Vec<bool>,
    xlen: u8,
}

impl Registers {
    /// Only x0 is known.
    pub fn new(widths: &Widths) -> Self {
        let mut registers =
            Registers { values: vec![0; ADDRESSES], known: vec![false; ADDRESSES], xlen: widths.xlen };
        registers.forget();
        registers
    }

    /// The values that are known: the distance of each address from the one before, and the value.
    pub(crate) fn save(&self) -> Vec<(u16, u64)> {
        let mut before = 0;
        self.known()
            .map(|(address, value)| (address - std::mem::replace(&mut before, address), value))
            .collect()
    }

    /// Knows these values and no others; false, and nothing has changed, if there is no such register.
    pub(crate) fn restore(&mut self, saved: &[(u16, u64)]) -> bool {
        let end = saved.iter().try_fold(0u16, |address, (distance, _)| address.checked_add(*distance));
        if end.is_none_or(|end| usize::from(end) >= ADDRESSES) {
            return false;
        }
        self.forget();
        let mut address = 0;
        for (distance, value) in saved {
            address += usize::from(*distance);
            (self.known[address], self.values[address]) = (true, *value);
        }
        self.values[usize::from(register::GPR)] = 0;
        true
    }

    /// Forgets all registers except x0.
    pub fn forget(&mut self) {
        self.known.fill(false);
        self.known[usize::from(register::GPR)] = true;
        self.values[usize::from(register::GPR)] = 0;
    }

    /// The value at an address, if known.
    #[inline]
    pub fn get(&self, address: u16) -> Option<u64> {
        match self.known.get(usize::from(address)) {
            Some(true) => Some(self.values[usize::from(address)]),
            _ => None,
        }
    }

    /// All known values but that of x0, by address.
    pub(crate) fn known(&self) -> impl Iterator<Item = (u16, u64)> + '_ {
        let all = (0u16..).zip(self.known.iter().zip(&self.values));
        all.filter(|(address, (known, _))| **known && *address != register::GPR)
            .map(|(address, (_, value))| (address, *value))
    }

    /// Sets a value, or makes it unknown.
    #[inline]
    pub fn set(&mut self, address: u16, value: Option<u64>) {
        for &alias in aliases(address) {
            self.known[usize::from(alias)] = false;
        }
        if address != register::GPR && usize::from(address) < ADDRESSES {
            self.known[usize::from(address)] = value.is_some();
            self.values[usize::from(address)] = value.unwrap_or(0);
        }
    }

    /// Sets an x or f register.
    #[inline(always)]
    pub(crate) fn set_file(&mut self, address: u16, value: u64) {
        debug_assert!((register::GPR..register::END).contains(&address));
        let at = usize::from(address);
        if address != register::GPR
            && let (Some(held), Some(known)) = (self.values.get_mut(at), self.known.get_mut(at))
        {
            (*held, *known) = (value, true);
        }
    }

    /// The register that an item writes, and its new value if known. `None` for other items.
    #[inline]
    pub fn resolve(&self, record: &Record) -> Option<(u16, Option<u64>)> {
        let mask = if self.xlen == 4 { u64::from(u32::MAX) } else { u64::MAX };
        match *record {
            Record::FullRegister { address, data } => Some((address, Some(data))),
            Record::AddRegister { address, offset } => {
                let sum = |old: u64| old.wrapping_add_signed(offset.into()) & mask;
                Some((address, self.get(address).map(sum)))
            }
            Record::OrRegister { address, mask } => {
                Some((address, self.get(address).map(|old| old | u64::from(mask))))
            }
            _ => None,
        }
    }

    /// The difference from `old` to `new`, in the width of a register.
    #[inline]
    pub(crate) fn distance(&self, old: u64, new: u64) -> i64 {
        let distance = new.wrapping_sub(old) as i64;
        if self.xlen == 4 { i64::from(distance as i32) } else { distance }
    }

    /// Applies a register item.
    #[inline]
    pub fn apply(&mut self, record: &Record) {
        if let Some((address, value)) = self.resolve(record) {
            self.set(address, value);
        }
    }
}
