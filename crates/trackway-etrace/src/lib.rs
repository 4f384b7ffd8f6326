//! RISC-V E-Trace: compressed branch trace and data trace, decoder and encoder, in both dialects of the specification.
//!
//! A trace encoder beside the core watches the instructions that retire and sends packets with only what the program
//! text does not determine: outcomes of branches, targets of indirect jumps, traps. A decoder follows the program with
//! them. The layout of packets depends on parameters of the encoder, which the trace does not carry: they come from a
//! [`Config`].
//!
//! | layer | contents |
//! |---|---|
//! | [`FORMAT`] | the format in the list of formats: open, create, copy |
//! | [`transport`] | frames around packets, both ways |
//! | [`wire`] | packets: every field declared once; [`Reader`], [`Writer`], [`Text`] |
//! | [`decode`], [`lift()`] | packets → events: a walk through the block table of the image, in parts on several threads |
//! | [`encode`], [`Lower`] | events → packets: blocks of the [`port`], filters, the [`Encoder`] |
//! | [`check()`], [`rules`] | is a trace legal? |
//!
//! For hardware people: [`port`] has the signals of chapter 4, [`registers`] the control fields of chapter 2, and
//! [`encode::TraceUnit`] is an encoder with both.
//!
//! The two dialects, draft 1.1.1 and the ratified version 2, differ only in the answers of [`Dialect`].
//!
//! ```
//! use std::sync::Arc;
//! use trackway_core::*;
//! use trackway_etrace::{Config, Lower, lift};
//! use trackway_image::{Image, Space};
//!
//! // 1: c.addi a0, -1; bne a0, x0, 1b; c.nop
//! let code = [0x7d, 0x15, 0xe3, 0x1f, 0x05, 0xfe, 0x01, 0x00];
//! let mut image = Image::default();
//! image.add_raw("loop", 0x8000, Arc::new(code), Space::default())?;
//!
//! // Three times round the loop.
//! let mut batch = Batch::default();
//! for round in 0..3 {
//!     batch.push(0, EventKind::Step(Step::new(0x8000, 0x157d, 2)));
//!     let branch = Step { taken: Some(round < 2), ..Step::new(0x8002, 0xfe05_1fe3, 4) };
//!     batch.push(0, EventKind::Step(branch));
//! }
//! batch.push(0, EventKind::Step(Step::new(0x8006, 0x0001, 2)));
//!
//! let config = Config::from_toml("dialect = 'v2'\nframing = 'smi'")?;
//! let mut lower = Lower::new(Vec::new(), &config, Isa::Rv64, None)?;
//! lower.put(&batch)?;
//! lower.finish()?;
//! let trace = lower.into_inner();
//! assert_eq!(trace.len(), 11); // support, start, branches with the last address, support
//!
//! let mut events = lift(Input::from_vec(trace), &config, Arc::new(image), 1)?;
//! let mut batch = Batch::default();
//! assert!(events.fill(&mut batch)?);
//! assert_eq!(batch.instructions(), 7);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod candidates;
mod check;
mod config;
pub mod decode;
mod dialect;
mod doubt;
pub mod encode;
mod lift;
mod lower;
mod mirrored;
mod modes;
mod open;
mod params;
pub mod port;
pub mod registers;
pub mod rules;
pub mod transport;
pub mod wire;

pub use check::check;
pub use config::*;
pub use dialect::Dialect;
pub use encode::Encoder;
pub use lift::{Lift, Plan, SourceDecoder, lift, lift_by};
pub use lower::Lower;
pub use mirrored::History;
pub use modes::{Mode, Options, SupportLayout};
pub use open::{Etrace, FORMAT};
pub use params::{Attribute, PARAMETERS, Parameter, Params};
pub use wire::{Reader, Text, Writer};

/// Code of a [`Foreign`](trackway_core::Foreign) event of this format: the implementation-defined signal of the port
/// (table 4.2, `impdef`) from here on, four little-endian bytes. Packets do not have it; filters see it.
pub const IMPDEF: u32 = 0x200;

/// The name of the format.
pub const ID: trackway_core::FormatId = trackway_core::FormatId::new("etrace");
