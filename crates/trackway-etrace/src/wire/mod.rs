//! Packets on the wire (chapters 6 and 7): every field declared once, read, written and shown by that declaration.

pub(crate) mod bits;
pub mod data;
pub mod instruction;
pub(crate) mod read;
mod received;
mod text;
mod write;

pub use bits::Payload;
pub use read::{Content, Item, Reader};
pub use received::Received;
pub use text::Text;
pub use write::Writer;
