//! The look of a file.

/// The look of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// The kind of file.
    pub what: String,
    /// The evidence.
    pub why: String,
    /// Advice; `FILE` is its name.
    pub advice: String,
    /// The content proves it, so that nothing else is looked for.
    pub sure: bool,
    /// It is text.
    pub text: bool,
}

impl Look {
    pub(super) fn new(
        what: impl Into<String>,
        why: impl Into<String>,
        advice: impl Into<String>,
        sure: bool,
    ) -> Self {
        Look { what: what.into(), why: why.into(), advice: advice.into(), sure, text: false }
    }
}
