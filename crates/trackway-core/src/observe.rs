//! Analyses that are learnt in parts, on as many threads as there are, and put together in order.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::batch::Batch;

/// Something learnt from events. What was learnt of two parts of a trace can be put together, so
/// [`Source::observe`](crate::Source::observe) gives each thread an observer of its own and the events stay in
/// the cache of the core that made them.
///
/// ```
/// use trackway_core::{Batch, Observer};
/// #[derive(Default)]
/// struct Traps(usize);
/// impl Observer for Traps {
///     fn observe(&mut self, batch: &Batch) {
///         self.0 += batch.traps.len();
///     }
///     fn another(&self) -> Box<dyn Observer> {
///         Box::new(Traps::default())
///     }
///     fn merge(&mut self, later: Box<dyn Observer>) {
///         self.0 += later.same::<Self>().0;
///     }
/// }
/// let mut traps = Traps(2);
/// traps.merge(Box::new(Traps(3)));
/// assert_eq!(traps.0, 5);
/// ```
pub trait Observer: Any + Send {
    /// Takes in a batch. Batches of a part come in order; they count instructions from the part's start
    /// unless the container has an index.
    fn observe(&mut self, batch: &Batch);

    /// One of the same kind that has seen nothing yet.
    fn another(&self) -> Box<dyn Observer>;

    /// Takes over what `later` learnt, which saw what follows all that this one saw. It was made by
    /// [`another`](Observer::another).
    fn merge(&mut self, later: Box<dyn Observer>);
}

impl dyn Observer {
    /// The observer as what it is.
    ///
    /// # Panics
    /// Where it is of another type: `merge` is only given what `another` made.
    pub fn same<O: Observer>(self: Box<Self>) -> Box<O> {
        let any: Box<dyn Any> = self;
        any.downcast().expect("an observer is merged with one of its kind")
    }
}

/// The smallest analysis: how many instructions there are, attempted ones included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count(pub u64);

impl Observer for Count {
    fn observe(&mut self, batch: &Batch) {
        self.0 += batch.instructions();
    }

    fn another(&self) -> Box<dyn Observer> {
        Box::new(Count::default())
    }

    fn merge(&mut self, later: Box<dyn Observer>) {
        self.0 += later.same::<Self>().0;
    }
}

/// Works on `parts` on several threads, the caller's among them, and gives the results to `join` in the
/// order of the parts. Threads run ahead of `join` by a few parts only; the first error ends it.
///
/// ```
/// let mut out = Vec::new();
/// trackway_core::in_order(2, 0..10, |n| n * n, |square| {
///     out.push(square);
///     Ok::<(), ()>(())
/// })?;
/// assert_eq!(out, [0, 1, 4, 9, 16, 25, 36, 49, 64, 81]);
/// # Ok::<(), ()>(())
/// ```
pub fn in_order<P, T: Send, E>(
    threads: usize,
    parts: impl Iterator<Item = P> + Send,
    work: impl Fn(P) -> T + Sync,
    mut join: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    if threads <= 1 {
        return parts.map(work).try_for_each(join);
    }
    let line = Line {
        state: Mutex::new(State { parts, taken: 0, joined: 0, done: VecDeque::new(), over: false }),
        changed: Condvar::new(),
        ahead: threads * 2,
    };
    std::thread::scope(|scope| {
        // Also when a thread unwinds: nobody may wait for what will never come.
        let _over = Over(&line);
        for _ in 1..threads {
            scope.spawn(|| {
                let _over = Unwound(&line);
                while let Some((n, part)) = line.take_or_wait() {
                    let result = work(part);
                    line.put(n, result);
                }
            });
        }
        loop {
            match line.next() {
                Next::Join(result) => join(result)?,
                Next::Work(n, part) => {
                    let result = work(part);
                    line.put(n, result);
                }
                Next::End => return Ok(()),
            }
        }
    })
}

/// Things that are dear to make, from part to part and from thread to thread: batches, decoders.
///
/// ```
/// let spare = trackway_core::Spare::default();
/// let mut list: Vec<u8> = spare.take_or(|| Vec::with_capacity(100));
/// list.push(1);
/// spare.put(list);
/// assert_eq!(spare.take_or(Vec::new), [1]);
/// ```
#[derive(Debug)]
pub struct Spare<T>(Mutex<Vec<T>>);

