//! The RISC-V trace protocol for tandem verification (version 2018-11-20).
//!
//! A core tells every change of its state, instruction by instruction: pc, instruction, registers, addresses,
//! store data, privilege. An item is an opcode byte with its payload; begin group and end group hold together
//! what one instruction or trap did. The stream has no header: widths and profile come from a [`Config`], or
//! from trial decoding ([`recognise`]).
//!
//! ```text
//! bytes ──Reader──▶ Group of Records ──View──▶ what it says ──Lift──▶ events
//!   ◀──Writer──            ◀──Packer (verbose, compact)──           ◀──Lower──
//! ```
//!
//! A group's pc is where it leads, so an instruction's own address is the pc of the group before it.
//!
//! ```
//! use trackway_core::{Batch, EventKind, Input, Source};
//! use trackway_tandem::{Config, Lift};
//!
//! // Table C.1: add gp, t0, t1.
//! let bytes = [
//!     0x01, 0x03, 0x11, 0xb3, 0x81, 0x62, 0x00, 0x04, 0x03, 0x10, 0x34, 0x12, 0, 0, 0, 0, 0, 0, 0x02,
//! ];
//! let config = Config { reset_pc: Some(0x8000_0000), ..Config::default() };
//! let mut lift = Lift::open(Input::from_vec(bytes.to_vec()), config)?;
//! let mut batch = Batch::default();
//! lift.fill(&mut batch)?;
//! let mut line = String::new();
//! batch.write_line(&batch.events[0], &mut line);
//! assert!(line.starts_with("0x0 step pc=0x80000000 encoding=0x6281b3"));
//! # Ok::<(), trackway_core::Error>(())
//! ```
//!
//! Where the text contradicts itself or the encoders that exist, `docs/decisions/0220` and up say what is done.
#![forbid(unsafe_code)]

mod amo;
mod check;
mod config;
pub mod encoder;
mod group;
mod init;
mod lift;
mod lower;
mod pack;
mod read;
mod record;
mod registers;
pub mod rules;
mod text;
mod write;

pub use check::check;
pub use config::{Config, Profile, Style, Widths};
pub use group::{Fault, Kind, NextPc, TrapState, View};
pub use init::{elf_to_records, memory_to_records};
pub use lift::Lift;
pub use lower::{Lower, WriteConfig};
pub use pack::Packer;
pub use read::{Frame, Group, LARGEST_GROUP, Reader, recognise};
pub use record::{MemOp, Record, register};
pub use registers::Registers;
pub use rules::RULES;
pub use text::{Listing, register_text};
pub use write::{Writer, to_bytes};
