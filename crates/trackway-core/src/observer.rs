//! Analyses that run on parts of a trace and merge in order.

use std::any::Any;

use crate::events::Batch;
use crate::saved::Saved;

/// An analysis of events whose results for two consecutive parts of a trace can be merged, so that
/// [`Source::observe`](crate::Source::observe) can run it on every core.
///
/// ```
/// use trackway_core::{Batch, Observer};
/// #[derive(Default)]
/// struct Traps(usize);
/// impl Observer for Traps {
///     fn observe(&mut self, batch: &Batch) {
///         self.0 += batch.traps.len();
///     }
///     fn fork(&self) -> Box<dyn Observer> {
///         Box::new(Traps::default())
///     }
///     fn merge(&mut self, later: Box<dyn Observer>) {
///         self.0 += later.downcast::<Self>().0;
///     }
/// }
/// let mut traps = Traps(2);
/// traps.merge(Box::new(Traps(3)));
/// assert_eq!(traps.0, 5);
/// ```
pub trait Observer: Any + Send {
    /// Takes in a batch. Batches of a part come in order; they number instructions from the start of the part
    /// unless the container has an index.
    fn observe(&mut self, batch: &Batch);

    /// The same where the decoder knows the number of instructions in the batch, attempted ones included.
    fn observe_counted(&mut self, batch: &Batch, instructions: u64) {
        let _ = instructions;
        self.observe(batch);
    }

    /// After batches or parts that were taken in, in order: `save` is the [place](crate::Source::save) that was reached,
    /// where it can be entered again. It is asked only by observers that keep places.
    fn place(&mut self, save: &mut dyn FnMut() -> Option<Saved>) {
        let _ = save;
    }

    /// After an error that decoding was continued after.
    fn error(&mut self) {}

    /// An observer of the same type that has seen nothing yet.
    fn fork(&self) -> Box<dyn Observer>;

    /// Adds the results of `later`, which was [forked](Observer::fork) from this one and saw the events that follow.
    fn merge(&mut self, later: Box<dyn Observer>);
}

impl dyn Observer {
    /// The observer as its concrete type.
    ///
    /// # Panics
    /// If it is of another type: `merge` only receives what `fork` created.
    pub fn downcast<O: Observer>(self: Box<Self>) -> Box<O> {
        let any: Box<dyn Any> = self;
        any.downcast().expect("an observer is merged with one of its own type")
    }
}

/// The smallest analysis: the number of instructions, attempted ones included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count(pub u64);

impl Observer for Count {
    fn observe(&mut self, batch: &Batch) {
        self.0 += batch.instructions();
    }

    fn observe_counted(&mut self, batch: &Batch, instructions: u64) {
        debug_assert_eq!(instructions, batch.instructions());
        self.0 += instructions;
    }

    fn fork(&self) -> Box<dyn Observer> {
        Box::new(Count::default())
    }

    fn merge(&mut self, later: Box<dyn Observer>) {
        self.0 += later.downcast::<Self>().0;
    }
}
