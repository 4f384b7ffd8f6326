//! Looking for the index of a trace: beside it, or in the cache.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use trackway_format::{Format, Result, Settings};
use trackway_image::Image;
use trackway_io::FileError;

use crate::index::{Cache, Fault, Hash, Identity, Index, beside, read_file};

/// Bytes of the smallest trace that an index may be worth its place for.
pub(crate) const SMALLEST: u64 = 1 << 18;

/// Whether an [index](crate::index) is used and made.
#[derive(Clone, Debug, Default)]
pub enum Indexing {
    /// None is used.
    Off,
    /// One beside the trace is used, `NAME.twx`; none is made.
    #[default]
    Beside,
    /// One beside the trace or in the cache is used; one is made for the cache where reading takes longer than that.
    Cache(Cache, Duration),
}

/// The result of looking for an index.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    /// The index, and its file.
    pub(crate) index: Option<(Arc<Index>, PathBuf)>,
    /// The identity of the trace; none for a trace that has no index: a stream, or a small one.
    pub(crate) identity: Option<Identity>,
    /// An index that is not used, and why.
    pub(crate) fault: Option<(PathBuf, Fault)>,
}

/// The index of the trace at `path`, beside it or in the cache; its identity is asked for only where one may exist.
pub(crate) fn find(path: &Path, indexing: &Indexing, identity: impl FnOnce() -> Result<Identity>) -> Found {
    let mut found = Found::default();
    let near = beside(path);
    let size = std::fs::metadata(path).map_or(0, |found| if found.is_dir() { SMALLEST } else { found.len() });
    if matches!(indexing, Indexing::Off) || (size < SMALLEST && !near.exists()) {
        return found;
    }
    let Ok(identity) = identity() else { return found };
    let mut files = vec![near];
    if let Indexing::Cache(cache, _) = indexing {
        files.push(cache.file(path, &identity));
    }
    for file in files.into_iter().filter(|file| file.exists()) {
        match read_file(&file, &identity) {
            Ok(index) => {
                found.index = Some((Arc::new(index), file));
                break;
            }
            Err(fault) => found.fault = found.fault.or(Some((file, fault))),
        }
    }
    found.identity = Some(identity);
    found
}

/// A hash of the format, the settings and the options that decoding depends on.
pub(crate) fn settings_hash(format: &dyn Format, settings: &Settings, force: bool, strict: bool) -> u64 {
    let mut hash = Hash::default();
    hash.add(format.id().as_str().as_bytes());
    hash.add(settings.table.to_string().as_bytes());
    hash.add(&[u8::from(force), u8::from(strict)]);
    hash.0
}

/// The identity of the trace at `path` with these programs, and with the `names` of their functions.
pub(crate) fn identity_of(
    path: &Path,
    settings: u64,
    programs: &[Arc<Image>],
    names: bool,
) -> Result<Identity> {
    let mut program = Hash::default();
    for part in programs.iter().flat_map(|image| image.parts()) {
        program.add(part.identity().as_bytes());
        program.add(format!("{:?} {:?}", part.segments, part.space).as_bytes());
        for symbol in part.symbols().all().iter().filter(|_| names) {
            program.add(&symbol.address.to_le_bytes());
            program.add(&symbol.size.to_le_bytes());
            program.add(symbol.name.as_bytes());
        }
    }
    Identity::read(path, settings, program.0).map_err(|error| FileError::at(path)(error).into())
}
