//! Mapping a file: the one place with `unsafe`.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use trackway_core::{Buffer, SharedBytes};

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
    // SAFETY: the mapping is read-only. Another process that truncates the file while it is read can end this one with
    // a signal, as with every tool that maps; it cannot make it read foreign memory.
    let mapped = unsafe { memmap2::Mmap::map(file)? };
    Ok(Arc::new(Mapped { bytes: mapped, position: AtomicUsize::new(0) }))
}

/// A mapped file.
struct Mapped {
    bytes: memmap2::Mmap,
    position: AtomicUsize,
}

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Buffer for Mapped {
    fn release(&self, read: Range<usize>) {
        self.position.store(read.end, Relaxed);
        #[cfg(unix)]
        self.drop_pages(read);
    }

    fn position(&self) -> Option<usize> {
        Some(self.position.load(Relaxed))
    }
}

impl Mapped {
    #[cfg(unix)]
    #[expect(unsafe_code, reason = "advice about a mapping cannot be expressed in safe Rust")]
    fn drop_pages(&self, read: Range<usize>) {
        /// Smaller files stay in memory.
        const SMALL: usize = 32 << 20;
        /// The kernel maps pages in groups of this size around one that is read.
        const GROUP: usize = 1 << 16;
        let end = read.end.next_multiple_of(GROUP).min(self.bytes.len());
        let start = read.start - read.start % GROUP;
        if self.bytes.len() < SMALL || start >= end {
            return;
        }
        let advice = memmap2::UncheckedAdvice::DontNeed;
        // SAFETY: the mapping is shared with a file and read-only, so pages that are dropped hold the bytes of the file
        // when they are read again, also by another thread that is reading them now.
        let released = unsafe { self.bytes.unchecked_advise_range(advice, start, end - start) };
        // Memory that cannot be released costs memory only.
        let _ = released;
    }
}
