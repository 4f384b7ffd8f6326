//! Finding a program that repeats itself for ever.
//!
//! Registers that are as they were, with no change of memory and nothing from outside in between, lead to the same
//! instructions again. The state to compare with is taken at growing distances, so that a loop of any length is found
//! within a few of its rounds, and programs that make progress cost next to nothing.

use crate::csr;
use crate::effects::{Access, AccessKind, Effects};
use crate::machine::RAM_BASE;
use crate::state::State;
use crate::target::Target;

/// Steps without a change from outside before the first state is kept.
const PATIENCE: u64 = 64;
/// Places that a loop may write, each time with the same values.
const STORES: usize = 16;

/// Looks for a state that comes again.
#[derive(Debug)]
pub(super) struct Guard {
    /// Steps since something came from outside.
    quiet: u64,
    /// Steps after which a state is kept.
    due: u64,
    /// The state that was kept last.
    kept: Option<Box<State>>,
    /// Its pc; odd if there is none.
    pc: u64,
    /// Stores since that state, and in the round before: address and size, and the value.
    stores: Vec<((u64, u8), u64)>,
    before: Option<Vec<((u64, u8), u64)>>,
}

impl Default for Guard {
    fn default() -> Self {
        Guard { quiet: 0, due: PATIENCE, kept: None, pc: u64::MAX, stores: Vec::new(), before: None }
    }
}

impl Guard {
    /// Takes in a step; true once the program repeats itself.
    #[inline(always)]
    pub(super) fn repeats(&mut self, effects: &Effects, target: &Target, is_outside: bool) -> bool {
        // Most steps are only counted.
        if effects.memory.is_empty() & effects.csr_read.is_none() & !is_outside
            && self.quiet + 1 < self.due
            && target.hart().state().pc != self.pc
        {
            self.quiet += 1;
            return false;
        }
        self.look(effects, target, is_outside)
    }

    fn look(&mut self, effects: &Effects, target: &Target, is_outside: bool) -> bool {
        if is_outside || !self.is_closed(effects, target) {
            self.reset();
            return false;
        }
        self.quiet += 1;
        self.compare(target)
    }

    /// Takes in an instruction of a stretch that leads to `next`; true if its state has to be looked at
    /// ([`is_due`](Guard::is_due)).
    #[inline(always)]
    pub(super) fn passes(&mut self, next: u64, is_closed: bool) -> bool {
        if !is_closed | (self.stores.len() > STORES) {
            self.reset();
            return false;
        }
        self.quiet += 1;
        (self.quiet >= self.due) | (next == self.pc)
    }

    /// Something came from outside: begins again, in the same memory.
    #[cold]
    fn reset(&mut self) {
        let mut stores = std::mem::take(&mut self.stores);
        stores.clear();
        *self = Guard { stores, ..Guard::default() };
    }

    /// After a stretch: true if the program repeats itself.
    pub(super) fn is_due(&mut self, target: &Target) -> bool {
        (self.quiet >= self.due || target.hart().state().pc == self.pc) && self.compare(target)
    }

    /// Compares the state with the one that was kept, or keeps it.
    fn compare(&mut self, target: &Target) -> bool {
        let state = target.hart().state();
        let is_again = |kept: &State| kept.pc == state.pc && kept.x == state.x && *kept == still(state);
        if self.kept.as_deref().is_some_and(is_again) {
            return self.round(target);
        }
        if self.quiet >= self.due {
            (self.kept, self.pc, self.due) = (Some(Box::new(still(state))), state.pc, 2 * self.quiet);
            self.before = None;
            self.stores.clear();
        }
        false
    }

    /// The state is as it was: so is memory, if the stores of the last two rounds are the same.
    fn round(&mut self, target: &Target) -> bool {
        let mut stores = std::mem::take(&mut self.stores);
        stores.sort_unstable();
        let same = stores.is_empty() || self.before.as_ref() == Some(&stores);
        self.before = Some(stores);
        let awaits = match target {
            Target::Process(_) => false,
            Target::Machine(machine) => machine.awaits_timer(),
        };
        same && !awaits
    }

    /// Does the step depend on registers and memory only?
    fn is_closed(&mut self, effects: &Effects, target: &Target) -> bool {
        let is_device = |physical: u64| matches!(target, Target::Machine(_)) && physical < RAM_BASE;
        for access in effects.memory.iter() {
            if is_device(access.physical) {
                return false;
            }
            self.access(&access);
        }
        let counts =
            |number: u16| matches!(number, csr::MIP | csr::SIP | csr::MCYCLE..=0xb9f | csr::CYCLE..=0xc9f);
        self.stores.len() <= STORES && !effects.csr_read.is_some_and(|(number, _)| counts(number))
    }

    /// Takes in an access to memory.
    #[inline(always)]
    pub(super) fn access(&mut self, access: &Access) {
        if access.kind != AccessKind::Load && self.kept.is_some() {
            self.store(access);
        }
    }

    fn store(&mut self, access: &Access) {
        let value = if access.kind == AccessKind::Amo { access.stored } else { access.data };
        let place = (access.physical, access.size);
        match self.stores.iter_mut().find(|(stored, _)| *stored == place) {
            Some((_, stored)) => *stored = value,
            None => self.stores.push((place, value)),
        }
    }
}

/// The state without what time alone changes.
fn still(state: &State) -> State {
    let mut state = state.clone();
    state.waiting = false;
    (state.csr.mcycle, state.csr.minstret, state.csr.time, state.csr.mip) = (0, 0, 0, 0);
    state
}
