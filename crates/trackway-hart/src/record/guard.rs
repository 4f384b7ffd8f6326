//! Finding a program that repeats itself for ever.
//!
//! Registers that are as they were, with no change of memory and nothing from outside in between, lead to the same
//! instructions again. The state to compare with is taken at growing distances, so that a loop of any length is found
//! within a few of its rounds, and programs that make progress cost next to nothing.

use std::collections::BTreeMap;

use crate::csr;
use crate::effects::{AccessKind, Effects};
use crate::machine::RAM_BASE;
use crate::state::State;
use crate::target::Target;

/// Steps without a change from outside before the first state is kept.
const PATIENCE: u64 = 64;
/// Places that a loop may write, each time with the same values.
const STORES: usize = 16;

/// Looks for a state that comes again.
#[derive(Debug, Default)]
pub(super) struct Guard {
    /// Steps since something came from outside.
    quiet: u64,
    /// A state of then, and the number of its step.
    kept: Option<(Box<State>, u64)>,
    /// Stores since that state, and in the round before: address and size, and the value.
    stores: BTreeMap<(u64, u8), u64>,
    before: Option<BTreeMap<(u64, u8), u64>>,
}

impl Guard {
    /// Takes in a step; true once the program repeats itself.
    #[inline]
    pub(super) fn repeats(&mut self, effects: &Effects, target: &Target, is_outside: bool) -> bool {
        if is_outside || !self.is_closed(effects, target) {
            if self.quiet > 0 {
                *self = Guard::default();
            }
            return false;
        }
        self.quiet += 1;
        let state = target.hart().state();
        match &self.kept {
            Some((kept, _)) if kept.pc == state.pc && **kept == still(state) => self.round(target),
            Some((_, at)) if self.quiet < 2 * at => false,
            None if self.quiet < PATIENCE => false,
            _ => {
                self.kept = Some((Box::new(still(state)), self.quiet));
                (self.stores, self.before) = (BTreeMap::new(), None);
                false
            }
        }
    }

    /// The state is as it was: so is memory, if the stores of the last two rounds are the same.
    fn round(&mut self, target: &Target) -> bool {
        let stores = std::mem::take(&mut self.stores);
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
            let value = match access.kind {
                AccessKind::Load => continue,
                AccessKind::Store => access.data,
                AccessKind::Amo => access.stored,
            };
            if self.kept.is_some() {
                self.stores.insert((access.physical, access.size), value);
            }
        }
        let counts =
            |number: u16| matches!(number, csr::MIP | csr::SIP | csr::MCYCLE..=0xb9f | csr::CYCLE..=0xc9f);
        self.stores.len() <= STORES && !effects.csr_read.is_some_and(|(number, _)| counts(number))
    }
}

/// The state without what time alone changes.
fn still(state: &State) -> State {
    let mut state = state.clone();
    state.waiting = false;
    (state.csr.mcycle, state.csr.minstret, state.csr.time, state.csr.mip) = (0, 0, 0, 0);
    state
}
