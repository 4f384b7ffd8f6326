//! Programs that run under QEMU, as a source of events that any format's sink can write.
//!
//! A plugin of our own (`plugin/qemu`) runs inside QEMU and hands over what the guest executes; [`Session`] receives it
//! while the guest runs, and [`Recorder`] lifts it to events. The plugin is a file of its own and no part of this crate.
#![forbid(unsafe_code)]

mod calls;
mod clock;
mod code;
mod error;
mod fold;
mod frame;
mod interrupts;
mod launch;
mod lift;
mod probe;
mod program;
mod recorder;
mod session;
mod shapes;
mod short;
mod thread;
mod usual;
#[cfg(test)]
mod ways;
mod window;

pub use error::Error;
pub use launch::Command;
pub use probe::{Plugins, Qemu};
pub use program::{Mode, Program};
pub use recorder::{End, QEMU, Recorder};
pub use session::Session;
pub use window::{Options, Position, Sample};
