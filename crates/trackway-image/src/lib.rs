//! The program that ran: code, symbols, lines and the block table.
//!
//! Flow traces record branches only, so what lies between them has to come from the program. An [`Image`]
//! is made of ELF files and raw dumps; [`Image::memory`] shows what a context sees of it, and
//! [`Image::blocks`] returns the [`Blocks`] table with which flow decoders follow a branch in one look-up.
//!
//! ```
//! use std::sync::Arc;
//! use trackway_core::{Context, Isa};
//! use trackway_image::{Image, Space, Waypoints};
//!
//! // c.li a0, 0; 1: c.addi a0, 1; bne a0, a1, 1b; c.jr ra
//! let code = [0x01, 0x45, 0x05, 0x05, 0xe3, 0x1f, 0xb5, 0xfe, 0x82, 0x80];
//! let mut image = Image::default();
//! image.add_raw("loop", 0x8000_0000, Arc::new(code), Space::default())?;
//!
//! let blocks = image.blocks(&Context::default(), Isa::Rv64, Waypoints::ETRACE);
//! let mut cursor = blocks.cursor();
//! let (mut pc, mut instructions) = (0x8000_0000, 0);
//! for taken in [true, true, false] {
//!     let block = cursor.at(pc).expect("code is known");
//!     instructions += block.count;
//!     pc = if taken { block.target.expect("a direct branch") } else { block.end };
//! }
//! assert_eq!((pc, instructions), (0x8000_0008, 7));
//! # Ok::<(), trackway_image::Error>(())
//! ```
//!
//! Reading outside the image is an ordinary answer, `None`; a damaged file is an [`Error`].
#![forbid(unsafe_code)]

mod block;
mod blocks;
mod build;
mod code;
mod elf;
mod entry;
mod error;
mod expand;
mod files;
mod image;
mod inlined;
mod lines;
mod listing;
mod memory;
mod module;
mod space;
mod symbols;
mod waypoints;

pub use block::{Block, Near};
pub use blocks::{Blocks, Cursor, Glance, Glances};
pub use code::Code;
pub use elf::{Elf, ProgramHeaders, Section};
pub use entry::Shape;
pub use error::Error;
pub use expand::{addresses, expand, program, taken_at_end};
pub use files::Files;
pub use image::{Image, Part, read_spec};
pub use inlined::Frame;
pub use lines::{Line, Lines};
pub use listing::{Listing, Row};
pub use memory::{Memory, Segment};
pub use module::{Module, build_id_of, is_relocatable};
pub use space::Space;
pub use symbols::{Mapping, Symbol, Symbols, demangle};
pub use waypoints::Waypoints;
