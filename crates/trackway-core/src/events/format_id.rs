//! Names of formats.

use std::fmt;

use crate::events::model::{Word, always};

/// Which format a trace or a foreign item is of: a short lower-case name. The list is open; each format crate declares its own.
///
/// ```
/// use trackway_core::FormatId;
/// const TINY: FormatId = FormatId::new("tiny");
/// assert_eq!(TINY.as_str(), "tiny");
/// assert_eq!("tiny".parse(), Ok(TINY));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FormatId {
    /// Zero-padded: an id is read back from text, so it owns its letters.
    letters: [u8; Self::LONGEST],
}

impl FormatId {
    const LONGEST: usize = 12;

    /// An id by its name.
    ///
    /// # Panics
    /// If the name is empty, has more than 12 letters, or holds anything but lower-case letters, digits and `-`.
    pub const fn new(name: &str) -> Self {
        match Self::read(name) {
            Some(id) => id,
            None => panic!("a format's name is 1 to 12 lower-case letters, digits or hyphens"),
        }
    }

    const fn read(name: &str) -> Option<Self> {
        let name = name.as_bytes();
        if name.is_empty() || name.len() > Self::LONGEST {
            return None;
        }
        let mut letters = [0; Self::LONGEST];
        let mut n = 0;
        while n < name.len() {
            if !matches!(name[n], b'a'..=b'z' | b'0'..=b'9' | b'-') {
                return None;
            }
            letters[n] = name[n];
            n += 1;
        }
        Some(FormatId { letters })
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        let length = self.letters.iter().position(|&letter| letter == 0).unwrap_or(Self::LONGEST);
        // `read` admits ASCII only.
        std::str::from_utf8(&self.letters[..length]).unwrap_or_default()
    }
}

impl std::str::FromStr for FormatId {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        Self::read(name).ok_or(())
    }
}

impl fmt::Display for FormatId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for FormatId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FormatId({})", self.as_str())
    }
}

impl Word for FormatId {
    fn show_word(&self, out: &mut String) {
        out.push_str(self.as_str());
    }

    fn read_word(text: &str) -> Option<Self> {
        Self::read(text)
    }
}

always!(FormatId);
