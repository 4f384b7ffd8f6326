//! SIGINT and SIGTERM.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use trackway_core::Cancel;

use crate::exit::Exit;

/// Set by a command that ends in good order when it is interrupted.
static CANCEL: OnceLock<Cancel> = OnceLock::new();
/// The command has nothing left to put in order.
static RELEASED: AtomicBool = AtomicBool::new(false);

/// From here on a signal ends the program with the exit code for it, or trips [`cancel`].
pub(crate) fn install() {
    let interrupted = || match CANCEL.get() {
        Some(cancel) if !cancel.is_cancelled() && !RELEASED.load(Relaxed) => cancel.cancel(),
        // Nobody waits for it, or this is the second one.
        _ => std::process::exit(Exit::Interrupted as i32),
    };
    // Where signals cannot be caught they end the program at once.
    let _ = ctrlc::set_handler(interrupted);
}

/// A switch that the first signal trips; the command then ends in good order.
pub(crate) fn cancel() -> Cancel {
    CANCEL.get_or_init(Cancel::default).clone()
}

/// The outputs are complete: from here on a signal ends the program at once.
pub(crate) fn release() {
    RELEASED.store(true, Relaxed);
}
