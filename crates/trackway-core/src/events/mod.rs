//! The event model: events, the batch that holds them, facts about a trace, and event lines.

mod batch;
mod event;
mod folded;
mod format_id;
mod meta;
mod model;
mod text;

pub use batch::{Batch, push_within_capacity};
pub use event::*;
pub use folded::{Folded, Piece, Repeat, Stretch, Stretches};
pub use format_id::FormatId;
pub use meta::{Meta, Producer};
