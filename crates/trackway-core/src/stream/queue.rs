//! An ordered pipeline over threads.

use std::collections::VecDeque;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// So long a thread looks for news before it sleeps: to be woken takes 20 µs, and most news come sooner. By the clock, as a pause
/// of the processor takes 10 to 40 ns.
const AWAKE: Duration = Duration::from_micros(10);

/// Waits awake, until there is news or it has been long enough.
pub(super) fn look(is_there: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_there() && start.elapsed() < AWAKE {
        (0..8).for_each(|_| spin_loop());
    }
}

/// Works on `parts` on several threads, the caller's among them, and passes the results to `join` in the
/// order of the parts. Threads run ahead of `join` by a few parts only; the first error ends it.
///
/// A thread works on the part that it took itself, which is then in its own cache: `parts` may be a decoder that hands out
/// batches. They are taken one after the other, and only the next taker waits for that.
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
    join: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    in_order_with(threads, parts, || (), |(), part| work(part), join)
}

/// As [`in_order`], with a value that each thread has for itself, such as its caches.
pub fn in_order_with<P, L, T: Send, E>(
    threads: usize,
    mut parts: impl Iterator<Item = P> + Send,
    local: impl Fn() -> L + Sync,
    work: impl Fn(&mut L, P) -> T + Sync,
    mut join: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    let mut own = local();
    if threads <= 1 {
        return parts.try_for_each(|part| join(work(&mut own, part)));
    }
    let queue = WorkQueue {
        state: Mutex::new(State {
            parts: Some(parts),
            taken: 0,
            joined: 0,
            done: VecDeque::new(),
            closed: false,
            asleep: 0,
        }),
        changed: Condvar::new(),
        news: AtomicU64::new(0),
        ahead: threads * 2,
    };
    std::thread::scope(|scope| {
        // Also when a thread unwinds: no thread may wait for a part that will never come.
        let _close = CloseOnExit(&queue);
        for _ in 1..threads {
            scope.spawn(|| {
                let _close = CloseOnPanic(&queue);
                let mut own = local();
                while let Some((n, part)) = queue.take_or_wait() {
                    let result = work(&mut own, part);
                    queue.put(n, result);
                }
            });
        }
        loop {
            match queue.next() {
                Next::Join(result) => join(result)?,
                Next::Work(n, part) => {
                    let result = work(&mut own, part);
                    queue.put(n, result);
                }
                Next::End => return Ok(()),
            }
        }
    })
}

/// Parts that are being worked on, and results that wait for their turn.
struct WorkQueue<I, T> {
    state: Mutex<State<I, T>>,
    changed: Condvar,
    /// Counts the changes, for those who wait for one.
    news: AtomicU64,
    ahead: usize,
}

struct State<I, T> {
    /// None while a thread takes a part, and after the last one.
    parts: Option<I>,
    /// Parts taken, one that is being taken included.
    taken: usize,
    joined: usize,
    /// Results of the parts from `joined` on.
    done: VecDeque<Option<T>>,
    closed: bool,
    /// Threads that have to be woken.
    asleep: usize,
}

type Guard<'q, I, T> = MutexGuard<'q, State<I, T>>;

/// Result of taking a part.
enum Taken<P> {
    /// Its number, and the part.
    Part(usize, P),
    /// There are no more.
    None,
    /// Not now.
    Not,
}

/// The caller's next step.
enum Next<P, T> {
    Join(T),
    Work(usize, P),
    End,
}

impl<P, T, I: Iterator<Item = P>> WorkQueue<I, T> {
    fn lock(&self) -> MutexGuard<'_, State<I, T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says that the state has changed.
    fn announce(&self, state: &State<I, T>) {
        self.news.fetch_add(1, Ordering::Release);
        if state.asleep > 0 {
            self.changed.notify_all();
        }
    }

    /// Waits for a change.
    fn wait<'q>(&'q self, state: Guard<'q, I, T>) -> Guard<'q, I, T> {
        let seen = self.news.load(Ordering::Acquire);
        drop(state);
        look(|| self.news.load(Ordering::Acquire) != seen);
        let mut state = self.lock();
        if self.news.load(Ordering::Acquire) == seen {
            state.asleep += 1;
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.asleep -= 1;
        }
        state
    }

