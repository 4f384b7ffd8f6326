//! Lines as items, and their findings.

use std::sync::Arc;

use trackway_core::{Error, ErrorKind, Feed, Finding, Input, Item, Items, Result};

use crate::lines::{Line, Place, Wrong};
use crate::log::{Check, Log, Report};
use crate::walk::{Stop, each};

/// Lines one by one.
#[derive(Debug)]
struct Reader {
    feed: Feed,
    place: Place,
    ended: bool,
}

impl Reader {
    fn new(input: Input) -> Self {
        let feed = Feed::new(input);
        let ended = feed.is_whole();
        Reader { feed, place: Place::default(), ended }
    }

    /// Shows the lines that are available to `take`, which returns false after the last one that it wants; false at
    /// the end. A line that cannot be read is an error, and is the next one still.
    fn lines<L: Log>(&mut self, mut take: impl FnMut(&Line<'_>) -> Result<bool, Wrong>) -> Result<bool> {
        loop {
            let before = self.place.offset;
            let mut enough = false;
            let stop = each::<L>(self.feed.bytes(), self.ended, &mut self.place, |line| {
                if !enough {
                    enough = !take(line)?;
                    return Ok(true);
                }
                Ok(false)
            });
            self.feed.consume((self.place.offset - before) as usize);
            match stop {
                Stop::Wrong(error) => return Err(error),
                Stop::More if !enough && self.ended => return Ok(false),
                Stop::More if !enough => self.ended = !self.feed.more()?,
                _ => return Ok(true),
            }
        }
    }

    /// Skips a line that cannot be read; returns its length, or `None` if it was the last.
    fn skip<L: Log>(&mut self) -> Result<Option<u64>> {
        let before = self.place.offset;
        loop {
            let bytes = self.feed.bytes();
            let found = L::unit(bytes);
            let length = found.unwrap_or(bytes.len());
            self.feed.consume(length);
            self.place.offset += length as u64;
            if found.is_some() {
                self.place.number += 1;
                return Ok(Some(self.place.offset - before));
            }
            if !self.feed.more()? {
                return Ok(None);
            }
        }
    }
}

/// The lines of a log with their meaning.
#[derive(Debug)]
pub(crate) struct Text<L> {
    log: Arc<L>,
    reader: Reader,
}

impl<L: Log> Text<L> {
    pub(crate) fn new(log: Arc<L>, input: Input) -> Self {
        Text { log, reader: Reader::new(input) }
    }
}

impl<L: Log> Items for Text<L> {
    fn next(&mut self, item: &mut Item) -> Result<bool> {
        let Text { log, reader } = self;
        item.text.clear();
        let mut found = false;
        let offset = reader.place.offset;
        reader.lines::<L>(|line| {
            (item.offset, found) = (line.offset, true);
            log.describe(line, item)?;
            Ok(false)
        })?;
        item.len = reader.place.offset - offset;
        Ok(found)
    }

    fn resync(&mut self) -> Result<Option<u64>> {
        self.reader.skip::<L>()
    }
}

/// Checks all lines of a log; returns their number. A line that cannot be read is a finding.
pub(crate) fn check<L: Log>(log: &L, input: Input, report: &mut dyn FnMut(Finding)) -> Result<u64> {
    let mut reader = Reader::new(input);
    let mut check = log.check();
    let mut report = Report { to: report, unit: if L::TEXT { "line" } else { "packet" } };
    loop {
        match reader.lines::<L>(|line| check.line(line, &mut report).map(|()| true)) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error @ Error { kind: ErrorKind::Line { .. } | ErrorKind::Truncated, .. }) => {
                let Place { offset, number } = reader.place;
                let message = error.kind.to_string();
                (report.to)(Finding { rule: L::SYNTAX, offset, item: number, message });
                if reader.skip::<L>()?.is_none() {
                    break;
                }
            }
            Err(error) => return Err(error),
        }
    }
    check.end(&mut report);
    Ok(reader.place.number)
}
