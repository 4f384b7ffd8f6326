//! Finding the files that a recording names, without trusting it.
//!
//! A path in a recording is only a name: on this machine another file may have it. A file is taken from the host if the
//! recording has its build id and the file has the same; from a sysroot by its path, which never leads out of it.

use std::path::{Component, Path, PathBuf};

use trackway_core::SharedBytes;
use trackway_image::{Elf, Files, build_id_of, read_spec};

use crate::record::hex;
use crate::tasks::Dso;

/// Where binaries are looked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    /// Files that the user named.
    pub(crate) named: Vec<Named>,
    pub(crate) sysroots: Vec<PathBuf>,
    pub(crate) debug_dirs: Vec<PathBuf>,
}

/// A file that the user named.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub(crate) spec: String,
    pub(crate) address: Option<u64>,
    pub(crate) path: PathBuf,
    pub(crate) bytes: SharedBytes,
    build_id: Option<Vec<u8>>,
}

impl Named {
    pub(crate) fn read(spec: &str, files: &Files) -> Result<Self, trackway_image::Error> {
        let (path, address) = read_spec(spec)?;
        let bytes = files.read(&path)?;
        let build_id = build_id_of((*bytes).as_ref());
        Ok(Named { spec: spec.to_string(), address, path, bytes, build_id })
    }
}

/// A binary that was found.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) name: String,
    pub(crate) bytes: SharedBytes,
    /// Its headers; none of a module, which has no addresses.
    pub(crate) elf: Option<Elf>,
    /// A file with symbols and lines of the same build.
    pub(crate) debug: Option<SharedBytes>,
    /// Index in [`Places::named`].
    pub(crate) named: Option<usize>,
}

impl Places {
    /// The binary of a file in the recording; an error says why one that seemed right is not taken.
    pub(crate) fn find(&self, dso: &Dso) -> Result<Option<Found>, String> {
        let mut refused = None;
        for (n, named) in self.named.iter().enumerate().filter(|(_, named)| named.address.is_none()) {
            let by_id = named.build_id.is_some() && named.build_id == dso.build_id;
            if by_id || is_same_name(&named.path, &dso.name) {
                if !by_id && named.build_id.is_some() && dso.build_id.is_some() {
                    let ids =
                        [&named.build_id, &dso.build_id].map(|id| hex(id.as_deref().unwrap_or_default()));
                    refused = Some(format!(
                        "{} is not the {} that ran: its build id is {}, the recording has {}",
                        named.spec, dso.name, ids[0], ids[1]
                    ));
                    continue;
                }
                let name = named.spec.clone();
                return Ok(Some(self.with_debug(name, SharedBytes::clone(&named.bytes), dso, Some(n))));
            }
        }
        for (path, by_path) in self.candidates(dso) {
            let Some(bytes) = open(&path) else { continue };
            let id = build_id_of((*bytes).as_ref());
            let differs = dso.build_id.is_some() && id != dso.build_id;
            if differs || by_path == ByPath::OnHost && id.is_none() {
                if by_path == ByPath::InSysroot && id.is_some() {
                    refused =
                        Some(format!("{} is another build than the {} that ran", path.display(), dso.name));
                }
                continue;
            }
            if !has_code(&bytes) {
                continue;
            }
            return Ok(Some(self.with_debug(path.to_string_lossy().into_owned(), bytes, dso, None)));
        }
        refused.map_or(Ok(None), Err)
    }

    /// Paths to look at, in order.
    fn candidates(&self, dso: &Dso) -> Vec<(PathBuf, ByPath)> {
        let mut all = Vec::new();
        let is_file = dso.name.starts_with('/') && !dso.name.starts_with("//");
        if let Some(id) = &dso.build_id {
            for folder in self.debug_dirs.iter().chain(&self.sysroots) {
                all.extend(in_build_id_folder(folder, id).map(|path| (path, ByPath::No)));
            }
        }
        if is_file {
            for root in &self.sysroots {
                all.extend(inside(root, &dso.name).map(|path| (path, ByPath::InSysroot)));
            }
            for folder in &self.debug_dirs {
                all.extend(inside(folder, &dso.name).map(|path| (path, ByPath::InSysroot)));
            }
        }
        for folder in &self.debug_dirs {
            all.extend(lying_in(folder, &dso.name).map(|path| (path, ByPath::InSysroot)));
        }
        if is_file {
            // Only with a build id to compare, and only a plain file: opening others has effects.
            if dso.build_id.is_some() {
                all.push((PathBuf::from(&dso.name), ByPath::OnHost));
            }
        }
        all
    }

