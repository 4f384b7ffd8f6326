//! Berkeley SoftFloat as the judge of the golden model's floating point.
//!
//! It is built by cmake, which a machine with only Rust and a C compiler lacks, so it stands outside the default
//! members: `cargo test -p trackway-oracle-softfloat`, with `TRACKWAY_FLOAT_CASES=N` for a longer run.
#![forbid(unsafe_code)]
