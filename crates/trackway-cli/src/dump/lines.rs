//! `dump --as events`.

use std::io::{Result, Write};

use trackway_core::{Batch, Event, EventKind};

use crate::colours::Colours;
use crate::view::{Budget, View};

/// `--as events`: one line per event.
pub(super) struct EventLines {
    out: Vec<u8>,
    line: String,
    colours: Colours,
}

impl EventLines {
    pub(super) fn new(colours: Colours) -> Self {
        EventLines { out: Vec::new(), line: String::new(), colours }
    }
}

impl View for EventLines {
    fn text(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    fn source(&mut self, _: u16, heading: Option<&str>, _: &mut Budget) -> Result<()> {
        let bold = self.colours.heading;
        heading.map_or(Ok(()), |name| writeln!(self.out, "{bold}# source {name}{bold:#}"))
    }

    fn event(&mut self, batch: &Batch, event: &Event, _: u64, budget: &mut Budget) -> Result<()> {
        if !budget.take() {
            return Ok(());
        }
        self.line.clear();
        batch.write_line(event, &mut self.line);
        let Colours { faint, name, bad, .. } = self.colours;
        let style = if matches!(event.kind, EventKind::Gap(_)) { bad } else { name };
        match self.line.split_once(' ').filter(|_| self.colours.are_on()) {
            Some((offset, rest)) => {
                let (kind, fields) = rest.split_at(rest.find(' ').unwrap_or(rest.len()));
                writeln!(self.out, "{faint}{offset}{faint:#} {style}{kind}{style:#}{fields}")
            }
            None => writeln!(self.out, "{}", self.line),
        }
    }
}
