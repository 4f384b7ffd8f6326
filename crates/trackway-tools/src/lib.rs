//! What is done with traces beyond reading and writing them.
//!
//! [`verify`]: tandem verification of a trace against the golden model, with coverage.
#![forbid(unsafe_code)]

pub mod verify;
