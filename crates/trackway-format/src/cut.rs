//! Places where a trace can be cut.

use trackway_core::Input;

/// The bytes of a trace, stream by stream.
pub type Streams = Vec<Input>;

/// A place in a stream where a trace of its own can begin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// Offset of its first byte.
    pub offset: u64,
    /// Items that it needs before that: header, context, registers.
    pub prologue: Vec<u8>,
    /// Offset in the prologue where a comment can be inserted.
    pub comment_at: usize,
}
