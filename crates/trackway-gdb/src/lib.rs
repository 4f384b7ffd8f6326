//! A server for gdb and lldb: a trace is debugged as if the program ran, forwards and backwards.
//!
//! ```text
//! bytes of gdb ──connection.rs──▶ gdbstub ──target.rs──▶ Replay (trackway-tools) ──▶ the trace
//!                                              ├──registers.rs: register files, unknown is unavailable
//!                                              └──monitor.rs: `monitor where`, `goto`, `why`, …
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
use trackway_tools::replay::{Broken, Ended, Session};

use connection::Connection;
use target::{Moves, Target};

/// Serves one debugger until it ends the session.
///
/// # Errors
/// The connection breaks in the middle; the trace cannot be read any more.
pub fn serve(
    session: &mut Session,
    input: impl Read + Send + 'static,
    output: impl Write + 'static,
) -> Result<Ended, Broken> {
    let connection = Connection::new(input, Box::new(output));
    let mut target = Target::new(session);
    let error = match GdbStub::new(connection).run_blocking::<Moves<'_>>(&mut target) {
        Ok(DisconnectReason::Disconnect) => return Ok(Ended::Detached),
        Ok(_) => return Ok(Ended::Killed),
        Err(error) => error,
    };
    let text = error.to_string();
    if error.is_connection_error() {
        return match error.into_connection_error() {
            Some((error, _)) if error.kind() != std::io::ErrorKind::UnexpectedEof => {
                Err(Broken::Connection(error))
            }
            _ => Ok(Ended::Killed),
        };
    }
    Err(error
        .into_target_error()
        .map_or_else(|| Broken::Connection(std::io::Error::other(text)), Broken::Trace))
}
