//! The register accesses of consecutive steps, reduced to what decides the state after them.

use trackway_core::{Batch, Isa, Outcome, Reg, RegAccess, RegClass, RegRole, RegUpdate, Step};

use super::csrs;
use super::effects::{Effect, Effects};
use super::registers::{How, Recorded, Registers, ZERO, csrs_of, split, wide, word};
use super::slots::{FILE, slot};

/// Accesses in the order of each register. An access that changes nothing, whatever was known before, is left out, and
/// so is everything before a write.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// Something unknown may have written any register before all of this.
    cleared: bool,
    /// Number of the first access to one of the three files: without one, a hidden write is not kept.
    first: Option<u64>,
    /// By slot; empty until the first access.
    slots: Vec<Vec<Op>>,
    others: Vec<Other>,
}

/// An access to a register of the three files; values come with the bits that are known.
#[derive(Clone, Debug, PartialEq)]
enum Op {
    Write((u64, u64), u64),
    Update(RegUpdate, (u64, u64), u64),
    See((u64, u64), u64, How),
    Wide(Vec<u8>, u64, How),
    Hide(u64),
}

/// An access to any other register, or a change of CSRs.
#[derive(Clone, Debug, PartialEq)]
enum Other {
    Write(Reg, RegUpdate, (u64, u64), u64),
    See(Reg, (u64, u64), u64, How),
    Change(csrs::Written, Vec<u16>),
}

impl Log {
    /// As [`Registers::step`].
    #[inline]
    pub(super) fn step(&mut self, isa: Isa, batch: &Batch, step: &Step, number: u64, effects: &mut Effects) {
        let accesses = batch.regs_of(step.accesses);
        let (before, rest) = split(accesses);
        before.iter().for_each(|access| self.read(isa, batch, access, number));
        match rest {
            [] => {}
            [only] => self.write(isa, batch, only, number),
            _ => {
                rest.iter().for_each(|access| self.read(isa, batch, access, number));
                let written = rest.iter().filter(|access| access.role == RegRole::Destination);
                written.for_each(|access| self.write(isa, batch, access, number));
            }
        }
        if step.outcome == Outcome::Attempted || effects.are_shown(isa, step, rest) {
            return;
        }
        let recorded = Recorded::of(rest);
        let effect = effects.of_step(isa, step);
        let hidden = effect.slots & !recorded.slots;
        if hidden != 0 || effect.unknown || effect.csrs != csrs::Written::default() || recorded.csr {
            self.hide(effect, hidden, recorded.slots, number, accesses);
        }
    }

    #[inline]
    fn read(&mut self, isa: Isa, batch: &Batch, access: &RegAccess, number: u64) {
        match access.role {
            RegRole::Source => self.see(isa, batch, access, number, How::Seen),
            RegRole::State => self.see(isa, batch, access, number, How::Shown),
            RegRole::Destination | RegRole::Ready => {}
        }
    }

    #[inline]
    fn at(&mut self, place: usize) -> &mut Vec<Op> {
        if self.slots.is_empty() {
            self.slots = vec![Vec::new(); 3 * FILE];
        }
        &mut self.slots[place]
    }

    #[inline]
    fn see(&mut self, isa: Isa, batch: &Batch, access: &RegAccess, number: u64, how: How) {
        let reg = access.reg;
        match (slot(reg), word(access)) {
            (_, Some((_, 0))) | (None, None) => {}
            (Some(_), Some(_)) if is_zero(isa, reg) => {}
            (Some(place), Some((value, mask))) => {
                self.first.get_or_insert(number);
                let ops = self.at(place);
                let known = match ops.last() {
                    Some(Op::Write((known, u64::MAX), _) | Op::See((known, u64::MAX), ..)) => Some(*known),
                    _ => None,
                };
                if known.is_none_or(|known| (known ^ value) & mask != 0) {
                    ops.push(Op::See((value, mask), number, how));
                }
            }
            (None, Some(word)) => self.others.push(Other::See(reg, word, number, how)),
            (Some(place), None) => {
                self.first.get_or_insert(number);
                let bytes = wide(batch, access).to_vec();
                self.at(place).push(Op::Wide(bytes, number, how));
            }
        }
    }

    #[inline]
    fn write(&mut self, isa: Isa, batch: &Batch, access: &RegAccess, number: u64) {
        let (reg, update) = (access.reg, access.update);
        let Some(place) = slot(reg) else {
            if let Some(word) = word(access) {
                self.others.push(Other::Write(reg, update, word, number));
            }
            return;
        };
        let op = match word(access) {
            Some(_) if is_zero(isa, reg) => return,
            Some(word) if update == RegUpdate::Set => Op::Write(word, number),
            Some(word) => Op::Update(update, word, number),
            None => Op::Wide(wide(batch, access).to_vec(), number, How::Written),
        };
        self.first.get_or_insert(number);
        let ops = self.at(place);
        match (&mut ops[..], &op) {
            // Mostly one write replaces another.
            ([last @ Op::Write(..)], Op::Write(..)) => *last = op,
            (_, Op::Update(..)) => ops.push(op),
            _ => {
                ops.clear();
                ops.push(op);
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn hide(&mut self, effect: Effect, hidden: u128, recorded: u128, number: u64, accesses: &[RegAccess]) {
        if effect.unknown {
            if recorded == 0 {
                *self = Log { cleared: true, ..Log::default() };
            }
            return;
        }
        for place in (0..3 * FILE).filter(|place| hidden >> place & 1 == 1) {
            let ops = self.at(place);
            ops.clear();
            ops.push(Op::Hide(number));
        }
        let change = Other::Change(effect.csrs, csrs_of(accesses).collect());
        if self.others.last() != Some(&change) {
            self.others.push(change);
        }
    }

    /// Leads to the state after the steps; `base` is added to their numbers.
    pub(super) fn apply(self, registers: &mut Registers, base: u64) {
        if self.cleared {
            registers.clear();
        }
        let had_slots = registers.has_slots();
        let first = self.first.unwrap_or(u64::MAX);
        for (place, ops) in self.slots.into_iter().enumerate() {
            let class = [RegClass::Int, RegClass::Float, RegClass::Vector][place / FILE];
            let reg = Reg { class, number: (place % FILE) as u16 };
            for op in ops {
                match op {
                    Op::Write(word, n) => registers.write_word(reg, RegUpdate::Set, word, base + n),
                    Op::Update(update, word, n) => registers.write_word(reg, update, word, base + n),
                    Op::See(word, n, how) => registers.see_word(reg, word, base + n, how),
                    Op::Wide(bytes, n, how) => registers.set_wide(reg, &bytes, base + n, how),
                    Op::Hide(n) if had_slots || first <= n => registers.hide_slot(place, base + n),
                    Op::Hide(_) => {}
                }
            }
        }
        for other in self.others {
            match other {
                Other::Write(reg, update, word, n) => registers.write_word(reg, update, word, base + n),
                Other::See(reg, word, n, how) => registers.see_word(reg, word, base + n, how),
                Other::Change(effect, written) => registers.change_csrs(effect, written.iter().copied()),
            }
        }
    }
}

/// As [`Registers`] has it: by the instruction set of the trace.
fn is_zero(isa: Isa, reg: Reg) -> bool {
    reg == ZERO && matches!(isa, Isa::Rv32 | Isa::Rv64)
}
