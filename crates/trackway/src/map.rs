//! Mapping a file: the one place with `unsafe`.

use std::sync::Arc;

use trackway_core::SharedBytes;

/// Maps a file into memory.
#[expect(unsafe_code, reason = "mapping a file cannot be expressed in safe Rust")]
pub(crate) fn map(file: &std::fs::File) -> std::io::Result<SharedBytes> {
    // SAFETY: the mapping is read-only and private. Another process that truncates the file while it is read can
    // end this one with a signal, as with every tool that maps; it cannot make it read foreign memory.
    let mapped = unsafe { memmap2::Mmap::map(file)? };
    Ok(Arc::new(mapped))
}
