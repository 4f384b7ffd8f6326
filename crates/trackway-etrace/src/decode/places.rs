//! Places from which decoding can continue.

use serde::{Deserialize, Serialize};

use super::packets::{CarriedState, SavedDecoder};

/// A place where decoding can continue.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Place {
    /// Between two batches.
    Inside(Box<SavedSerial>),
    /// Between two parts.
    Start(Start),
}

/// A place between two batches.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SavedSerial {
    /// Offset and number of the next frame.
    pub(crate) offset: u64,
    pub(crate) index: u64,
    pub(crate) decoder: SavedDecoder,
}

/// The start of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Start {
    /// Offset of the first frame.
    pub(crate) offset: u64,
    /// Number of that frame.
    pub(crate) index: u64,
    /// Begins at a cut.
    pub(crate) begins: bool,
    pub(crate) carried: CarriedState,
    /// Bytes skipped before it to find a frame again.
    pub(crate) skipped: u64,
}
