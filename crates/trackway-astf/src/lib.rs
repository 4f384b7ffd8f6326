//! ASTF, Arm's Architectural Structured Trace Format (version 0.11).
//!
//! A trace of one AArch64 core: 32-byte records for instructions with their accesses, contexts, traps,
//! times and metadata. The first record, the Header, is stored raw; the others raw, or compressed with LZMA
//! or zlib. Two levels: *Basic* (one exception level, gaps allowed) and *BasicPlus* (all levels, traps, an
//! unbroken flow).
//!
//! ```text
//!  bytes ─Trace::open─▶ Records ─events─▶ events (Lift)
//!                          │     ─items──▶ text (Text, Lines)
//!                          │     ─check──▶ findings (Checker)
//!                          └─────copy────▶ the same records in another storage
//!  events ─Lower─▶ Producer ─▶ Writer ─▶ bytes
//! ```
//!
//! - Reading is a scan: [`Records::chunk`] returns whole records as they are in memory, mapped or decoded.
//! - A record is declared once (`record.rs`), reserved bits included: reading and writing back is exact.
//! - [`Producer`] writes a trace instruction by instruction. It applies the rules of [`Checker`] and refuses records
//!   that would break one.
//!
//! ```
//! use trackway_astf::{Completion, Level, Producer, WriteConfig};
//! use trackway_core::{MemAccess, Value};
//!
//! let mut trace = Producer::create(Vec::new(), Level::Basic, false, &WriteConfig::default())?;
//! trace.context(Default::default())?;                             // EL0, non-secure
//! let load = MemAccess::read(0x9000, 8, Value::Unknown);
//! trace.instruction(0x1000, 0xf940_0020, Completion::Next, &[load])?;   // ldr x0, [x1]
//! trace.instruction(0x1004, 0xd65f_03c0, Completion::Taken(0x2000), &[])?; // ret
//! // The encoding is a branch, so completing like any other instruction is refused:
//! let refused = trace.instruction(0x2000, 0xd65f_03c0, Completion::Next, &[]).unwrap_err();
//! assert!(refused.to_string().contains("astf.taken-target"));
//! let bytes: Vec<u8> = trace.finish()?;
//! assert_eq!(&bytes[..4], b"ASTF");
//! # Ok::<(), trackway_astf::ProducerError>(())
//! ```
#![forbid(unsafe_code)]

mod check;
mod config;
mod cut;
mod gap;
mod layout;
mod lift;
mod lower;
mod open;
mod producer;
mod record;
mod records;
pub mod rules;
mod spec_example;
mod text;
mod trace;
mod write;

pub use check::Checker;
pub use config::{Config, ID, ReadConfig, Storage, WriteConfig};
pub use layout::{Field, RECORD, Words, from_bytes, to_bytes};
pub use lift::Lift;
pub use lower::Lower;
pub use open::Astf;
pub use producer::{Completion, Producer, ProducerError};
pub use record::*;
pub use records::{Chunk, Records};
pub use rules::RULES;
pub use spec_example::{example, records as example_records};
pub use text::{Lines, Text, show};
pub use trace::Trace;
pub use write::{Writer, copy};

/// ASTF, for the list of formats.
pub static FORMAT: Astf = Astf;

/// First bytes of an ASTF trace.
pub const MAGIC: &[u8] = b"ASTF";

/// Removes tags and authentication codes from an address (ASTF 4.3): bits above `va_bits` become bit 55, or 0 at EL3,
/// which has only one address range.
///
/// ```
/// use trackway_astf::sanitise;
/// assert_eq!(sanitise(0xb400_ffff_83ff_b2f0, 52, Some(0)), 0x0000_ffff_83ff_b2f0);
/// assert_eq!(sanitise(0x00ff_8000_0000_0000, 48, Some(1)), 0xffff_8000_0000_0000);
/// ```
pub fn sanitise(address: u64, va_bits: u8, el: Option<u8>) -> u64 {
    let above = u64::MAX.checked_shl(va_bits.into()).unwrap_or(0);
    if address >> 55 & 1 == 1 && el != Some(3) { address | above } else { address & !above }
}
