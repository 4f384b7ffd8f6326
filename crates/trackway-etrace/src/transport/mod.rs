//! Around the packets: how payloads are wrapped, and a buffer that drains more slowly than it fills.

mod buffer;
mod framing;

pub(crate) use buffer::Buffer;
pub use framing::*;
