//! Text of a trace or a program on its way to a terminal.

use std::borrow::Cow;

/// The text with control characters escaped, so that it cannot move the cursor or leave its line.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    // Most text is plain ASCII, which needs no look at its letters.
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if is_plain || !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let escaped = |letter: char| match letter {
        _ if letter.is_control() => letter.escape_default().to_string(),
        _ => letter.into(),
    };
    Cow::Owned(text.chars().map(escaped).collect())
}