    /// For a worker: the next part, once it may be begun.
    fn take_or_wait(&self) -> Option<(usize, P)> {
        let mut state = self.lock();
        while !state.closed {
            let taken;
            (state, taken) = self.take(state);
            match taken {
                Taken::Part(n, part) => return Some((n, part)),
                Taken::None => {}
                Taken::Not => state = self.wait(state),
            }
        }
        None
    }

    /// Takes the next part, unless another thread does or it would be too far ahead. Others may put and join meanwhile.
    fn take<'q>(&'q self, mut state: Guard<'q, I, T>) -> (Guard<'q, I, T>, Taken<P>) {
        if state.closed || state.taken >= state.joined + self.ahead {
            return (state, Taken::Not);
        }
        let Some(mut parts) = state.parts.take() else { return (state, Taken::Not) };
        let n = state.taken;
        state.taken += 1;
        state.done.push_back(None);
        drop(state);
        let part = parts.next();
        let mut state = self.lock();
        let taken = match part {
            Some(part) => {
                state.parts = Some(parts);
                Taken::Part(n, part)
            }
            None => {
                (state.taken, state.closed) = (n, true);
                // After a panic it is empty.
                state.done.pop_back();
                Taken::None
            }
        };
        // Both the next part and the end are news to those who wait.
        self.announce(&state);
        (state, taken)
    }

    fn put(&self, n: usize, result: T) {
        let mut state = self.lock();
        // After a panic the queue is empty.
        if let Some(place) = n.checked_sub(state.joined).and_then(|place| state.done.get_mut(place)) {
            *place = Some(result);
        }
        self.announce(&state);
    }

    /// For the caller: joining comes before working.
    fn next(&self) -> Next<P, T> {
        let mut state = self.lock();
        loop {
            if let Some(Some(_)) = state.done.front()
                && let Some(Some(result)) = state.done.pop_front()
            {
                state.joined += 1;
                self.announce(&state);
                return Next::Join(result);
            }
            if state.closed && state.joined >= state.taken {
                return Next::End;
            }
            let taken;
            (state, taken) = self.take(state);
            match taken {
                Taken::Part(n, part) => return Next::Work(n, part),
                Taken::None => continue,
                Taken::Not => {}
            }
            state = self.wait(state);
        }
    }
}

/// When the caller leaves, no further part is begun.
struct CloseOnExit<'l, I: Iterator, T>(&'l WorkQueue<I, T>);

impl<I: Iterator, T> Drop for CloseOnExit<'_, I, T> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.closed = true;
        self.0.announce(&state);
    }
}

/// When a worker panics, its part will never be joined.
struct CloseOnPanic<'l, I: Iterator, T>(&'l WorkQueue<I, T>);

impl<I: Iterator, T> Drop for CloseOnPanic<'_, I, T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let mut state = self.0.lock();
            state.closed = true;
            // The caller then leaves, and the scope passes the panic on.
            state.joined = state.taken;
            state.done.clear();
            self.0.announce(&state);
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
    fn a_thread_has_a_value_of_its_own_and_parts_may_be_slow() {
        for threads in 1..5 {
            let slow = (0..20u64).inspect(|_| std::thread::sleep(std::time::Duration::from_micros(200)));
            let mut seen = Vec::new();
            // A value that cannot change threads.
            let local = || std::rc::Rc::new(std::cell::Cell::new(0));
            let work = |own: &mut std::rc::Rc<std::cell::Cell<u64>>, n: u64| {
                own.set(own.get() + 1);
                (n, own.get())
            };
            let joined = in_order_with(threads, slow, local, work, |(n, nth)| {
                assert!(nth <= n + 1, "no thread has worked on more parts than there were");
                seen.push(n);
                Ok::<(), ()>(())
            });
            assert_eq!((joined, seen), (Ok(()), (0..20).collect()));
        }
    }

    #[test]
    fn a_panic_of_taking_a_part_is_passed_on() {
        for threads in [1, 3] {
            let parts = (0..20).inspect(|n| assert_ne!(*n, 7, "the part that cannot be taken"));
            let run = || in_order(threads, parts, |n| n, |_| Ok::<(), ()>(()));
            assert!(std::panic::catch_unwind(run).is_err());
        }
    }

    #[test]
    fn a_panic_of_a_part_is_passed_on() {
        let work = |n: u32| assert_ne!(n, 5, "the part that fails");
        let caught = std::panic::catch_unwind(|| in_order(3, 0..20, work, |()| Ok::<(), ()>(())));
        assert!(caught.is_err());
    }
}
