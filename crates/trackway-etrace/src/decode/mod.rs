//! Packets to events: frames and packets in order or in parts, the walk through the program, data accesses.

mod accesses;
pub(crate) mod attach;
mod cuts;
mod data;
mod fault;
mod packets;
pub(crate) mod serial;
mod setup;
mod walk;

pub(crate) use cuts::{PART_BYTES, Part, Scanner};
pub use data::{DataDecoder, Decoded, DecodedAccess};
pub use fault::Fault;
pub(crate) use setup::Setup;
