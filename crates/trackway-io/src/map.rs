//! Mapping a file: the one place with `unsafe`.

use std::path::Path;
use std::sync::Arc;

use trackway_core::SharedBytes;

use crate::error::FileError;

/// Maps the file at `path` into memory.
pub fn map(path: &Path) -> Result<SharedBytes, FileError> {
    let mapped = std::fs::File::open(path).and_then(|file| match file.metadata()?.len() {
        // An empty file cannot be mapped.
        0 => Ok(Arc::new(Vec::new()) as SharedBytes),
        _ => map_file(&file),
    });
    mapped.map_err(FileError::at(path))
}

#[expect(unsafe_code, reason = "mapping a file cannot be expressed in safe Rust")]
pub(crate) fn map_file(file: &std::fs::File) -> std::io::Result<SharedBytes> {
    // SAFETY: the mapping is read-only and private. Another process that truncates the file while it is read can
    // end this one with a signal, as with every tool that maps; it cannot make it read foreign memory.
    let mapped = unsafe { memmap2::Mmap::map(file)? };
    Ok(Arc::new(mapped))
}
