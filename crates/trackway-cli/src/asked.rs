//! The command that a thread runs for another program: its objects and messages go there, not to stdout and stderr.

use std::cell::RefCell;

use trackway_core::Cancel;

/// Lines and messages so far, and the switch that ends the command.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    /// The objects that it printed.
    pub(crate) lines: Vec<String>,
    /// Warnings, damage.
    pub(crate) messages: Vec<String>,
    cancel: Cancel,
}

thread_local! {
    static ASKED: RefCell<Option<Asked>> = const { RefCell::new(None) };
}

/// From here on this thread runs a command for another program, until [`end`].
pub(crate) fn begin(cancel: &Cancel) {
    ASKED.set(Some(Asked { cancel: cancel.clone(), ..Asked::default() }));
}

/// Everything that came since [`begin`].
pub(crate) fn end() -> Asked {
    ASKED.take().unwrap_or_default()
}

/// The switch that ends the command of this thread, if another program runs it.
pub(crate) fn cancel() -> Option<Cancel> {
    ASKED.with_borrow(|asked| asked.as_ref().map(|asked| asked.cancel.clone()))
}

/// Takes the line of an object, if another program runs the command.
pub(crate) fn take_line(line: &str) -> bool {
    take(|asked| asked.lines.push(line.trim_end().to_string()))
}

/// Takes a message, if another program runs the command.
pub(crate) fn take_message(line: &str) -> bool {
    take(|asked| asked.messages.push(anstream::adapter::strip_str(line).to_string()))
}

fn take(put: impl FnOnce(&mut Asked)) -> bool {
    ASKED.with_borrow_mut(|asked| asked.as_mut().map(put).is_some())
}
