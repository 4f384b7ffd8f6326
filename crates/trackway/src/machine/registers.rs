//! Register contents, as the trace shows them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use trackway_core::{
    Accesses, Batch, Isa, Outcome, Reg, RegAccess, RegClass, RegRole, RegUpdate, Step, Value,
};

use super::csrs;
use super::effects::{Effect, Effects};
use super::slots::{FILE, slot};

/// How a register's content came to be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum How {
    /// The instruction wrote it.
    Written,
    /// The instruction read it: who wrote it is not known.
    Seen,
    /// The trace shows it before the instruction, outside of any.
    Shown,
}

impl How {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            How::Written => "written",
            How::Seen => "seen",
            How::Shown => "shown",
        }
    }
}

/// Content of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content<'m> {
    /// Up to 64 bits, and which of them are known.
    Word(u64, u64),
    /// Wider: little-endian bytes.
    Bytes(&'m [u8]),
}

impl std::fmt::Display for Content<'_> {
    /// In hex, all digits; those that are not known whole are question marks.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Content::Word(value, u64::MAX) => write!(f, "{value:016x}"),
            Content::Word(value, known) => {
                (0..16).rev().map(|n| 4 * n).try_for_each(|place| match known >> place & 0xf {
                    0xf => write!(f, "{:x}", value >> place & 0xf),
                    _ => write!(f, "?"),
                })
            }
            Content::Bytes(bytes) => bytes.iter().rev().try_for_each(|byte| write!(f, "{byte:02x}")),
        }
    }
}

/// The knowledge of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known<'m> {
    /// Its content; `None` where it was written and the value is not recorded.
    pub content: Option<Content<'m>>,
    /// Number of the instruction.
    pub number: u64,
    /// Its relation to the register.
    pub how: How,
}

/// An entry of the table: `mask` says which bits of `value` are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    value: u64,
    mask: u64,
    number: u64,
    how: How,
}

/// The registers that a trace has shown so far.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Registers {
    /// `x`, `f`, `v` from slot 0, 32 and 64; empty until the first is known.
    slots: Vec<Option<Entry>>,
    /// Wide contents of slots.
    wide: BTreeMap<u8, Vec<u8>>,
    /// All other registers.
    others: BTreeMap<Reg, Entry>,
    /// `x0` is always zero, whatever the trace says of it.
    zero: bool,
    /// Effects of encodings on registers, decoded.
    #[serde(skip)]
    effects: Effects,
}

impl PartialEq for Registers {
    fn eq(&self, other: &Self) -> bool {
        let empty = |slots: &[Option<Entry>]| slots.iter().all(Option::is_none);
        (self.slots == other.slots || empty(&self.slots) && empty(&other.slots))
            && self.wide == other.wide
            && self.others == other.others
    }
}

impl Registers {
    pub(super) fn new(isa: Isa) -> Self {
        Registers { zero: matches!(isa, Isa::Rv32 | Isa::Rv64), ..Registers::default() }
    }

    /// The effects of encodings, decoded.
    pub(super) fn effects(&mut self) -> &mut Effects {
        &mut self.effects
    }

    /// True if any of the three files was accessed.
    pub(super) fn has_slots(&self) -> bool {
        !self.slots.is_empty()
    }

    /// True if anything is known.
    #[inline]
    pub(super) fn any(&self) -> bool {
        !self.slots.is_empty() || !self.others.is_empty()
    }

