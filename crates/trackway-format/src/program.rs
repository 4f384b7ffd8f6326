//! The program that ran, as the user names it.

use std::path::{Path, PathBuf};

use trackway_image::{Files, Image, read_spec};

use crate::error::Result;

/// Files of the program that ran.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// ELF files, `PATH[@ADDR]` each.
    pub elf: Vec<String>,
    /// Raw memory images, `PATH@ADDR` each.
    pub raw: Vec<String>,
    /// Those of them that are in memory.
    pub files: Files,
}

impl Program {
    /// True if no file is named.
    pub fn is_empty(&self) -> bool {
        self.elf.is_empty() && self.raw.is_empty()
    }

    /// Loads the files.
    pub fn load(&self) -> Result<Image> {
        let mut image = Image::of_files(self.files.clone());
        for spec in &self.elf {
            image.open_elf(spec)?;
        }
        for spec in &self.raw {
            image.open_raw(spec)?;
        }
        Ok(image)
    }

    /// The same with its files in memory, for a program that is loaded again and again.
    pub fn kept(&self) -> Self {
        let specs = self.elf.iter().chain(&self.raw);
        let paths = specs.filter_map(|spec| read_spec(spec).ok()).map(|(path, _)| path);
        Program { files: Files::of(paths), ..self.clone() }
    }

    /// The same files as seen from `folder`.
    pub fn seen_from(&self, folder: &Path) -> Self {
        let moved = |specs: &[String]| {
            specs
                .iter()
                .map(|spec| match spec.rsplit_once('@') {
                    Some((path, address)) => format!("{}@{address}", relative(Path::new(path), folder)),
                    None => relative(Path::new(spec), folder),
                })
                .collect()
        };
        Program { elf: moved(&self.elf), raw: moved(&self.raw), ..Program::default() }
    }
}

/// `path` as seen from `folder`, where both exist; else unchanged.
pub fn relative(path: &Path, folder: &Path) -> String {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let (Ok(to), Ok(from)) = (path.canonicalize(), folder.canonicalize()) else {
        return path.to_string_lossy().into_owned();
    };
    let (to, from): (Vec<_>, Vec<_>) = (to.components().collect(), from.components().collect());
    let shared = to.iter().zip(&from).take_while(|(a, b)| a == b).count();
    let mut out = PathBuf::new();
    for _ in shared..from.len() {
        out.push("..");
    }
    out.extend(&to[shared..]);
    out.to_string_lossy().into_owned()
}
