//! Arm's Embedded Trace Extension, and ETMv4.
//!
//! A trace unit writes what a core did as packets of a few bytes: which way branches went, addresses where the
//! program alone does not tell, exceptions, contexts, time. It may write before it knows whether the core
//! really did it, and take it back. So decoding has three stages, as in K10.5 of the Arm ARM:
//!
//! 1. [`Reader`] reads [`Packet`]s from bytes, and they become [`Element`]s;
//! 2. elements wait until they are committed or cancelled, and until their transaction succeeds or fails;
//! 3. what is left is followed through the program, which gives runs of instructions, traps, contexts, time.
//!
//! [`Lift`] does all three, on several threads if asked. What packets mean depends on the unit's registers,
//! [`Config`]; they come from TOML or from a [`Snapshot`] folder. Bytes of several units come in CoreSight
//! [`Frames`]. [`Text`] shows packets without a program, [`check`] holds them against the rules.
//!
//! The other way, [`Lower`] runs events through a [trace unit](mod@unit), programmed by the same registers: it emits packets
//! that a real unit may emit, and [`SnapshotWriter`] makes a folder of them. [`FrameWriter`] and [`TraceBuffer`] stand
//! for what lies between units and memory.
//!
//! ```
//! use trackway_ete::{Config, Packet, Reader};
//! let config = Config::from_registers("core 0", Default::default(), Some(true))?;
//! let reader = Reader::new(&config.dialect);
//! let (packet, length) = reader.read(&[0x95, 0x2b], 0).unwrap();
//! let mut bytes = Vec::new();
//! packet.write(&config.dialect, &mut bytes);
//! assert_eq!((length, packet.name(), &bytes[..]), (2, "Target Address", &[0x95, 0x2b][..]));
//! # Ok::<(), trackway_ete::Unusable>(())
//! ```
#![forbid(unsafe_code)]

mod buffer;
mod census;
mod check;
mod config;
mod decode;
mod element;
mod engine;
#[cfg(test)]
mod examples;
mod flow;
mod frames;
mod frames_write;
#[cfg(test)]
mod handmade;
#[cfg(test)]
mod handmade_etm;
#[cfg(test)]
mod handmade_frames;
#[cfg(test)]
mod handmade_more;
mod lift;
mod lower;
mod out;
mod packet;
mod packets;
mod parallel;
mod profile;
mod read;
mod resolve;
mod snapshot;
mod snapshot_write;
mod supply;
#[cfg(test)]
mod testing;
mod text;
pub mod unit;
mod unpack;
mod write;

pub use buffer::{BufferStatus, Mode, TraceBuffer, TriggerMode};
pub use check::{RULES, check, check_packets};
pub use config::{Config, Dialect, REGISTERS, TomlConfig, Unusable, read_toml};
pub use element::{ContextState, Element};
pub use frames::{Frames, Framing, Piece, ids};
pub use frames_write::{FrameWriter, frame};
pub use lift::{Lift, Options, Trace};
pub use lower::{Deliver, Lower, Written};
pub use packet::*;
pub use packets::{Packets, Piece as PacketPiece, Placed};
pub use profile::Profile;
pub use read::Reader;
pub use snapshot::{Dump, SNAPSHOT_INI, Snapshot, SnapshotSource};
pub use snapshot_write::SnapshotWriter;
pub use text::Text;
