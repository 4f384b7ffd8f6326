//! The event model that all of Trackway's trace formats meet in.
//!
//! A format reads *native items* (records, packets) from bytes, and *lifts* them to [`Event`]s; or takes
//! events, *lowers* them to native items and writes those. Five verbs, the same in every format:
//!
//! | verb | from → to |
//! |---|---|
//! | `read`, `write` | bytes ⇄ native items, byte-exact |
//! | `lift`, `lower` | native items ⇄ events |
//! | `check` | native items → [`Finding`]s, one named [`Rule`] each |
//!
//! # The model
//!
//! Events come in a [`Batch`] that is filled again and again, so streaming costs no allocation per
//! instruction. An [`Event`] is small and `Copy`; what is large or rare lies in the batch's side arrays.
//!
//! - Instructions are numbered from 0 per source, attempted ones included.
//! - Unknown is `None`, never 0. What was inferred and not recorded is marked.
//! - What is missing is a [`Gap`], never silence.
//! - What a target format cannot hold goes into the [`Losses`] ledger.
//!
//! # A sixth format
//!
//! Write a crate with the files of the others: `config.rs` for what must be known from outside,
//! `record.rs` or `packet.rs` that declares every wire item once, `read.rs`, `write.rs`, `lift.rs`
//! (a [`Source`]), `lower.rs` (a [`Sink`]), `check.rs`, `text.rs` (an [`Items`]). Read through a [`Feed`],
//! take fields with [`Bytes`] or [`BitReader`], and give errors their place with [`ErrorKind::at`]. Then add
//! it to the list in the front-door crate.
//!
//! ```
//! use trackway_core::*;
//!
//! /// Events of a made-up format: one byte per instruction, its distance from the last pc.
//! struct Tiny { meta: Meta, feed: Feed, pc: u64, number: u64 }
//!
//! impl Source for Tiny {
//!     fn meta(&self) -> &Meta { &self.meta }
//!     fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
//!         batch.clear();
//!         batch.first_instruction = self.number;
//!         while !batch.is_full() {
//!             let Some(&distance) = self.feed.bytes().first() else {
//!                 if self.feed.more()? { continue } else { break }
//!             };
//!             let offset = self.feed.offset();
//!             if distance == 0 {
//!                 if !batch.events.is_empty() { break } // deliver first, then complain
//!                 return Err(ErrorKind::Illegal { found: 0 }.at(offset, "step", "distance", "Tiny 1"));
//!             }
//!             self.feed.consume(1);
//!             self.pc += u64::from(distance);
//!             batch.push(offset, EventKind::Step(Step::new(self.pc, 0, 0)));
//!             self.number += 1;
//!         }
//!         Ok(!batch.events.is_empty())
//!     }
//! }
//!
//! let meta = Meta::new(FormatId::Stf, Isa::Other);
//! let mut tiny = Tiny { meta, feed: Feed::new(Input::from_vec(vec![4, 4, 0])), pc: 0, number: 0 };
//! let mut batch = Batch::default();
//! assert!(tiny.fill(&mut batch)?);
//! assert_eq!(batch.instructions(), 2);
//! assert_eq!(tiny.fill(&mut batch).unwrap_err().to_string(), "0x2: step.distance: 0 is not allowed [Tiny 1]");
//! # Ok::<(), Error>(())
//! ```
#![forbid(unsafe_code)]

mod batch;
mod bits;
mod bytes;
mod check;
mod error;
mod event;
mod losses;
mod meta;
mod model;
mod observe;
mod source;
mod text;

pub use batch::{Batch, put};
pub use bits::{BitReader, BitWriter, mask, sign_extend};
pub use bytes::Bytes;
pub use check::{Finding, Rule, Severity};
pub use error::{Error, ErrorKind, Result};
pub use event::*;
pub use losses::{Fate, Losses};
pub use meta::{Meta, Producer};
pub use observe::{Count, Observer, Spare, in_order};
pub use source::{Feed, Input, Item, Items, Output, SharedBytes, Sink, Source, WriteSeek, observe_serially};
