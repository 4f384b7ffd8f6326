//! What is done with traces beyond reading and writing them.
//!
//! [`stats`]: what a trace is made of. [`contexts`]: which contexts it goes through. [`verify`]: tandem verification of a trace against the golden model, with coverage.
#![forbid(unsafe_code)]

pub mod contexts;
pub mod stats;
pub mod verify;
