//! Parts of one source on several threads, merged in order.

use crate::events::{Batch, Context};
use crate::observer::Observer;
use crate::saved::Saved;
use crate::stream::{Cancel, in_order};

/// An observer with the source and number of the batches it is shown.
pub struct Show<'o> {
    observer: &'o mut dyn Observer,
    source: u16,
    /// Number of the next instruction. A part counts from 0 unless it knows better and sets it.
    pub number: u64,
    /// Instructions shown so far.
    shown: u64,
    /// The context so far; of a part the changes in it.
    pub(crate) context: Context,
    cancel: &'o Cancel,
}

impl std::fmt::Debug for Show<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Show(source {}, instruction {})", self.source, self.number)
    }
}

/// Results of a part that was shown on its own, for [`Show::join`].
pub struct Seen {
    observer: Box<dyn Observer>,
    /// Instructions in the part.
    pub instructions: u64,
    /// Changes of the context in the part.
    context: Context,
}

impl std::fmt::Debug for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Seen({} instructions)", self.instructions)
    }
}

impl<'o> Show<'o> {
    pub(crate) fn new(observer: &'o mut dyn Observer, source: u16, number: u64, cancel: &'o Cancel) -> Self {
        Show { observer, source, number, shown: 0, context: Context::default(), cancel }
    }

    /// Shows a batch with that many instructions; one without events is passed over.
    pub fn batch(&mut self, batch: &mut Batch, instructions: u64) {
        if !batch.events.is_empty() {
            (batch.source, batch.first_instruction) = (self.source, self.number);
            self.observer.observe_counted(batch, instructions);
            batch.contexts.iter().for_each(|context| self.context.update(context));
            self.count(instructions);
        }
    }

    /// Adds the results of the part that follows everything shown so far.
    pub fn join(&mut self, seen: Seen) {
        self.observer.merge(seen.observer);
        self.context.update(&seen.context);
        self.count(seen.instructions);
    }

    /// Says that everything up to here was shown, in order: `save` returns the position and the decoder's state. See
    /// [`Observer::place`].
    pub fn place(&mut self, mut save: impl FnMut() -> Option<(u64, Vec<u8>)>) {
        let (source, instruction, context) = (self.source, self.number, self.context);
        self.observer.place(&mut || {
            save().map(|(position, state)| Saved { source, instruction, position, context, state })
        });
    }

    fn count(&mut self, instructions: u64) {
        // A damaged container may claim any number for a part's first instruction.
        self.number = self.number.saturating_add(instructions);
        self.shown += instructions;
    }

    /// Shows a part once more, in order: `alone` gets a fresh observer, and its results are joined.
    pub fn again<T>(&mut self, alone: impl FnOnce(&mut Show<'_>) -> T) -> T {
        let (result, seen) = on_its_own(self.observer.fork(), self.source, self.cancel, alone);
        self.join(seen);
        result
    }
}

fn on_its_own<T>(
    mut observer: Box<dyn Observer>,
    source: u16,
    cancel: &Cancel,
    alone: impl FnOnce(&mut Show<'_>) -> T,
) -> (T, Seen) {
    let mut show = Show::new(&mut *observer, source, 0, cancel);
    let result = alone(&mut show);
    let (instructions, context) = (show.shown, show.context);
    (result, Seen { observer, instructions, context })
}

/// Decodes `parts` on several threads. `alone` shows a part to an observer of its own; `join` is called in the order
/// of the parts and either takes the result over ([`Show::join`]) or decodes the part again. An error of `join` ends
/// it, and so does cancelling: no further part is begun then.
pub fn in_parts<P: Send, T: Send, E>(
    threads: usize,
    show: &mut Show<'_>,
    parts: impl Iterator<Item = P> + Send,
    alone: impl Fn(P, &mut Show<'_>) -> T + Sync,
    mut join: impl FnMut(&mut Show<'_>, T, Seen) -> Result<(), E>,
) -> Result<(), E> {
    let (template, source, cancel) = (show.observer.fork(), show.source, show.cancel);
    let parts = parts.take_while(|_| !cancel.is_cancelled()).map(move |part| (part, template.fork()));
    in_order(
        threads,
        parts,
        |(part, observer)| on_its_own(observer, source, cancel, |show| alone(part, show)),
        |(result, seen)| join(show, result, seen),
    )
}
