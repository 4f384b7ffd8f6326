//! Positions in a trace: `--from`, `--to`, `--at`.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trackway_core::{Batch, Event, EventKind, MarkKind, TimeKind};
use trackway_format::{Error, Result};
use trackway_image::Image;

/// A place in one source of a trace.
///
/// ```
/// use trackway::Position;
/// assert_eq!(Position::parse("end-1000", &[])?, Position::End(1000));
/// assert_eq!(Position::parse("pc:0x80000000", &[])?.to_string(), "pc:0x80000000");
/// assert!(Position::parse("somewhere", &[]).is_err());
/// # Ok::<(), trackway::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Position {
    /// The instruction with this number, counted from 0.
    Number(u64),
    /// The next instruction at this address.
    Pc(u64),
    /// The next instruction at the start of a function or at a label.
    Symbol {
        /// Its name.
        name: String,
        /// Its address.
        address: u64,
    },
    /// The next instruction of a source line.
    Line {
        /// The file, or the end of its path.
        file: String,
        /// Counted from 1.
        line: u32,
        /// Its code.
        code: Vec<Range<u64>>,
    },
    /// The first timestamp that is not before this one.
    Time(u64),
    /// The mark with this number, counted from 0.
    Mark(u64),
    /// The next mark of this kind.
    MarkKind(MarkKind),
    /// The next mark whose text contains this.
    MarkText(String),
    /// The trap with this number, counted from 0; returns from traps count too.
    Trap(u64),
    /// The gap with this number, counted from 0.
    Gap(u64),
    /// That many instructions before the end.
    End(u64),
}

/// The forms of a position.
const FORMS: &str =
    "a position is N, pc:ADDRESS, sym:NAME, line:FILE:N, time:N, mark:NAME, trap:N, gap:N, end or end-N";

impl Position {
    /// Reads a position; symbols and lines are those of `programs`.
    pub fn parse(text: &str, programs: &[Arc<Image>]) -> Result<Self> {
        let wrong = || Error::Config(format!("{text}: {FORMS}"));
        let counted = |digits: &str| number(digits).ok_or_else(wrong);
        Ok(match text.split_once(':') {
            None if text == "end" => Position::End(0),
            None => match text.strip_prefix("end-") {
                Some(before) => Position::End(counted(before)?),
                None => Position::Number(counted(text)?),
            },
            Some(("pc", address)) => Position::Pc(counted(address)?),
            Some(("time", time)) => Position::Time(counted(time)?),
            Some(("trap", n)) => Position::Trap(counted(n)?),
            Some(("gap", n)) => Position::Gap(counted(n)?),
            Some(("mark", "")) => return Err(wrong()),
            Some(("mark", name)) => match (number(name), name.parse()) {
                (Some(n), _) => Position::Mark(n),
                (None, Ok(kind)) => Position::MarkKind(kind),
                (None, Err(())) => Position::MarkText(name.to_string()),
            },
            Some(("sym", name)) => {
                let symbol = programs.iter().find_map(|image| image.named(name));
                let missing = || Error::Config(format!("unknown symbol {name} (--elf names the program)"));
                Position::Symbol { name: name.to_string(), address: symbol.ok_or_else(missing)?.address }
            }
            Some(("line", place)) => {
                let (file, line) = place.rsplit_once(':').ok_or_else(wrong)?;
                let line = line.parse().map_err(|_| wrong())?;
                let code: Vec<_> = programs.iter().flat_map(|image| image.code_of(file, line)).collect();
                if code.is_empty() {
                    let text = format!(
                        "no code belongs to {file}:{line} (--elf names a program with debug information)"
                    );
                    return Err(Error::Config(text));
                }
                Position::Line { file: file.to_string(), line, code }
            }
            Some(_) => return Err(wrong()),
        })
    }

    /// True if it is the next one of its kind, wherever the search begins; others are at one place of the trace.
    pub fn is_next(&self) -> bool {
        use Position::*;
        matches!(self, Pc(_) | Symbol { .. } | Line { .. } | MarkKind(_) | MarkText(_))
    }

