//! The file beside a trace of bare payloads: their lengths in bytes, in decimal.

use std::num::ParseIntError;

/// Reads the lengths, which white space separates.
pub(crate) fn read_lengths(text: &str) -> Result<Vec<u32>, ParseIntError> {
    text.split_ascii_whitespace().map(str::parse).collect()
}

/// The lengths as text, a line each.
pub(crate) fn write_lengths(lengths: &[u32]) -> String {
    lengths.iter().map(|length| format!("{length}\n")).collect()
}
