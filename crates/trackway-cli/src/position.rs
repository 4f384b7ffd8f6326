//! Positions in a trace: `--from` and `--to`.

use std::sync::Arc;

use trackway_core::{Event, EventKind, TimeKind};
use trackway_image::Image;

use crate::exit::Failure;

/// A place in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Position {
    /// The instruction with this number.
    Number(u64),
    /// The next instruction at this address.
    Pc(u64),
    /// The first timestamp that is not before this one.
    Time(u64),
}

impl Position {
    /// Reads `N`, `pc:ADDRESS`, `sym:NAME` or `time:N`; symbols are those of the programs.
    pub(crate) fn read(text: &str, programs: &[Arc<Image>]) -> Result<Self, Failure> {
        let wrong = || Failure::Usage(format!("{text}: a position is N, pc:ADDRESS, sym:NAME or time:N"));
        match text.split_once(':') {
            None => number(text).map(Position::Number).ok_or_else(wrong),
            Some(("pc", address)) => number(address).map(Position::Pc).ok_or_else(wrong),
            Some(("time", time)) => number(time).map(Position::Time).ok_or_else(wrong),
            Some(("sym", name)) => {
                let symbol = programs.iter().find_map(|image| image.named(name));
                let missing = || Failure::Usage(format!("unknown symbol {name} (--elf names the program)"));
                symbol.map(|symbol| Position::Pc(symbol.address)).ok_or_else(missing)
            }
            Some(_) => Err(wrong()),
        }
    }

    /// Is it reached by an event whose first instruction has this number?
    pub(crate) fn is_reached(self, event: &Event, number: u64) -> bool {
        match (self, &event.kind) {
            (Position::Number(n), kind) => n < number + kind.instructions().max(1),
            (Position::Pc(pc), EventKind::Step(step)) => step.pc == Some(pc),
            (Position::Pc(pc), EventKind::Run(run)) => !run.withdrawn && (run.start..run.end).contains(&pc),
            (Position::Time(time), EventKind::Time(found)) => {
                found.kind == TimeKind::Timestamp && found.value.is_some_and(|value| value >= time)
            }
            _ => false,
        }
    }
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}
