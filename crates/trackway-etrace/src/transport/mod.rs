//! Around the packets: how payloads are wrapped, and a buffer that drains more slowly than it fills.

mod buffer;
mod framing;
mod lengths;

pub(crate) use buffer::Buffer;
pub use framing::*;
pub(crate) use lengths::{read_lengths, write_lengths};
