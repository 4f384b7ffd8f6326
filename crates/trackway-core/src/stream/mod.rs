//! The one driver that every format's events pass through.
//!
//! A format implements [`Decode`] for one source: fill a batch, enter again after damage, and, where its input
//! can be cut, show parts on several threads. [`Stream`] does the rest for all of them: events before an error are
//! delivered before the error, a gap marks the bytes skipped, instructions are numbered per source, sources follow
//! each other, progress adds up, and a run can be cancelled.

mod cancel;
mod parts;
mod pool;
mod queue;
mod turns;

pub use cancel::Cancel;
pub use parts::{Seen, Show, in_parts};
pub use pool::Pool;
pub use queue::{in_order, in_order_with};
pub use turns::InTurn;

use crate::census::Census;
use crate::error::{Error, Result};
use crate::events::{Batch, Context, Gap, Meta};
use crate::observer::Observer;
use crate::saved::Saved;
use crate::source::Source;

/// The format's side of [`Stream`]: decodes one source.
pub trait Decode: Send {
    /// Adds events to `batch` until it is full; false once nothing can follow.
    ///
    /// `batch` is empty unless [`enter`](Decode::enter) returned a gap, which is then its first event. Events added
    /// before an error are delivered before it. A call may add nothing; it is then made again.
    fn fill(&mut self, batch: &mut Batch) -> Result<bool>;

    /// Instructions in all events so far, or skipped by [`seek`](Decode::seek): the number of the next one.
    fn instructions(&self) -> u64;

    /// After an error: finds the next place where decoding can continue.
    fn enter(&mut self) -> Result<Entry>;

    /// Shows the next parts on `threads` threads, where the input can be cut here; see [`in_parts`]. It is asked
    /// before every batch, so [`Parts::None`] must be cheap.
    fn observe_parts(&mut self, threads: usize, show: &mut Show<'_>) -> Result<Parts> {
        let _ = (threads, show);
        Ok(Parts::None)
    }

    /// True if [`observe_parts`](Decode::observe_parts) will show the source, and [say](Show::place) after every part
    /// where it ended.
    fn places_parts(&self) -> bool {
        false
    }

    /// True if [`observe_parts`](Decode::observe_parts) will show most of the source.
    fn has_parts(&self) -> bool {
        self.places_parts()
    }

    /// Before the first event: jumps towards instruction `n` where the container has an index, never past it.
    fn seek(&mut self, n: u64) -> Result<()> {
        let _ = n;
        Ok(())
    }

    /// The state between two batches, [packed](crate::pack), where decoding can continue from it: after
    /// [`restore`](Decode::restore) the same events follow. A few hundred bytes at most, the place in the input
    /// included. `None` where it cannot be entered here; it is asked again after the next batch.
    fn save(&self) -> Option<Vec<u8>> {
        None
    }

    /// Before the first event: continues from a state that [`save`](Decode::save) returned, with `instructions`
    /// before it. False if the state is not one of this input; it may come from a file that was damaged.
    fn restore(&mut self, state: &[u8], instructions: u64) -> Result<bool> {
        let _ = (state, instructions);
        Ok(false)
    }

    /// Current position, in the unit of [`size`](Decode::size).
    fn position(&self) -> u64;

    /// Position at the end, where it is known.
    fn size(&self) -> Option<u64>;

    /// Native items read so far.
    fn census(&self) -> Census;
}

/// Where decoding continues after an error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Entry {
    /// Nowhere: the rest of the source cannot be decoded.
    End,
    /// Right here. The decoder reports what is missing itself, or nothing is.
    Here,
    /// After a gap, which begins the next batch.
    After {
        /// Byte offset where the gap begins.
        offset: u64,
        /// Its extent and reason.
        gap: Gap,
    },
}

/// Result of [`Decode::observe_parts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parts {
    /// The input cannot be cut here: decode one batch in order, then ask again.
    None,
    /// Some parts were shown.
    Shown,
    /// The source has ended.
    End,
}

/// Events of one or several sources, one after the other.
#[derive(Debug)]
pub struct Stream<D> {
    meta: Meta,
    threads: usize,
    cancel: Cancel,
    /// One decoder per source; a source that has ended leaves its census only.
    sources: Vec<D>,
    current: usize,
    /// Items of the sources that have ended, and the size of their input.
    census: Census,
    done: u64,
    /// To be returned by the next call: the batch before it was delivered first.
    error: Option<Error>,
    /// An error was returned and the caller has not asked to continue.
    failed: bool,
    /// To begin the next batch with.
    gap: Option<(u64, Gap)>,
    /// The context of the current source so far.
    context: Context,
}

/// Batches per call of `observe`: enough to reuse one batch many times, few enough for progress to be seen.
const BATCHES: usize = 256;

impl<D: Decode> Stream<D> {
    /// Events of `sources`, in the order of `meta.sources`; analyses run on `threads` threads.
    pub fn new(meta: Meta, sources: Vec<D>, threads: usize) -> Self {
        Stream {
            meta,
            threads,
            cancel: Cancel::default(),
            sources,
            current: 0,
            census: Census::default(),
            done: 0,
            error: None,
            failed: false,
            gap: None,
            context: Context::default(),
        }
    }

    /// Ends with [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled) soon after `cancel` is set.
    pub fn with_cancel(self, cancel: Cancel) -> Self {
        Stream { cancel, ..self }
    }

    /// The decoder of the current source.
    pub fn decoder(&self) -> Option<&D> {
        self.sources.get(self.current)
    }

