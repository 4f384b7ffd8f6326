//! A trace that is read by one thread at a time and worked on by several.

use std::convert::Infallible;

use trackway_core::{Batch, Observer, Pool, Saved, Source, in_order_with};

use crate::health::{Ended, Health};

/// Events or instructions of a group, at least. A thread that waits for another to read or to lower a group mostly sleeps, and
/// waking it takes 20 µs: so much work that this hardly counts is worth more than events that stay in a cache.
const ENOUGH: u64 = 1 << 14;

/// Instructions between two places that are saved for an observer.
const DISTANCE: u64 = 1 << 14;

/// Knowledge of the events before a group, for the work on it.
pub trait Before: Send {
    /// The knowledge before a group.
    type State: Send;

    /// The knowledge after all batches so far; it is asked once for each group.
    fn state(&mut self) -> Self::State;

    /// Takes in the next batch.
    fn batch(&mut self, batch: &Batch);
}

/// As [`read_all`](crate::read_all), on several threads: whichever is free reads the next group of batches and hands it, with
/// the state before it, to `work`; the caller's thread hands the results to `join`, in order. A thread
/// works on what it has read, with what is `local` to it, and only a few groups exist at once.
pub fn read_in_groups<B: Before, L, T: Send, E>(
    source: &mut dyn Source,
    (threads, strict): (usize, bool),
    past: &mut B,
    progress: impl FnMut(&dyn Source, &Health) + Send,
    local: impl Fn() -> L + Sync,
    work: impl Fn(&mut L, B::State, &mut [Batch]) -> T + Sync,
    mut join: impl FnMut(T) -> Result<(), E>,
) -> (Health, Result<(), Ended<E>>) {
    let spare = Pool::default();
    let mut lent = if threads > 1 { source.lend() } else { None };
    let mut groups = Groups {
        source,
        strict,
        // One thread has no use for more than a batch in its cache.
        enough: if threads > 1 { ENOUGH } else { 1 },
        past,
        progress,
        health: Health::default(),
        spare: &spare,
        fork: lent.as_ref().map(|lent| lent.fork()),
        since: 0,
        ended: None,
    };
    let joined = in_order_with(
        threads,
        &mut groups,
        local,
        |own, group| {
            let Group { before, mut batches, used, part } = group;
            let seen = part.map(|part| part.seen(&batches[..used]));
            let result = work(own, before, &mut batches[..used]);
            // At once, while they are in the cache.
            spare.put(batches);
            (result, seen)
        },
        |(result, seen)| {
            if let (Some(lent), Some((part, mut place))) = (&mut lent, seen) {
                lent.merge(part);
                lent.place(&mut || place.take());
            }
            join(result)
        },
    );
    let Groups { source, mut health, ended, .. } = groups;
    lent.into_iter().for_each(|lent| source.take_back(lent));
    health.finish(source);
    let ended = match (joined, ended) {
        (Err(error), _) => Err(Ended::Caller(error)),
        (_, None | Some(Ok(()))) => Ok(()),
        (_, Some(Err(Ended::Error(error)))) => Err(Ended::Error(error)),
        (_, Some(Err(Ended::Strict(error)))) => Err(Ended::Strict(error)),
        (_, Some(Err(Ended::Caller(never)))) => match never {},
    };
    (health, ended)
}

/// Batches that follow each other.
struct Group<S> {
    before: S,
    batches: Vec<Batch>,
    /// Batches of this group; the others are there to be filled again.
    used: usize,
    part: Option<Lent>,
}

/// A part for an observer that was [lent](Source::lend).
struct Lent {
    fork: Box<dyn Observer>,
    /// Errors that end it.
    errors: u64,
    /// The place after it, where one is due.
    place: Option<Saved>,
}

impl Lent {
    /// Shows it the batches.
    fn seen(self, batches: &[Batch]) -> (Box<dyn Observer>, Option<Saved>) {
        let Lent { mut fork, errors, place } = self;
        batches.iter().for_each(|batch| fork.observe(batch));
        (0..errors).for_each(|_| fork.error());
        (fork, place)
    }
}

/// Reads groups, past damage where possible.
struct Groups<'g, B, P> {
    source: &'g mut dyn Source,
    strict: bool,
    enough: u64,
    past: &'g mut B,
    progress: P,
    health: Health,
    spare: &'g Pool<Vec<Batch>>,
    /// What every part of a lent observer begins as.
    fork: Option<Box<dyn Observer>>,
    /// Instructions since the last place.
    since: u64,
    /// Nothing more is read.
    ended: Option<Result<(), Ended<Infallible>>>,
}

impl<B: Before, P: FnMut(&dyn Source, &Health) + Send> Iterator for Groups<'_, B, P> {
    type Item = Group<B::State>;

    fn next(&mut self) -> Option<Group<B::State>> {
        if self.ended.is_some() {
            return None;
        }
        let (before, mut batches) = (self.past.state(), self.spare.take_or(Vec::new));
        let (mut used, mut held, mut errors) = (0, 0, 0);
        let begun = self.health.counts.instructions;
        // An error ends a group: it belongs between two batches.
        while held < self.enough && errors == 0 && self.ended.is_none() {
            if used == batches.len() {
                batches.push(Batch::default());
            }
            let (batch, passed) = (&mut batches[used], self.health.errors);
            let read = self.health.step(self.source, self.strict, |source, counts| {
                let more = source.fill(batch).map_err(Ended::Error)?;
                // At the end it is empty, and of any source.
                if more || !batch.events.is_empty() {
                    let instructions = counts.instructions;
                    counts.observe(batch);
                    self.past.batch(batch);
                    used += 1;
                    held += (counts.instructions - instructions).max(batch.events.len() as u64);
                }
                Ok(more)
            });
            match read {
                Ok(more) => {
                    (self.progress)(self.source, &self.health);
                    self.ended = (!more).then_some(Ok(()));
                }
                Err(ended) => {
                    errors += u64::from(!matches!(ended, Ended::Caller(_)));
                    self.ended = Some(Err(ended));
                }
            }
            errors += self.health.errors - passed;
        }
        self.since += self.health.counts.instructions - begun;
        let part = self.fork.as_ref().map(|fork| {
            let place = if self.since >= DISTANCE { self.source.save() } else { None };
            self.since = if place.is_some() { 0 } else { self.since };
            Lent { fork: fork.fork(), errors, place }
        });
        Some(Group { before, batches, used, part })
    }
}
