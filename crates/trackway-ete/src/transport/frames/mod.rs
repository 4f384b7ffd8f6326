//! CoreSight frames, in both directions.

pub(crate) mod read;
pub(crate) mod write;
