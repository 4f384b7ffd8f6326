//! The repository as the checks see it: its root, its files, its packages and their manifests.

use std::path::{Path, PathBuf};

/// The root of the repository: as cargo says when it runs this program, since with a shared target folder the program
/// may have been compiled in another clone.
pub(crate) fn root() -> PathBuf {
    let folder = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").into());
    let above = Path::new(&folder).parent();
    above.expect("xtask is a folder of the repository").to_path_buf()
}

/// Files below `folder` whose name ends with `.extension`, sorted. Build output and hidden folders are left out.
pub(crate) fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for path in entries(&folder) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                if name != "target" && !name.starts_with('.') {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|found| found == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Entries directly inside `folder`, sorted.
pub(crate) fn entries(folder: &Path) -> Vec<PathBuf> {
    let read = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = read.map(|entry| entry.path()).collect();
    found.sort();
    found
}

/// A package of the workspace.
#[derive(Debug)]
pub(crate) struct Package {
    /// Name in the manifest.
    pub(crate) name: String,
    /// Folder of the manifest.
    pub(crate) folder: PathBuf,
    /// The manifest.
    pub(crate) manifest: toml::Table,
}

impl Package {
    /// The package in `folder`, if it has a manifest.
    pub(crate) fn read(folder: &Path) -> Option<Package> {
        let text = std::fs::read_to_string(folder.join("Cargo.toml")).ok()?;
        let manifest: toml::Table = text.parse().ok()?;
        let name = manifest.get("package")?.get("name")?.as_str()?.to_string();
        Some(Package { name, folder: folder.to_path_buf(), manifest })
    }

    /// Names in one of the manifest's tables of dependencies.
    pub(crate) fn dependencies(&self, table: &str) -> Vec<String> {
        let table = self.manifest.get(table).and_then(toml::Value::as_table);
        table.into_iter().flatten().map(|(name, _)| name.clone()).collect()
    }
}

/// Every package of the repository, fuzzing included.
pub(crate) fn packages() -> Vec<Package> {
    let root = root();
    let nested = ["crates", "oracles"].iter().flat_map(|folder| entries(&root.join(folder)));
    let single = ["benches", "fuzz", "xtask"].map(|folder| root.join(folder));
    nested.chain(single).filter_map(|folder| Package::read(&folder)).collect()
}

/// A path as the reader of a message wants it: from the root of the repository on.
pub(crate) fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

/// A folder for one test, removed afterwards.
#[cfg(test)]
pub(crate) struct Scratch(pub(crate) PathBuf);

#[cfg(test)]
impl Scratch {
    /// A folder with these files.
    pub(crate) fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let folder = std::env::temp_dir().join(format!("xtask-{}-{name}", std::process::id()));
        for (path, text) in files {
            let path = folder.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Scratch(folder)
    }
}

#[cfg(test)]
impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
