//! Lines of an input, without copying.

use trackway_core::{Error, ErrorKind};

use crate::log::Log;

/// Bytes of the longest line: more are an error, so that memory stays bounded.
pub(crate) const LONGEST: usize = 1 << 16;

/// A line or packet of a log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'l> {
    /// Its bytes, without the end of line.
    pub(crate) text: &'l [u8],
    /// Byte offset of its start.
    pub(crate) offset: u64,
    /// Its number, from 1.
    pub(crate) number: u64,
    /// False for a last line without its end: it may be cut.
    pub(crate) whole: bool,
}

/// Why a line cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    /// The first byte that does not fit, from 0.
    pub(crate) column: usize,
    /// What should be there.
    pub(crate) expected: &'static str,
}

impl Line<'_> {
    /// The error of this line; `item` names the log.
    #[cold]
    pub(crate) fn error(&self, wrong: Wrong, item: &'static str) -> Error {
        // A cut line only looks wrong.
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

/// Why [`each`] ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Stop {
    /// A line was not taken: it comes next.
    Declined,
    /// All whole lines were taken.
    More,
    /// The next line cannot be read.
    Wrong(Error),
}

/// Shows the lines of `bytes` to `take`, which returns false for a line that it does not take yet. `place` is where
/// `bytes` begins, and then where the lines taken end. Bytes after the last end of line are a line once the input has
/// `ended`.
#[inline(always)]
pub(crate) fn each<L: Log>(
    bytes: &[u8],
    ended: bool,
    place: &mut Place,
    mut take: impl FnMut(&Line<'_>) -> Result<bool, Wrong>,
) -> Stop {
    let mut rest = bytes;
    loop {
        let (length, whole) = match L::unit(&rest[..rest.len().min(LONGEST)]) {
            Some(length) => (length, true),
            None if rest.len() >= LONGEST => return Stop::Wrong(long::<L>(*place)),
            None if rest.is_empty() || !ended => return Stop::More,
            None => (rest.len(), false),
        };
        let (line, after) = rest.split_at(length);
        let text = if L::TEXT { without_end(line) } else { line };
        let line = Line { text, offset: place.offset, number: place.number + 1, whole };
        match take(&line) {
            Ok(true) => {}
            Ok(false) => return Stop::Declined,
            Err(wrong) => return Stop::Wrong(line.error(wrong, L::NAME)),
        }
        place.offset += length as u64;
        place.number += 1;
        rest = after;
    }
}

#[inline(always)]
fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cold]
fn long<L: Log>(place: Place) -> Error {
    let expected = "the end of the line: a line has less than 64 KiB";
    let kind = ErrorKind::Line { line: place.number + 1, column: LONGEST as u32, expected };
    kind.at(place.offset, L::NAME, "", "")
}

/// The lines of a file's first bytes, for recognition: those that are whole, and the last one of a short file.
pub(crate) fn of_head(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    head.split(|byte| *byte == b'\n').map(without_end)
}
