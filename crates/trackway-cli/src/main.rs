//! The `trackway` program.
#![forbid(unsafe_code)]
fn main() {}