    /// True if events are counted to find it.
    pub fn is_counted(&self) -> bool {
        matches!(self, Position::Trap(_) | Position::Gap(_) | Position::Mark(_))
    }

    /// Does an instruction at `pc` reach it?
    pub(crate) fn is_at(&self, pc: u64) -> bool {
        match self {
            Position::Pc(address) | Position::Symbol { address, .. } => *address == pc,
            Position::Line { code, .. } => code.iter().any(|range| range.contains(&pc)),
            _ => false,
        }
    }

    /// Does some instruction of a straight run reach it?
    pub(crate) fn is_within(&self, run: Range<u64>) -> bool {
        match self {
            Position::Pc(address) | Position::Symbol { address, .. } => run.contains(address),
            Position::Line { code, .. } => {
                code.iter().any(|range| range.start < run.end && run.start < range.end)
            }
            _ => false,
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Position::Number(n) => write!(f, "{n}"),
            Position::Pc(pc) => write!(f, "pc:{pc:#x}"),
            Position::Symbol { name, .. } => write!(f, "sym:{name}"),
            Position::Line { file, line, .. } => write!(f, "line:{file}:{line}"),
            Position::Time(time) => write!(f, "time:{time}"),
            Position::Mark(n) => write!(f, "mark:{n}"),
            Position::MarkKind(kind) => write!(f, "mark:{kind}"),
            Position::MarkText(text) => write!(f, "mark:{text}"),
            Position::Trap(n) => write!(f, "trap:{n}"),
            Position::Gap(n) => write!(f, "gap:{n}"),
            Position::End(0) => write!(f, "end"),
            Position::End(n) => write!(f, "end-{n}"),
        }
    }
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Events that positions count, before some place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Traps.
    pub traps: u64,
    /// Gaps.
    pub gaps: u64,
    /// Marks.
    pub marks: u64,
}

impl Tally {
    /// Counts an event.
    #[inline]
    pub fn add(&mut self, event: &Event) {
        match event.kind {
            EventKind::Trap(_) => self.traps += 1,
            EventKind::Gap(_) => self.gaps += 1,
            EventKind::Mark(_) => self.marks += 1,
            _ => {}
        }
    }

    /// Adds the counts of what follows.
    pub fn merge(&mut self, later: &Tally) {
        self.traps += later.traps;
        self.gaps += later.gaps;
        self.marks += later.marks;
    }
}

/// Finds a position while events pass by.
#[derive(Clone, Debug)]
pub struct Follow {
    position: Position,
    tally: Tally,
}

impl Follow {
    /// Looks for `position` in the events after a place with `before` it.
    pub fn new(position: Position, before: Tally) -> Self {
        Follow { position, tally: before }
    }

    /// Is it reached by the next event, whose first instruction has this number? Every event has to be shown, once.
    #[inline]
    pub fn is_reached(&mut self, batch: &Batch, event: &Event, number: u64) -> bool {
        let before = self.tally;
        self.tally.add(event);
        match (&self.position, &event.kind) {
            (Position::Number(n), kind) => *n < number + kind.instructions().max(1),
            (position, EventKind::Step(step)) => step.pc.is_some_and(|pc| position.is_at(pc)),
            (position, EventKind::Run(run)) => !run.withdrawn && position.is_within(run.start..run.end),
            (Position::Time(time), EventKind::Time(found)) => {
                found.kind == TimeKind::Timestamp && found.value.is_some_and(|value| value >= *time)
            }
            (Position::Trap(n), EventKind::Trap(_)) => before.traps == *n,
            (Position::Gap(n), EventKind::Gap(_)) => before.gaps == *n,
            (Position::Mark(n), EventKind::Mark(_)) => before.marks == *n,
            (Position::MarkKind(kind), EventKind::Mark(mark)) => mark.kind == *kind,
            (Position::MarkText(text), EventKind::Mark(mark)) => {
                batch.text_of(mark.text).contains(text.as_str())
            }
            _ => false,
        }
    }
}
