//! The program that ran, as the user names it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

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
    /// Programs that the trace brings along, one for each source or one for all, for a copy that keeps them.
    pub carried: Carried,
}

/// Programs in memory. They are the same if they are the same images.
#[derive(Clone, Debug, Default)]
pub struct Carried(pub Vec<Arc<Image>>);

impl PartialEq for Carried {
    fn eq(&self, other: &Self) -> bool {
        self.0.len() == other.0.len()
            && self.0.iter().zip(&other.0).all(|(one, other)| Arc::ptr_eq(one, other))
    }
}

impl Eq for Carried {}

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

    /// The programs of the sources, or one for all: loaded where files are named, else those that the trace brings along.
    pub fn of_sources(&self) -> Result<Vec<Arc<Image>>> {
        if self.is_empty() && !self.carried.0.is_empty() {
            return Ok(self.carried.0.clone());
        }
        Ok(vec![Arc::new(self.load()?)])
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
