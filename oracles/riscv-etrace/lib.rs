//! Tests only: `tests/both_ways.rs`.
