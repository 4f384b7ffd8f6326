//! The part of a trace between two positions.

use trackway_core::{Batch, Event};

use crate::position::{Follow, Position, Tally};

/// Bounds on the events of a source: from one position up to another, which is not inside.
#[derive(Clone, Debug)]
pub struct Bounds {
    from: Option<Follow>,
    to: Option<Follow>,
    /// The end is the next of its kind after the beginning.
    to_is_next: bool,
    /// The end was reached.
    pub is_over: bool,
    /// The beginning was reached.
    pub is_open: bool,
    /// An instruction is inside.
    pub has_begun: bool,
}

/// Where an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Before them.
    Before,
    /// Between them.
    Inside,
    /// After them, as everything that follows.
    After,
}

impl Bounds {
    /// Bounds on the events after a place with `before` it.
    pub fn new(from: Option<Position>, to: Option<Position>, before: Tally) -> Self {
        let follow = |position: Option<Position>| position.map(|position| Follow::new(position, before));
        Bounds {
            is_open: from.is_none(),
            to_is_next: to.as_ref().is_some_and(Position::is_next),
            from: follow(from),
            to: follow(to.filter(|to| *to != Position::End(0))),
            is_over: false,
            has_begun: false,
        }
    }

    /// The place of the next event, whose first instruction has this number. Every event has to be shown, once.
    #[inline]
    pub fn place(&mut self, batch: &Batch, event: &Event, number: u64) -> Place {
        let ends = self.to.as_mut().is_some_and(|to| to.is_reached(batch, event, number));
        self.is_over |= ends && if self.to_is_next { self.has_begun } else { true };
        if !self.is_open {
            self.is_open = self.from.as_mut().is_none_or(|from| from.is_reached(batch, event, number));
            if !self.is_open {
                return Place::Before;
            }
        }
        if self.is_over {
            return Place::After;
        }
        self.has_begun |= event.kind.instructions() > 0;
        Place::Inside
    }
}
