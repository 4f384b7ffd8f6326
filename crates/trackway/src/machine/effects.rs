//! Registers that encodings write, decoded once.

use trackway_core::{Isa, RegAccess, RegClass, Step};
use trackway_isa::{Control, Recent, flow};

use super::csrs;
use super::slots::{FILE, slot};

/// Registers that an encoding writes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Effect {
    pub(super) slots: u128,
    pub(super) csrs: csrs::Written,
    /// The encoding has no meaning here: it may write anything.
    pub(super) unknown: bool,
}

/// The effects of encodings, and how control leaves them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Effects {
    /// By a digest of the encoding: key and [`Effect::brief`]; empty until the first step.
    brief: Vec<u64>,
    full: Recent<(u32, Isa), Effect, 1024>,
    controls: Recent<(u32, Isa), Control, 256>,
}

/// Nothing is written.
const NOTHING: u64 = 0xfe;
/// More than one register, or another one than of the three files.
const MORE: u64 = 0xff;

impl Effects {
    const BRIEF: usize = 1024;

    /// True if the encoding writes one register of the three files and the accesses are a write of that, or none and there
    /// are none.
    #[inline(always)]
    pub(super) fn are_shown(&mut self, isa: Isa, step: &Step, accesses: &[RegAccess]) -> bool {
        let written = match accesses {
            [] => NOTHING,
            [only] => slot(only.reg).map_or(MORE, |place| place as u64),
            _ => MORE,
        };
        // Without its length, nothing is known of the encoding.
        if written == MORE || step.length == 0 {
            return false;
        }
        let key = u64::from(step.encoding) | (isa as u64) << 32 | 1 << 40;
        let place = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as usize;
        match self.brief.get(place) {
            Some(brief) if brief >> 8 == key => *brief == key << 8 | written,
            _ => self.learn(isa, step, key, place) == written,
        }
    }

    #[cold]
    fn learn(&mut self, isa: Isa, step: &Step, key: u64, place: usize) -> u64 {
        let brief = self.of_step(isa, step).brief();
        self.brief.resize(Self::BRIEF, 0);
        self.brief[place] = key << 8 | brief;
        brief
    }

    /// The effect of a step; one without its encoding may write anything.
    pub(super) fn of_step(&mut self, isa: Isa, step: &Step) -> Effect {
        match step.length {
            0 => Effect { unknown: true, ..Effect::default() },
            _ => *self.full.get((step.encoding, isa), || Effect::of(isa, step.encoding)),
        }
    }

    /// How control leaves an instruction.
    pub(super) fn control(&mut self, isa: Isa, encoding: u32) -> Control {
        *self.controls.get((encoding, isa), || flow(isa, 0, encoding).control)
    }
}

impl Effect {
    /// Its only register, [`NOTHING`] or [`MORE`].
    fn brief(&self) -> u64 {
        match self.slots.count_ones() {
            _ if self.unknown || self.csrs != csrs::Written::default() => MORE,
            0 => NOTHING,
            1 => self.slots.trailing_zeros().into(),
            _ => MORE,
        }
    }

    fn of(isa: Isa, encoding: u32) -> Effect {
        let Some(registers) = trackway_isa::registers(isa, encoding) else {
            return Effect { unknown: true, ..Effect::default() };
        };
        let mut effect = Effect { csrs: csrs::Written::by(isa, encoding), ..Effect::default() };
        for reg in registers.destinations() {
            match slot(reg) {
                Some(place) => effect.slots |= 1 << place,
                None => effect.csrs.add(reg.number),
            }
            if registers.grouped && reg.class == RegClass::Vector {
                effect.slots |= u128::from(u32::MAX) << (2 * FILE);
            }
        }
        effect
    }
}
