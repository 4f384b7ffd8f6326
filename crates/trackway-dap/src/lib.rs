//! A debug adapter: a trace is debugged from an editor as if the program ran, forwards and backwards.
//!
//! ```text
//! bytes of the editor ──wire.rs──▶ requests ──adapter.rs──▶ Session (trackway-tools) ──▶ the trace
//!                                                ├──breakpoints.rs: lines, functions, addresses, memory
//!                                                └──view.rs: threads, frames, registers, memory, disassembly
//! ```
//!
//! It speaks the Debug Adapter Protocol, version 1: each message is JSON after a header with its length. Nothing of the
//! host can be reached through it: no files, no processes, no memory but that of the trace. Paths of sources are those
//! of the program's debug information; the editor reads the files itself.
#![forbid(unsafe_code)]

mod adapter;
mod breakpoints;
mod view;
mod wire;

use std::io::{Read, Write};

use trackway_tools::replay::{Broken, Ended, Session};

/// Serves one editor until it ends the session.
///
/// # Errors
/// The connection breaks in the middle, or does not speak the protocol; the trace cannot be read any more.
pub fn serve(
    session: &mut Session,
    input: impl Read + Send + 'static,
    output: impl Write + 'static,
) -> Result<Ended, Broken> {
    let wire = wire::Wire::new(input, Box::new(output));
    adapter::Adapter::new(session, wire).run()
}
