#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| trackway_fuzz::riscv_decode(data));
