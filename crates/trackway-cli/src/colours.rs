//! Colours of listings.

use anstyle::{AnsiColor, Style};

/// A style for each part of a line; all empty where there are no colours.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Colours {
    /// Numbers, offsets and encodings: there, but not in the way.
    pub(crate) faint: Style,
    /// Mnemonics, names of items and kinds of events.
    pub(crate) name: Style,
    /// Functions and source lines.
    pub(crate) place: Style,
    /// Where a branch went.
    pub(crate) flow: Style,
    /// Attempted instructions, traps and contexts.
    pub(crate) event: Style,
    /// Gaps and damage.
    pub(crate) bad: Style,
    /// Headings of sources.
    pub(crate) heading: Style,
}

impl Colours {
    /// The colours of stdout.
    pub(crate) fn of_stdout() -> Self {
        if crate::pager::colours() { Self::ON } else { Self::default() }
    }

    const ON: Colours = Colours {
        faint: Style::new().dimmed(),
        name: AnsiColor::Cyan.on_default(),
        place: AnsiColor::Green.on_default(),
        flow: AnsiColor::Blue.on_default(),
        event: AnsiColor::Yellow.on_default(),
        bad: AnsiColor::Red.on_default().bold(),
        heading: Style::new().bold(),
    };

    /// True if there are colours.
    pub(crate) fn are_on(&self) -> bool {
        !self.name.is_plain()
    }
}
