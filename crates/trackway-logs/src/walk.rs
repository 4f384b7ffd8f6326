//! Through the lines of an input, without copying.

use trackway_core::{Error, ErrorKind};

use crate::lines::{Line, Place, Wrong, without_end};
use crate::log::Log;

/// Bytes of the longest line: more are an error, so that memory stays bounded.
const LONGEST: usize = 1 << 16;

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
/// `bytes` begins, and then where the lines taken end. Text after the last end of line is an error once the input has
/// `ended`: a number that is cut is a number too.
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
            None if L::TEXT && !rest.trim_ascii().is_empty() => {
                let end = place.offset + rest.len() as u64;
                return Stop::Wrong(ErrorKind::Truncated.at(end, L::NAME, "", ""));
            }
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

#[cold]
fn long<L: Log>(place: Place) -> Error {
    let expected = "the end of the line: a line has less than 64 KiB";
    let kind = ErrorKind::Line { line: place.number + 1, column: LONGEST as u32, expected };
    kind.at(place.offset, L::NAME, "", "")
}
