//! A record and the one that comes after it: the first is lifted when the second begins.

use trackway_core::{Batch, Isa, Privilege};

use super::handlers::Handlers;
use super::lift::Lifter;
use super::record::Retired;

/// The record that waits for the next one, and that one while it is read.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    lifter: Lifter,
    /// The record that waits.
    pub(crate) current: Retired,
    /// A record that is being read.
    pub(crate) incoming: Retired,
    /// True if a record waits.
    pub(crate) is_open: bool,
}

impl Pair {
    pub(crate) fn new(isa: Isa, handlers: Handlers) -> Self {
        let lifter = Lifter::new(isa, handlers);
        Pair { lifter, current: Retired::default(), incoming: Retired::default(), is_open: false }
    }

    /// The incoming record follows the one that waits, and waits itself; false if it has to come again, since `full`.
    #[inline]
    pub(crate) fn begin(&mut self, full: bool, batch: &mut Batch) -> bool {
        if self.is_open {
            self.lifter.lift(&self.current, Some(&self.incoming), batch);
        }
        self.is_open = !full;
        if !full {
            std::mem::swap(&mut self.current, &mut self.incoming);
        }
        !full
    }

    /// Nothing is known of what follows.
    pub(crate) fn end(&mut self, batch: &mut Batch) {
        if std::mem::take(&mut self.is_open) {
            self.lifter.lift(&self.current, None, batch);
        }
    }

    /// The privilege of the record that waits holds already.
    pub(crate) fn enter(&mut self) {
        self.lifter.privilege = self.current.privilege;
    }

    /// True if a trap may lead there.
    pub(crate) fn is_handler(&self, pc: u64) -> bool {
        self.lifter.is_handler(pc)
    }

    /// The privilege of the last event, which is all that a record needs of those before it.
    pub(crate) fn privilege(&self) -> Option<Privilege> {
        self.lifter.privilege
    }

    pub(crate) fn set_privilege(&mut self, privilege: Option<Privilege>) {
        self.lifter.privilege = privilege;
        self.is_open = false;
    }
}

/// The end and the state of a lift that has a `pair` and nothing else to keep.
macro_rules! lift_by_pair {
    () => {
        type State = Option<trackway_core::Privilege>;

        fn end(&mut self, batch: &mut trackway_core::Batch) {
            self.pair.end(batch);
        }

        fn is_open(&self) -> bool {
            self.pair.is_open
        }

        fn state(&self) -> Self::State {
            self.pair.privilege()
        }

        fn set_state(&mut self, state: Self::State) {
            self.pair.set_privilege(state);
        }
    };
}
pub(crate) use lift_by_pair;
