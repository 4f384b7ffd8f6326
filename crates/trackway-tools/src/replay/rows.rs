//! A window of a trace as rows, and the search for a row.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use trackway::{Result, trap_name};
use trackway_core::{Batch, EventKind, Isa, MemAccess, Outcome, Step, Value};
use trackway_image::{Listing, program};
use trackway_isa::{Style, reg_name};

use super::search::Found;
use super::{Direction, Replay};
use crate::past::Here;

/// A row of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Number of its instruction, or of the one that comes next.
    pub number: u64,
    /// Its content.
    pub what: Shown,
}

/// An instruction, or an event between two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// An instruction.
    Instruction {
        /// Its address.
        pc: Option<u64>,
        /// Its encoding; meaningless where `length` is 0.
        encoding: u32,
        /// Its length; 0 where the encoding is not known.
        length: u8,
        /// Its instruction set.
        isa: Isa,
        /// Did a branch go?
        taken: Option<bool>,
        /// It did not retire.
        attempted: bool,
        /// Registers and memory that it accessed, as far as the trace shows them.
        accesses: Vec<String>,
    },
    /// Instructions whose code is not known.
    Run {
        /// Address of the first one.
        start: u64,
        /// Address after the last one.
        end: u64,
        /// How many.
        count: u64,
    },
    /// Anything else.
    Event {
        /// Its kind: `trap`, `gap`, `mark`, …
        kind: &'static str,
        /// Its fields.
        text: String,
    },
}

/// A search for an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Query {
    /// By its address.
    Pc(u64),
    /// By memory that it accesses.
    Memory(Range<u64>),
    /// By a part of its text, or of the name of its function.
    Text(String),
}

impl Query {
    /// Reads a query: `0x10136`, `mem:0x11150[:8]`, else a text.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some(range) = text.strip_prefix("mem:") {
            let (address, length) = super::commands::memory(range)?;
            return Some(Query::Memory(address..address.saturating_add(length)));
        }
        match text.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok()) {
            Some(pc) => Some(Query::Pc(pc)),
            None => (!text.is_empty()).then(|| Query::Text(text.to_string())),
        }
    }
}

impl Replay {
    /// Rows from instruction `from` on, at most that many.
    ///
    /// The first one is a run that begins earlier where `from` is inside it.
    pub fn rows(&mut self, from: u64, most: usize) -> Result<Vec<Row>> {
        let (format, count) = (self.trace.format(), self.count()?);
        let mut rows = Vec::new();
        let show = |here: &Here<'_>| {
            let what = match &here.event.kind {
                EventKind::Step(step) => instruction(here.batch, step, here.isa),
                EventKind::Run(run) if !run.withdrawn => {
                    Shown::Run { start: run.start, end: run.end, count: run.count.into() }
                }
                kind => {
                    let mut text = String::new();
                    let name = here.batch.event_fields(here.event, &mut |name, value| {
                        text += &format!("{}{name}={value}", if text.is_empty() { "" } else { " " });
                    });
                    if let EventKind::Mark(mark) = kind
                        && mark.text.len > 0
                    {
                        text = format!("{:?}", here.batch.text_of(mark.text));
                    }
                    if let EventKind::Trap(n) = kind
                        && let Some(name) = trap_name(format, &here.batch.traps[*n as usize])
                    {
                        text += &format!(" ({name})");
                    }
                    Shown::Event { kind: name, text }
                }
            };
            Row { number: here.number, what }
        };
        self.with_past(|past| {
            past.forwards(from, count.saturating_add(1), |here| {
                rows.push(show(&here));
                rows.len() < most
            })?;
            let is_inside = from < count && rows.first().is_none_or(|row| row.number > from);
            if is_inside {
                past.backwards_to(from, from + 1, |here| {
                    let is_it = here.event.kind.instructions() > 0;
                    if is_it {
                        rows.insert(0, show(&here));
                    }
                    !is_it
                })?;
            }
            Ok(())
        })?;
        Ok(rows)
    }

    /// The number of the nearest instruction that a query means; `None` if there is none or the search was cancelled.
    pub fn find(
        &mut self,
        query: &Query,
        direction: Direction,
        mut cancelled: impl FnMut() -> bool,
    ) -> Result<Option<u64>> {
        let start = self.now;
        let image = program(&self.programs, 0);
        let is = || {
            let mut listing = Listing::new(Arc::clone(&image), Style::default());
            let mut met: HashMap<(u64, u32), bool> = HashMap::new();
            move |here: &Here<'_>| {
                let EventKind::Step(step) = &here.event.kind else { return None };
                if direction == Direction::Forwards && here.number <= start {
                    return None;
                }
                let is_it = match query {
                    Query::Pc(pc) => step.pc == Some(*pc),
                    Query::Memory(range) => here.batch.mem_of(step.accesses).iter().any(|access| {
                        let end = access.address.saturating_add(access.size.max(1));
                        !access.unplaced && access.address < range.end && range.start < end
                    }),
                    Query::Text(text) => {
                        let pc = step.pc.unwrap_or(0);
                        if met.len() > 1 << 18 {
                            met.clear();
                        }
                        *met.entry((pc, step.encoding)).or_insert_with(|| {
                            let by_code =
                                step.length > 0 && listing.text(here.isa, pc, step.encoding).contains(text);
                            by_code || step.pc.is_some() && listing.row(pc).place.contains(text)
                        })
                    }
                };
                is_it.then_some(here.number)
            }
        };
        let may = |stretch: &trackway::index::Stretch<'_>| match query {
            Query::Pc(pc) => stretch.sketch.may_execute(&(*pc..pc.saturating_add(1))),
            Query::Memory(range) => stretch.sketch.may_access(range),
            Query::Text(_) => true,
        };
        let found = self.seek(direction, may, is, &mut cancelled)?;
        Ok(if let Found::At(number) = found { Some(number) } else { None })
    }
}

fn instruction(batch: &Batch, step: &Step, isa: Isa) -> Shown {
    let registers = batch.regs_of(step.accesses).iter().map(|access| {
        let value = value(batch, access.value).unwrap_or("?".into());
        let word = if access.role == trackway_core::RegRole::Source { "" } else { ":" };
        format!("{}{word}={value}", reg_name(isa, access.reg))
    });
    let memory = batch.mem_of(step.accesses).iter().map(|access| memory(batch, access));
    Shown::Instruction {
        pc: step.pc,
        encoding: step.encoding,
        length: step.length,
        isa,
        taken: step.taken,
        attempted: step.outcome == Outcome::Attempted,
        accesses: memory.chain(registers).collect(),
    }
}

fn memory(batch: &Batch, access: &MemAccess) -> String {
    let address = if access.unplaced { "?".to_string() } else { format!("{:#x}", access.address) };
    let stored = batch.mem_extra_of(access).and_then(|extra| value(batch, extra.stored));
    let stored = stored.map_or(String::new(), |stored| format!(" then {stored}"));
    let data = value(batch, access.data).unwrap_or("?".into());
    format!("{} [{address}:{}]={data}{stored}", access.kind, access.size)
}

/// A value in hex; `None` where it is not recorded.
fn value(batch: &Batch, value: Value) -> Option<String> {
    match value {
        Value::Unknown => None,
        Value::Word(word) => Some(format!("{word:#x}")),
        Value::Bytes(span) => {
            let digits: String =
                batch.bytes_of(span).iter().rev().map(|byte| format!("{byte:02x}")).collect();
            Some(format!("0x{digits}"))
        }
    }
}