    /// The knowledge of a register.
    pub fn get(&self, reg: Reg) -> Option<Known<'_>> {
        let place = slot(reg);
        let entry = match place {
            Some(place) => (*self.slots.get(place)?)?,
            None => *self.others.get(&reg)?,
        };
        let wide = place.and_then(|place| self.wide.get(&(place as u8)));
        let word = (entry.mask != 0).then_some(Content::Word(entry.value, entry.mask));
        let content = wide.map(|bytes| Content::Bytes(bytes)).or(word);
        Some(Known { content, number: entry.number, how: entry.how })
    }

    /// All registers of which something is known, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Reg, Known<'_>)> {
        let files = [RegClass::Int, RegClass::Float, RegClass::Vector];
        let slots =
            files.into_iter().flat_map(|class| (0..FILE as u16).map(move |number| Reg { class, number }));
        slots.chain(self.others.keys().copied()).filter_map(|reg| Some((reg, self.get(reg)?)))
    }

    pub(super) fn clear(&mut self) {
        if self.any() {
            self.slots.clear();
            self.wide.clear();
            self.others.clear();
        }
    }

    /// The accesses of a step, and the registers that its encoding writes without the trace showing it.
    #[inline]
    pub(super) fn step(&mut self, isa: Isa, batch: &Batch, step: &Step, number: u64) {
        let accesses = batch.regs_of(step.accesses);
        // The registers read were so before the instruction wrote, and mostly come first.
        let (before, rest) = split(accesses);
        before.iter().for_each(|access| self.read(batch, access, number));
        match rest {
            [] => {}
            [only] => self.write(batch, only, number),
            _ => {
                rest.iter().for_each(|access| self.read(batch, access, number));
                let written = rest.iter().filter(|access| access.role == RegRole::Destination);
                written.for_each(|access| self.write(batch, access, number));
            }
        }
        if step.outcome == Outcome::Attempted || !self.any() || self.effects.are_shown(isa, step, rest) {
            return;
        }
        let recorded = Recorded::of(rest);
        let effect = self.effects.of_step(isa, step);
        let hidden = effect.slots & !recorded.slots;
        if hidden != 0 || effect.unknown || effect.csrs != csrs::Written::default() || recorded.csr {
            self.hide(effect, hidden, recorded.slots, number, accesses);
        }
    }

    #[inline]
    fn read(&mut self, batch: &Batch, access: &RegAccess, number: u64) {
        match access.role {
            RegRole::Source => self.see(batch, access, number, How::Seen),
            RegRole::State => self.see(batch, access, number, How::Shown),
            RegRole::Destination | RegRole::Ready => {}
        }
    }

    /// Registers that were written without the trace showing their values.
    #[cold]
    #[inline(never)]
    fn hide(&mut self, effect: Effect, hidden: u128, recorded: u128, number: u64, accesses: &[RegAccess]) {
        if effect.unknown {
            if recorded == 0 {
                self.clear();
            }
            return;
        }
        for place in 0..self.slots.len() {
            if hidden >> place & 1 == 1 {
                self.hide_slot(place, number);
            }
        }
        self.change_csrs(effect.csrs, csrs_of(accesses));
    }

    /// A register of the three files was written, and its value is not known.
    pub(super) fn hide_slot(&mut self, place: usize, number: u64) {
        self.wide.remove(&(place as u8));
        if self.slots.is_empty() {
            self.slots = vec![None; 3 * FILE];
        }
        self.slots[place] = Some(Entry { value: 0, mask: 0, number, how: How::Written });
    }

    /// Forgets the CSRs that an encoding changes, and those that share their content with the ones `written`.
    pub(super) fn change_csrs(&mut self, effect: csrs::Written, written: impl Iterator<Item = u16> + Clone) {
        let changed = |csr| effect.changes(csr) || written.clone().any(|written| csrs::shares(written, csr));
        self.others.retain(|reg, _| {
            reg.class != RegClass::Csr
                || written.clone().any(|written| written == reg.number)
                || !changed(reg.number)
        });
    }

    /// Contents that the trace shows outside of any instruction, or of a run's last one.
    pub(super) fn shown(&mut self, batch: &Batch, accesses: Accesses, number: u64) {
        for access in batch.regs_of(accesses) {
            match access.role {
                RegRole::Destination => self.write(batch, access, number),
                RegRole::Source => self.see(batch, access, number, How::Seen),
                RegRole::State => self.see(batch, access, number, How::Shown),
                RegRole::Ready => {}
            }
        }
    }

    /// A trap writes status, cause and others; `recorded` if the instruction that trapped shows their values.
    pub(super) fn trapped(&mut self, recorded: bool, number: u64) {
        let is_new = |entry: &Entry| recorded && entry.how == How::Written && entry.number + 1 == number;
        self.others.retain(|reg, entry| {
            reg.class != RegClass::Csr || !csrs::changes_with_traps(reg.number) || is_new(entry)
        });
    }

    /// Forgets a register, unless the trace shows it for this instruction.
    pub(super) fn forget_before(&mut self, reg: Reg, number: u64) {
        if let Some(entry) = slot(reg).and_then(|place| self.slots.get_mut(place))
            && entry.is_some_and(|entry| entry.how != How::Shown || entry.number < number)
        {
            *entry = None;
        }
    }

    #[inline]
    fn is_zero(&self, reg: Reg) -> bool {
        self.zero && reg == ZERO
    }

    #[inline]
    fn see(&mut self, batch: &Batch, access: &RegAccess, number: u64, how: How) {
        match word(access) {
            Some((value, mask)) => self.see_word(access.reg, (value, mask), number, how),
            None => self.set_wide(access.reg, wide(batch, access), number, how),
        }
    }

    #[inline]
    pub(super) fn see_word(&mut self, reg: Reg, (value, mask): (u64, u64), number: u64, how: How) {
        // Mostly it is known.
        if let Some(place) = slot(reg)
            && let Some(Some(entry)) = self.slots.get(place)
            && entry.mask & mask == mask
            && (entry.value ^ value) & mask == 0
            && self.wide.is_empty()
        {
            return;
        }
        self.see_another(reg, (value, mask), number, how);
    }

    #[inline(never)]
    fn see_another(&mut self, reg: Reg, (value, mask): (u64, u64), number: u64, how: How) {
        if mask == 0 || self.is_zero(reg) {
            return;
        }
        match self.entry(reg) {
            // It was known: who wrote it stays known.
            Some(Some(entry)) if entry.mask & mask == mask && (entry.value ^ value) & mask == 0 => {}
            Some(entry) => {
                let writer =
                    entry.filter(|entry| entry.mask == 0 && entry.how == How::Written && how == How::Seen);
                let (number, how) = writer.map_or((number, how), |entry| (entry.number, How::Written));
                *entry = Some(Entry { value, mask, number, how });
            }
            None => self.set_other(reg, Entry { value, mask, number, how }),
        }
    }

    #[inline]
    fn write(&mut self, batch: &Batch, access: &RegAccess, number: u64) {
        match word(access) {
            Some((value, mask)) if access.update == RegUpdate::Set && self.wide.is_empty() => {
                if let Some(place) = slot(access.reg)
                    && let Some(entry) = self.slots.get_mut(place)
                    && !(self.zero && place == 0)
                {
                    *entry = Some(Entry { value, mask, number, how: How::Written });
                    return;
                }
                self.write_word(access.reg, RegUpdate::Set, (value, mask), number);
            }
            Some(word) => self.write_word(access.reg, access.update, word, number),
            None => self.set_wide(access.reg, wide(batch, access), number, How::Written),
        }
    }

    pub(super) fn write_word(
        &mut self,
        reg: Reg,
        update: RegUpdate,
        (mut value, mut mask): (u64, u64),
        number: u64,
    ) {
        if update != RegUpdate::Set {
            (value, mask) = match self.get(reg).and_then(|known| known.content) {
                Some(Content::Word(old, u64::MAX)) if update == RegUpdate::Add => {
                    (old.wrapping_add(value), mask)
                }
                Some(Content::Word(old, u64::MAX)) => (old | value, mask),
                _ => (0, 0),
            };
        }
        if self.is_zero(reg) {
            return;
        }
        let new = Entry { value, mask, number, how: How::Written };
        match self.entry(reg) {
            Some(entry) => *entry = Some(new),
            None => self.set_other(reg, new),
        }
    }

    /// The slot of a register of the three files, narrow now.
    #[inline]
    fn entry(&mut self, reg: Reg) -> Option<&mut Option<Entry>> {
        let place = slot(reg)?;
        if self.slots.is_empty() {
            self.slots = vec![None; 3 * FILE];
        }
        if !self.wide.is_empty() {
            self.wide.remove(&(place as u8));
        }
        self.slots.get_mut(place)
    }

    #[cold]
    pub(super) fn set_wide(&mut self, reg: Reg, bytes: &[u8], number: u64, how: How) {
        let Some(place) = slot(reg) else { return };
        if how == How::Seen && self.wide.get(&(place as u8)).is_some_and(|old| old == bytes) {
            return;
        }
        if let Some(entry) = self.entry(reg) {
            *entry = Some(Entry { value: 0, mask: u64::MAX, number, how });
            self.wide.insert(place as u8, bytes.to_vec());
        }
    }

    #[cold]
    fn set_other(&mut self, reg: Reg, entry: Entry) {
        let keep = match reg.class {
            RegClass::Pc => false,
            RegClass::Csr => !csrs::is_volatile(reg.number),
            _ => true,
        };
        if keep {
            let old = self.others.get(&reg);
            let same = old.is_some_and(|old| old.mask == entry.mask && old.value == entry.value);
            if !(same && entry.how != How::Written) {
                self.others.insert(reg, entry);
            }
        }
    }
}

