//! Source files of a program, as its debug information names them.

use std::path::{Path, PathBuf};

/// The longest source file that is read.
const LONGEST: u64 = 16 << 20;

/// Where source files may be read from. A program can name any file as its source, so only regular files under these
/// folders are read, after symbolic links are followed.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    roots: Vec<PathBuf>,
}

impl Sources {
    /// Files under these folders.
    pub fn under(roots: impl IntoIterator<Item = impl AsRef<Path>>) -> Self {
        Sources { roots: roots.into_iter().filter_map(|root| root.as_ref().canonicalize().ok()).collect() }
    }

    /// The file that a program names: its whole path, or the longest end of it that is a file under a folder.
    pub fn find(&self, name: &str) -> Option<PathBuf> {
        self.roots.iter().find_map(|root| find(root, name))
    }

    /// The text of that file.
    pub fn read(&self, name: &str) -> Option<String> {
        let bytes = std::fs::read(self.find(name)?).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}

fn find(root: &Path, name: &str) -> Option<PathBuf> {
    let parts: Vec<&str> = name.split(['/', '\\']).filter(|part| !matches!(*part, "" | ".")).collect();
    let whole = Path::new(name).is_absolute().then(|| PathBuf::from(name));
    let ends = (0..parts.len()).map(|skipped| root.join(parts[skipped..].iter().collect::<PathBuf>()));
    whole.into_iter().chain(ends).find_map(|path| {
        let real = path.canonicalize().ok()?;
        let is_file = real.metadata().is_ok_and(|found| found.is_file() && found.len() <= LONGEST);
        (is_file && real.starts_with(root)).then_some(real)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_under_the_root_are_found() {
        let folder = std::env::temp_dir().join(format!("trackway-sources-{}", std::process::id()));
        let root = folder.join("root");
        std::fs::create_dir_all(root.join("src")).unwrap();
        std::fs::write(root.join("src/main.c"), "int main;").unwrap();
        std::fs::write(folder.join("secret.c"), "secret").unwrap();
        let root = root.canonicalize().unwrap();
        let (sources, found) = (Sources::under([&root]), Some(root.join("src/main.c")));
        for name in ["/build/project/src/main.c", "src/main.c", "./src/main.c", "src/../src/main.c"] {
            assert_eq!(sources.find(name), found, "{name}");
        }
        assert_eq!(sources.find(root.join("src/main.c").to_str().unwrap()), found);
        let outside = folder.canonicalize().unwrap().join("secret.c");
        let outside = outside.to_str().unwrap();
        for name in ["../secret.c", "src/../../secret.c", "/etc/passwd", "secret.c", "src", "", outside] {
            assert_eq!(sources.find(name), None, "{name}");
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(folder.join("secret.c"), root.join("link.c")).unwrap();
            assert_eq!(sources.find("link.c"), None, "a link that leads out");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
