//! Arm's Embedded Trace Extension, and ETMv4.
#![forbid(unsafe_code)]

mod config;
mod decode;
mod element;
mod flow;
mod frames;
mod lift;
mod out;
mod packet;
mod parallel;
mod read;
mod resolve;
mod snapshot;
mod supply;
mod unpack;
mod write;

pub use config::{Config, Dialect, REGISTERS, TomlConfig, Unusable, read_toml};
pub use element::{ContextState, Element};
pub use frames::{Frames, Framing, Piece, frame, ids};
pub use lift::{Lift, Options, Trace};
pub use packet::*;
pub use read::Reader;
pub use snapshot::{Dump, SNAPSHOT_INI, Snapshot, SnapshotSource};
