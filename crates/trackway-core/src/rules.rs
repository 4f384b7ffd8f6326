//! Rules of a spec, and violations of them.

use std::fmt;

/// How serious a violation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing: ambiguous or unusual, not forbidden.
    Note,
    /// The spec says "should", or the trace breaks a promise of its own.
    Warning,
    /// The spec forbids it.
    Error,
}

impl Severity {
    /// `note`, `warning` or `error`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// A rule of a spec; see [`rules!`](crate::rules).
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// `format.rule-name`, as `--waive` takes it.
    pub name: &'static str,
    /// How serious a violation is.
    pub severity: Severity,
    /// The spec section.
    pub section: &'static str,
    /// The demand, in a line.
    pub demand: &'static str,
    /// The name in release 0.1, or empty; `--waive` still takes it, with a note.
    pub old: &'static str,
}

/// Declares the rules of a format, each with its demand as doc comment, and the list of all of them, `RULES`.
///
/// ```
/// use trackway_core::{Rule, Severity};
/// trackway_core::rules! { "tiny";
///     /// A step moves forward.
///     DISTANCE = "distance": Error, "Tiny 1";
///     /// A step is short.
///     LONG_STEP = "long-step": Note, "Tiny 2", old "TINY-long";
/// }
/// assert_eq!((DISTANCE.name, DISTANCE.demand), ("tiny.distance", "A step moves forward."));
/// assert_eq!((RULES.len(), RULES[1].severity), (2, Severity::Note));
/// ```
#[macro_export]
macro_rules! rules {
    ($format:literal; $(
        $(#[doc = $demand:literal])+
        $rule:ident = $name:literal: $severity:ident, $section:literal $(, old $old:literal)?;
    )*) => {
        $(
            $(#[doc = $demand])+
            pub static $rule: $crate::Rule = $crate::Rule {
                name: concat!($format, ".", $name),
                severity: $crate::Severity::$severity,
                section: $section,
                demand: $crate::trim_demand(concat!($($demand),+)),
                old: concat!($($old)?),
            };
        )*

        /// All rules, in the order of the spec.
        pub static RULES: &[&$crate::Rule] = &[$(&$rule),*];
    };
}

/// A doc comment without its leading space.
#[doc(hidden)]
pub const fn trim_demand(text: &'static str) -> &'static str {
    text.trim_ascii()
}

/// A violation of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule violated.
    pub rule: &'static Rule,
    /// Byte offset of the native item, in the decompressed stream.
    pub offset: u64,
    /// Number of the native item, from 0.
    pub item: u64,
    /// The violation in words.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rule { name, severity, section, .. } = self.rule;
        let severity = severity.as_str();
        write!(f, "{:#x}: item {}: {severity}: {} [{name}, {section}]", self.offset, self.item, self.message)
    }
}
