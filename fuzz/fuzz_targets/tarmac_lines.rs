#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| trackway_fuzz::tarmac_lines(data));
