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
//! - Unknown is `None`, never 0. Values that were inferred and not recorded are marked.
//! - Missing trace is a [`Gap`], never silence.
//! - Facts that a target format cannot hold are in the [`Ledger`].
//!
//! # A format
//!
//! A format implements [`Decode`] for one source of events and hands it to [`Stream`], the driver that all formats share;
//! [`Sink`] is the way back, [`Items`] shows its native items, [`rules!`] declares what it checks. Read through a
//! [`Feed`], take fields with [`Bytes`] or [`BitReader`], and give errors their place with [`ErrorKind::at`].
//!
//! ```
//! use trackway_core::*;
//!
//! /// A made-up format: one byte per instruction, its distance from the last pc.
//! struct Tiny { feed: Feed, pc: u64, number: u64 }
//!
//! impl Decode for Tiny {
//!     fn fill(&mut self, batch: &mut Batch) -> Result<bool> {
//!         while !batch.is_full() {
//!             let Some(&distance) = self.feed.bytes().first() else {
//!                 if self.feed.more()? { continue } else { return Ok(false) }
//!             };
//!             let offset = self.feed.offset();
//!             self.feed.consume(1);
//!             if distance == 0 {
//!                 return Err(ErrorKind::Illegal { found: 0 }.at(offset, "step", "distance", "Tiny 1"));
//!             }
//!             self.pc += u64::from(distance);
//!             batch.push(offset, EventKind::Step(Step::new(self.pc, 0, 0)));
//!             self.number += 1;
//!         }
//!         Ok(true)
//!     }
//!     fn instructions(&self) -> u64 { self.number }
//!     fn enter(&mut self) -> Result<Entry> { Ok(Entry::Here) } // every byte is a step
//!     fn position(&self) -> u64 { self.feed.offset() }
//!     fn size(&self) -> Option<u64> { None }
//!     fn census(&self) -> Census { Census::new(&["step"], [self.number]) }
//! }
//!
//! let meta = Meta::new(FormatId::new("tiny"), Isa::Other);
//! let tiny = Tiny { feed: Feed::new(Input::from_vec(vec![4, 4, 0, 4])), pc: 0, number: 0 };
//! let mut source = Stream::new(meta, vec![tiny], 1);
//! let mut batch = Batch::default();
//! // Events before the error come first, then the error; the caller may continue after it.
//! assert!(source.fill(&mut batch)?);
//! assert_eq!(batch.instructions(), 2);
//! assert_eq!(source.fill(&mut batch).unwrap_err().to_string(), "0x2: step.distance: 0 is not allowed [Tiny 1]");
//! assert!(source.resync()? && source.fill(&mut batch)?);
//! assert_eq!((batch.instructions(), batch.first_instruction), (1, 2));
//! # Ok::<(), Error>(())
//! ```
#![forbid(unsafe_code)]

mod ahead;
mod bits;
mod bytes;
mod census;
mod counting;
mod error;
mod events;
mod input;
mod ledger;
mod observer;
mod random;
mod rules;
mod saved;
mod source;
mod stream;

pub use ahead::{Ahead, Rows};
pub use bits::{BitReader, BitWriter, mask, sign_extend};
pub use bytes::Bytes;
pub use census::Census;
pub use counting::Counting;
pub use error::{Error, ErrorKind, Result};
pub use events::*;
pub use input::{Buffer, Feed, Input, Output, SharedBytes, SharedRange, WriteSeek};
pub use ledger::{Account, Contexts, Counts, Fact, Fate, Found, Ledger, Nearby, each_of_event, each_of_meta};
pub use observer::{Count, Observer};
pub use random::SplitMix64;
#[doc(hidden)]
pub use rules::trim_demand;
pub use rules::{Finding, Rule, Severity};
pub use saved::{Saved, pack, unpack};
pub use source::{Item, Items, Sink, Source};
pub use stream::{
    Cancel, Decode, Entry, InTurn, Parts, Pool, Seen, Show, Stream, in_order, in_order_with, in_parts,
};
