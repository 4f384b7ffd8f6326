//! Source files of the program, as its debug information names them.

use trackway_tools::sources;

/// Finds and keeps the last file that was shown.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    allowed: sources::Sources,
    /// Its name in the debug information, and its lines; `None` if it was not found.
    last: Option<(String, Option<Vec<String>>)>,
}

impl Sources {
    /// Files from these folders.
    pub(crate) fn new(allowed: sources::Sources) -> Self {
        Sources { allowed, last: None }
    }

    /// The lines of a file.
    pub(crate) fn lines(&mut self, name: &str) -> Option<&[String]> {
        if self.last.as_ref().is_none_or(|last| last.0 != name) {
            let text = self.allowed.read(name);
            self.last = Some((name.to_string(), text.map(|text| text.lines().map(plain).collect())));
        }
        self.last.as_ref()?.1.as_deref()
    }
}

/// Tabs become blanks, other control characters question marks: nothing of a trace or program moves the cursor.
pub(crate) fn plain(text: &str) -> String {
    text.replace('\t', "    ").replace(char::is_control, "?")
}
