//! Names are data: no symbol can end a line or a field of a profile.

/// In place of a letter that a format cannot have in a name.
const INSTEAD: char = '\u{fffd}';

/// A name in one line.
pub(super) fn one_line(name: &str) -> String {
    without(name, |_| false)
}

/// A name in one line, without the letters that the format needs.
pub(super) fn without(name: &str, is_needed: impl Fn(char) -> bool) -> String {
    name.chars()
        .map(|letter| if letter.is_control() || is_needed(letter) { INSTEAD } else { letter })
        .collect()
}

/// The name of the function in the source: compilers add these to parts and clones of one.
pub(super) fn original(name: &str) -> &str {
    const ADDED: [&str; 6] = [".llvm.", ".part.", ".cold", ".isra.", ".constprop.", ".lto_priv."];
    let cut = ADDED.iter().filter_map(|added| name.find(added)).filter(|at| *at > 0).min();
    &name[..cut.unwrap_or(name.len())]
}
