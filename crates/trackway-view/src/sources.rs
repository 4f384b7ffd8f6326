//! Files of source code: those that the program names and that are under a folder that was allowed, by number.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trackway_image::Image;

/// Bytes of a file at most.
const LARGEST: u64 = 8 << 20;

/// The files that may be shown. They are found once, so that no request can name another.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    files: Vec<(String, PathBuf)>,
    numbers: HashMap<String, usize>,
}

impl Sources {
    /// The files that the programs name, under these folders.
    pub(crate) fn find<'i>(programs: impl Iterator<Item = &'i Arc<Image>>, roots: &[PathBuf]) -> Self {
        let mut sources = Sources::default();
        let roots: Vec<PathBuf> = roots.iter().filter_map(|root| root.canonicalize().ok()).collect();
        if roots.is_empty() {
            return sources;
        }
        let mut names: BTreeSet<String> = BTreeSet::new();
        for image in programs {
            for part in image.parts() {
                let lines = part.lines().map(|lines| lines.all()).unwrap_or_default();
                names.extend(lines.into_iter().map(|(_, line)| line.file));
            }
        }
        for name in names {
            if let Some(path) = roots.iter().find_map(|root| under(root, &name)) {
                sources.numbers.insert(name.clone(), sources.files.len());
                sources.files.push((name, path));
            }
        }
        sources
    }

    /// The number of a file, by its name in the debug information.
    pub(crate) fn number(&self, name: &str) -> Option<usize> {
        self.numbers.get(name).copied()
    }

    /// Its name and text.
    pub(crate) fn read(&self, number: usize) -> Option<(&str, String)> {
        let (name, path) = self.files.get(number)?;
        let is_small = std::fs::metadata(path).is_ok_and(|found| found.len() <= LARGEST);
        let bytes = is_small.then(|| std::fs::read(path).ok()).flatten()?;
        Some((name, String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// All files.
    pub(crate) fn len(&self) -> usize {
        self.files.len()
    }
}

/// The file of that name in a folder: its whole path, or the longest end of it that is a file there. Links that lead out of
/// the folder are not followed.
fn under(root: &Path, name: &str) -> Option<PathBuf> {
    let parts: Vec<&str> = name.split(['/', '\\']).filter(|part| !matches!(*part, "" | ".")).collect();
    let whole = Path::new(name).is_absolute().then(|| PathBuf::from(name));
    let ends = (0..parts.len()).map(|skipped| root.join(parts[skipped..].iter().collect::<PathBuf>()));
    whole.into_iter().chain(ends).find_map(|path| {
        let real = path.canonicalize().ok()?;
        (real.starts_with(root) && real.is_file()).then_some(real)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_under_the_root_are_found() {
        let folder = std::env::temp_dir().join(format!("trackway-view-sources-{}", std::process::id()));
        let root = folder.join("root");
        std::fs::create_dir_all(root.join("src")).unwrap();
        std::fs::write(root.join("src/main.c"), "int main;").unwrap();
        std::fs::write(folder.join("secret.c"), "secret").unwrap();
        let root = root.canonicalize().unwrap();
        let found = Some(root.join("src/main.c"));
        for name in ["/build/project/src/main.c", "src/main.c", "./src/main.c", "src/../src/main.c"] {
            assert_eq!(under(&root, name), found, "{name}");
        }
        assert_eq!(under(&root, root.join("src/main.c").to_str().unwrap()), found);
        for name in ["../secret.c", "src/../../secret.c", "/etc/passwd", "secret.c", "src", ""] {
            assert_eq!(under(&root, name), None, "{name}");
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(folder.join("secret.c"), root.join("link.c")).unwrap();
            assert_eq!(under(&root, "link.c"), None, "a link that leads out");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
