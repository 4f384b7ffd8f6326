//! Text from traces and programs inside SVG, HTML and XML.

/// The text with everything escaped that means something in markup; characters that XML does not have are shown as
/// U+FFFD, so that no name can end an element, begin a script or make the file unreadable.
///
/// ```
/// assert_eq!(trackway_tools::markup::escape("<a href='x'>\u{1}"), "&lt;a href=&#39;x&#39;&gt;\u{fffd}");
/// ```
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(' '),
            letter if letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}') => {
                out.push('\u{fffd}')
            }
            // Marks that turn the order of letters around.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => out.push('\u{fffd}'),
            letter => out.push(letter),
        }
    }
    out
}
