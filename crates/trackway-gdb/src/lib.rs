//! A server for gdb and lldb: a trace is debugged as if the program ran, forwards and backwards.
//!
//! ```text
//! bytes of gdb ──connection.rs──▶ gdbstub ──target.rs──▶ Replay (trackway-tools) ──▶ the trace
//!                                              ├──registers.rs: register files, unknown is unavailable
//!                                              └──monitor.rs: `monitor where`, `goto`, `why`, `gaps`, `bt`, `next`, `finish`
//! ```
//!
//! Nothing of the host can be reached through it: no files, no processes, no memory but that of the trace.
#![forbid(unsafe_code)]

mod connection;
mod monitor;
mod registers;
mod target;

use std::io::{Read, Write};

use gdbstub::stub::{DisconnectReason, GdbStub};
use trackway_tools::replay::Replay;

use connection::Connection;
use target::{Moves, Target};

/// A source of a trace: a thread of the debugger.
#[derive(Debug)]
pub struct Thread {
    /// Its name; empty where the trace has one source only.
    pub name: String,
    /// Its position.
    pub replay: Replay,
}

/// The end of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The debugger let go: it may come back.
    Detached,
    /// The debugger ended the session, or the connection was closed.
    Killed,
}

/// Why a session broke.
#[derive(Debug)]
pub enum Error {
    /// The trace cannot be read any more.
    Trace(trackway::Error),
    /// The debugger cannot be reached any more, or does not speak its protocol.
    Connection(std::io::Error),
}

/// Serves one debugger until it ends the session; `threads` has at least one.
///
/// # Errors
/// The connection breaks in the middle; the trace cannot be read any more.
pub fn serve(
    threads: &mut [Thread],
    input: impl Read + Send + 'static,
    output: impl Write + 'static,
) -> Result<Ended, Error> {
    let connection = Connection::new(input, Box::new(output));
    let Some(mut target) = Target::new(threads) else { return Ok(Ended::Killed) };
    let error = match GdbStub::new(connection).run_blocking::<Moves<'_>>(&mut target) {
        Ok(DisconnectReason::Disconnect) => return Ok(Ended::Detached),
        Ok(_) => return Ok(Ended::Killed),
        Err(error) => error,
    };
    let text = error.to_string();
    if error.is_connection_error() {
        return match error.into_connection_error() {
            Some((error, _)) if error.kind() != std::io::ErrorKind::UnexpectedEof => {
                Err(Error::Connection(error))
            }
            _ => Ok(Ended::Killed),
        };
    }
    Err(error
        .into_target_error()
        .map_or_else(|| Error::Connection(std::io::Error::other(text)), Error::Trace))
}
