//! ASTF, Arm's Architectural Structured Trace Format.
#![forbid(unsafe_code)]
