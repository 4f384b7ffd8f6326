//! Arm's Embedded Trace Extension, and ETMv4.
#![forbid(unsafe_code)]
