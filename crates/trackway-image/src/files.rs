//! Files that are read once, however often a program is loaded from them.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trackway_core::SharedBytes;

use crate::error::Error;

/// Files in memory, by their paths; others are read when they are asked for.
#[derive(Clone, Default)]
pub struct Files(Arc<BTreeMap<PathBuf, SharedBytes>>);

impl Files {
    /// Reads these files now; those that cannot be read are left for when they are asked for.
    pub fn of(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let read = |path: PathBuf| read(&path).ok().map(|bytes| (path, bytes));
        Files(Arc::new(paths.into_iter().filter_map(read).collect()))
    }

    /// The content of a file, out of zstd or gzip if need be.
    pub fn read(&self, path: &Path) -> Result<SharedBytes, Error> {
        self.0.get(path).map_or_else(|| read(path), |bytes| Ok(Arc::clone(bytes)))
    }
}

/// The files of a program are its names: which of them are in memory makes no difference.
impl PartialEq for Files {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Files {}

impl std::fmt::Debug for Files {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// Reads a file, out of zstd or gzip if need be.
fn read(path: &Path) -> Result<SharedBytes, Error> {
    let bytes = std::fs::read(path).and_then(|bytes| match bytes.as_slice() {
        [0x28, 0xb5, 0x2f, 0xfd, ..] => zstd::decode_all(bytes.as_slice()),
        [0x1f, 0x8b, ..] => {
            let mut all = Vec::new();
            flate2::read::MultiGzDecoder::new(bytes.as_slice()).read_to_end(&mut all)?;
            Ok(all)
        }
        _ => Ok(bytes),
    });
    match bytes {
        Ok(bytes) => Ok(Arc::new(bytes)),
        Err(source) => Err(Error::Io { path: path.to_path_buf(), source }),
    }
}
