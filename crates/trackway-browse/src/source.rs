//! Source files of the program, as its debug information names them.

use std::path::{Path, PathBuf};

/// Most bytes of a file that are shown.
const LARGEST: u64 = 8 << 20;

/// Finds and keeps the last file that was shown.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    roots: Vec<PathBuf>,
    /// Its name in the debug information, and its lines; `None` if it was not found.
    last: Option<(String, Option<Vec<String>>)>,
}

impl Sources {
    /// Looks in these folders before the place that the debug information names.
    pub(crate) fn new(roots: Vec<PathBuf>) -> Self {
        Sources { roots, last: None }
    }

    /// The lines of a file.
    pub(crate) fn lines(&mut self, name: &str) -> Option<&[String]> {
        if self.last.as_ref().is_none_or(|last| last.0 != name) {
            self.last = Some((name.to_string(), self.read(name)));
        }
        self.last.as_ref()?.1.as_deref()
    }

    fn read(&self, name: &str) -> Option<Vec<String>> {
        let parts: Vec<&str> = name.split(['/', '\\']).filter(|part| !part.is_empty()).collect();
        // Below a folder: the longest end of the path that is there. `..` would lead out of it.
        let ends = (0..parts.len()).map(|from| &parts[from..]).filter(|end| !end.contains(&".."));
        let ends: Vec<PathBuf> = ends.map(|end| end.iter().collect()).collect();
        let below = self.roots.iter().flat_map(|root| ends.iter().map(move |end| root.join(end)));
        let path = below.chain([PathBuf::from(name)]).find(|path| is_text(path))?;
        let bytes = std::fs::read(path).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        Some(text.lines().map(plain).collect())
    }
}

/// A device or a pipe is not a source, whatever the program says.
fn is_text(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() <= LARGEST)
}

/// Tabs become blanks, other control characters question marks: nothing of a trace or program moves the cursor.
pub(crate) fn plain(text: &str) -> String {
    text.replace('\t', "    ").replace(char::is_control, "?")
}
