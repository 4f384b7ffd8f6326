//! Lines of an input, and their places.

use trackway_core::{Error, ErrorKind};

/// A line or packet of a log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'l> {
    /// Its bytes, without the end of line.
    pub(crate) text: &'l [u8],
    /// Byte offset of its start.
    pub(crate) offset: u64,
    /// Its number, from 1.
    pub(crate) number: u64,
    /// False for a last packet without its end.
    pub(crate) whole: bool,
}

/// Why a line cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    /// The first byte that does not fit, from 0.
    pub(crate) column: usize,
    /// The thing that should be there.
    pub(crate) expected: &'static str,
}

impl Line<'_> {
    /// The error of this line; `item` names the log.
    #[cold]
    pub(crate) fn error(&self, wrong: Wrong, item: &'static str) -> Error {
        // A cut packet only looks wrong.
        let kind = match self.whole {
            false => ErrorKind::Truncated,
            true => ErrorKind::Line {
                line: self.number,
                column: wrong.column as u32 + 1,
                expected: wrong.expected,
            },
        };
        kind.at(self.offset + wrong.column as u64, item, "", "")
    }
}

/// A place between two lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Place {
    /// Byte offset of the next line.
    pub(crate) offset: u64,
    /// Lines before it.
    pub(crate) number: u64,
}

/// A line without its end, of either kind.
#[inline(always)]
pub(crate) fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The lines of a file's first bytes, for recognition: those that are whole, and the last one of a short file.
pub(crate) fn of_head(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    head.split(|byte| *byte == b'\n').map(without_end)
}
