//! Compressed payloads inside a file: LZMA (.xz, .lzma) and deflate (zlib, gzip), in and out
//! (docs/design/compression.md).
//!
//! A payload follows a raw prefix and holds items of a fixed size. Bytes in, bytes out: nothing here knows what the bytes
//! mean.
//!
//! ```text
//!  Payload ─detect─▶ Compression
//!     └──content──▶ Content ◀── xz_blocks  blocks of an .xz file, decoded ahead on threads
//!                      ▲    ◀── decode     any stream, in order
//!                      └─ seek, next block ── xz_index
//!  bytes ─▶ Encoder ─▶ compressed bytes
//! ```

mod compression;
mod content;
mod decode;
mod encode;
mod lookahead;
mod xz_blocks;
mod xz_index;

pub use compression::{Compression, Family};
pub use content::{Content, ContentOptions, Payload};
pub use encode::{Encoder, EncoderOptions};
