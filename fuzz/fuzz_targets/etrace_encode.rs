//! Random events and settings through the encoder: the result is read back and proved.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| trackway_fuzz::etrace_encode(data));