    /// Adds symbols from a file of its own, where there is one.
    fn with_debug(&self, name: String, bytes: SharedBytes, dso: &Dso, named: Option<usize>) -> Found {
        let id = build_id_of((*bytes).as_ref()).or_else(|| dso.build_id.clone());
        let debug = id.and_then(|id| {
            let folders = self.debug_dirs.iter().chain(&self.sysroots);
            let paths = folders.flat_map(|folder| debug_files(folder, &id, &dso.name));
            paths.filter(|path| path.to_string_lossy() != name).find_map(|path| {
                open(&path).filter(|found| build_id_of((**found).as_ref()).as_ref() == Some(&id))
            })
        });
        let elf = Elf::read(&bytes, None).ok();
        Found { name, bytes, elf, debug, named }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ByPath {
    No,
    InSysroot,
    OnHost,
}

/// A plain file, mapped.
fn open(path: &Path) -> Option<SharedBytes> {
    std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    trackway_io::map(path).ok()
}

/// Is there anything to load, or does it have symbols only?
fn has_code(bytes: &SharedBytes) -> bool {
    trackway_image::is_relocatable((**bytes).as_ref())
        || Elf::read(bytes, None)
            .is_ok_and(|elf| elf.segments.iter().any(|segment| !segment.bytes().is_empty()))
}

/// `ab/cdef…` of a build id.
fn split_id(id: &[u8]) -> Option<(String, String)> {
    let text = hex(id);
    (text.len() > 2).then(|| (text[..2].to_string(), text[2..].to_string()))
}

/// Binaries in a folder of build ids: as distributions, as perf's cache, and as debuggers lay it out.
fn in_build_id_folder(folder: &Path, id: &[u8]) -> impl Iterator<Item = PathBuf> {
    let at = |end: &str| {
        let (first, rest) = split_id(id)?;
        Some(folder.join(".build-id").join(first).join(rest + end))
    };
    [at("/elf"), at(""), at("/executable"), at(".debug")].into_iter().flatten()
}

/// Files with symbols of a build.
fn debug_files(folder: &Path, id: &[u8], name: &str) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = Vec::new();
    if let Some((first, rest)) = split_id(id) {
        let at = folder.join(".build-id").join(first);
        all.push(at.join(format!("{rest}.debug")));
        all.push(at.join(rest).join("debug"));
    }
    all.extend(inside(folder, &format!("{name}.debug")));
    if let Some(file) = Path::new(name).file_name().map(|name| name.to_string_lossy()) {
        all.extend(inside(folder, &format!("{file}.debug")));
        all.extend(inside(folder, &file));
    }
    all
}

/// Files of that name in the folder itself, in order; modules and the kernel also under their own names.
fn lying_in(folder: &Path, name: &str) -> impl Iterator<Item = PathBuf> {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let mut files: Vec<_> = files.filter(|file| is_same_name(Path::new(file), name)).collect();
    files.sort();
    files.into_iter().filter_map(move |file| inside(folder, &file.to_string_lossy()))
}

/// Is a file that the user named the one of that name in the recording? Modules are also named as `[module]`.
fn is_same_name(path: &Path, name: &str) -> bool {
    let file = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let Some(own) = file(path) else { return false };
    if let Some(inner) = name.strip_prefix('[') {
        let inner = inner.split(']').next().unwrap_or_default();
        let is_kernel = inner.starts_with("kernel.") && own.starts_with("vmlinux");
        let plain = |text: &str| text.replace('-', "_");
        return is_kernel || plain(own.split('.').next().unwrap_or_default()) == plain(inner);
    }
    file(Path::new(name)).is_some_and(|other| other == own)
}

/// Symbolic links that are followed before a path is given up.
const MOST_LINKS: usize = 40;

/// The file that a path of the recording names inside `root`. `..` and symbolic links are resolved as if `root` were the root
/// of the file system, so that no path leads out of it.
pub(crate) fn inside(root: &Path, path: &str) -> Option<PathBuf> {
    let parts = |path: &Path| -> Vec<std::ffi::OsString> {
        let of = |part: Component<'_>| match part {
            Component::Normal(name) => Some(name.to_os_string()),
            Component::ParentDir => Some("..".into()),
            _ => None,
        };
        path.components().filter_map(of).rev().collect()
    };
    let mut todo = parts(Path::new(path));
    let mut done: Vec<std::ffi::OsString> = Vec::new();
    let mut links = 0;
    while let Some(part) = todo.pop() {
        if part == ".." {
            done.pop();
            continue;
        }
        let here = root.join(done.iter().collect::<PathBuf>()).join(&part);
        let kind = std::fs::symlink_metadata(&here).ok()?.file_type();
        if kind.is_symlink() {
            links += 1;
            let target = std::fs::read_link(&here).ok().filter(|_| links <= MOST_LINKS)?;
            if target.is_absolute() {
                done.clear();
            }
            todo.extend(parts(&target));
        } else {
            done.push(part);
        }
    }
    (!done.is_empty()).then(|| root.join(done.iter().collect::<PathBuf>()))
}
