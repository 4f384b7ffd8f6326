//! The RISC-V trace protocol for tandem verification (version 2018-11-20).
//!
//! A core reports every change of its state, instruction by instruction: pc, instruction, registers, addresses,
//! store data, privilege. An item is an opcode byte with its payload; begin group and end group delimit the
//! effects of one instruction or trap. The stream has no header: widths and profile come from a [`Config`], or
//! from trial decoding ([`recognise`]).
//!
//! ```text
//! bytes ──Reader──▶ Group of Records ──View──▶ meaning ──Lift──▶ events
//!   ◀──Writer──            ◀──Packer (verbose, compact)──      ◀──Lower──
//! ```
//!
//! A group has the pc after it, so an instruction's own address is the pc of the previous group.
//!
//! ```
//! use trackway_core::{Batch, EventKind, Input, Source};
//! use trackway_tandem::{Config, Trace};
//!
//! // Table C.1: add gp, t0, t1.
//! let bytes = [
//!     0x01, 0x03, 0x11, 0xb3, 0x81, 0x62, 0x00, 0x04, 0x03, 0x10, 0x34, 0x12, 0, 0, 0, 0, 0, 0, 0x02,
//! ];
//! let config = Config { reset_pc: Some(0x8000_0000), ..Config::default() };
//! let mut events = Trace::open(Input::from_vec(bytes.to_vec()), config)?.events();
//! let mut batch = Batch::default();
//! events.fill(&mut batch)?;
//! let mut line = String::new();
//! batch.write_line(&batch.events[0], &mut line);
//! assert!(line.starts_with("0x0 step pc=0x80000000 encoding=0x6281b3"));
//! # Ok::<(), trackway_core::Error>(())
//! ```
//!
//! | file | idea |
//! |---|---|
//! | `open.rs` | an opened trace: events, items, check, copy |
//! | `config.rs`, `recognise.rs` | settings; those found by trial |
//! | `record.rs`, `wire.rs`, `mem_op.rs`, `register.rs` | every item, declared once; its fields on the wire |
//! | `group.rs`, `view.rs`, `registers.rs` | groups of items; their meaning; register values |
//! | `read.rs`, `text.rs` | bytes → items and groups; items as text |
//! | `lift.rs`, `lift/` | groups → events |
//! | `lower.rs`, `lower/` | events → groups |
//! | `pack.rs`, `write.rs` | groups in a style; items → bytes |
//! | `rules.rs`, `check.rs` | the rules, and their check |
//! | `init.rs`, `encoder.rs` | programs as state initialization; the encoder interface of appendix B |
//!
//! `docs/spec-readings/tandem.md` has the readings of the specification where it contradicts itself or the
//! existing encoders.
#![forbid(unsafe_code)]

mod candidates;
mod check;
mod config;
mod cut;
pub mod encoder;
mod group;
mod init;
mod lift;
mod lower;
mod mem_op;
mod open;
mod pack;
mod read;
mod recognise;
mod record;
pub mod register;
mod registers;
mod rules;
mod text;
mod usual;
mod view;
mod wire;
mod write;

pub use config::{Config, ID, Profile, Style, Widths, WriteConfig};
pub use group::{Frame, Group};
pub use init::elf_to_records;
pub use lift::{Decoder, Lift};
pub use lower::Lower;
pub use mem_op::MemOp;
pub use open::{Tandem, Trace};
pub use pack::Packer;
pub use read::{LARGEST_GROUP, Reader};
pub use recognise::recognise;
pub use record::Record;
pub use registers::Registers;
pub use rules::RULES;
pub use text::Text;
pub use view::{Fault, Kind, NextPc, TrapState, View};
pub use write::{Writer, to_bytes};

/// The tandem protocol, for the list of formats.
pub static FORMAT: Tandem = Tandem;
