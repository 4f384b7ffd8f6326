//! The three interfaces of a format: events out, events in, native items as text.

use crate::ahead::Ahead;
use crate::census::Census;
use crate::error::Result;
use crate::events::{Batch, Context, Folded, Meta};
use crate::ledger::Account;
use crate::observer::Observer;
use crate::saved::Saved;

/// Produces events: the `lift` side of a format. Formats implement [`Decode`](crate::Decode) and get this from
/// [`Stream`](crate::Stream). Threads may take turns in reading from it.
pub trait Source: Send {
    /// Facts about the trace as a whole.
    fn meta(&self) -> &Meta;

    /// The source whose events these are, for one that wraps another: [`resync`](Source::resync),
    /// [`context`](Source::context), [`progress`](Source::progress), [`census`](Source::census) and
    /// [`doubtful`](Source::doubtful) are then its own. Places are not: they may mean something else in the wrapper.
    fn inner(&self) -> Option<&dyn Source> {
        None
    }

    /// The same, to be changed.
    fn inner_mut(&mut self) -> Option<&mut dyn Source> {
        None
    }

    /// Clears `batch` and fills it with the next events; false at the end.
    ///
    /// Events before bad input are delivered first; the error comes with the next call. After it the
    /// caller either stops or calls [`resync`](Source::resync).
    fn fill(&mut self, batch: &mut Batch) -> Result<bool>;

    /// Shows the next stretch of the trace to `observer`, on as many threads as the source was opened with;
    /// false at the end. Errors and what comes after them are as with [`fill`](Source::fill), and both see the
    /// same events, whatever the number of threads.
    fn observe(&mut self, observer: &mut dyn Observer) -> Result<bool> {
        let mut batch = Batch::default();
        // Enough to reuse one batch many times, few enough for progress to be seen.
        for _ in 0..256 {
            if !self.fill(&mut batch)? {
                return Ok(false);
            }
            observer.observe(&batch);
            observer.place(&mut || self.save());
        }
        Ok(true)
    }

    /// After an error: finds the next place where decoding can continue. True if there is one; the next
    /// batch then begins with a `Gap`.
    fn resync(&mut self) -> Result<bool> {
        self.inner_mut().map_or(Ok(false), |inner| inner.resync())
    }

    /// Before the first `fill`: jumps towards instruction `n` if the container has an index. Returns the
    /// number of the instruction that will come first, at most `n`.
    fn seek(&mut self, n: u64) -> Result<u64> {
        let _ = n;
        Ok(0)
    }

    /// True if [`observe`](Source::observe) shows parts on several threads and says after each of them where it ended.
    fn places_parts(&self) -> bool {
        false
    }

    /// True if [`observe`](Source::observe) decodes most of the trace in parts, on several threads.
    fn has_parts(&self) -> bool {
        self.inner().is_some_and(|inner| inner.has_parts())
    }

    /// The place between the last batch and the next, where decoding can be entered again.
    fn save(&self) -> Option<Saved> {
        None
    }

    /// Before the first `fill`: continues from a place saved by another source of the same trace, opened in the same
    /// way. False, and nothing has changed, if it cannot be entered.
    fn restore(&mut self, saved: &Saved) -> Result<bool> {
        let _ = saved;
        Ok(false)
    }

    /// The observer that it shows every batch to, for a caller that does so in its place: to [forks](Observer::fork) of it, on any
    /// thread, which it merges in order, with the [places](Source::save) between them. None if there is no such observer, or the
    /// batches are not those that it has to see.
    fn lend(&mut self) -> Option<Box<dyn Observer>> {
        None
    }

    /// Takes back what it has [lent](Source::lend).
    fn take_back(&mut self, observer: Box<dyn Observer>) {
        if let Some(inner) = self.inner_mut() {
            inner.take_back(observer);
        }
    }

    /// The context before the next batch; after [`restore`](Source::restore) that of events never delivered.
    fn context(&self) -> Context {
        self.inner().map_or_else(Context::default, |inner| inner.context())
    }

    /// Current position and total, in any one unit; for progress bars.
    fn progress(&self) -> Option<(u64, u64)> {
        self.inner()?.progress()
    }

    /// Native items read so far.
    fn census(&self) -> Census {
        self.inner().map_or_else(Census::default, |inner| inner.census())
    }

    /// Doubtful runs that were passed on as steps so far, which cannot say so.
    fn doubtful(&self) -> u64 {
        self.inner().map_or(0, |inner| inner.doubtful())
    }
}

/// Consumes events: the `lower` side of a format. Threads may take turns in writing to it.
pub trait Sink: Send {
    /// Writes the events of a batch.
    fn put(&mut self, batch: &Batch) -> Result<()>;

    /// A writer for another thread, where that saves the sink work.
    fn ahead(&self) -> Option<Box<dyn Ahead>> {
        None
    }

    /// As [`put`](Sink::put), for a batch that was shown to this writer; it is handed the same batches in the same order.
    fn put_ahead(&mut self, batch: &Batch, ahead: &mut dyn Ahead) -> Result<()> {
        let _ = ahead;
        self.put(batch)
    }

    /// True if repeats save it work: a producer should then fold its events.
    fn takes_repeats(&self) -> bool {
        false
    }

    /// Writes the events of a folded batch, as [`put`](Sink::put) does.
    fn put_folded(&mut self, folded: &Folded) -> Result<()> {
        let mut batch = Batch::default();
        folded.unfold(&mut batch);
        self.put(&batch)
    }

    /// Writes what is pending and closes. Returns the account of what became of the events.
    fn finish(&mut self) -> Result<Account>;
}

/// A native item, ready to show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Item {
    /// Byte offset in the decompressed stream.
    pub offset: u64,
    /// Length in bytes.
    pub len: u64,
    /// The spec's name for it.
    pub name: &'static str,
    /// The fields as text.
    pub text: String,
    /// A line in the style of the format's own listings; empty unless asked for.
    pub note: String,
}

/// Native items as text, for `dump --raw`.
pub trait Items {
    /// The next item into `item`; false at the end.
    fn next(&mut self, item: &mut Item) -> Result<bool>;

    /// Before the first `next`: jumps to item `n` if that costs less than reading what is before it. Returns
    /// the number of the item that will come first, at most `n`.
    fn seek(&mut self, n: u64) -> Result<u64> {
        let _ = n;
        Ok(0)
    }

    /// From here on items have a [`note`](Item::note), where the format has such listings.
    fn annotate(&mut self) {}

    /// After an error: continues at the next possible place; returns the bytes skipped.
    fn resync(&mut self) -> Result<Option<u64>> {
        Ok(None)
    }
}
