//! A value that threads work on in turn.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::queue::look;

/// A value that threads work on one after the other, in the order of numbers that they have: what has to happen in order then
/// happens on the thread that has made its input, which is in the cache of its core.
///
/// ```
/// let text = trackway_core::InTurn::new(String::new());
/// std::thread::scope(|scope| {
///     for n in (0..3).rev() {
///         let turn = text.turn(n);
///         scope.spawn(move || turn.take(|text| Ok::<(), ()>(text.push_str(&n.to_string()))));
///     }
/// });
/// assert_eq!(text.into_inner(), "012");
/// ```
#[derive(Debug)]
pub struct InTurn<T> {
    value: Mutex<T>,
    changed: Condvar,
    /// The next turn, for those who wait awake.
    next: AtomicUsize,
}

/// Instead of the next turn: there are no more.
const OVER: usize = usize::MAX;

/// A turn that has to be taken. If it is dropped, there are no later ones.
#[derive(Debug)]
pub struct Turn<'t, T> {
    turns: &'t InTurn<T>,
    number: usize,
    is_done: bool,
}

impl<T> InTurn<T> {
    /// The turn of number 0 is the first.
    pub fn new(value: T) -> Self {
        InTurn { value: Mutex::new(value), changed: Condvar::new(), next: AtomicUsize::new(0) }
    }

    /// The turn with a number; all numbers come up, each once.
    pub fn turn(&self, number: usize) -> Turn<'_, T> {
        Turn { turns: self, number, is_done: false }
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.value.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, T> {
        self.value.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a turn; none where all are over.
    fn wait(&self, number: usize) -> Option<MutexGuard<'_, T>> {
        let is_due = || matches!(self.next.load(Ordering::Acquire), next if next == number || next == OVER);
        look(is_due);
        let mut value = self.lock();
        while !is_due() {
            value = self.changed.wait(value).unwrap_or_else(PoisonError::into_inner);
        }
        (self.next.load(Ordering::Acquire) == number).then_some(value)
    }
}

impl<T> Turn<'_, T> {
    /// Waits for the turn and works on the value. An error is the end: later turns do nothing, and return `None`.
    pub fn take<R, E>(mut self, work: impl FnOnce(&mut T) -> Result<R, E>) -> Option<Result<R, E>> {
        let result = work(&mut *self.turns.wait(self.number)?);
        self.is_done = result.is_ok();
        Some(result)
    }
}

/// Hands the turn on, also when it unwinds: no thread may wait for one that will never come.
impl<T> Drop for Turn<'_, T> {
    fn drop(&mut self) {
        let value = self.turns.lock();
        self.turns.next.store(if self.is_done { self.number + 1 } else { OVER }, Ordering::Release);
        drop(value);
        self.turns.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_or_a_turn_that_is_not_taken_is_the_end() {
        for is_taken in [true, false] {
            let list = InTurn::new(Vec::new());
            std::thread::scope(|scope| {
                for n in (0..8).rev() {
                    let turn = list.turn(n);
                    scope.spawn(move || {
                        if n == 5 && !is_taken {
                            return;
                        }
                        let taken = turn.take(|list| {
                            list.push(n);
                            if n == 5 { Err(()) } else { Ok(()) }
                        });
                        assert!(!is_taken || taken.is_none() == (n > 5));
                    });
                }
            });
            // A turn may be dropped before it comes.
            let list = list.into_inner();
            assert!(list.iter().copied().eq(0..list.len()) && list.len() <= 6);
            assert!(!is_taken || list.len() == 6);
        }
    }
}
