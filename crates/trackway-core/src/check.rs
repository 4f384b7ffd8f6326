//! Findings: what `check` has to say, one named rule each.

use std::fmt;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing: ambiguous, unusual, not forbidden.
    Note,
    /// The spec says "should", or a promise is not kept.
    Warning,
    /// The spec forbids it.
    Error,
}

impl Severity {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// A rule of a spec, declared once per format as a `const`.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its name, for `--waive`.
    pub name: &'static str,
    /// How bad a violation is.
    pub severity: Severity,
    /// The spec section.
    pub section: &'static str,
    /// What it demands, in a line.
    pub demand: &'static str,
}

/// A violation of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// Byte offset of the native item, in the decompressed stream.
    pub offset: u64,
    /// Number of the native item, from 0.
    pub item: u64,
    /// What was found.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rule { name, severity, section, .. } = self.rule;
        let word = severity.word();
        write!(f, "{:#x}: item {}: {word}: {} [{name}, {section}]", self.offset, self.item, self.message)
    }
}
