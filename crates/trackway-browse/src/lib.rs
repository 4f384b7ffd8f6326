//! A trace on the terminal, for those without a browser: the instruction list, source, registers and call stack at a
//! position, search, and who wrote a value.
//!
//! ```text
//! keys ──terminal.rs──▶ app.rs (position, prompts, popups) ──▶ Session (trackway-tools) ──▶ the trace
//! screen ◀──draw.rs (layout) ◀──panes.rs (lines of each pane), source.rs (files)
//! ```
//!
//! The list is a window of a few rows: memory does not grow with the trace, nor with the time that it is looked at.
//! Unknown is shown as unknown. Nothing is written, and nothing but the trace and source files is read.
#![forbid(unsafe_code)]

mod app;
mod draw;
mod panes;
mod source;
mod terminal;

pub use app::{App, Options};
pub use terminal::{print, run};
