//! The notation of cases: reading a file, and computing what it should be.

pub(crate) mod file;
pub(crate) mod render;
pub(crate) mod text;
