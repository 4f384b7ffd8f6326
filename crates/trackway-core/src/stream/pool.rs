//! Values that are expensive to create, kept for reuse.

use std::sync::{Mutex, PoisonError};
use std::thread::{self, ThreadId};

/// A pool of values that are expensive to create, such as batches and decoders, shared between threads. A thread gets back
/// its own where it can: the memory of another's is in the cache of another core.
///
/// ```
/// let pool = trackway_core::Pool::default();
/// let mut list: Vec<u8> = pool.take_or(|| Vec::with_capacity(100));
/// list.push(1);
/// pool.put(list);
/// assert_eq!(pool.take_or(Vec::new), [1]);
/// ```
#[derive(Debug)]
pub struct Pool<T>(Mutex<Vec<(ThreadId, T)>>);

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Pool(Mutex::new(Vec::new()))
    }
}

impl<T> Pool<T> {
    /// A value that was put back, unchanged.
    pub fn take(&self) -> Option<T> {
        let mut values = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let here = thread::current().id();
        let own = values.iter().rposition(|(thread, _)| *thread == here);
        let index = own.or(values.len().checked_sub(1))?;
        Some(values.remove(index).1)
    }

    /// A value that was put back, unchanged, or a new one.
    pub fn take_or(&self, make: impl FnOnce() -> T) -> T {
        self.take().unwrap_or_else(make)
    }

    /// A value that belongs to this thread, unchanged; one of another thread would have to change its core.
    pub fn take_own(&self) -> Option<T> {
        let mut values = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let here = thread::current().id();
        let own = values.iter().rposition(|(thread, _)| *thread == here)?;
        Some(values.remove(own).1)
    }

    /// Puts a value back.
    pub fn put(&self, value: T) {
        self.put_for(thread::current().id(), value);
    }

    /// Puts a value back for the thread that has worked on it.
    pub fn put_for(&self, thread: ThreadId, value: T) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((thread, value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_gets_back_its_own() {
        let pool = Pool::default();
        pool.put(1);
        thread::scope(|scope| {
            scope.spawn(|| {
                pool.put(2);
                pool.put(3);
                assert_eq!(pool.take(), Some(3));
            });
        });
        assert_eq!((pool.take(), pool.take(), pool.take()), (Some(1), Some(2), None));
    }

    #[test]
    fn a_value_that_another_thread_puts_back_keeps_its_owner() {
        let pool = Pool::default();
        let owner = thread::current().id();
        thread::scope(|scope| {
            scope.spawn(|| {
                pool.put_for(owner, 1);
                assert_eq!(pool.take_own(), None);
            });
        });
        assert_eq!((pool.take_own(), pool.take_own()), (Some(1), None));
    }
}
