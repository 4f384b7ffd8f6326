//! Where indexes are kept: beside the trace, or in the user's cache folder.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::index::file::{self, Fault};
use crate::index::identity::Hash;
use crate::index::{Identity, Index};

/// Bytes that the cache folder may hold; the oldest indexes are removed first.
pub const BOUND: u64 = 256 << 20;

/// The index beside a trace, `NAME.twx`.
pub fn beside(trace: &Path) -> PathBuf {
    let mut name = trace.as_os_str().to_os_string();
    // A folder may be given with a slash at its end.
    if trace.is_dir() {
        name = trace.components().as_path().as_os_str().to_os_string();
    }
    name.push(".twx");
    name.into()
}

/// A folder of indexes.
#[derive(Clone, Debug)]
pub struct Cache {
    /// The folder; it is created with the first index.
    pub folder: PathBuf,
    /// Called with the folder where an index cannot be written to it. Everything works without, only slower.
    pub failed: Option<fn(&Path, &io::Error)>,
}

impl Cache {
    /// The user's: `TRACKWAY_CACHE`, else `trackway` in `XDG_CACHE_HOME` or `~/.cache`.
    pub fn of_user() -> Option<Self> {
        let variable = |name: &str| std::env::var_os(name).filter(|value: &OsString| !value.is_empty());
        let folder = variable("TRACKWAY_CACHE").map(PathBuf::from).or_else(|| {
            let base = variable("XDG_CACHE_HOME").map(PathBuf::from);
            let base = base.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".cache")))?;
            Some(base.join("trackway"))
        });
        folder.map(|folder| Cache { folder, failed: None })
    }

    /// The file of the index of a trace.
    pub fn file(&self, trace: &Path, identity: &Identity) -> PathBuf {
        let whole = fs::canonicalize(trace).unwrap_or_else(|_| trace.to_path_buf());
        let mut hash = Hash::default();
        hash.add(whole.as_os_str().as_encoded_bytes());
        self.folder.join(format!("{:016x}-{:016x}.twx", hash.0, identity.variant()))
    }

    /// Writes the index of a trace; older ones make room.
    pub fn store(&self, trace: &Path, identity: &Identity, index: &Index) -> io::Result<PathBuf> {
        fs::create_dir_all(&self.folder)?;
        let path = self.file(trace, identity);
        write(&path, identity, index)?;
        self.make_room(&path);
        Ok(path)
    }

    /// The file of something else that was worked out from a whole trace.
    pub(crate) fn value_file(&self, trace: &Path, identity: &Identity, name: &str) -> PathBuf {
        self.file(trace, identity).with_extension(format!("{name}.twx"))
    }

    /// Writes it; older files make room. Nothing is written that would take too much of it.
    pub(crate) fn store_value<T: Serialize>(
        &self,
        trace: &Path,
        identity: &Identity,
        name: &str,
        value: &T,
    ) -> io::Result<PathBuf> {
        fs::create_dir_all(&self.folder)?;
        let path = self.value_file(trace, identity, name);
        let packed = file::seal(identity, value).filter(|bytes| bytes.len() as u64 <= BOUND / 8);
        write_whole(&path, &packed.ok_or_else(|| io::Error::other("it is too large"))?)?;
        self.make_room(&path);
        Ok(path)
    }

    /// Removes the oldest files until the folder is within its bound; `kept` stays.
    fn make_room(&self, kept: &Path) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        let mut files: Vec<_> = entries
            .flatten()
            .filter(|entry| entry.path().extension().is_some_and(|end| end == "twx"))
            .filter_map(|entry| {
                let metadata = entry.metadata().ok()?;
                Some((metadata.modified().ok()?, metadata.len(), entry.path()))
            })
            .collect();
        files.sort();
        let mut total: u64 = files.iter().map(|(_, size, _)| size).sum();
        for (_, size, path) in files {
            if total > BOUND && path != kept && fs::remove_file(&path).is_ok() {
                total -= size;
            }
        }
    }
}

/// Writes an index: whole, or not at all.
pub(crate) fn write(path: &Path, identity: &Identity, index: &Index) -> io::Result<u64> {
    // Under 1 % of the trace and 64 KiB.
    let most = identity.size / 100 + (64 << 10) - 1;
    let bytes = file::write(identity, index, most).ok_or_else(|| io::Error::other("it cannot be packed"))?;
    write_whole(path, &bytes)?;
    Ok(bytes.len() as u64)
}

/// Writes a file: whole, or not at all.
fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = path.as_os_str().to_os_string();
    name.push(format!(".{}.partial", std::process::id()));
    let partial = PathBuf::from(name);
    let written = fs::write(&partial, bytes).and_then(|()| fs::rename(&partial, path));
    if written.is_err() {
        let _ = fs::remove_file(&partial);
    }
    written
}

/// Reads an index that must be of this identity.
pub(crate) fn read(path: &Path, identity: &Identity) -> Result<Index, Fault> {
    same(path, identity, file::read)
}

/// Reads something else that must be of this identity.
pub(crate) fn read_value<T: DeserializeOwned>(path: &Path, identity: &Identity) -> Result<T, Fault> {
    same(path, identity, file::unseal)
}

fn same<T>(
    path: &Path,
    identity: &Identity,
    read: impl FnOnce(&[u8]) -> Result<(Identity, T), Fault>,
) -> Result<T, Fault> {
    let bytes = trackway_io::map(path).map_err(|error| Fault::Unreadable(error.error.to_string()))?;
    let (found, value) = read((*bytes).as_ref())?;
    found.difference(identity).map_or(Ok(value), |why| Err(Fault::Stale(why)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_make_room() {
        let folder = std::env::temp_dir().join(format!("trackway-cache-{}", std::process::id()));
        let cache = Cache { folder: folder.clone(), failed: None };
        fs::create_dir_all(&folder).unwrap();
        // Files with holes: they take no room.
        for (n, name) in ["old.twx", "new.twx", "other.txt"].iter().enumerate() {
            let file = fs::File::create(folder.join(name)).unwrap();
            file.set_len(BOUND - 1000).unwrap();
            file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1000 + n as u64))
                .unwrap();
        }
        let identity =
            Identity { size: 0, modified: 0, content: 0, settings: 0, program: 0, version: String::new() };
        let stored = cache.store(Path::new("trace"), &identity, &Index::default()).unwrap();
        let names = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
        let mut left: Vec<String> =
            fs::read_dir(&folder).unwrap().flatten().map(|entry| names(&entry.path())).collect();
        left.sort();
        let mut wanted = vec!["new.twx".to_string(), "other.txt".to_string(), names(&stored)];
        wanted.sort();
        assert_eq!(left, wanted);
        assert_eq!(read(&stored, &identity), Ok(Index::default()));
        let other = Identity { size: 1, ..identity };
        assert_eq!(read(&stored, &other), Err(Fault::Stale("the trace has changed since")));
        fs::remove_dir_all(folder).unwrap();
    }
}
