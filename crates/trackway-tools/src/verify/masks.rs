//! Which bits of control and status registers are compared, copied from the trace, or ignored.

use std::collections::BTreeMap;

pub use trackway_hart::Bits;
use trackway_isa::riscv::csr_number;

/// Treatment of the bits of one register; bits in neither mask are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mask {
    /// Taken from the trace: the core's environment decides them.
    pub copy: u64,
    /// Not looked at: the core may differ from the model.
    pub ignore: u64,
}

/// Masks by register number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Masks {
    masks: BTreeMap<u16, Mask>,
    /// Which registers have one: asked for every register that a trace writes.
    masked: [u64; 64],
    /// Those that were set beyond the defaults, which are handled without looking here.
    special: Vec<(u16, Mask)>,
}

trackway_format::settings! {
    /// One register in `[masks]`.
    #[derive(Clone, Debug, Default)]
    pub struct MaskSettings {
        /// Bits to take from the trace: a number, as text beyond TOML's numbers, or "all".
        pub copy: Option<Bits> = "\"all\"",
        /// Bits to leave out.
        pub ignore: Option<Bits> = "0x80",
        /// Bits to compare after all.
        pub compare: Option<Bits> = "0x1800",
    }
}

impl Default for Masks {
    /// Interrupts pending, counters, their overflow, time and entropy come from outside the core.
    fn default() -> Self {
        let all = Mask { copy: u64::MAX, ignore: 0 };
        let mut masks = Masks { masks: BTreeMap::new(), masked: [0; 64], special: Vec::new() };
        let counters = [0xb00, 0xb80, 0xc00, 0xc80].into_iter().flat_map(|first| first..first + 0x20);
        for number in [0x015, 0x044, 0x144, 0x344, 0xda0].into_iter().chain(counters) {
            masks.set(number, all);
        }
        masks
    }
}

impl Masks {
    /// The mask of a register.
    #[inline]
    pub fn of(&self, number: u16) -> Mask {
        match self.masked.get(usize::from(number / 64)) {
            Some(word) if word >> (number % 64) & 1 != 0 => {
                self.masks.get(&number).copied().unwrap_or_default()
            }
            _ => Mask::default(),
        }
    }

    /// Bits that are compared.
    #[inline]
    pub fn compared(&self, number: u16) -> u64 {
        let mask = self.of(number);
        !(mask.copy | mask.ignore)
    }

    /// Registers whose masks were set beyond the defaults, which are handled without looking here.
    pub(crate) fn special(&self) -> &[(u16, Mask)] {
        &self.special
    }

    /// Sets the mask of a register; there are none from 0x1000 on.
    pub fn set(&mut self, number: u16, mask: Mask) {
        let Some(word) = self.masked.get_mut(usize::from(number / 64)) else { return };
        *word |= 1 << (number % 64);
        self.masks.insert(number, mask);
        let usual = |number: u16| matches!(number, 0x044 | 0x144 | 0x344 | 0xb00..0xba0 | 0xc00..0xca0);
        self.special = self.masks.iter().map(|(n, mask)| (*n, *mask)).filter(|(n, _)| !usual(*n)).collect();
    }

    /// Applies a `[masks]` section: registers by name or number.
    pub fn apply(&mut self, settings: &BTreeMap<String, MaskSettings>) -> Result<(), String> {
        for (name, setting) in settings {
            let number = csr_number(name)
                .or_else(|| u16::from_str_radix(name.strip_prefix("0x")?, 16).ok())
                .filter(|number| *number < 0x1000)
                .ok_or_else(|| format!("[masks] {name}: no such register"))?;
            let bits = |bits: &Option<Bits>| match bits {
                Some(bits) => bits.value().map_err(|error| format!("[masks] {name}: {error}")),
                None => Ok(0),
            };
            let (copy, ignore, compare) =
                (bits(&setting.copy)?, bits(&setting.ignore)?, bits(&setting.compare)?);
            let old = self.of(number);
            let mask = Mask {
                copy: (old.copy & !ignore | copy) & !compare,
                ignore: (old.ignore & !copy | ignore) & !compare,
            };
            self.set(number, mask);
        }
        Ok(())
    }
}
