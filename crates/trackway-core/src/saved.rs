//! Places from which decoding can continue later.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::events::Context;

/// A place between two batches, with everything that decoding needs to continue from it; see
/// [`Source::save`](crate::Source::save).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Saved {
    /// Index of the source.
    pub source: u16,
    /// Number of the instruction that comes next.
    pub instruction: u64,
    /// Position in the input, in the unit of [`Source::progress`](crate::Source::progress).
    pub position: u64,
    /// The context there.
    pub context: Context,
    /// State of the decoder, in a form of its own.
    pub state: Vec<u8>,
}

/// The state of a decoder in few bytes.
pub fn pack<T: Serialize>(state: &T) -> Option<Vec<u8>> {
    postcard::to_allocvec(state).ok()
}

/// The state that was [packed](pack); `None` if the bytes are not exactly one.
pub fn unpack<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    postcard::take_from_bytes(bytes).ok().filter(|(_, rest)| rest.is_empty()).map(|(state, _)| state)
}
