//! The look of a file.

/// Advice about waveforms.
pub(super) const WAVES: &str = "of waveforms Trackway reads a VCD with a retirement port (signals rvfi_valid, rvfi_insn …): let the simulation write \
     one, or the bytes of the trace port into a file";
/// Advice about tables.
pub(super) const TABLE: &str =
    "Trackway does not read tables: use the trace that the table was exported from";

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
