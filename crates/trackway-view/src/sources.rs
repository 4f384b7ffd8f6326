//! Files of source code: those that the program names and that are under a folder that was allowed, by number.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use trackway_image::Image;
use trackway_tools::sources;

/// The files that may be shown. They are found once, so that no request can name another.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    allowed: sources::Sources,
    files: Vec<String>,
    numbers: HashMap<String, usize>,
}

impl Sources {
    /// The files that the programs name, under these folders.
    pub(crate) fn find<'i>(programs: impl Iterator<Item = &'i Arc<Image>>, roots: &[PathBuf]) -> Self {
        let mut sources = Sources { allowed: sources::Sources::under(roots), ..Sources::default() };
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
            if sources.allowed.find(&name).is_some() {
                sources.numbers.insert(name.clone(), sources.files.len());
                sources.files.push(name);
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
        let name = self.files.get(number)?;
        Some((name, self.allowed.read(name)?))
    }

    /// All files.
    pub(crate) fn len(&self) -> usize {
        self.files.len()
    }
}
