//! Registers as far as the events so far record them.

use std::collections::BTreeMap;

use trackway_core::{
    Accesses, Batch, EventKind, Isa, Reg, RegAccess, RegClass, RegRole, RegUpdate, State, Value,
};

/// Last known contents of registers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    /// x and f registers: nearly all accesses.
    files: [[Option<u64>; 32]; 2],
    others: BTreeMap<Reg, Content>,
}

#[derive(Clone, Debug)]
enum Content {
    Word(u64),
    Bytes(Vec<u8>),
}

impl Known {
    /// Takes in the registers that an event writes.
    #[inline]
    pub(crate) fn note(&mut self, batch: &Batch, event: &EventKind, isa: Isa) {
        let accesses = match event {
            EventKind::Step(step) => step.accesses,
            EventKind::Run(run) if !run.withdrawn => batch.accesses_of(run),
            EventKind::State(n) => match batch.states[*n as usize] {
                State::Contents(accesses) => accesses,
                _ => return,
            },
            _ => return,
        };
        for access in batch.regs_of(accesses) {
            if matches!(access.role, RegRole::Destination | RegRole::State) {
                self.write(batch, access, isa);
            }
        }
    }

    fn write(&mut self, batch: &Batch, access: &RegAccess, isa: Isa) {
        let reg = access.reg;
        let old = match self.place(reg) {
            Some(place) => *place,
            None => match self.others.get(&reg) {
                Some(Content::Word(word)) => Some(*word),
                _ => None,
            },
        };
        let mask = if isa == Isa::Rv32 { u64::from(u32::MAX) } else { u64::MAX };
        let word = match (access.update, access.value, access.known) {
            (_, _, Some(_)) => None,
            (RegUpdate::Set, Value::Word(word), None) => Some(word),
            (RegUpdate::Add, Value::Word(word), None) => old.map(|old| old.wrapping_add(word) & mask),
            (RegUpdate::Or, Value::Word(word), None) => old.map(|old| old | word),
            (RegUpdate::Set, Value::Bytes(span), None) => {
                if let Some(place) = self.place(reg) {
                    *place = None;
                }
                self.others.insert(reg, Content::Bytes(batch.bytes_of(span).to_vec()));
                return;
            }
            _ => None,
        };
        if let Some(place) = self.place(reg) {
            *place = word;
        }
        match word.filter(|_| self.place(reg).is_none()) {
            Some(word) => drop(self.others.insert(reg, Content::Word(word))),
            None => drop(self.others.remove(&reg)),
        }
    }

    fn place(&mut self, reg: Reg) -> Option<&mut Option<u64>> {
        let file = match reg.class {
            RegClass::Int => &mut self.files[0],
            RegClass::Float => &mut self.files[1],
            _ => return None,
        };
        file.get_mut(usize::from(reg.number))
    }

    /// Adds all known registers to `batch`, in order; `None` if there are none.
    pub(crate) fn add_to(&self, batch: &mut Batch) -> Option<Accesses> {
        let begun = batch.begin_accesses();
        let access = |class, number, value| RegAccess {
            reg: Reg { class, number },
            role: RegRole::State,
            update: RegUpdate::Set,
            value,
            known: None,
        };
        for (class, file) in [RegClass::Int, RegClass::Float].into_iter().zip(&self.files) {
            for (number, value) in (0..).zip(file) {
                batch.regs.extend(value.map(|value| access(class, number, Value::Word(value))));
            }
        }
        for (reg, content) in &self.others {
            let value = match content {
                Content::Word(word) => Value::Word(*word),
                Content::Bytes(bytes) => Value::Bytes(batch.add_bytes(bytes)),
            };
            batch.regs.push(access(reg.class, reg.number, value));
        }
        batch.end_accesses(begun).filter(|accesses| accesses.regs_len > 0)
    }
}
