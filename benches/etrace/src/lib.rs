//! Benchmarks only: `cargo bench -p trackway-bench-etrace`.
