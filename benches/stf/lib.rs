//! See `benches/stf.rs`.
