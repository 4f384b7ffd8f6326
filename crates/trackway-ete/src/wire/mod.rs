//! Packets on the wire (K10.5.2): what they are, reading, writing, text.

pub(crate) mod packet;
pub(crate) mod read;
pub(crate) mod text;
mod write;
