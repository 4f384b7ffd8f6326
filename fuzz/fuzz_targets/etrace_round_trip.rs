//! Any walk through any program in any mode: encoding and decoding is the identity, on any number of threads.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| trackway_fuzz::etrace_round_trip(data));
