//! Values that are expensive to create, kept for reuse.

use std::sync::{Mutex, PoisonError};

/// A pool of values that are expensive to create, such as batches and decoders, shared between threads.
///
/// ```
/// let pool = trackway_core::Pool::default();
/// let mut list: Vec<u8> = pool.take_or(|| Vec::with_capacity(100));
/// list.push(1);
/// pool.put(list);
/// assert_eq!(pool.take_or(Vec::new), [1]);
/// ```
#[derive(Debug)]
pub struct Pool<T>(Mutex<Vec<T>>);

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Pool(Mutex::new(Vec::new()))
    }
}

impl<T> Pool<T> {
    /// A value that was put back, unchanged.
    pub fn take(&self) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    /// A value that was put back, unchanged, or a new one.
    pub fn take_or(&self, make: impl FnOnce() -> T) -> T {
        self.take().unwrap_or_else(make)
    }

    /// Puts a value back.
    pub fn put(&self, value: T) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(value);
    }
}