impl<T> Default for Spare<T> {
    fn default() -> Self {
        Spare(Mutex::new(Vec::new()))
    }
}

impl<T> Spare<T> {
    /// One that was put back, as it was.
    pub fn take(&self) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    /// One that was put back, as it was, or a new one.
    pub fn take_or(&self, make: impl FnOnce() -> T) -> T {
        self.take().unwrap_or_else(make)
    }

    /// Puts one back.
    pub fn put(&self, thing: T) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(thing);
    }
}

/// Parts on their way.
struct Line<I, T> {
    state: Mutex<State<I, T>>,
    changed: Condvar,
    ahead: usize,
}

struct State<I, T> {
    parts: I,
    taken: usize,
    joined: usize,
    /// Results of the parts from `joined` on.
    done: VecDeque<Option<T>>,
    over: bool,
}

/// What the caller does next.
enum Next<P, T> {
    Join(T),
    Work(usize, P),
    End,
}

impl<P, T, I: Iterator<Item = P>> State<I, T> {
    fn take(&mut self, ahead: usize) -> Option<(usize, P)> {
        if self.over || self.taken >= self.joined + ahead {
            return None;
        }
        let part = self.parts.next();
        self.over |= part.is_none();
        self.taken += usize::from(part.is_some());
        if part.is_some() {
            self.done.push_back(None);
        }
        part.map(|part| (self.taken - 1, part))
    }
}

impl<P, T, I: Iterator<Item = P>> Line<I, T> {
    fn lock(&self) -> MutexGuard<'_, State<I, T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For a worker: the next part, when it may be begun.
    fn take_or_wait(&self) -> Option<(usize, P)> {
        let mut state = self.lock();
        loop {
            if let Some(taken) = state.take(self.ahead) {
                return Some(taken);
            }
            if state.over {
                // Others may wait to hear that nothing more comes.
                self.changed.notify_all();
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn put(&self, n: usize, result: T) {
        let mut state = self.lock();
        // After a panic the places are gone.
        if let Some(place) = n.checked_sub(state.joined).and_then(|place| state.done.get_mut(place)) {
            *place = Some(result);
        }
        self.changed.notify_all();
    }

    /// For the caller: joining goes before working.
    fn next(&self) -> Next<P, T> {
        let mut state = self.lock();
        loop {
            if let Some(Some(_)) = state.done.front()
                && let Some(Some(result)) = state.done.pop_front()
            {
                state.joined += 1;
                self.changed.notify_all();
                return Next::Join(result);
            }
            if let Some((n, part)) = state.take(self.ahead) {
                return Next::Work(n, part);
            }
            if state.over && state.joined == state.taken {
                return Next::End;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The caller leaves: no further part is begun.
struct Over<'l, I: Iterator, T>(&'l Line<I, T>);

impl<I: Iterator, T> Drop for Over<'_, I, T> {
    fn drop(&mut self) {
        self.0.lock().over = true;
        self.0.changed.notify_all();
    }
}

/// A worker that unwinds takes its part with it.
struct Unwound<'l, I: Iterator, T>(&'l Line<I, T>);

impl<I: Iterator, T> Drop for Unwound<'_, I, T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let mut state = self.0.lock();
            state.over = true;
            // The caller then ends, and the scope passes the panic on.
            state.joined = state.taken;
            state.done.clear();
            self.0.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_for_any_number_of_threads() {
        for threads in 1..6 {
            let mut seen = Vec::new();
            let slow = |n: u64| {
                // Later parts end sooner.
                std::thread::sleep(std::time::Duration::from_micros(50 * (7 - n % 7)));
                n
            };
            let ended = in_order(threads, 0..100, slow, |n| {
                seen.push(n);
                if n == 80 { Err(n) } else { Ok(()) }
            });
            assert_eq!(ended, Err(80));
            assert_eq!(seen, (0..=80).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_panic_of_a_part_is_passed_on() {
        let work = |n: u32| assert_ne!(n, 5, "the part that fails");
        let caught = std::panic::catch_unwind(|| in_order(3, 0..20, work, |()| Ok::<(), ()>(())));
        assert!(caught.is_err());
    }
}