/// The registers that an instruction read, and the others from the first that it wrote.
#[inline]
pub(super) fn split(accesses: &[RegAccess]) -> (&[RegAccess], &[RegAccess]) {
    let first = accesses.iter().position(|access| access.role == RegRole::Destination);
    accesses.split_at(first.unwrap_or(accesses.len()))
}

/// The registers written that a trace shows.
pub(super) struct Recorded {
    pub(super) slots: u128,
    /// One is in none of the three files.
    pub(super) csr: bool,
}

impl Recorded {
    pub(super) fn of(accesses: &[RegAccess]) -> Self {
        let mut recorded = Recorded { slots: 0, csr: false };
        for access in accesses.iter().filter(|access| access.role == RegRole::Destination) {
            match slot(access.reg) {
                Some(place) => recorded.slots |= 1 << place,
                None => recorded.csr = true,
            }
        }
        recorded
    }
}

/// The register that is always zero, where there is one.
pub(super) const ZERO: Reg = Reg { class: RegClass::Int, number: 0 };

/// The CSRs among the registers written.
pub(super) fn csrs_of(accesses: &[RegAccess]) -> impl Iterator<Item = u16> + Clone {
    let destinations = accesses.iter().filter(|access| access.role == RegRole::Destination);
    destinations.filter(|access| access.reg.class == RegClass::Csr).map(|access| access.reg.number)
}

/// The bytes of a wide access.
pub(super) fn wide<'b>(batch: &'b Batch, access: &RegAccess) -> &'b [u8] {
    match access.value {
        Value::Bytes(span) => batch.bytes_of(span),
        Value::Word(_) | Value::Unknown => &[],
    }
}

/// The value of an access and which bits of it are known; `None` where it is wider.
#[inline]
pub(super) fn word(access: &RegAccess) -> Option<(u64, u64)> {
    match access.value {
        Value::Word(value) => Some((value, access.known.unwrap_or(u64::MAX))),
        Value::Unknown => Some((0, 0)),
        Value::Bytes(_) => None,
    }
}
