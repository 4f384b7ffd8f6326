//! Work on a thread of its own, while Python's lock is free and Ctrl-C is heard.

use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use trackway_core::Cancel;

/// How long Ctrl-C may wait.
const TICK: Duration = Duration::from_millis(50);
/// As much as the main thread of a program has.
const STACK: usize = 8 << 20;

/// Starts a thread.
pub(crate) fn spawn(work: impl FnOnce() + Send + 'static) -> PyResult<()> {
    std::thread::Builder::new().name("trackway".into()).stack_size(STACK).spawn(work)?;
    Ok(())
}

/// The next message of a thread, `None` after the last. Ctrl-C cancels the thread, which ends in good order first.
pub(crate) fn next<T: Send>(
    py: Python<'_>,
    cancel: &Cancel,
    messages: &Mutex<Receiver<T>>,
) -> PyResult<Option<T>> {
    loop {
        let received =
            py.detach(|| messages.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(TICK));
        match received {
            Ok(message) => return Ok(Some(message)),
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Err(interrupt) = py.check_signals() {
            cancel.cancel();
            py.detach(|| {
                let messages = messages.lock().unwrap_or_else(PoisonError::into_inner);
                while messages.recv().is_ok() {}
            });
            return Err(interrupt);
        }
    }
}

/// The result of `work`; `None` if its thread died.
pub(crate) fn result<T: Send + 'static>(
    py: Python<'_>,
    cancel: &Cancel,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (done, messages) = sync_channel(1);
    spawn(move || drop(done.send(work())))?;
    let died = || pyo3::exceptions::PyRuntimeError::new_err("a thread of trackway died");
    next(py, cancel, &Mutex::new(messages))?.ok_or_else(died)
}