    /// The current source has ended.
    fn close(&mut self) {
        if let Some(decoder) = self.sources.get(self.current) {
            self.census.merge(&decoder.census());
            // A damaged index may say any size.
            self.done = self.done.saturating_add(decoder.size().unwrap_or_else(|| decoder.position()));
            self.current += 1;
            self.context = Context::default();
        }
    }

    fn fail(&mut self, error: Error) -> Error {
        self.failed = true;
        error
    }

    /// Shows parts of the current source on several threads; `None` where the next batch comes in order.
    fn observe_parts(&mut self, observer: &mut dyn Observer) -> Result<Option<bool>> {
        if self.threads <= 1 || self.gap.is_some() || self.error.is_some() || self.failed {
            return Ok(None);
        }
        while let Some(decoder) = self.sources.get_mut(self.current) {
            let mut show = Show::new(observer, self.current as u16, decoder.instructions(), &self.cancel);
            show.context = self.context;
            let shown = decoder.observe_parts(self.threads, &mut show);
            self.context = show.context;
            self.cancel.check()?;
            match shown {
                Ok(Parts::None) => return Ok(None),
                Ok(Parts::Shown) => return Ok(Some(true)),
                Ok(Parts::End) => self.close(),
                Err(error) => return Err(self.fail(error)),
            }
        }
        Ok(Some(false))
    }

    /// As [`fill`](Source::fill); the number of instructions in the batch, `None` at the end.
    fn fill_counted(&mut self, batch: &mut Batch) -> Result<Option<u64>> {
        batch.clear();
        if let Some(error) = self.error.take() {
            return Err(self.fail(error));
        }
        if self.failed {
            return Ok(None);
        }
        loop {
            self.cancel.check()?;
            let Some(decoder) = self.sources.get_mut(self.current) else { return Ok(None) };
            let (source, number) = (self.current as u16, decoder.instructions());
            (batch.source, batch.first_instruction) = (source, number);
            if let Some((offset, gap)) = self.gap.take() {
                batch.push_gap(offset, gap);
            }
            let filled = decoder.fill(batch);
            // The decoder may have handed over a batch of its own.
            (batch.source, batch.first_instruction) = (source, number);
            let instructions = decoder.instructions() - number;
            batch.contexts.iter().for_each(|context| self.context.update(context));
            if filled == Ok(false) {
                self.close();
            }
            match filled {
                Err(error) if batch.events.is_empty() => return Err(self.fail(error)),
                Err(error) => self.error = Some(error),
                Ok(_) if batch.events.is_empty() => continue,
                Ok(_) => {}
            }
            return Ok(Some(instructions));
        }
    }
}

impl<D: Decode> Source for Stream<D> {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
        Ok(self.fill_counted(batch)?.is_some())
    }

    fn observe(&mut self, observer: &mut dyn Observer) -> Result<bool> {
        let mut batch = Batch::default();
        for _ in 0..BATCHES {
            if let Some(more) = self.observe_parts(observer)? {
                observer.place(&mut || self.save());
                return Ok(more);
            }
            let Some(instructions) = self.fill_counted(&mut batch)? else { return Ok(false) };
            observer.observe_counted(&batch, instructions);
            observer.place(&mut || self.save());
        }
        Ok(true)
    }

    fn places_parts(&self) -> bool {
        self.threads > 1 && self.sources.iter().all(Decode::places_parts)
    }

    fn has_parts(&self) -> bool {
        self.threads > 1 && self.sources.iter().all(Decode::has_parts)
    }

    fn resync(&mut self) -> Result<bool> {
        let Some(decoder) = self.sources.get_mut(self.current) else { return Ok(false) };
        match decoder.enter()? {
            Entry::Here => {}
            Entry::After { offset, gap } => self.gap = Some((offset, gap)),
            Entry::End => {
                self.close();
                if self.current == self.sources.len() {
                    return Ok(false);
                }
            }
        }
        self.failed = false;
        Ok(true)
    }

    fn seek(&mut self, n: u64) -> Result<u64> {
        // Positions count per source: only a single one can be entered by number.
        match &mut self.sources[..] {
            [decoder] => {
                decoder.seek(n)?;
                Ok(decoder.instructions())
            }
            _ => Ok(0),
        }
    }

    fn save(&self) -> Option<Saved> {
        if self.failed || self.error.is_some() || self.gap.is_some() {
            return None;
        }
        let decoder = self.decoder()?;
        Some(Saved {
            source: self.current as u16,
            instruction: decoder.instructions(),
            position: decoder.position(),
            context: self.context,
            state: decoder.save()?,
        })
    }

    fn restore(&mut self, saved: &Saved) -> Result<bool> {
        let current = usize::from(saved.source);
        let Some(decoder) = self.sources.get_mut(current) else { return Ok(false) };
        if !decoder.restore(&saved.state, saved.instruction)? {
            return Ok(false);
        }
        (self.current, self.context) = (current, saved.context);
        Ok(true)
    }

    fn context(&self) -> Context {
        self.context
    }

    fn progress(&self) -> Option<(u64, u64)> {
        let rest = self.sources.get(self.current..)?;
        let position = rest.first().map_or(0, Decode::position);
        let total = rest.iter().try_fold(self.done, |sum, one| Some(sum.saturating_add(one.size()?)))?;
        Some((self.done.saturating_add(position), total))
    }

    fn census(&self) -> Census {
        let mut census = self.census.clone();
        if let Some(decoder) = self.sources.get(self.current) {
            census.merge(&decoder.census());
        }
        census
    }
}
