//! Between trace units and packets, in both directions: the bytes of sources ([`input`], [`output`]), CoreSight frames,
//! the trace buffer, snapshot folders.

pub(crate) mod buffer;
pub(crate) mod frames;
pub(crate) mod input;
pub(crate) mod output;
pub(crate) mod snapshot;
