//! When the rules fire.

use trackway_core::Isa;

use super::Dialect;
use super::line::parse;
use crate::lines::{Line, Wrong};
use crate::log::{Check, Report};

/// Checks the lines of all cores.
#[derive(Debug)]
pub(crate) struct Checker {
    isa: Option<Isa>,
}

impl Checker {
    pub(super) fn new(_: Dialect, isa: Option<Isa>) -> Self {
        Checker { isa }
    }
}

impl Check for Checker {
    fn line(&mut self, line: &Line<'_>, _: &mut Report<'_>) -> Result<(), Wrong> {
        parse(line.text, self.isa, true).map(drop)
    }
}
