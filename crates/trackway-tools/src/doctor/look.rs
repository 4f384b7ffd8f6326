//! What a file looks like.

/// What a file looks like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// What it is.
    pub what: String,
    /// The evidence.
    pub why: String,
    /// What to do with it; `FILE` is its name.
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
