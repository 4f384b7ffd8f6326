//! One toolkit for processor execution traces: the library's front door.
#![forbid(unsafe_code)]
