//! Cancelling a run from outside.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::error::{ErrorKind, Result};

/// A switch that ends every stream that holds a clone of it, between two batches.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Asks all holders to stop.
    pub fn cancel(&self) {
        self.0.store(true, Relaxed);
    }

    /// True once [`cancel`](Cancel::cancel) was called.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Relaxed)
    }

    /// An error once cancelled.
    pub(crate) fn check(&self) -> Result<()> {
        if self.is_cancelled() { Err(ErrorKind::Cancelled.at(0, "run", "", "")) } else { Ok(()) }
    }
}
