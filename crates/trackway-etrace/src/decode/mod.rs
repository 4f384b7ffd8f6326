//! Packets to events (chapter 11, and its successor in version 2).
//!
//! | step | here |
//! |---|---|
//! | frames and packets of a source or a part, in order | `serial` |
//! | the parts of a source, cut at synchronisation packets | `cuts` |
//! | places to continue from later | `places` |
//! | the effect of each packet | `packets` |
//! | the walk through the program that a packet asks for | `walk`, and `fault` if it fails |
//! | data packets to accesses | [`DataDecoder`] |
//! | accesses to the instructions that made them | `attach`, `accesses` |

mod accesses;
pub(crate) mod attach;
mod cuts;
mod data;
mod fault;
mod markers;
mod packets;
pub(crate) mod places;
pub(crate) mod serial;
mod setup;
mod walk;

pub(crate) use cuts::{PART_BYTES, Part, Scanner};
pub use data::{DataDecoder, Decoded, DecodedAccess};
pub(crate) use packets::{Known, call_of};
pub(crate) use setup::Setup;
