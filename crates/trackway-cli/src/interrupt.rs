//! SIGINT and SIGTERM.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use trackway::io::Target;
use trackway_core::Cancel;

use crate::exit::Exit;

/// Set by a command that ends in good order when it is interrupted.
static CANCEL: OnceLock<Cancel> = OnceLock::new();
/// Its output, where nothing of it is to be kept.
static OUTPUT: OnceLock<Target> = OnceLock::new();
/// The command has nothing left to put in order.
static RELEASED: AtomicBool = AtomicBool::new(false);

/// The command may hang where its terminal is gone.
static INSISTS: AtomicBool = AtomicBool::new(false);

/// When the first signal came, and how long another one is taken for the same.
static FIRST: OnceLock<Instant> = OnceLock::new();
const SAME: Duration = Duration::from_millis(300);

/// Time for a command to end: it may be waiting for input, or copying items, which cannot be cancelled.
const PATIENCE: Duration = Duration::from_secs(2);

/// From here on a signal ends the program with the exit code for it, or trips [`cancel`].
pub(crate) fn install() {
    let interrupted = || {
        match CANCEL.get() {
            Some(cancel) if !cancel.is_cancelled() && !RELEASED.load(Relaxed) => {
                let _ = FIRST.set(Instant::now());
                cancel.cancel();
                let output = OUTPUT.get();
                if output.is_none() && !INSISTS.load(Relaxed) {
                    return;
                }
                std::thread::sleep(PATIENCE);
                output.inspect(|output| output.discard());
            }
            // `timeout` signals a program, and then its group.
            Some(_) if !RELEASED.load(Relaxed) && FIRST.get().is_some_and(|first| first.elapsed() < SAME) => {
                return;
            }
            // The command does not wait for it, or this is the second one.
            _ => {}
        }
        // The pager got the signal too, and decides for itself when it ends.
        crate::pager::wait();
        std::process::exit(Exit::Interrupted as i32)
    };
    // Where signals cannot be caught they end the program at once.
    let _ = ctrlc::set_handler(interrupted);
}

/// A switch that the first signal trips; the command then ends in good order.
pub(crate) fn cancel() -> Cancel {
    crate::asked::cancel().unwrap_or_else(|| CANCEL.get_or_init(Cancel::default).clone())
}

/// Nothing of this output is kept when a signal comes, also where the command does not look at [`cancel`].
pub(crate) fn abandon(output: &Target) {
    if crate::asked::cancel().is_none() {
        let _ = OUTPUT.set(output.clone());
    }
}

/// A signal ends the program soon, also where the command does not look at [`cancel`].
pub(crate) fn insist() {
    INSISTS.store(true, Relaxed);
}

/// The command has ended: what it did not commit is removed.
pub(crate) fn end() {
    if let Some(output) = OUTPUT.get() {
        output.discard();
    }
}

/// The outputs are complete: from here on a signal ends the program at once.
pub(crate) fn release() {
    RELEASED.store(true, Relaxed);
}
