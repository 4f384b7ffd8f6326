//! Benchmark of the golden model; see `benches/hart.rs`.
