//! What lies between trace units and packets: frames, buffers, snapshot folders, in both directions.

pub(crate) mod buffer;
pub(crate) mod frames;
pub(crate) mod input;
pub(crate) mod snapshot;
